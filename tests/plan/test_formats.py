"""Plans of format 1: refused with what to change, and written anew with the same meaning."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomli_w
from planned import PLAN, SCHEMA, with_steps, written

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.errors import PlanError
from sfumato.plan.formats import upgraded

OLD = PLAN.replace("sfumato_plan = 2", "sfumato_plan = 1")


def old(*steps: str, more: str = "") -> str:
    return with_steps(*steps, more=more).replace("sfumato_plan = 2", "sfumato_plan = 1")


PEGS = """method = "pegs"   # the paper's
rows = 30
epsilon = 0.1   # of each row
parents = 0
columns = ["sex", "dx"]"""
LUGS = 'method = "lugs"\nrows = 30\nlog_l = 0.1\npartitions = 2\ncap = true\ncolumns = ["sex", "dx"]'
WITHIN = 'within = [{ column = "dx", group = "region", file = "groups.csv" }]'


def test_it_is_never_read_with_another_meaning(tmp_path: Path) -> None:
    text = old(PEGS, 'method = "pegs"\nof = "input"\nrows = 30\ntotal = 2.0\nparents = 0')
    with pytest.raises(PlanError) as caught:
        sf.Plan.read(written(tmp_path, text))
    words = " ".join(w for _, w in caught.value.faults)
    assert "an earlier format" in words and "epsilon is called epsilon_per_row now" in words
    assert "total is called epsilon now" in words and "sfumato plan upgrade plan.toml" in caught.value.hint
    lines = text.split("\n")
    assert {lines[n - 1].split(" ")[0] for n, _ in caught.value.faults} == {
        "sfumato_plan",
        "epsilon",
        "total",
    }
    for version in ("true", "1.5", '"1"', "3", "0"):
        with pytest.raises(PlanError):
            sf.Plan.read(written(tmp_path, PLAN.replace("sfumato_plan = 2", f"sfumato_plan = {version}")))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((PEGS,), [{"method": "pegs", "rows": 30, "epsilon_per_row": 0.1, "parents": 0,
                    "columns": ["sex", "dx"]}]),
        (
            (f'method = "pmi"\nrows = 9\ntotal = 2.0\n{WITHIN}',),
            [{"method": "pmi", "rows": 9, "epsilon": 2.0,
              "constraints": {"within": [{"column": "dx", "group": "region", "file": "groups.csv"}]}}],
        ),
        (
            ('method = "local"\nk = 3\ncolumns = ["sex", "age"]\ntime_limit = 5',),
            [{"method": "local", "k": 3, "quasi_identifiers": ["sex", "age"], "time_limit": 5}],
        ),
        (  # what was usual and was not said is said now
            ('method = "greedy"   # by hand\nk = 3',
             'method = "partition"\nk = 3\nloss = "ncp"\nof = "input"',
             'method = "imputation"\nrows = 5\nof = "input"',
             'method = "datafly"\nk = 3\nmax_suppressed = 0'),
            [{"method": "greedy", "k": 3, "loss": "loss"},
             {"method": "partition", "k": 3, "loss": "ncp", "of": "input"},
             {"method": "imputation", "rows": 5, "of": "input", "engine": "trees"},
             {"method": "datafly", "k": 3}],
        ),
        (
            (LUGS, 'method = "private"\nepsilon = 1.0\nof = "input"\ncolumns = ["sex"]'),
            [{"method": "plugs", "rows": 30, "partitions": 2,
              "lugs": {"log_l": 0.1, "cap": True, "columns": ["sex", "dx"]}},
             {"method": "private", "epsilon": 1.0, "of": "input", "columns": ["sex"]}],
        ),
    ],
    ids=["pegs", "pmi", "local", "not said", "lugs by parts"],
)  # fmt: skip
def test_the_new_plan_means_what_the_old_one_meant(
    tmp_path: Path, steps: tuple[str, ...], expected: list[dict[str, object]]
) -> None:
    signed = '\n[review]\nby = "A. Miller"\non = 2026-03-01\ndigest = "x"\n'
    text = upgraded(old(*steps, more=signed + "\n[thresholds]\nrisk = 0.5\n"))
    found = tomllib.loads(text)
    assert found["sfumato_plan"] == 2 and found["steps"] == expected and "review" not in found
    assert (found["thresholds"] == {"risk": 0.5} and "# " in text) or "#" not in "".join(steps)
    # written without lines of its own, it means the same, though its comments are gone
    inline = tomli_w.dumps(tomllib.loads(old(*steps)))
    assert tomllib.loads(upgraded(inline))["steps"] == expected


def test_comments_stay_where_they_were(tmp_path: Path) -> None:
    text = upgraded(old(PEGS))
    assert "epsilon_per_row = 0.1   # of each row" in text and "# the paper's" in text


def test_the_command_writes_it_unsigned_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, OLD + '\n[review]\nby = "A. Miller"\non = 2026-03-01\n')
    before = path.read_bytes()
    assert command(["plan", "check", str(path)]) == 1
    assert "earlier format" in capsys.readouterr().out
    assert command(["plan", "upgrade", str(path), "--out", str(tmp_path / "new.toml")]) == 0
    assert path.read_bytes() == before
    plan = sf.Plan.read(tmp_path / "new.toml")
    assert plan.signed is None and plan.draft == "nobody has signed the plan"
    assert command(["plan", "upgrade", str(path), "--out", str(tmp_path / "new.toml")]) == 2  # it is there
    assert command(["plan", "upgrade", str(path)]) == 0
    assert sf.Plan.read(path).run(tmp_path / "release").releases
    assert command(["plan", "upgrade", str(path)]) == 2  # nothing has to be changed
    (tmp_path / "bad.toml").write_text("x = = 1")
    assert command(["plan", "upgrade", str(tmp_path / "bad.toml")]) == 2
    assert command(["plan", "upgrade", str(tmp_path / "gone.toml")]) == 2


# -- plans of objects --------------------------------------------------------------------------------------


def test_a_plan_of_methods_is_the_plan_that_a_person_would_write(tmp_path: Path) -> None:
    written(tmp_path)
    columns = {"sex": {"hierarchy": "suppress"}, "age": {"hierarchy": {"recipe": "ages", "widths": [5, 20]}},
               "region": {"hierarchy": {"recipe": "levels", "file": "region.csv"}}}  # fmt: skip
    base = sf.step(sf.OptimalRecoding(max_suppressed=0.2), k=3, name="base")
    synthetic = sf.step(sf.PrivateSynthesizer(epsilon=2.0, delta=0.0), of="input", rows=20)
    plan = sf.Plan.of(
        "data.csv",
        [base, synthetic],
        schema="schema.toml",
        folder=tmp_path,
        columns=columns,
        assess={"skip": True},
    )
    assert [s.method for s in plan.steps] == ["optimal", "private"]
    assert plan.steps[0].build() == sf.OptimalRecoding(max_suppressed=0.2)
    found = plan.run(tmp_path / "release")
    assert set(found.releases) == {"base", "step-2"}
    again = sf.Plan.from_toml(plan.text, folder=tmp_path)
    assert again.made_by(again.steps[0]) == plan.made_by(plan.steps[0])


def test_what_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    from sklearn.tree import DecisionTreeRegressor

    guided = sf.ModelGuided("cost", estimator=DecisionTreeRegressor())
    with pytest.raises(sf.ParameterError, match="estimator of guided cannot be written"):
        sf.Plan.of("data.csv", [sf.step(guided, k=3)], schema="schema.toml", folder=tmp_path)
    with pytest.raises(sf.ParameterError, match="declares nothing"):
        sf.Plan.of("data.csv", [object()], schema="schema.toml", folder=tmp_path)
    with pytest.raises(PlanError, match="asks nothing"):
        sf.Plan.of("data.csv", [sf.Mondrian()], schema="schema.toml", folder=tmp_path)
    with pytest.raises(PlanError, match="must be one of local"):  # a score is no release
        sf.Plan.of(
            "data.csv", [sf.step(sf.AdditiveScore(), target="dx")], schema="schema.toml", folder=tmp_path
        )


@pytest.mark.parametrize("outputs", ["", '\n[outputs]   # as parquet\nformat = "csv"\n'])
def test_limits_that_refused_without_saying_so(outputs: str) -> None:
    """A plan of format 2 writes a draft where one of format 1 wrote nothing: what was meant is said."""
    limits = "\n[thresholds]   # by the board\nutility = 0.5\n"
    after = upgraded(OLD.replace("skip = true", 'effort = "quick"') + limits + outputs)
    assert tomllib.loads(after)["outputs"]["unmet"] == "refuse" and "# by the board" in after
    assert ("# as parquet" in after) == bool(outputs)
    said = upgraded(OLD + limits + '\n[outputs]\nunmet = "mark"\n')
    assert tomllib.loads(said)["outputs"] == {"unmet": "mark"}
    assert "outputs" not in tomllib.loads(upgraded(OLD))
