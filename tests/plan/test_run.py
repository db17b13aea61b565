"""Running a plan: what is written, what is refused, what a chain promises, who has signed."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pytest
from planned import CANARY, HEADER, PLAN, SCHEMA, public_bytes, ran, rows, with_steps, written

import sfumato as sf
from sfumato.errors import BudgetError, DataError, OutputError, PlanError, SchemaError
from sfumato.plan import Plan
from sfumato.plan.judgement import meanings
from sfumato.plan.preparation import open_input, prepare
from sfumato.plan.signature import sign
from sfumato.privacy import Ledger


def card(folder: Path) -> str:
    return (folder / "public" / "card.md").read_text(encoding="utf-8")


def hidden(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".")]


# -- a release -------------------------------------------------------------------------------------


def test_a_release_that_verifies_and_is_a_draft(tmp_path: Path) -> None:
    found = ran(tmp_path)
    out = tmp_path / "release"
    assert found.draft and sf.verify(out).ok and hidden(tmp_path) == []
    assert "DRAFT" in card(out) and "Visits of a small clinic" in card(out)
    report = (out / "internal" / "report.html").read_text(encoding="utf-8")
    assert "DRAFT: Visits" in report and "nobody has signed" in report
    release = found.load()
    assert release.columns == ("sex", "age", "region", "dx", "cost")
    assert release.guarantee.claims[0].k >= 3
    assert (out / "internal" / "plan.toml").read_text(encoding="utf-8") == PLAN
    assert (out / "internal").stat().st_mode & 0o077 == 0


def test_criteria_as_text(tmp_path: Path) -> None:
    """Distances by the column's own recipe; a population beside the plan, which the signature covers."""
    town = [",".join(line.split(",")[1:4]) for line in rows(400, seed=2).splitlines()]
    (tmp_path / "town.csv").write_text("\n".join([*town, *town[1:]]))
    asked = ["recursive-l(dx, 2, c=9)", "hierarchical-t(dx, 0.9)", "k-map(6, population=town.csv)"]
    steps = f'method = "optimal"\ncriteria = {json.dumps(asked)}\nmax_suppressed = 0.2'
    plan = with_steps(steps).replace("[[steps]]", 'dx = { hierarchy = "suppress" }\n[[steps]]', 1)
    found = ran(tmp_path, plan)
    kinds = {c.title.split(",")[0]: c for c in found.load().guarantee.claims}
    assert len(kinds) == 3 and sf.verify(tmp_path / "release").ok
    signed = Plan.read(tmp_path / "plan.toml").digest
    (tmp_path / "town.csv").write_text("\n".join(town))
    assert Plan.read(tmp_path / "plan.toml").digest != signed


def test_a_population_is_cut_off_as_the_data_is(tmp_path: Path) -> None:
    """All who are above the top are one value there too: nobody has to be made more general than that."""
    town = [
        "sex,age,region",
        *(f"{s},{a},{r}" for s in "fm" for a in range(81, 90) for r in ("east", "west")),
    ]
    data = [
        HEADER,
        *(f"p{i},{'fm'[i % 2]},{81 + i % 9},{('east', 'west')[i // 2 % 2]},a,1" for i in range(40)),
    ]
    steps = 'method = "optimal"\ncriteria = ["k-map(9, population=town.csv)"]'
    plan = (
        with_steps(steps)
        .replace("top = 90", "top = 80")
        .replace('{ recipe = "ages", widths = [5, 20] }', '"suppress"')
    )
    path = written(tmp_path, plan, **{"data.csv": "\n".join(data) + "\n", "town.csv": "\n".join(town) + "\n"})
    released = Plan.read(path).run(tmp_path / "release").load().data.to_arrow()
    assert set(map(str, released["age"].to_pylist())) == {"80"} and set(released["sex"].to_pylist()) == {
        "f",
        "m",
    }


