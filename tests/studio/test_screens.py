"""What clicks do: pages are drawn, guesses accepted and corrected, undone, refused when old."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from planned import CANARY
from windows import Window, opened, prepared

from sfumato.plan import Plan
from sfumato.studio import frame
from sfumato.studio.markup import Html
from sfumato.studio.screens import SCREENS
from sfumato.studio.texts import Words
from sfumato.studio.texts.english import ENGLISH
from sfumato.studio.texts.german import GERMAN


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("studio"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found
        while found.studio.plan_folder is not None and found.studio.plan_folder.undoable:
            found.studio.plan_folder.undo()
        assert found.faults == []


def plan_of(window: Window) -> dict[str, dict[str, object]]:
    assert window.studio.plan_folder is not None
    text = (window.studio.plan_folder.folder / "plan.toml").read_text("utf-8")
    found: dict[str, dict[str, object]] = tomllib.loads(text)["columns"]
    return found


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_screen_is_drawn_in_both_languages(window: Window, language: str) -> None:
    window.cookie += f"; sfumato-language={language}"
    for screen in SCREENS:
        reply = window.get(f"/{screen.name}")
        assert reply.status == 200 and f'lang="{language}"' in reply.text
        assert Words(language)(f"nav.{screen.name}") in reply.text
        assert "<script>" not in reply.text and "style=" not in reply.text and "onclick" not in reply.text


def test_the_first_rows_are_shown_as_they_were_read(window: Window, made: Path) -> None:
    page = window.get("/open").text
    rows = [line.split(",") for line in made.read_text("utf-8").splitlines()[:6]]
    shown = page.partition('id="first-rows"')[2].partition("</table>")[0]
    assert re.findall(r"<th[^>]*>([^<]*)</th>", shown) == rows[0]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", shown) == [cell for row in rows[1:] for cell in row]
    assert page.partition('id="dialect-separator"')[2].partition(">")[0].strip() == "data-submit"  # at once


def test_what_changes_while_a_page_is_drawn_is_drawn_the_next_time(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, texts = window.studio.plan_folder, frame.listed_text
    assert plan is not None

    def changed_meanwhile(text: str, prefix: str) -> Html:
        drawn = texts(text, prefix)
        file = plan.folder / "plan.toml"
        file.write_text(file.read_text("utf-8").replace('title = ""', 'title = "late"'), encoding="utf-8")
        return drawn

    monkeypatch.setattr(frame, "listed_text", changed_meanwhile)
    drawn = window.get("/columns").text
    assert "late" not in drawn and f'data-changes="{window.studio.changes}"' not in drawn


def test_the_languages_have_the_same_words() -> None:
    assert set(GERMAN) == set(ENGLISH)
    for name, words in ENGLISH.items():
        assert set(re.findall(r"{(\w+)}", words)) == set(re.findall(r"{(\w+)}", GERMAN[name])), name


def test_a_role_is_corrected_accepted_and_undone(window: Window) -> None:
    before = plan_of(window)
    assert before["cost"]["role"] == "sensitive" and before["cost"]["reviewed"] is False
    reply = window.post("/columns/role", column="cost", role="quasi-identifier")
    assert reply.status == 200 and "Undo: cost" in reply.text
    after = plan_of(window)["cost"]
    assert after["role"] == "quasi-identifier" and after["reviewed"] is True and after["hierarchy"]
    assert isinstance(window.studio.plan_folder and window.studio.plan_folder.plan, Plan)  # it still runs
    window.post("/columns/accept", column="sex")
    assert plan_of(window)["sex"] == {**before["sex"], "reviewed": True}
    window.post("/plan/undo", screen="columns")
    window.post("/plan/undo", screen="columns")
    assert plan_of(window) == before
    window.post("/plan/redo", screen="columns")
    assert plan_of(window)["cost"]["role"] == "quasi-identifier"


def test_every_role_of_every_column_leaves_a_plan_that_can_be_read(window: Window) -> None:
    """Each column gets each role, one after the other; what the clicks leave is TOML with that role in it."""
    from sfumato.studio.column_edits import ROLES, with_role

    folder = window.studio.plan_folder
    assert folder is not None
    texts = folder.texts
    for name in list(plan_of(window)):
        for role in ROLES:
            texts = with_role(texts, name, role, {})
            said = tomllib.loads(texts["plan.toml"])["columns"][name]
            assert said.get("role", "drop") == role and said["reviewed"] is True
            assert ("hierarchy" in said) == (role == "quasi-identifier")
    assert texts["plan.toml"].count("#") == folder.texts["plan.toml"].count("#") - 1  # that of `l`, with it


def test_a_column_that_leads_others_lets_them_go() -> None:
    from sfumato.studio.column_edits import with_role

    plan = """\
