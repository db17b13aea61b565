"""Running a plan: what is written, what is refused, what came in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planned import CANARY, HEADER, PLAN, SCHEMA, card, hidden, ran, rows, with_steps, written

import sfumato as sf
from sfumato.errors import OutputError, SchemaError
from sfumato.plan import Plan
from sfumato.plan.judgement import meanings
from sfumato.plan.preparation import open_input, prepare

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