def test_numbers_are_cut_off_and_columns_left_out(tmp_path: Path) -> None:
    plan = PLAN.replace("[[steps]]", "cost = { top = 250, bottom = 50 }\ndx = { drop = true }\n[[steps]]")
    plan = plan.replace("max_suppressed = 0.2", "max_suppressed = 1.0")
    release = ran(tmp_path, plan).load()
    costs = release.data.to_arrow()["cost"].to_pylist()
    assert min(costs) == 50 and max(costs) == 250 and "dx" not in release.columns
    before = [int(line.split(",")[5]) for line in rows().splitlines()[1:]]
    assert sum(c == 250 for c in costs) == sum(c >= 250 for c in before)


def test_columns_that_say_nothing_or_the_same_are_left_out(tmp_path: Path) -> None:
    doubled = "\n".join(f"{line},{line.split(',')[3]}" for line in rows().splitlines()) + "\n"
    doubled = doubled.replace("region,dx,cost,region", "region,dx,cost,place")
    schema = SCHEMA + '[columns.place]\nkind = "nominal"\n'
    written(
        tmp_path, PLAN + '\n[prepare]\nredundant = "drop"\n', **{"data.csv": doubled, "schema.toml": schema}
    )
    found = Plan.read(tmp_path / "plan.toml").run(tmp_path / "release")
    assert dict(found.prepared.dropped) == {"place": "'region' says what it says"}
    assert "place" not in found.load().columns


def test_screening_by_information(tmp_path: Path) -> None:
    told = dict(ran(tmp_path, PLAN + '\n[prepare]\ntarget = "dx"\n').prepared.ratios)
    assert set(told) == {"sex", "age", "region", "cost"}
    least = sorted(told.values())[0] + 1e-9
    found = ran(
        tmp_path, PLAN + f'\n[prepare]\ntarget = "dx"\nleast_information = {least!r}\n', out="screened"
    )
    ((name, why),) = found.prepared.dropped
    assert told[name] == min(told.values()) and "shuffled column" in why
    assert name not in found.load().columns


def test_unknown_codes_stop_the_run_without_being_shown(tmp_path: Path) -> None:
    schema = SCHEMA.replace(', "zebra7319"]', "]")
    path = written(tmp_path, PLAN, **{"schema.toml": schema})
    with pytest.raises(SchemaError, match="1 unlisted level in 1 cell") as caught:
        Plan.read(path).run(tmp_path / "release")
    assert CANARY not in str(caught.value) and CANARY in caught.value.values
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "data.csv",
        "plan.toml",
        "region.csv",
        "schema.toml",
    ]


