"""The risk-utility map of the library's own methods: wires them to `assessment.frontier`, which knows none.

sf.frontier(table)                                             # what a newcomer meets first
sf.frontier(table, [sf.PrivateSynthesizer(epsilon=1.0), sf.step(sf.LocalRecoding(), k=10)])
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.frontier import Candidate, Frontier
from sfumato.assessment.frontier import frontier as draw
from sfumato.description.one_way import one_way, open_table
from sfumato.errors import DataError, ParameterError, listed
from sfumato.measures import entropy
from sfumato.methods.declaration import Declaration, Does, Need, declaration_of
from sfumato.methods.names import find, names
from sfumato.methods.requests import ASKING
from sfumato.plan.baselines import BASELINES
from sfumato.plan.production import Surroundings, produce
from sfumato.plan.proposal import suggested_hierarchies
from sfumato.plan.proposed_domain import is_public, with_proposed_domain, without_promise
from sfumato.plan.step import Step, step
from sfumato.release import Release
from sfumato.schema import Kind, Role
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

_K = 5  # asked of methods that make classes, where nothing else is
_MOST_KNOWN = 6  # columns that are taken to be known where nobody said what is
_NOTHING_KNOWN = (
    "No column was found that an intruder would know, so these are taken, which tell people apart best:"
)
_NAME_THEM = "Name those that matter: quasi_identifiers=[...]."


def frontier(
    table: Table | Release | DataLike,
    methods: Sequence[Any] | None = None,
    *,
    hierarchies: Mapping[str, Any] | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    **options: Any,
) -> Frontier:
    """Run every method several times and place each on the map of risk and utility.

    methods: any methods of the library as they are, steps (`sf.step(method, k=10)`), or candidates of your
        own, `Candidate(name, function, settings)`; by default a small grid between two end posts: pseudonyms
        only, and independent columns. Where nothing else is asked, classes have at least 5 people, and as
        many rows are synthesized as there are. Where a domain is not public, it is proposed from the
        data, and the release promises nothing.
    hierarchies: of the quasi-identifiers, or a folder of level tables; by default suggested from the values.
    quasi_identifiers: what an intruder may know; by their role if not given; where none has it, the columns
        that tell people apart best, which is then said.
    options: risk, utility, repeats, control, holdout, sensitive, cache, workers, stand_in, key: see
        `sfumato.assessment.frontier.driver.frontier`.

    >>> people = sf.samples.members(80).select(["sex", "region", "cost"])
    >>> found = sf.frontier(
    ...     people, [sf.ClusterResample()], quasi_identifiers=["sex", "region"], repeats=1, workers=1
    ... )
    >>> [point.name for point in found.points]
    ['resample']
    """
    from sfumato.assessment.reading.files import opened

    whole: Table = opened(table, "the table")
    remarks = []
    if quasi_identifiers is None and not whole.schema.of_role(Role.QUASI_IDENTIFIER):
        quasi_identifiers = _assumed_known(whole)
        shown = listed([repr(n) for n in quasi_identifiers], _MOST_KNOWN)
        remarks.append(f"{_NOTHING_KNOWN} {shown}. {_NAME_THEM}")
    around = _Around(hierarchies, None if quasi_identifiers is None else tuple(quasi_identifiers))
    chosen = default_steps() if methods is None else list(methods)
    runs = [as_candidate(one, around) for one in chosen]
    grid = [BASELINES[0], *runs, *BASELINES[1:]] if methods is None else runs
    return draw(whole, grid, quasi_identifiers=quasi_identifiers, remarks=remarks, **options)


def default_steps() -> list[Step]:
    """The library's own methods that propose settings for the map."""
    found: list[tuple[str, Declaration]] = [(name, declaration_of(find(name))) for name in names()]
    return [Step(name, dict(given)) for name, d in found for given in d.grid]