[columns]
hospital = { role = "quasi-identifier", hierarchy = { recipe = "columns", above = ["county", "region"] } }
county = { role = "quasi-identifier", reviewed = false }
region = { role = "quasi-identifier", reviewed = false }
"""
    texts = {"plan.toml": plan, "schema.toml": "sfumato_schema = 1\n"}
    alone = tomllib.loads(with_role(texts, "hospital", "other", {"county": "own"})["plan.toml"])["columns"]
    assert "hierarchy" not in alone["hospital"]
    assert (alone["county"]["hierarchy"], alone["region"]["hierarchy"]) == ("own", "suppress")
    fewer = tomllib.loads(with_role(texts, "region", "drop", {})["plan.toml"])["columns"]
    assert fewer["hospital"]["hierarchy"]["above"] == ["county"]
    led = tomllib.loads(with_role(texts, "county", "quasi-identifier", {})["plan.toml"])["columns"]
    assert "hierarchy" not in led["county"]


def test_sure_guesses_are_accepted_at_once(window: Window) -> None:
    reply = window.post("/columns/accept_sure")
    assert reply.status == 200
    looked = {n for n, e in plan_of(window).items() if e["reviewed"]}
    assert "sex" in looked and len(looked) < len(plan_of(window))
    window.post("/columns/reopen", column="sex")
    assert plan_of(window)["sex"]["reviewed"] is False


def test_a_kind_is_corrected_in_the_schema(window: Window) -> None:
    folder = window.studio.plan_folder
    assert folder is not None
    assert window.post("/columns/kind", column="age", kind="ordinal").status == 200
    schema = tomllib.loads(folder.texts["schema.toml"])["columns"]["age"]
    assert schema["kind"] == "ordinal" and "edges" not in schema
    assert folder.texts["schema.toml"].startswith("# What the columns mean")
    reply = window.post("/columns/kind", column="dx", kind="date")
    assert (
        reply.status == 422
        and 'role="alert"' in reply.text
        and CANARY not in reply.text.partition("<article")[0]
    )
    window.post("/plan/undo", screen="columns")
    assert tomllib.loads(folder.texts["schema.toml"])["columns"]["age"]["kind"] == "numeric"


def test_what_a_second_window_did_is_not_overwritten(window: Window) -> None:
    seen = window.get("/columns").revision
    assert window.post("/columns/role", column="age", role="other").status == 200
    reply = window.post("/columns/role", seen, column="age", role="sensitive")
    assert reply.status == 409 and plan_of(window)["age"]["role"] == "other"
    assert reply.revision == seen + 1  # the page shows what is
    assert window.post("/columns/role", reply.revision, column="age", role="sensitive").status == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/columns/role", {"column": "age", "role": "nonsense"}),
        ("/columns/role", {"column": "nobody", "role": "other"}),
        ("/columns/role", {"role": "other"}),
        ("/columns/kind", {"column": "age", "kind": "x"}),
        ("/columns/accept", {"column": "nobody"}),
        ("/open/file", {"file": "../visits.csv"}),
        ("/open/file", {"file": "/etc/passwd"}),
        ("/open/file", {"file": ".hidden.csv"}),
        ("/open/sample", {"sample": "../x", "rows": "100"}),
        ("/open/sample", {"sample": "members", "rows": "1e9"}),
        ("/open/again", {"separator": "xx"}),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    window: Window, path: str, fields: dict[str, str]
) -> None:
    before = plan_of(window)
    reply = window.post(path, **fields)
    assert reply.status == 422 and 'role="alert"' in reply.text
    assert plan_of(window) == before


def test_what_is_proposed_is_what_init_writes(made: Path, tmp_path: Path) -> None:
    from sfumato.plan.proposal import propose

    proposed = made.parent / "visits-plan" / ".studio" / "work" / "1-a" / "plan.toml"
    usual = propose(str(made), folder=made.parent / "visits-plan", recipient="public")
    assert proposed.read_text("utf-8") == usual.plan
    assert proposed.with_name("schema.toml").read_text("utf-8") == usual.schema


def test_read_only_changes_nothing(made: Path) -> None:
    with opened(made, read_only=True) as window:
        before = plan_of(window)
        page = window.get("/columns")
        assert page.status == 200 and "disabled" in page.text
        assert window.post("/columns/role", column="age", role="other").status == 403
        assert window.post("/open/sample", sample="members", rows=100).status == 403
        assert plan_of(window) == before


def test_names_and_values_are_never_markup(tmp_path: Path) -> None:
    bad = '<img src=x onerror="alert(1)">'
    lines = [f'"{bad.replace(chr(34), chr(34) * 2)}",sex'] + [
        f'"</script>{i % 3}{bad.replace(chr(34), chr(34) * 2)}",{"fm"[i % 2]}' for i in range(60)
    ]
    with opened(prepared(tmp_path, "\n".join(lines) + "\n")) as window:
        page = window.get("/columns").text
        assert "onerror" in page and "<img" not in page and "</script>0" not in page
        reply = window.post("/columns/role", column=bad, role="other")
        assert reply.status == 200 and plan_of(window)[bad]["role"] == "other" and "<img" not in reply.text
