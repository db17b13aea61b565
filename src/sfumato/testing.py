"""A conformance kit for methods: whoever writes one lets it be tried here, as we do with ours.

    sfumato.testing.check_method(MyMethod(base=5))

    @pytest.mark.parametrize("check", sfumato.testing.checks(MyMethod(base=5)), ids=str)
    def test_my_method(check):
        check()

It tries what the method declares and refuses, whether a key decides what it draws, whether its release keeps
what it claims, and whether something of the original is in `public/`. What a file cannot show, no kit can.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import ParameterError, SfumatoError, SfumatoWarning, listed
from sfumato.hierarchy import Hierarchy, Intervals
from sfumato.methods.declaration import Declaration, Does, Need, declaration_of, spending_of
from sfumato.methods.parameters import Field, parameters, plain_value, undeclared
from sfumato.methods.requests import REQUESTS
from sfumato.methods.settings import build, is_plain, plain_settings
from sfumato.methods.shapes import Flag, ListOf, Number, Record, Shape, TableOf, Text, described
from sfumato.plan.production import Surroundings, produce
from sfumato.plan.step import Step, step
from sfumato.privacy import ZCDP, ApproxDP, Claim, ForeignClaim
from sfumato.privacy.account import Account
from sfumato.privacy.differential import to_approx
from sfumato.release import Outcome, Release, verify
from sfumato.schema import Column, Kind, Provenance, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

_MADE_UP = Provenance.declared("sfumato.testing", "made up for the test")
_WORK = {Does.GENERALIZE: "search", Does.EXCHANGE: "release", Does.REPLACE: "release"}
_SHORTEST = 6  # a shorter text may be in a file by chance
_MOST = 2_000  # values that are looked for


@dataclass(frozen=True)
class MethodCheck:
    """One thing that is tried of a method; called, it raises an AssertionError with all that was found."""

    name: str
    _faults: Callable[[], list[str]] = field(repr=False)

    def __str__(self) -> str:
        return self.name

    def faults(self) -> list[str]:
        """What was found, one sentence each."""
        return self._faults()

    def __call__(self) -> None:
        """Try it."""
        found = self.faults()
        if found:
            raise AssertionError(f"{self.name}: " + "; ".join(found))


def check_method(
    method: object, table: Table | None = None, *, hierarchies: Mapping[str, Any] | None = None, **asked: Any
) -> None:
    """Try a method in every way, and say all that is wrong with it at once, as an AssertionError.

    table: that it is tried on; by default `example_table()`, with identifiers and free text that must not
        leave. hierarchies: of its columns, for methods that need some.
    asked: what is asked beside the method; by default k=5, or rows=60.
    """
    found = [
        f"{c.name}: {fault}"
        for c in checks(method, table, hierarchies=hierarchies, **asked)
        for fault in c.faults()
    ]
    if found:
        what = type(method).__name__
        raise AssertionError(f"{what} fails {len(found)} checks:\n" + "\n".join(f"- {f}" for f in found))


def checks(
    method: object, table: Table | None = None, *, hierarchies: Mapping[str, Any] | None = None, **asked: Any
) -> list[MethodCheck]:
    """The same, one by one, for the parameters of a test; of methods that release no table, the first two."""
    declared = declaration_of(method)
    if isinstance(method, type):
        raise ParameterError("the kit tries a method, not its class.", hint=f"{method.__name__}()")
    trials: dict[str, Callable[[_Trial], Iterator[str]]] = {"declaration": _declared, "refusals": _refusals}
    if declared.does not in (Does.FIT, Does.PEOPLE):  # a model, and linked tables: this kit's table is one
        trials |= {"determinism": _determinism, "guarantee": _guarantee, "public part": _public}
    if table is None:
        table, hierarchies = example_table(), hierarchies or _example_hierarchies()
        if declared.does is Does.SYNTHESIZE:  # who synthesizes refuses free text, or keeps what was kept
            table = table.drop(["note"])
    trial = _Trial(method, declared, table, hierarchies or {}, asked)
    return [MethodCheck(f"{declared.name}, {name}", _tried(trial, run)) for name, run in trials.items()]


def _tried(trial: _Trial, run: Callable[[_Trial], Iterator[str]]) -> Callable[[], list[str]]:
    """An error is a finding too; what the method warns of is not."""

    def faults() -> list[str]:
        found: list[str] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            try:
                found += run(trial)
            except SfumatoError as error:
                found.append(f"it refuses to work here: {error}")
            except Exception as error:  # the table is made up, or the author's own: its words may be shown
                found.append(f"it breaks: {type(error).__name__}: {error}")
        return found

    return faults


@dataclass(frozen=True)
class _Trial:
    method: Any
    declared: Declaration
    table: Table
    hierarchies: Mapping[str, Any]
    asked: Mapping[str, Any]

    @cached_property
    def step(self) -> Step:
        """The method with what is asked of it."""
        asked = dict(self.asked)
        if self.declared.does in (Does.GENERALIZE, Does.EXCHANGE):
            asked = asked or {"k": 5}
        elif self.declared.does is Does.SYNTHESIZE and not self.declared.own_rows:
            asked.setdefault("rows", 60)
        elif self.declared.does is Does.TABULATE:
            asked.setdefault("by", ["region,diagnosis"])
        return step(self.method, **asked)

    @cached_property
    def key(self) -> Key:
        """A secret one, the same for the whole trial."""
        return Key.fresh()

    def release(self, key: Key) -> Release:
        """What the method makes of the table, by the one way through the house."""
        generalizes = self.declared.does is Does.GENERALIZE
        around = Surroundings(hierarchies=self.hierarchies if generalizes else None)
        return produce(self.step, self.table, around, key=key)

    @cached_property
    def saved(self) -> tuple[tempfile.TemporaryDirectory[str], Release, Path]:
        """A release and where it lies, until the trial is forgotten."""
        place = tempfile.TemporaryDirectory(prefix="sfumato-kit-")
        release = self.release(self.key)
        return place, release, release.save(Path(place.name) / "release")


# -- a table to try on ---------------------------------------------------------------------------------


def example_table(rows: int = 240) -> Table:
    """Invented people: an identifier and free text that must not leave, and five public columns."""
    draw = Key.from_seed(7).generator("people of the kit")
    age, region = draw.integers(0, 60, rows) + 20, draw.integers(0, 4, rows)
    ill = draw.integers(0, 3, rows)
    cost = [None if n % 9 == 0 else int(c) for n, c in enumerate(100 + 50 * ill + draw.integers(0, 90, rows))]
    data = pa.table(
        {
            "id": [f"canary-id-{n:05d}" for n in range(rows)],
            "note": [f"canary-note-{n:05d}: called on a Monday" for n in range(rows)],
            "age": pa.array(age, pa.int64()),
            "sex": [("female", "male")[n % 2] for n in range(rows)],
            "region": [("east", "north", "south", "west")[r] for r in region],
            "diagnosis": [("flu", "gout", "none")[i] for i in ill],
            "cost": pa.array(cost, pa.int64()),
        }
    )
    known, public = Role.QUASI_IDENTIFIER, partial(Column, provenance=_MADE_UP, missing=False)
    columns = (
        Column("id", Kind.NOMINAL, Role.IDENTIFIER),
        Column("note", Kind.TEXT),
        public("age", Kind.NUMERIC, known, "integer", edges=tuple(range(20, 81, 10))),
        public("sex", Kind.NOMINAL, known, levels=("female", "male")),
        public("region", Kind.NOMINAL, known, levels=("east", "north", "south", "west")),
        public("diagnosis", Kind.NOMINAL, Role.SENSITIVE, levels=("flu", "gout", "none")),
        Column("cost", Kind.NUMERIC, type="integer", edges=(100, 150, 200, 250, 300), provenance=_MADE_UP),
    )
    return Table.from_arrow(data, Schema(columns))


def _example_hierarchies() -> dict[str, Any]:
    halves = {"east": "south-east", "south": "south-east", "north": "north-west", "west": "north-west"}
    return {
        "age": Intervals((10, 20)),
        "sex": Hierarchy.of_rows([["female", "*"], ["male", "*"]]),
        "region": Hierarchy.of_rows([[name, half, "*"] for name, half in halves.items()]),
    }


# -- what it declares ----------------------------------------------------------------------------------


def _declared(trial: _Trial) -> Iterator[str]:
    kind, declared = type(trial.method), trial.declared
    if not declared.page:
        yield "it names no page where it is described"
    work = _WORK.get(declared.does, "fit")
    if declared.does is not Does.TABULATE and not callable(getattr(kind, work, None)):
        yield f"it says that it does '{declared.does}' and has no {work}()"
    for name in undeclared(kind):
        yield f"its constructor takes '{name}', of which nothing is declared"
    for name in sorted(set(parameters(kind)) & set(parameters(REQUESTS[declared.does]))):
        yield f"its '{name}' is asked beside the method already"
    for each in parameters(kind).values():
        yield from _field_faults(each)
    yield from _round_trip(trial.method)


def _field_faults(each: Field) -> Iterator[str]:
    parameter, default = each.parameter, each.plain_default
    if not parameter.doc.strip():
        yield f"'{each.name}' has no words"
    json.dumps(described(parameter.shape))
    given = default not in (None, "", [], {})  # empty: nothing is given
    if given and is_plain(default) and not parameter.python_only:
        for _, words in parameter.shape.faults(default, (each.name,)):
            yield f"the default of '{each.name}' is not what it may be: it {words}"


def _round_trip(method: object) -> Iterator[str]:
    kind, plain = type(method), plain_settings(method)
    if all(map(is_plain, plain.values())) and plain_settings(build(kind, plain)) != plain:
        yield "its settings, written down and read again, make another method"
    given = {n: plain_value(f.parameter, getattr(method, n)) for n, f in parameters(kind).items()}
    given = {n: v for n, v in given.items() if v not in (None, "", [], {}) and is_plain(v)}
    open_ = {n: v for n, v in given.items() if not parameters(kind)[n].parameter.python_only}
    for name, value in open_.items():
        again = getattr(build(kind, {**plain, name: value}), name)
        if plain_value(parameters(kind)[name].parameter, again) != value:
            yield f"'{name}', written down and read again, is another"


def _refusals(trial: _Trial) -> Iterator[str]:
    kind, plain = type(trial.method), plain_settings(trial.method)
    yield from _refused(lambda: build(kind, {**plain, "no-such-setting": 1}), "an unknown setting")
    now = {name: getattr(trial.method, name) for name in parameters(kind)}
    for each in parameters(kind).values():
        if each.parameter.python_only:
            continue
        for bad, words in _wrong(each.parameter.shape):
            what = f"'{each.name}' that is {words}"
            yield from _refused(lambda n=each.name, v=bad: build(kind, {**plain, n: v}), what)  # type: ignore[misc]
            if isinstance(each.parameter.shape, Number) and trial.declared.does is not Does.FIT:
                # An estimator keeps what it was given until it is fitted, as scikit-learn's do.
                given = {**now, each.name: bad}
                yield from _refused(lambda given=given: kind(**given), f"{what}, in Python")  # type: ignore[misc]


def _wrong(shape: Shape) -> Iterator[tuple[Any, str]]:
    """Values just outside what a shape allows, and what is wrong with them."""
    if isinstance(shape, Number):
        small = 1 if shape.whole else 1e-6
        if shape.least is not None:
            low = shape.least if shape.above else shape.least - small
            yield int(low) if shape.whole else low, f"below {shape.least:g}"
        if shape.most is not None:
            high = shape.most + max(small, abs(shape.most) * 1e-6)
            yield math.ceil(high) if shape.whole else high, f"above {shape.most:g}"
        yield math.nan, "not a number"
        yield "three", "text"
        if shape.whole:
            yield (shape.least or 0) + 1.5, "not whole"
    elif isinstance(shape, Text):
        yield 3, "a number"
        if shape.choices:
            yield "no-such-choice", "none of its choices"
    elif isinstance(shape, Flag):
        yield "perhaps", "neither true nor false"
    elif isinstance(shape, ListOf | TableOf | Record):
        yield 3, "a number"


def _refused(attempt: Callable[[], Any], what: str) -> Iterator[str]:
    try:
        attempt()
    except ParameterError as error:
        if not error.hint:
            yield f"it refuses {what} without a hint"
    except Exception as error:
        yield f"{what} ends in a {type(error).__name__}, not in a ParameterError"
    else:
        yield f"it takes {what}"


def _determinism(trial: _Trial) -> Iterator[str]:
    """The same key gives the same rows. Noise comes from no key: what was fitted once is sampled twice."""
    if trial.declared.does is Does.TABULATE and spending_of(trial.method, None).claimed:
        return
    make: Callable[[Key], Release]
    if trial.declared.does is Does.SYNTHESIZE:
        fitted, rows = trial.step.build().fit(trial.table), trial.step.request().rows
        make = lambda key: fitted.sample(rows, key=key)  # noqa: E731
    else:
        make = trial.release
    first = make(trial.key).data.to_arrow()
    if not first.equals(make(trial.key).data.to_arrow()):
        yield "the same key gives other rows"
    draws = Need.KEY in trial.declared.needs or trial.declared.does is Does.SYNTHESIZE
    if draws and first.num_rows and first.equals(make(Key.fresh()).data.to_arrow()):
        yield "another key gives the same rows: nothing is drawn from it"


# -- what it claims ------------------------------------------------------------------------------------


def _guarantee(trial: _Trial) -> Iterator[str]:
    """Counted again from the file that was written, by code that knows nothing of the method."""
    _, release, folder = trial.saved
    found = verify(folder, trusted=[], guests=True)
    yield from (f"recounted, {c.subject} is not so: {c.detail or c.how}" for c in found.failures)
    claims = release.guarantee.claims
    if not claims:
        yield "its release claims nothing; say NoGuarantee where nothing is promised"
    own = [c for c in claims if not isinstance(c, Account)]  # who pays is said for every method
    named = {c.kind if isinstance(c, ForeignClaim) else type(c).__name__ for c in own}
    stray = sorted(named - set(trial.declared.claims))
    if stray:
        yield f"its release claims what is not declared: {listed(stray)}"
    foreign = {c.title for c in claims if isinstance(c, ForeignClaim)}
    for check in found.claims:
        if check.subject in foreign and check.outcome not in (Outcome.PASSED, Outcome.FAILED):
            yield f"nobody can count '{check.subject}' again: {check.detail}"
    yield from _spending(trial, [c for c in claims if c.differential and not c.scope])


def _spending(trial: _Trial, claims: list[Claim]) -> Iterator[str]:
    """What is written in the guarantee is what was said before anything was drawn."""
    spending = spending_of(trial.step.build(), trial.step.settings.get("rows"))
    if claims and not spending.claimed:
        yield "it claims differential privacy, and spends() says that it claims none"
    if spending.claimed and not claims:
        yield "spends() says that it claims differential privacy, and its release claims none"
    for name, amount in spending.amounts().items() if claims else ():
        if not any(_says(c, name, amount) for c in claims):
            yield f"spends() says {name} = {amount:g}, and its release claims another"


def _says(claim: Claim, name: str, amount: float) -> bool:
    """Whether a claim says that so much was spent; of a rho, also as what it comes to at a delta."""
    if name == "rho" and isinstance(claim, ApproxDP):
        name, amount = "epsilon", to_approx(ZCDP(amount), claim.delta).epsilon
    return math.isclose(float(getattr(claim, name, math.nan)), amount, rel_tol=1e-9)


# -- what leaves ---------------------------------------------------------------------------------------


def _public(trial: _Trial) -> Iterator[str]:
    """No value that names people, no free text, no key: neither as bytes of a file nor in a cell."""
    _, release, folder = trial.saved
    paths = sorted(p for p in (folder / "public").rglob("*") if p.is_file())
    hidden = _hidden(trial.table)
    rows = Release.load(folder).data.to_arrow()
    cells = "\n".join({str(v) for name in rows.column_names for v in rows[name].to_pylist()})
    held = {n: sum(v in cells for v in found) for n, found in hidden.items()}
    yield from (f"{n} values of '{name}' are in the released rows" for name, n in held.items() if n)
    record = release.internal
    secrets = [trial.key, *([record.key, *record.keys.values()] if record is not None else ())]
    for path in paths:
        name, raw = path.relative_to(folder).as_posix(), path.read_bytes()
        for column, values in hidden.items():
            if n := sum(value.encode() in raw for value in values):
                yield f"{n} values of '{column}' are in {name}"
        if any(form in raw for key in secrets for form in _forms(key)):
            yield f"a key is in {name}"


def _hidden(table: Table) -> dict[str, list[str]]:
    """The values that must not leave, by column."""
    naming = (Role.IDENTIFIER, Role.PERSON)
    columns = [c.name for c in table.schema if c.role in naming or c.kind is Kind.TEXT]
    rows = table.to_arrow().select(columns)
    found = {n: dict.fromkeys(str(v) for v in rows[n].drop_null().to_pylist()) for n in columns}
    return {n: [v for v in values if len(v) >= _SHORTEST][:_MOST] for n, values in found.items()}


def _forms(key: Key) -> list[bytes]:
    """How the secret part of a key may be written."""
    secret = key.to_bytes()[-32:]
    return [secret, secret.hex().encode(), b64encode(secret).rstrip(b"=")]