def _assumed_known(table: Table) -> list[str]:
    """What is taken to be known where nobody said it: the columns that tell people apart best."""
    apart = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
    wanted = [c.name for c in table.schema if c.role not in apart and c.kind not in (Kind.TEXT, Kind.CODES)]
    if not wanted:
        raise DataError(
            "no column is left that an intruder could know: they name people or records, or are free text.",
            hint="name some: quasi_identifiers=[...]",
        )
    counted, _ = one_way(open_table(table, wanted))
    telling = {name: entropy(counts.n) for name, counts in counted.items()}
    best = sorted(telling, key=lambda name: -telling[name])[:_MOST_KNOWN]
    return [name for name in wanted if name in best]


class _Around:
    """What all steps of a map find around them, and how a cache tells it from something else."""

    def __init__(
        self, hierarchies: Mapping[str, Any] | str | Path | None, known: tuple[str, ...] | None
    ) -> None:
        self._given = Path(hierarchies) if isinstance(hierarchies, str) else hierarchies
        self.known = known

    def of(self, table: Table) -> Surroundings:
        """For one table: hierarchies are suggested from its values where none are given."""
        given = suggested_hierarchies(table) if self._given is None else self._given
        return Surroundings(hierarchies=given)

    def __repr__(self) -> str:
        return f"{self._digest()} {self.known!r}"

    def _digest(self) -> str:
        """What the level tables say, so that a cached result is not taken for that of other tables."""
        if not isinstance(self._given, Path):
            return repr(self._given)
        found = hashlib.blake2b(digest_size=16)
        for path in sorted(p for p in self._given.glob("*") if p.is_file()):
            found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return found.hexdigest()


def as_candidate(method: object, around: _Around) -> Any:
    """A method, or a step, as something that the map can run; a candidate stays as it is."""
    if not isinstance(method, Step) and _runs_by_itself(method):
        return method
    one = method if isinstance(method, Step) else step(method)
    declared = one.declaration
    if declared.does is Does.FIT or "map" in declared.closed:
        why = declared.closed.get("map", "a score is not a file of rows")
        raise ParameterError(
            f"{one.method} has no place on the map: {why}.", hint="methods that make a release"
        )
    one.build()  # what is wrong with it is said before anything is run
    if declared.does in (Does.GENERALIZE, Does.EXCHANGE) and not set(ASKING) & set(one.settings):
        one = replace(one, settings={**one.settings, "k": _K})
    return Candidate(one.method, partial(_made, method=one.method, around=around), dict(one.settings))


def _runs_by_itself(method: object) -> bool:
    named = isinstance(getattr(method, "name", None), str)
    return named and isinstance(getattr(method, "settings", None), Mapping) and callable(method)


def _made(table: Table, key: Key, *, method: str, around: _Around, **settings: object) -> Release:
    """One release of one step, as a run of a plan makes it."""
    one = Step(method, settings)
    proposed = False
    if one.declaration.does is Does.SYNTHESIZE:
        if "columns" not in settings:  # cells of several codes and texts are left out
            table = table.select([c.name for c in table.schema if c.kind not in (Kind.CODES, Kind.TEXT)])
        proposed = Need.PUBLIC_DOMAIN in one.declaration.needs and not is_public(table)
        if proposed:
            table = with_proposed_domain(table)
        if not one.declaration.own_rows or method == "private":
            one = replace(one, settings={"rows": table.rows(), **settings})
    elif around.known is not None:
        table = _with_known(table, around.known)
    release = produce(one, table, around.of(table), key=key)
    return without_promise(release) if proposed else release


def _with_known(table: Table, known: tuple[str, ...]) -> Table:
    """The table in which exactly these are quasi-identifiers: others of that role would be left out."""
    schema = table.schema
    for column in table.schema:
        if column.name in known:
            schema = schema.with_(column.name, role=Role.QUASI_IDENTIFIER)
        elif column.role is Role.QUASI_IDENTIFIER:
            schema = schema.with_(column.name, role=Role.OTHER)
    return table.with_schema(schema)
