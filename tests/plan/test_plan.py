"""Reading a plan: every fault at once, each with its line; the JSON Schema says the same as the check."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from architecture import ROOT
from hypothesis import given
from hypothesis import strategies as st
from planned import PLAN, SCHEMA, with_steps, written

from sfumato.errors import PlanError
from sfumato.methods.names import names
from sfumato.plan import Plan
from sfumato.plan.lines import line_numbers, line_of
from sfumato.plan.recipes import RECIPES
from sfumato.plan.spec import RELEASING, json_schema, json_schema_text
from sfumato.schema import Schema


def faults(folder: Path, plan: str, **files: str) -> list[tuple[int, str]]:
    with pytest.raises(PlanError) as caught:
        Plan.read(written(folder, plan, **files))
    assert caught.value.hint
    return list(caught.value.faults)


# -- faults ----------------------------------------------------------------------------------------


def test_a_sound_plan(tmp_path: Path) -> None:
    plan = Plan.read(written(tmp_path))
    assert [s.method for s in plan.steps] == ["optimal"]
    assert plan.steps[0].of == "input" and plan.released == plan.steps
    assert plan.draft == "nobody has signed the plan"


def test_all_faults_of_form_with_their_lines(tmp_path: Path) -> None:
    text = (
        PLAN.replace("k = 3", "k = 1\nspeed = 9")
        .replace("top = 90", 'top = "old"')
        .replace("skip = true", "skip = 1")
    )
    text += '\n[thresholds]\nrisk = "low"\n\n[outptus]\n'
    lines = text.split("\n")
    found = faults(tmp_path, text)
    assert len(found) == 6

    def line(start: str) -> int:
        return next(i for i, row in enumerate(lines, 1) if row.startswith(start))

    assert {n for n, _ in found} == {line(s) for s in ("k = 1", "speed", "age", "skip", "risk", "[outptus]")}
    assert any("did you mean 'outputs'" in words for _, words in found)
    assert any("at least 2" in words for _, words in found)


def test_all_contradictions_with_their_lines(tmp_path: Path) -> None:
    text = with_steps('method = "optimal"', 'method = "mondrian"\nk = 3\nof = "nobody"\nname = "a/b"')
    text += '\n[thresholds]\nrsik = 0.1\n[columns.height]\nrole = "other"\n'
    text = text.replace('schema = "schema.toml"', 'schema = "schema.toml"\n').replace(
        "region.csv", "gone.csv"
    )
    found = [words for _, words in faults(tmp_path, text)]
    for part in (
        "asks nothing",
        "earlier step",
        "name of its own",
        "no score is called",
        "not in the schema",
    ):
        assert any(part in words for words in found), part
    assert any("region" in words and "hierarchy" in words for words in found)
    assert any("thresholds are set" in words for words in found)


def test_criteria_as_text_are_checked_with_everything_else(tmp_path: Path) -> None:
    asked = ["entropi-l(dx, 2)", "distinct-l(dx)"]
    (found,) = faults(tmp_path, with_steps(f'method = "optimal"\ncriteria = {json.dumps(asked)}'))
    assert "did you mean entropy-l?" in found[1] and "needs l" in found[1]
    asked = ["distinct-l(height, 2)", "hierarchical-t(dx, 0.2)", "k-map(5, population=gone.csv)"]
    words = [
        w for _, w in faults(tmp_path, with_steps(f'method = "optimal"\ncriteria = {json.dumps(asked)}'))
    ]
    for part in ("not in the schema: 'height'", "needs a hierarchy for 'dx'", "a file that is not there"):
        assert any(part in w for w in words), part


def test_faults_of_the_schema_and_files_that_are_not_there(tmp_path: Path) -> None:
    found = faults(tmp_path, PLAN, **{"schema.toml": SCHEMA.replace('"flag"', '"flog"')})
    assert found[0][0] == 6 and "kind must be one of" in found[0][1]
    (tmp_path / "schema.toml").unlink()
    with pytest.raises(PlanError, match=r"line 6: .*not there"):
        Plan.read(tmp_path / "plan.toml")
    with pytest.raises(PlanError, match=r"no plan gone\.toml"):
        Plan.read(tmp_path / "gone.toml")


def test_text_that_is_no_toml(tmp_path: Path) -> None:
    assert faults(tmp_path, PLAN.replace("k = 3", "k = = 3")) == [(15, "is not valid TOML")]
    for text in ("x = [" * 5_000, "x = " + "9" * 5_000, "\x00", "[", "x = 'a"):
        with pytest.raises(PlanError) as caught:
            Plan.from_toml(text)
        assert caught.value.hint
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not UTF-8"):
        Plan.read(tmp_path / "plan.toml")


def test_private_steps_wait_for_public_domains_whatever_was_confirmed(tmp_path: Path) -> None:
    plan = with_steps('method = "private"\nepsilon = 1.0')
    Plan.read(written(tmp_path, plan))
    said = Schema.from_toml(SCHEMA)["dx"].provenance
    assert said is not None
    head = f'{{origin="declared", by="me", reason="so", domain="{said.domain}"'
    bound = f'{head}, key="{said.key}", on="{said.on}", signature="{said.signature}"}}'
    for edited, why in (
        (SCHEMA.replace(f"provenance = {bound}\n", ""), "nobody says where it comes from"),
        (SCHEMA.replace(bound, '{ origin = "read off the data" }'), "read off the data"),
        (SCHEMA.replace(bound, '{ origin = "declared", by = "me", reason = "so" }'), "changed since"),
        (SCHEMA.replace(bound, f"{head}}}"), "declared by me, as the file says, but nobody signed that"),
        (SCHEMA.replace('"c", "zebra7319"', '"c", "zebra7319", "d"'), "changed since it was declared"),
    ):
        assert "confirmed = true" in edited.partition("[columns.dx]")[2]
        ((line, words),) = faults(tmp_path, plan, **{"schema.toml": edited})
        assert plan.split("\n")[line - 1] == "[[steps]]"
        assert f"waits for domains: 1 without a public domain: 'dx' ({why}" in words
    looks = plan + '\n[prepare]\nredundant = "drop"\ntarget = "dx"\nleast_information = 2\n'
    assert sum("looks at the data" in words for _, words in faults(tmp_path, looks)) == 2
    pays = plan + '\n[budget]\nledger = "l"\nepsilon = 1\n'
    assert any("cannot pay for a delta" in words for _, words in faults(tmp_path, pays))


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ('hierarchy = "agse"', "did you mean 'ages'"),
        ("hierarchy = 5", "must be a recipe"),
        ('hierarchy = { recipe = "prefixes" }', "needs 'keep'"),
        ('hierarchy = { recipe = "intervals", widths = [5, 7] }', "multiple of the one before"),
        ('hierarchy = { recipe = "calendar", steps = ["year", "month"] }', "short to long"),
        ('hierarchy = "suppress", top = 1, bottom = 2', "above bottom"),
        ('hierarchy = "suppress", role = "king"', "must be one of identifier"),
    ],
)
def test_faults_of_a_column(tmp_path: Path, entry: str, part: str) -> None:
    old = 'age = { hierarchy = { recipe = "ages", widths = [5, 20] }, top = 90 }'
    found = faults(tmp_path, PLAN.replace(old, f"age = {{ {entry} }}"))
    assert [n for n, _ in found] == [10] and part in found[0][1]


# -- lines -----------------------------------------------------------------------------------------


def test_lines_of_every_form() -> None:
    text = (
        'a = 1\n# b = 2\n"b c" = [\n  1, # ]\n  2,\n]\n[t]\nx = """\n[no]\ny = 1\n"""\nz.y = { w = 1 }\n'
        "[[s]]\nk = 1\n[[s]]\n\nk = '''\n'''\n[s.inner]\nq = 'a # b'\n[t.\"u.v\"]\np = \"\\\"[\"\n"
    )
    assert tomllib.loads(text)
    lines = line_numbers(text)
    wanted = {
        ("a",): 1, ("b c",): 3, ("b c", 1): 3, ("t",): 7, ("t", "x"): 8, ("t", "z", "y", "w"): 12,
        ("s", 0): 13, ("s", 0, "k"): 14, ("s", 1): 15, ("s", 1, "k"): 17, ("s", 1, "inner"): 19,
        ("s", 1, "inner", "q"): 20, ("t", "u.v"): 21, ("t", "u.v", "p"): 22,
    }  # fmt: skip
    assert {k: lines.get(k) for k in wanted} == wanted
    assert line_of(("t", "z", "nothing", 3), lines) == 12


_KEYS = st.text("abc", min_size=1, max_size=3)
_VALUES = st.sampled_from(
    ["1", "'#]'", '"a]"', "[\n1,\n2]", "{ x = 1 }", '"""\n["""', "'''\n'\n'''", "true # ["]
)


@given(st.dictionaries(_KEYS, st.dictionaries(_KEYS, _VALUES, max_size=4), max_size=4))
def test_every_entry_is_found_on_its_own_line(tables: dict[str, dict[str, str]]) -> None:
    text, wanted = "", {}
    for table, entries in tables.items():
        text += f"[{table}]\n"
        for key, value in entries.items():
            wanted[(table, key)] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    tomllib.loads(text)
    lines = line_numbers(text)
    assert {place: lines[place] for place in wanted} == wanted


# -- JSON Schema -----------------------------------------------------------------------------------


def test_the_published_schema_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8") == json_schema_text()


def test_editors_agree_with_the_check(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft7Validator.check_schema(json_schema())
    validator = jsonschema.Draft7Validator(json_schema())
    good = tomllib.loads(PLAN)
    assert validator.is_valid(good)
    for change in (
        lambda d: d["steps"][0].update(k=1),
        lambda d: d["steps"][0].update(speed=1),
        lambda d: d["steps"][0].update(method="magic"),
        lambda d: d.update(outptus={}),
        lambda d: d["columns"]["age"].update(top="old"),
        lambda d: d["columns"]["age"].update(hierarchy={"recipe": "prefixes"}),
        lambda d: d.pop("input"),
        lambda d: d.update(steps=[]),
    ):
        bad = json.loads(json.dumps(good))
        change(bad)
        assert not validator.is_valid(bad)
        with pytest.raises(PlanError):
            written(tmp_path)
            plan = Plan(bad, tmp_path, lines={(): 1})
            from sfumato.plan.spec import PLAN as SHAPE

            plan.refuse(SHAPE.faults(bad, ()))


def test_the_page_names_every_method_recipe_and_table() -> None:
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
    tables = list(json_schema()["properties"])
    missing = [n for n in (*names(*RELEASING), *RECIPES, *tables) if f"`{n}" not in page]
    assert missing == []


# -- digests ---------------------------------------------------------------------------------------


def test_what_is_around_a_step_does_not_change_what_it_makes(tmp_path: Path) -> None:
    plan = Plan.read(written(tmp_path))
    for text in (
        PLAN + "\n[thresholds]\n",
        PLAN.replace('title = "Visits', 'title = "More visits'),
        PLAN.replace("skip = true", 'effort = "quick"'),
        PLAN + '\n[review]\nby = "A. Miller"\non = 2026-03-01\n',
        PLAN.replace('hierarchy = "suppress" }', 'hierarchy = "suppress", reviewed = true }'),
    ):
        other = Plan.read(written(tmp_path, text))
        assert other.made_by(other.steps[0]) == plan.made_by(plan.steps[0])
    for text, files in (
        (PLAN.replace("k = 3", "k = 4"), {}),
        (PLAN.replace("top = 90", "top = 80"), {}),
        (PLAN, {"schema.toml": SCHEMA.replace("[0, 100, 200, 400]", "[0, 200, 400]")}),
    ):
        other = Plan.read(written(tmp_path, text, **files))
        assert other.made_by(other.steps[0]) != plan.made_by(plan.steps[0])
