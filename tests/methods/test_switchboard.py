"""One declaration, four doors: Python, plan, command line and map mean the same by the same word."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import typer
from planned import SCHEMA, rows

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.cli.commands import register
from sfumato.cli.method_options import options_of, step_of
from sfumato.cli.terminal import Terminal
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import find, names
from sfumato.methods.parameters import own_value, parameters, plain_value, undeclared
from sfumato.methods.requests import REQUESTS
from sfumato.methods.settings import build, plain_settings
from sfumato.methods.shapes import Either, Flag, ListOf, Number, Plain, Record, Shape, TableOf, Tagged, Text
from sfumato.plan.map import _Around, as_candidate
from sfumato.plan.reference import methods_page
from sfumato.plan.spec import RELEASING
from sfumato.plan.step import Step, entry_of, fields_of, step
from sfumato.privacy import ApproxDP, PureDP

METHODS = names()
# What a method needs so that any other field can be tried beside it.
BASE: dict[str, dict[str, Any]] = {
    "guided": {"target": "dx"},
    "partial": {"columns": ["dx"]},
    "pegs": {"epsilon": 4.0},
    "pmi": {"epsilon": 4.0},
}
ASKED = {Does.FIT: ["--target", "sex"], Does.TABULATE: ["--by", "sex,dx"]}  # without which nothing goes
INSTEAD = {"epsilon_per_row", "alpha", "log_l"}  # of epsilon
# Where not every value of the shape fits the others.
VALUES: dict[tuple[str, str], Any] = {
    ("private", "workload"): ["sex, dx"],
    ("partial", "by"): ["sex"], ("pegs", "parents_epsilon"): 0.5, ("pegs", "prior_epsilon"): 0.5,
    ("pegs", "models_epsilon"): 0.5, ("pegs", "models"): {"cost": "normal"}, ("pegs", "cap"): True,
    ("keys", "variance"): 1.5, ("keys", "smallest"): 2,
    ("plugs", "lugs"): {"log_l": 0.25, "hashes": 3}, ("optimal", "loss"): "entropy",
    ("partition", "loss"): {"measure": "column-information", "target": "dx"},
    ("linked", "period"): ["2008-01-01", "2010-12-31"],
}  # fmt: skip


def example(shape: Shape) -> Any:
    """A value of a shape that is hardly anybody's default."""
    match shape:
        case Flag():
            return True
        case Number(least=least, most=most, whole=whole):
            low = 0 if least is None else least
            high = low + 3 if most is None else min(most, low + 3)
            return int(high) if whole else (low + high) / 2 + (high - low) / 8
        case Text(choices=choices):
            return choices[-1] if choices else "sex"
        case ListOf(of=of, least=least):
            return [
                example(of),
                *(["dx"] * (least - 1) if isinstance(of, Text) else [example(of)] * (least - 1)),
            ]
        case TableOf(of=of):
            return {"sex": example(of)}
        case Record(entries=entries, required=required):
            name = next(iter(required), next(iter(entries)))
            return {name: example(entries[name])}
        case Tagged(tag=tag, kinds=kinds):
            return {tag: next(iter(kinds))}
        case Either(shapes=shapes):
            return example(shapes[0])
        case Plain():
            return 1
    raise AssertionError(shape)


def cases() -> list[tuple[str, str]]:
    return [
        (m, f)
        for m in METHODS
        for f in parameters(find(m))
        if not parameters(find(m))[f].parameter.python_only
    ]


def settings_for(method: str, field: str) -> dict[str, Any]:
    """Plain settings with a value for one field, beside what the method needs."""
    parameter = parameters(find(method))[field].parameter
    value = VALUES.get((method, field), "rules.toml" if field == "constraints" else example(parameter.shape))
    default = parameters(find(method))[field].plain_default
    if value == default:
        value = not value if isinstance(value, bool) else "fast" if field == "effort" else value + 1
    base = {n: v for n, v in BASE.get(method, {}).items() if not (n == "epsilon" and field in INSTEAD)}
    if field == "by":
        base["risky"] = 3
    if field == "cap" and method == "pegs":
        base = {"log_l": 0.1}
    if field in ("prior_epsilon",):
        base["prior"] = "marginal"
    return {**base, field: value}


# -- every field is declared, and means the same ---------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_field_of_every_constructor_is_declared(method: str) -> None:
    kind = find(method)
    declared = declaration_of(kind)
    assert declared.name == method and undeclared(kind) == []
    asked = parameters(REQUESTS[declared.does])
    assert not set(asked) & set(parameters(kind)), "one word must not mean two things in a step"
    for field in fields_of(kind).values():
        assert field.parameter.doc.strip().endswith("."), field.name
        default = field.plain_default
        if field.parameter.python_only or field.required or default in (None, (), [], {}, ""):
            continue
        assert not list(field.parameter.shape.faults(default, ())), (
            f"{field.name}: a default out of its range"
        )