def test_folders_of_something_else_are_not_touched(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("ten years of work")
    (tmp_path / "empty").mkdir()
    for name in ("mine", "empty", "data.csv", "gone/release"):
        with pytest.raises(OutputError):
            Plan.read(path).run(tmp_path / name, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "ten years of work"


# -- the signature ---------------------------------------------------------------------------------


def test_signing_takes_the_stamp_away_and_leaves_the_bytes(tmp_path: Path) -> None:
    ran(tmp_path)
    out = tmp_path / "release"
    before = public_bytes(out)
    plan = sign(tmp_path / "plan.toml", "A. Miller", on=date(2026, 3, 1))
    assert plan.draft == "" and plan.signed == ("A. Miller", date(2026, 3, 1))
    found = plan.run(out)
    assert not found.draft and found.resumed == ("step-1",)
    assert public_bytes(out) == before and sf.verify(out).ok
    assert "DRAFT" not in card(out)
    assert "Signed by A. Miller on 2026-03-01" in (out / "internal" / "report.html").read_text(
        encoding="utf-8"
    )
    again = plan.run(out)
    assert again.unchanged and public_bytes(out) == before


def test_a_signature_covers_what_was_signed(tmp_path: Path) -> None:
    path = written(
        tmp_path, PLAN.replace('hierarchy = "suppress" }', 'hierarchy = "suppress", reviewed = false }')
    )
    with pytest.raises(PlanError, match="1 guess about columns is not reviewed: 'sex'"):
        sign(path, "A. Miller")
    assert Plan.read(path).draft.count("not reviewed") == 1
    assert sign(path, "A. Miller", all_reviewed=True).draft == ""
    text = path.read_text(encoding="utf-8")
    assert "reviewed = true" in text and text.count("[review]") == 1
    path.write_text(text.replace("k = 3", "k = 2"), encoding="utf-8")
    assert Plan.read(path).draft == "the plan was changed after it was signed"
    (tmp_path / "schema.toml").write_text(SCHEMA + "# and more\n", encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    assert "changed after" in Plan.read(path).draft
    by_hand = PLAN + '\n[review]\nby = "B. Moss"\non = "2026-03-02"\n'
    assert Plan.read(written(tmp_path, by_hand)).draft == ""


# -- thresholds ------------------------------------------------------------------------------------


def test_a_threshold_that_is_not_met_refuses_or_marks(tmp_path: Path) -> None:
    strict = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.999\n"
    found = ran(tmp_path, strict + '\n[outputs]\nunmet = "refuse"\n')
    assert found.refused and not found.met and not (tmp_path / "release").exists()
    (report,) = found.reports
    said = report.read_text(encoding="utf-8")
    assert report.name == "release-refused.html" and "utility at least" in said
    order = [
        '<p class="verdict-title">', "utility at least 0.999", "DRAFT: it does not meet", "Risk: what the",
        ">Utility: what the", ">What was promised<", ">The run<", ">How it was done<",
    ]  # fmt: skip
    said = said[said.index("<body>") :]
    places = [said.index(words) for words in order[:3]]
    places += [said.rindex(words) for words in order[3:]]  # the last is the heading, before it the way there
    assert places == sorted(places)
    for said in ("", '\n[outputs]\nunmet = "mark"\n'):  # the earlier word means the same
        out = f"release{len(said)}"
        drafted = ran(tmp_path, strict + said, out=out)
        assert not drafted.refused and not drafted.met and not drafted.passed and sf.verify(drafted.out).ok
        assert "DRAFT: it does not meet the limits" in card(drafted.out)
    assert "does not meet its limits" in drafted.draft


def test_a_draft_says_so_wherever_it_is_looked_at(tmp_path: Path) -> None:
    """Signed, and its limits missed: what a tired person might do is send public/ away."""
    strict = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.999\n"
    plan = sign(written(tmp_path, strict), "A. Miller", on=date(2026, 3, 1))
    out = tmp_path / "release"
    assert plan.run(out).draft == "it does not meet its limits"
    public = tmp_path / "sent"
    shutil.copytree(out / "public", public)
    for folder in (out, public):
        found = sf.verify(folder)
        assert found.ok and "DRAFT" in found.verdict and "not to be passed on" in found.verdict
        assert "limits" in sf.Release.load(folder).draft and "DRAFT" in repr(sf.Release.load(folder))
    assert (public / "DRAFT.txt").read_text(encoding="utf-8").startswith("DRAFT: it does not meet")
    assert (public / "card.md").read_text(encoding="utf-8").startswith("# DRAFT")
    again = plan.run(out)  # found as it is: still no release
    assert again.unchanged and not again.met and not again.passed and "limits" in again.draft
    (public / "DRAFT.txt").unlink()
    assert not sf.verify(public).ok


def test_a_draft_does_not_take_the_place_of_a_release(tmp_path: Path) -> None:
    """Next quarter's run overwrites, and misses its limits: the release of this quarter is still there."""
    sign(written(tmp_path), "A. Miller", on=date(2026, 3, 1)).run(tmp_path / "release")
    before = public_bytes(tmp_path / "release")
    other = PLAN.replace("k = 3", "k = 4").replace("skip = true", 'effort = "quick"')
    limits = "\n[thresholds]\nutility = 0.999\n"
    found = ran(tmp_path, other + limits, overwrite=True)
    assert found.refused and not found.passed and any("does not replace" in n for n in found.notes)
    assert public_bytes(tmp_path / "release") == before and sf.verify(tmp_path / "release").ok
    easy = ran(tmp_path, other + limits.replace("0.999", "0.01"), overwrite=True)
    assert easy.met and easy.resumed == ("step-1",) and public_bytes(tmp_path / "release") != before
    draft = ran(tmp_path, other.replace("k = 4", "k = 5") + limits, overwrite=True)  # for a draft it does
    assert not draft.refused and not draft.met and draft.load().draft


REASON = "agreed with the recipient, A. Miller 2026-03-01"


def test_a_missed_limit_is_accepted_with_a_reason(tmp_path: Path) -> None:
    limits = "\n[thresholds]\nutility = 0.999\n"
    strict = PLAN.replace("skip = true", 'effort = "quick"') + limits
    first = ran(tmp_path, strict)
    before = public_bytes(first.out)
    path = written(tmp_path, strict + f'accepted = "{REASON}"\n')
    accepted = sign(path, "A. Miller", on=date(2026, 3, 1)).run(first.out)
    assert accepted.passed and not accepted.met and accepted.accepted == REASON and accepted.draft == ""
    assert accepted.resumed == ("step-1",) and public_bytes(first.out) == before  # not drawn anew
    assert "DRAFT" not in card(first.out) and "does not meet all limits" in card(first.out)
    assert REASON not in card(first.out) and not (first.out / "public" / "DRAFT.txt").exists()
    report = (first.out / "internal" / "report.html").read_text(encoding="utf-8")
    assert REASON in report and "Signed by A. Miller" in report
    record = json.loads((first.out / "internal" / "run.json").read_text(encoding="utf-8"))
    assert record["accepted"] == REASON and record["met"] is False
    again = Plan.read(path).run(first.out)
    assert again.unchanged and again.passed and again.accepted == REASON
    path.write_text(path.read_text(encoding="utf-8").replace("agreed", "not agreed"), encoding="utf-8")
    assert "changed after" in Plan.read(path).draft  # the signature covers the reason


def test_an_acceptance_that_is_not_needed_is_said(tmp_path: Path) -> None:
    easy = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.01\n"
    found = ran(tmp_path, easy + f'accepted = "{REASON}"\n')
    assert found.met and found.accepted == "" and any("not needed" in n for n in found.notes)
    assert "was not needed" in (found.out / "internal" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("blank", ["", "   ", "\\t"])
def test_an_acceptance_says_something(tmp_path: Path, blank: str) -> None:
    easy = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.01\n"
    with pytest.raises(PlanError, match=r"\[thresholds\] accepted is empty"):
        ran(tmp_path, easy + f'accepted = "{blank}"\n')
    with pytest.raises(PlanError, match="no limit is set"):
        ran(tmp_path, PLAN + '\n[thresholds]\naccepted = "whatever, by whom"\n')
    with pytest.raises(PlanError, match="must be text"):
        ran(tmp_path, easy + "accepted = true\n")


# -- what came in ------------------------------------------------------------------------------------


def test_a_run_judges_what_came_in(tmp_path: Path) -> None:
    """Most costs are cut off: the distance is that to the file as it was read, not to what was left of it."""
    schema = SCHEMA.replace("edges = [0, 100, 200, 400]\nconfirmed = true\n", "")
    cut = "cost = { top = 100 }\ndx = { drop = true }\n[[steps]]"
    plan = with_steps('method = "pseudonymize"\ncolumns = ["id"]').replace("[[steps]]", cut, 1)
    path = written(tmp_path, plan.replace("skip = true", 'effort = "quick"'), **{"schema.toml": schema})
    found = Plan.read(path).run(tmp_path / "release")
    distance = found.assessments["step-1"]["total variation, column cost"].value
    costs = [int(line.split(",")[5]) for line in rows().splitlines()[1:]]
    assert distance == pytest.approx(sum(c > 100 for c in costs) / len(costs), abs=1 / 20)  # twenty bins
    read = sf.scan(tmp_path / "data.csv", tmp_path / "schema.toml")
    judged = sf.assess(read, tmp_path / "release" / "public", effort="quick")  # by somebody else
    assert judged["total variation, column cost"].value == distance > 0.6
    report = (tmp_path / "release" / "internal" / "report.html").read_text(encoding="utf-8")
    for words in ("compared with the file as it was read", "&#x27;cost&#x27; above 100 was written as 100",
                  "&#x27;dx&#x27; was left out", "Every row was input"):  # fmt: skip
        assert words in report, words


def test_an_intruder_knows_where_numbers_were_cut_off(tmp_path: Path) -> None:
    """Whoever is above the top is looked for at the top: they are not out of reach because 97 is not 90."""
    schema = SCHEMA.replace("edges = [0, 20, 40, 60, 80, 120]\nconfirmed = true\n", "")
    lines = [HEADER, *(f"p{i},{'fm'[i % 2]},{20 + i},{'east'},a,{i}" for i in range(60))]
    plan = with_steps('method = "pseudonymize"\ncolumns = ["id"]').replace("top = 90", "top = 21")
    path = written(
        tmp_path,
        plan.replace("skip = true", 'effort = "quick"'),
        **{"schema.toml": schema, "data.csv": "\n".join(lines) + "\n"},
    )
    found = Plan.read(path).run(tmp_path / "release").assessments["step-1"]
    plain = sf.assess(
        sf.scan(tmp_path / "data.csv", tmp_path / "schema.toml"),
        tmp_path / "release" / "public",
        effort="quick",
    )
    worse = [s.name for s in found.of("attack") if s.name in plain.names and s.value > plain[s.name].value]
    assert worse and any("tried twice" in note for note in found.notes)
    utility = {s.name: s.value for s in found.of("utility")}
    assert utility == pytest.approx({s.name: s.value for s in plain.of("utility")}, nan_ok=True)


def test_labels_stand_for_what_was_cut_off_too(tmp_path: Path) -> None:
    """'old' is the label of 90, to which 94 was cut: in the original, 94 is old."""
    ages = "\n".join(f"{a};{'young' if a < 50 else 'old'};*" for a in range(91)) + "\n"
    schema = SCHEMA.replace("edges = [0, 20, 40, 60, 80, 120]\nconfirmed = true\n", "")
    plan = PLAN.replace('{ recipe = "ages", widths = [5, 20] }', '{ recipe = "levels", file = "ages.csv" }')
    path = written(tmp_path, plan, **{"ages.csv": ages, "schema.toml": schema})
    read = Plan.read(path)
    opened = open_input(read).table
    meant = meanings(read, read.steps[0], prepare(read, opened).table, opened)
    above = {int(line.split(",")[2]) for line in rows().splitlines()[1:]} - set(range(91))
    assert above and above <= set(meant["age"]["old"]) and not above & set(meant["age"]["young"])


# -- several steps ---------------------------------------------------------------------------------


def test_several_releases_of_one_plan(tmp_path: Path) -> None:
    plan = with_steps('name = "tables"\nmethod = "optimal"\nk = 3\nmax_suppressed = 0.2',
                      'name = "rows"\nof = "input"\nmethod = "marginals"\nrows = 40')  # fmt: skip
    found = ran(tmp_path, plan)
    assert sorted(found.releases) == ["rows", "tables"]
    assert all(sf.verify(folder).ok for folder in found.releases.values())
    assert found.load("rows").data.rows() == 40
    assert Plan.read(tmp_path / "plan.toml").run(tmp_path / "release").unchanged


def test_a_chain_promises_what_holds_of_the_input(tmp_path: Path) -> None:
    pegs = 'method = "pegs"\nrows = 30\nepsilon = 2.0\nparents = 1\ncolumns = ["sex", "dx"]'
    alone = ran(tmp_path, with_steps(pegs)).load().guarantee
    assert any(c.differential for c in alone)
    generalize = 'name = "base"\nmethod = "optimal"\nk = 3\nmax_suppressed = 0.2'
    data = pegs.replace("epsilon = 2.0", 'log_l = 0.2\ndomain = "data"\ncap = true')
    release = ran(tmp_path, with_steps(generalize, data), out="chained").load()
    assert not any(c.differential for c in release.guarantee)
    assert "Lost: k-anonymity" in release.guarantee.text() or "Lost:" in release.guarantee.text()
    assert "several steps" in card(tmp_path / "chained") and release.data.rows() == 30
    noisy = 'name = "noisy"\nmethod = "marginals"\nrows = 60\nepsilon = 1.0'
    later = 'method = "resample"\nk = 3'
    kept = ran(tmp_path, with_steps(noisy, later), out="private-first").load().guarantee
    assert [c.epsilon for c in kept if c.differential] == [1.0]


def test_detailed_codes_in_two_steps(tmp_path: Path) -> None:
    within = 'constraints.within = [{ column = "dx", group = "region", file = "groups.csv" }]'
    step = (
        f'method = "pegs"\nrows = 50\nepsilon = 3.0\nparents = 1\ncolumns = ["sex", "region", "dx"]\n{within}'
    )
    groups = "dx,region\na,east\nb,west\nc,north\nzebra7319,south\na,north\nb,south\n"
    written(tmp_path, with_steps(step), **{"groups.csv": groups})
    found = Plan.read(tmp_path / "plan.toml").run(tmp_path / "release").load().data.to_arrow().to_pylist()
    allowed = {tuple(line.split(",")[::-1]) for line in groups.splitlines()[1:]}
    pairs = {(r["region"], r["dx"]) for r in found if r["region"] is not None and r["dx"] is not None}
    assert pairs and pairs <= allowed


def test_pseudonyms_and_exchange(tmp_path: Path) -> None:
    found = ran(tmp_path, with_steps('method = "pseudonymize"\ncolumns = ["id"]'), out="names")
    assert "p0007" not in found.load().data.to_arrow()["id"].to_pylist()
    exchanged = ran(tmp_path, with_steps('method = "resample"\nk = 3\nresponse = "cost"'), out="exchanged")
    assert exchanged.load().guarantee.claims[0].k >= 3


# -- budgets and registers -------------------------------------------------------------------------


def test_a_ledger_is_debited_once_for_one_release(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    plan += '\n[budget]\nledger = "study.ledger"\nepsilon = 1.5\n'
    ran(tmp_path, plan)
    ledger = Ledger.open(tmp_path / "study.ledger")
    assert ledger.spent == 1.0 and "plan.toml" in ledger.entries()[0].purpose
    assert ran(tmp_path, plan).unchanged and ledger.spent == 1.0
    again = Plan.read(tmp_path / "plan.toml").run(tmp_path / "again", record=tmp_path / "release")
    assert public_bytes(again.out) == public_bytes(tmp_path / "release") and ledger.spent == 1.0
    with pytest.raises(BudgetError, match="does not cover"):
        ran(tmp_path, plan, out="other")
    assert not (tmp_path / "other").exists() and hidden(tmp_path) == []


def test_a_plan_notes_which_ledger_pays_for_its_data(tmp_path: Path) -> None:
    plain = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    first, second = (f'{plain}\n[budget]\nledger = "{n}.ledger"\nepsilon = 9.0\n' for n in ("one", "two"))
    ran(tmp_path, first)
    assert Ledger.payer_of(tmp_path / "data.csv") == "one.ledger"
    for plan in (second, plain):  # the same people, counted elsewhere or nowhere
        with pytest.raises(BudgetError, match=r"paid from ledger one\.ledger"):
            ran(tmp_path, plan, out="other")
    assert not (tmp_path / "other").exists() and Ledger.open(tmp_path / "two.ledger").spent == 0
    written(tmp_path, second)
    Plan.read(tmp_path / "plan.toml").run(tmp_path / "others", other_people=True)
    assert Ledger.payer_of(tmp_path / "data.csv") == "two.ledger"
    frame = sf.scan(tmp_path / "data.csv", sf.Schema.from_toml(SCHEMA)).to_arrow()
    written(tmp_path, first)
    with pytest.raises(BudgetError, match=r"paid from ledger two\.ledger"):  # as on Spark, from the same file
        Plan.read(tmp_path / "plan.toml").run(
            tmp_path / "framed", input=frame, source=str(tmp_path / "data.csv")
        )


def test_a_ledger_may_be_a_database(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    plan += '\n[budget]\nledger = "postgresql://nobody@127.0.0.1:1/none#study"\nepsilon = 9.0\n'
    with pytest.raises(sf.SfumatoError, match=r"server|not installed"):
        ran(tmp_path, plan)
    assert not (tmp_path / "release").exists() and not (tmp_path / "postgresql:").exists()
    with pytest.raises(PlanError, match="holds a password"):
        ran(tmp_path, plan.replace("nobody@", "nobody:hunter2@"))


def test_the_register_is_entered_once_and_checked(tmp_path: Path) -> None:
    plan = PLAN + '\n[register]\nfolder = "register"\n'
    ran(tmp_path, plan)
    entries = sorted((tmp_path / "register").glob("release-*.parquet"))
    assert len(entries) == 1
    assert ran(tmp_path, plan).unchanged
    coarser = plan.replace("top = 90 }", "top = 90, max_level = 0 }").replace(
        "max_suppressed = 0.2", "max_suppressed = 1.0"
    )
    with pytest.raises(sf.ParameterError, match="earlier release"):
        ran(tmp_path, coarser, out="other")
    assert len(list((tmp_path / "register").glob("release-*.parquet"))) == 1


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    ran(tmp_path)
    with pytest.raises(DataError, match="not what this plan makes"):
        ran(tmp_path, PLAN.replace("k = 3", "k = 4"), out="other", record=tmp_path / "release")
    with pytest.raises(OutputError, match="another plan or from other data"):
        ran(tmp_path, PLAN.replace("k = 3", "k = 4"))
    assert ran(tmp_path, PLAN.replace("k = 3", "k = 4"), overwrite=True).load().guarantee.claims[0].k >= 4
    record = json.loads((tmp_path / "release" / "internal" / "run.json").read_text(encoding="utf-8"))
    assert CANARY not in json.dumps(record)


def test_a_promise_says_that_limits_were_measured_on_the_data(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 60\nepsilon = 1.0').replace(
        "skip = true", 'effort = "quick"'
    )
    found = ran(tmp_path, plan + "\n[thresholds]\nutility = 0.01\n")
    (claim,) = [c for c in found.load().guarantee if c.differential]
    assert any("met limits" in a for a in claim.assumptions)
    looser = ran(tmp_path, plan)  # the same rows, without limits: the sentence goes too
    (claim,) = [c for c in looser.load().guarantee if c.differential]
    assert looser.resumed and not any("met limits" in a for a in claim.assumptions)


def test_names_of_steps_stay_inside_the_release(tmp_path: Path) -> None:
    for name in ("..", "../x", "/tmp/x", ".hidden", "public", "a/b", ""):
        with pytest.raises(PlanError):
            ran(tmp_path, with_steps(f"name = '{name}'\nmethod = \"optimal\"\nk = 3"))


def test_a_register_needs_classes(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"\[register\] compares classes"):
        ran(tmp_path, with_steps('method = "resample"\nk = 3') + '\n[register]\nfolder = "register"\n')


def test_an_epsilon_that_is_known_afterwards_only(tmp_path: Path) -> None:
    step = 'method = "pegs"\nrows = 10\nalpha = 50.0\nparents = 0\ncolumns = ["sex", "dx"]'
    with pytest.raises(PlanError, match="known afterwards only"):
        ran(tmp_path, with_steps(step) + '\n[budget]\nledger = "x"\nepsilon = 1\n')
    with pytest.raises(PlanError, match="looks at the data"):
        ran(tmp_path, with_steps(step) + '\n[prepare]\nredundant = "drop"\n')
    assert any(c.differential for c in ran(tmp_path, with_steps(step)).load().guarantee)
