"""The driver: count, search, settle, write. It reads as what is done.

Guarantee: the claims of the criterion, with what the classes of the file reach (k = 7 where 5 was asked).
Because:   `settle` ends only when every class satisfies the criterion, and rows are written from the very
           pieces that were settled; a row that was not counted stops the writing.
Assumes:   an intruder knows the quasi-identifiers and nothing else, in particular does not work back from the
           search, which took the least general release it found; see the limits of each claim.
Tested by: tests/anonymization/test_releases.py::test_every_release_recounted_satisfies_its_criteria
           tests/anonymization/test_minimality.py (what the assumption is worth)
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.code_columns import CodeRequest, code_request, recode_columns
from sfumato.anonymization.defence import common, within_bounds
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.anonymization.record import about_of, extra_of, plain, tables_of
from sfumato.anonymization.register import Register
from sfumato.anonymization.request import Request, ask, refuse_posets, settle_hierarchies
from sfumato.anonymization.suppression import FinalClasses, settle
from sfumato.anonymization.writer import class_reader, released
from sfumato.criteria import Classes, Criterion, KAnonymity, KMAnonymity, KnownSearch, LDiversity
from sfumato.errors import ParameterError, SfumatoWarning, listed
from sfumato.hierarchy import Nested, read_folder
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import InternalRecord, Release, fingerprint
from sfumato.schema import Kind, Role
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.hierarchy import Hierarchy


class Search(Protocol):
    """A way to find what each combination becomes."""

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """A recoding whose classes satisfy the criterion, or whose rows are suppressed."""
        ...


@runtime_checkable
class Exchange(Protocol):
    """A way that changes values row by row instead, and promises something of its own."""

    def release(
        self,
        table: Table,
        criterion: Criterion,
        *,
        hierarchies: Mapping[str, Hierarchy] | None,
        key: Key | None,
    ) -> Release:
        """The release."""
        ...


def anonymize(
    table: Table,
    criterion: Criterion,
    *,
    method: Search | Exchange | None = None,
    hierarchies: Mapping[str, Hierarchy | Any] | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    max_level: Mapping[str, int] | None = None,
    drop: Sequence[str] = (),
    keep_text: bool = False,
    drop_rarer_than: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    register: Register | str | Path | None = None,
    key: Key | None = None,
    seed: int | None = None,
) -> Release:
    """Publish a table whose people hide among others: the least general one the method finds.

    method: the search; by default `OptimalRecoding()`, or `SimulatableRecoding()` where `KnownSearch` is
        asked. Methods that exchange values between rows instead
        (`ClusterResample` and its like) need no hierarchies.
    hierarchies: by column, a Hierarchy or a recipe for one; or a folder of level tables.
    quasi_identifiers: what an intruder may know; by default the columns of that role.
    weights: how much a column counts in the loss; max_level: how far it may be generalized, 0 not at all.
    drop: columns to leave out. Identifiers and the column of persons always are, free text unless
        keep_text: rows of one person that can be told to be the same person's are no longer alike.
    drop_rarer_than: leave out rows with a value in a quasi-identifier that fewer rows than this have.
    bounds: leave out rows whose number in a column lies outside [low, high].
    register: earlier releases of the same people; a release that would give them away together is refused.
    key: of everything that is drawn, such as the order of the rows; a fresh secret one if not given.
    seed: for tests and teaching; the order of the rows can then be undone.

    Rows are written batch by batch when the release is read or saved; they are counted now.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance", "health"])
    >>> release = sf.anonymize(
    ...     people,
    ...     sf.KAnonymity(5),
    ...     hierarchies=dict.fromkeys(["sex", "region", "insurance"], sf.hierarchy.Suppression()),
    ... )
    >>> release.guarantee.claims[0].title
    'k-anonymity with k = 15 rows'
    >>> release.data.columns
    ('sex', 'region', 'insurance', 'health')
    """
    method = _default(criterion) if method is None else method
    _refuse_mistaken(criterion, method, quasi_identifiers=quasi_identifiers, drop=drop)
    _refuse_telling(criterion, method, drop_rarer_than)
    codes, criterion = code_request(table, criterion, hierarchies, quasi_identifiers, drop)
    if codes is not None and (isinstance(method, Exchange) or hasattr(method, "claims")):
        raise KMAnonymity.refused()
    asks = criterion.parts if isinstance(criterion, Criterion) else ()
    if asks and all(isinstance(part, KAnonymity) and part.k == 1 for part in asks):
        warnings.warn("k = 1 promises nothing: ask for k = 2 or more.", SfumatoWarning, stacklevel=2)
    if key is not None and seed is not None:
        raise ParameterError("a key and a seed were given.", hint="give one of them")
    key = key or (Key.fresh() if seed is None else Key.from_seed(seed))
    table = within_bounds(table, bounds or {})
    if isinstance(method, Exchange):
        useless = {"weights": weights, "max_level": max_level, "drop_rarer_than": drop_rarer_than,
                   "register": register}  # fmt: skip
        return _exchanged(
            table, criterion, method, hierarchies, quasi_identifiers, drop, keep_text, useless, key, seed
        )
    if hierarchies is None:
        raise ParameterError(
            "generalizing needs hierarchies.", hint="hierarchies={'age': ...}, or a folder of level tables"
        )
    asked = ask(
        table, criterion, method, hierarchies, quasi_identifiers, weights or {}, max_level or {}, drop,
        keep_text, () if codes is None else codes.columns,
    )  # fmt: skip
    more = {} if codes is None else {"codes": codes.asked.describe()}
    plan = asked.plan(drop_rarer_than=drop_rarer_than, bounds=plain(bounds), **more)
    return _generalized(asked, method, drop_rarer_than, register, plan, key, seed, codes)


def _generalized(
    asked: Request,
    method: Search,
    drop_rarer_than: int | None,
    register: Register | str | Path | None,
    plan: dict[str, Any],
    key: Key,
    seed: int | None,
    codes: CodeRequest | None,
) -> Release:
    """Count, search, settle, write."""
    table, whole = asked.table, asked.compress()
    kept = common(whole, drop_rarer_than)
    problem = whole if kept.all() else whole.part(kept)
    _refuse_hopeless(problem, asked.criterion)
    start, busy = time.perf_counter(), time.process_time()
    recoding = method.search(problem, asked.criterion)
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - busy}
    own = method.claims(recoding) if hasattr(method, "claims") else None
    if own is not None and register is not None:
        raise ParameterError(
            "a register compares classes of k persons, and this release has none.",
            hint="closed=True, or no register",
        )
    made = _settled(table, recoding, asked, key) if own is None else _as_found(recoding)
    if isinstance(register, str | Path):
        register = Register(register)
    settled = made.settled if problem is whole else _back(made.settled, whole, kept)
    entry = register.check(table, settled, asked, key) if register is not None else None
    claims = asked.criterion.claims(made.classes, asked.known) if own is None else own
    coded = None if codes is None else recode_columns(
        codes, table, class_reader(table, settled, key), asked.known
    )  # fmt: skip
    claims += () if coded is None else coded.claims
    for sentence in getattr(method, "assumptions", ()):
        claims = tuple(c.assuming(sentence) for c in claims)
    if seed is not None:
        claims = tuple(
            c.assuming("Nobody guesses the seed: it tells the order the rows had.") for c in claims
        )
    claims += tuple(
        NoGuarantee("the search gives a column away", leak) for leak in getattr(method, "leaks", ())
    )
    record = InternalRecord(
        key=key,
        seed=seed,
        fingerprint=fingerprint(table, key),
        plan=plan,
        tables=tables_of(made.settled, made.classes, asked.chains, () if coded is None else coded.meanings),
        extra=extra_of(made.settled, recoding, whole, spent, asked.chains)
        | ({} if coded is None else {"code_sets": plain(coded.numbers)}),
    )
    data = released(table, settled, asked.released, key, chains=asked.chains, codes=coded)
    about = about_of(made.settled, hidden=own is None) + ("" if coded is None else coded.about)
    release = Release(data, Guarantee(claims), record, about, table.source)
    if register is not None and entry is not None:
        register.add(entry)
    return release


def _exchanged(
    table: Table,
    criterion: Criterion,
    method: Any,
    hierarchies: Mapping[str, Any] | str | Path | None,
    quasi_identifiers: Sequence[str] | None,
    drop: Sequence[str],
    keep_text: bool,
    useless: Mapping[str, object],
    key: Key,
    seed: int | None,
) -> Release:
    """A release by exchange; what it has no use for is refused: silence would look like consent."""
    named = [name for name, value in useless.items() if value]
    if named:
        raise ParameterError(
            f"{type(method).__name__} has no use for {listed(named)}.", hint="leave them out"
        )
    if quasi_identifiers is not None:
        method = replace(method, columns=tuple(quasi_identifiers))
    if keep_text:
        method = replace(method, keep_text=True)
    columns = method.columns or table.schema.of_role(Role.QUASI_IDENTIFIER)
    table.schema.require([*columns, *drop])
    found = read_folder(hierarchies, columns) if isinstance(hierarchies, str | Path) else hierarchies or {}
    lost = [repr(c) for c in (*columns, *criterion.sensitive) if c in drop]
    if lost:
        raise ParameterError(
            f"{listed(lost)} are to be left out, but something is asked of them.", hint="correct these"
        )
    nominal = {
        c: h
        for c, h in found.items()
        if c in columns and table.schema[c].kind is Kind.NOMINAL and not isinstance(h, Nested)
    }
    settled = settle_hierarchies(table, nominal, tuple(nominal)) if nominal else {}
    refuse_posets(method, criterion, settled)
    # What is looked at, but not to be released, goes last: whose rows they are, weights, the response.
    needed = {*table.schema.of_role(Role.PERSON), *table.schema.of_role(Role.WEIGHT)}
    needed |= {method.response, method.weight}
    first = table.drop([c for c in drop if c not in needed])
    release: Release = method.release(first, criterion, hierarchies=settled, key=key)
    left = release.data.drop([c for c in drop if c in release.columns])
    assert release.internal is not None
    return replace(release, data=left, internal=replace(release.internal, seed=seed))


def _refuse_mistaken(criterion: object, method: object, **names: object) -> None:
    """What is easily written by mistake, before anything is read."""
    if not isinstance(criterion, Criterion):
        raise ParameterError("what is asked must be a criterion.", hint="sf.KAnonymity(5)")
    if isinstance(method, type):
        raise ParameterError("the method is a class, not one of its kind.", hint=f"sf.{method.__name__}()")
    for name, given in names.items():
        if isinstance(given, str):
            raise ParameterError(f"{name} must be a list of names.", hint=f"{name}=['...']")


def _default(criterion: object) -> Search:
    """The search that is taken where none was named."""
    from sfumato.anonymization.optimal import OptimalRecoding
    from sfumato.anonymization.simulatable import SimulatableRecoding

    known = isinstance(criterion, Criterion) and any(isinstance(p, KnownSearch) for p in criterion.parts)
    return SimulatableRecoding() if known else OptimalRecoding()


def _refuse_telling(criterion: Criterion, method: object, drop_rarer_than: int | None) -> None:
    """A search that may be known: nothing may be decided by what the release does not show."""
    if not any(isinstance(part, KnownSearch) for part in criterion.parts):
        return
    if not getattr(method, "simulatable", False):
        raise ParameterError(
            f"{type(method).__name__} decides by more than the release shows: it tells who knows it.",
            hint="method=sf.SimulatableRecoding(); on the command line --method simulatable",
        )
    if drop_rarer_than is not None:
        raise ParameterError(
            "rows with rare values are to be left out, which says of all others that theirs are not rare.",
            hint="no drop_rarer_than",
        )


@dataclass(frozen=True, eq=False)
class _Made:
    settled: FinalClasses
    classes: Classes


def _settled(table: Table, recoding: Recoding, asked: Request, key: Key) -> _Made:
    """What is written, and its classes. Where alike rows part, the rows themselves are counted."""

    def count(settled: FinalClasses) -> Classes:
        inner = bool(asked.criterion.sensitive or asked.person or asked.criterion.weights)
        if not (settled.split and inner):
            whole = not settled.split
            matching = asked.criterion.matching
            return settled.classes(matching) if whole else _sizes(settled, matching)
        raise ParameterError(
            "this method parts rows that are alike, and the criterion looks at what is in the rows.",
            hint="use a method that keeps alike rows together, such as OptimalRecoding",
        )

    settled = settle(recoding, asked.criterion, count)
    if not len(settled.class_nodes):
        raise ParameterError(
            "nothing could be released: no class satisfies what was asked.",
            hint="ask for less, or allow higher levels",
        )
    beyond = settled.suppressed - int(recoding.n[recoding.suppressed].sum())
    assert not (beyond and asked.criterion.leaves_out), "what is left out was decided by the search alone"
    if beyond:
        warnings.warn(
            f"{beyond} rows more than the method had suppressed were withheld: without the rows that had to "
            "be left out, their classes no longer satisfied what was asked.",
            SfumatoWarning,
            stacklevel=3,
        )
    return _Made(settled, count(settled))


def _as_found(recoding: Recoding) -> _Made:
    """What a method without classes releases: as it is, under the claims the method makes itself."""
    label, sizes = recoding.classes()
    top = recoding.suppressed
    if top.any():
        label, sizes = np.where(top, len(sizes), label), np.append(sizes, recoding.n[top].sum())
    nodes = np.empty((len(sizes), recoding.nodes.shape[1]), np.int32)
    nodes[label] = recoding.nodes
    settled = FinalClasses(recoding.problem, recoding.of, recoding.n, recoding.nodes, label, nodes, top)
    return _Made(settled, Classes(sizes))


def _sizes(settled: FinalClasses, matching: bool = False) -> Classes:
    """Classes of pieces, by their rows alone."""
    kept = settled.label >= 0
    sizes = np.bincount(settled.label[kept], settled.n[kept], len(settled.class_nodes)).astype(np.int64)
    from sfumato.anonymization.classes import fitting, matching_rows

    problem = settled.problem
    return Classes(
        sizes,
        population=fitting(problem, settled.class_nodes) if problem.population is not None else None,
        matching=matching_rows(problem, settled.class_nodes, sizes) if matching else None,
    )


def _refuse_hopeless(problem: Problem, criterion: Criterion) -> None:
    """What cannot hold even where nobody is told apart cannot hold at all."""
    if not problem.rows:
        raise ParameterError("the table has no rows.", hint="give a table with rows")
    if problem.rows < criterion.k:
        raise ParameterError(
            f"the table has {problem.rows} rows, fewer than the {criterion.k} a class must have.",
            hint=_smaller(criterion),
        )
    root = np.array([[h.root for h in problem.hierarchies]], np.int32)
    together = classes_of(problem, np.zeros(problem.combinations, np.int64), root, matching=True)
    broken = [part.describe() for part in criterion.parts if not part.satisfied(together).all()]
    if broken:
        raise ParameterError(
            f"this cannot hold, even with all rows in one class: {'; '.join(broken)}.", hint="ask for less"
        )


def _smaller(criterion: Criterion) -> str:
    """Which number to lower: that of the part which asks for most rows."""
    most = max(criterion.parts, key=lambda part: part.k)
    if isinstance(most, LDiversity):
        return f"ask for a smaller l of '{most.column}'"
    return "ask for a smaller k"


def _back(settled: FinalClasses, whole: Problem, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> FinalClasses:
    """The pieces of the kept combinations, and those of the others, which are left out."""
    place = np.flatnonzero(kept)
    others = np.flatnonzero(~kept)
    root = np.array([h.root for h in whole.hierarchies], np.int32)
    of = np.concatenate([place[settled.of], others])
    order = np.argsort(of, kind="stable")
    return FinalClasses(
        whole,
        of[order],
        np.concatenate([settled.n, whole.n[others]])[order],
        np.concatenate([settled.nodes, np.tile(root, (len(others), 1))])[order],
        np.concatenate([settled.label, np.full(len(others), -1)])[order],
        settled.class_nodes,
        np.concatenate([settled.withheld, np.ones(len(others), bool)])[order],
    )