def test_a_door_that_is_closed_says_why() -> None:
    for method in METHODS:
        declared = declaration_of(find(method))
        shut = set() if declared.does in RELEASING else {"plan", "map"}
        shut = {"map"} if declared.does is Does.TABULATE else shut
        assert set(declared.closed) == shut, method


def test_the_page_of_every_method_is_there() -> None:
    docs = Path(__file__).parents[2] / "docs"
    for method in METHODS:
        assert (docs / declaration_of(find(method)).page).is_file(), method


@dataclass
class Probe:
    settings: dict[str, Any]


def by_command(name: str, method: str, words: list[str]) -> Step:
    """What the command line makes of words, by its own parser."""
    caught = Probe({})

    def probe(terminal: Terminal, settings: dict[str, Any] | None = None) -> None:
        caught.settings = settings or {}

    app = typer.Typer()
    register(app, probe, more=options_of(name))
    typer.main.get_command(app)(words, standalone_mode=False)
    return step_of(name, method, caught.settings)


def spelt(settings: dict[str, Any]) -> list[str]:
    """Plain settings as a person types them."""
    words: list[str] = []
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name.replace('_', '-')}")
        elif isinstance(value, dict):
            for key, inner in value.items():
                text = ",".join(map(str, inner)) if isinstance(inner, list) else str(inner)
                words += [option, f"{key}={text}"]
        else:
            words += [option, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


@pytest.mark.parametrize(("method", "field"), cases(), ids=str)
def test_a_field_means_the_same_through_every_door(method: str, field: str, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[never]]\nsex = "m"\ndx = "a"\n')
    kind, settings = find(method), settings_for(method, field)
    declared = declaration_of(kind)
    own = parameters(kind)
    python = kind(**{n: own_value(own[n].parameter, v, tmp_path) for n, v in settings.items()})
    told = plain_settings(python)
    assert field in told, "the value is not told apart from the default"
    # a plan: through TOML, and its own check of the form
    entry = tomllib.loads(tomli_w.dumps({"method": method, **settings}))
    if declared.does in (*RELEASING, Does.TABULATE):
        whole = {"by": ["sex,dx"], **entry} if declared.does is Does.TABULATE else entry
        assert not list(entry_of(kind).faults({k: v for k, v in whole.items() if k != "method"}, ()))
    plan = Step(method, {k: v for k, v in entry.items() if k != "method"}).build(tmp_path)
    # the command line
    words = [*spelt(settings), *ASKED.get(declared.does, ())]
    line = by_command(declared.command, method, words).build(tmp_path)
    assert told == plain_settings(plan) == plain_settings(line)
    assert build(kind, told, tmp_path) is not None  # what is told can be read again
    # the map
    if declared.does not in RELEASING:
        return
    candidate = as_candidate(step(python), _Around(None, None))
    assert candidate.name == method
    again = Step(method, {n: v for n, v in candidate.settings.items() if n in own}).build(tmp_path)
    assert plain_settings(again) == told


def test_what_only_python_can_give_says_why() -> None:
    closed = {(m, f.name): f.parameter.python_only for m in METHODS for f in fields_of(find(m)).values()
              if f.parameter.python_only}  # fmt: skip
    assert all(len(why) > 20 for why in closed.values())
    assert {name for _, name in closed} == {"estimator", "keep_text", "schema", "bounds", "key"}


def test_words_that_mean_one_thing_everywhere() -> None:
    """Old words are gone; each of the new ones has one unit wherever it stands."""
    units: dict[str, set[str]] = {}
    for method in METHODS:
        for field in fields_of(find(method)).values():
            units.setdefault(field.name, set()).add(field.parameter.unit)
    assert not set(units) & {"total", "seconds", "per_row", "literal", "relaxed", "seed"}
    assert units["epsilon"] == {"epsilon"} and units["time_limit"] == {"seconds"} and units["rows"] == {""}
    for method in names(Does.GENERALIZE):
        assert {"time_limit", "work_limit"} <= set(parameters(find(method))), method


# -- the same epsilon ------------------------------------------------------------------------------------

PRIVATE: list[tuple[str, dict[str, Any], float]] = [
    ("pegs", {"epsilon": 1.0, "parents": 0}, 1.0),
    ("pegs", {"epsilon_per_row": 0.25, "parents": 0}, 10.0),
    ("pegs", {"epsilon_per_row": 0.25, "parents": 0, "block": 8}, 10.0),
    ("pmi", {"epsilon": 2.0}, 2.0),
    ("pmi", {"epsilon_per_row": 0.5}, 20.0),
    ("private", {"epsilon": 1.0, "delta": 0.0}, 1.0),
    ("private", {"epsilon": 1.5}, 1.5),
    ("marginals", {"epsilon": 1.0}, 1.0),
    ("table", {"epsilon": 1.0, "columns": ["sex", "dx"]}, 1.0),
]


def claimed(release: sf.Release) -> float:
    [claim] = [c for c in release.guarantee if c.differential]
    assert isinstance(claim, PureDP | ApproxDP)
    return claim.epsilon


@pytest.mark.parametrize(("method", "settings", "expected"), PRIVATE, ids=lambda v: str(v).replace(" ", ""))
def test_every_door_claims_the_same_epsilon(
    method: str, settings: dict[str, Any], expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"columns": ["sex", "region", "dx"], **settings}
    (tmp_path / "data.csv").write_text(rows(60))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    table = sf.scan("data.csv", "schema.toml")
    one = Step(method, {**settings, "rows": 40})
    spending = one.spends()
    assert spending.claimed and (spending.epsilon == pytest.approx(expected) or spending.rho is not None)
    python = sf.synthesize(table, one.build(), 40)
    plan = (
        sf.Plan.of("data.csv", [one], schema="schema.toml", assess={"skip": True}).run(tmp_path / "p").load()
    )
    words = spelt({**settings, "rows": 40})
    assert (
        command(["synthesize", "data.csv", "-s", "schema.toml", "-m", method, *words, "-o", "c", "-q"]) == 0
    )
    line = sf.Release.load(tmp_path / "c")
    candidate = as_candidate(one, _Around(None, None))
    drawn = candidate(table, sf.Key.fresh())
    assert isinstance(drawn, sf.Release)
    for release in (python, plan, line, drawn):
        assert claimed(release) == pytest.approx(expected)


# -- refusals at each door -------------------------------------------------------------------------------


def test_unknown_settings_are_named_with_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sf.ParameterError, match="time_limt") as caught:
        sf.step(sf.LocalRecoding(), time_limt=5)
    assert "time_limit" in caught.value.hint
    with pytest.raises(sf.ParameterError, match="no setting called efort") as caught:
        Step("local", {"efort": "fast"}).build()
    with pytest.raises(sf.PlanError, match="did you mean 'effort'"):
        sf.Plan.from_toml(
            'sfumato_plan = 2\n[input]\ndata = "d"\nschema = "s"\n[[steps]]\nmethod = "local"\nefort = 1'
        )
    assert command(["anonymize", "d.csv", "-o", "o", "--efort", "fast"]) == 2
    assert "--effort" in capsys.readouterr().err
    with pytest.raises(sf.ParameterError, match="no method is called that") as caught:
        sf.step("optmal", k=3)
    assert "optimal" in caught.value.hint


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("optimal", {"max_suppressed": 1.5}, "at most 1"),
        ("optimal", {"max_suppressed": "much"}, "must be a number"),
        ("local", {"effort": "heroic"}, "one of fast, thorough"),
        ("local", {"time_limit": 0}, "above 0"),
        ("local", {"work_limit": 0}, "at least 1"),
        ("private", {"epsilon": 0}, "at least 0.001"),
        ("dither", {"clustering": {"block": 1}}, "at least 2"),
        ("dither", {"clustering": {"blok": 4}}, "did you mean 'block'"),
        ("pegs", {"epsilon": 1.0, "models": {"cost": "cauchy"}}, "one of normal"),
        ("partial", {}, "needs 'columns'"),
        ("greedy", {"loss": "discernibility"}, "must be one of"),
        ("guided", {"target": "cost", "estimator": "trees"}, "in Python only"),
    ],
)
def test_values_out_of_range_are_refused_with_their_bounds(
    method: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(sf.ParameterError, match=words) as caught:
        Step(method, settings).build()
    assert caught.value.hint


def test_the_page_of_methods_is_what_they_declare() -> None:
    """sfumato methods --page > docs/methods.md"""
    page = Path(__file__).parents[2] / "docs" / "methods.md"
    assert page.read_text(encoding="utf-8") == methods_page()


def test_help_shows_what_was_declared() -> None:
    assert "What the whole release costs" in (inspect.getdoc(sf.PeGS) or "")
    assert plain_value(parameters(sf.OptimalRecoding)["loss"].parameter, sf.Loss()) == "loss"
