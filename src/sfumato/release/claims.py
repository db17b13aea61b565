"""Each claim of a release, looked for in the file itself.

Nothing here trusts the code that made the release: what a file can show is counted again, over the
values as they stand in it. What it cannot show is said to be invisible, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato import criteria
from sfumato.counts import Counts, merged
from sfumato.errors import listed, printable
from sfumato.privacy import (
    ZCDP,
    Accounted,
    AlphaK,
    ApproxDP,
    BoundedReidentification,
    Claim,
    ConsistentTotals,
    DiverseLaw,
    ForeignClaim,
    HiddenCells,
    JAnonymity,
    KAmbiguity,
    KAnonymity,
    KMAnonymity,
    KMap,
    KnownSearch,
    LDiversity,
    NoGuarantee,
    Pseudonymous,
    PureDP,
    TCloseness,
    Unaccounted,
)
from sfumato.privacy.foreign import recounted
from sfumato.privacy.guarantee import KINDS
from sfumato.privacy.guest_claims import vouched
from sfumato.privacy.signatures import Trust
from sfumato.progress import report
from sfumato.release.checks import Outcome, VerificationCheck
from sfumato.release.code_sets import recount_rows
from sfumato.release.hidden_cells import recount_cells, totals_add_up
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

_PSEUDONYM = r"^[A-Z2-7]{32}$"
_NOT_OURS = "not ours, not recounted"
_RECOUNTED = "recounted from the file"
_SLACK = 1e-9  # sums of logarithms and shares are rounded

_MECHANISM = "it is a promise about how the file was made, not about what is in it"
_UNSEEN: dict[type[Claim], str] = {
    KMap: "the population it counts in is not part of the release",
    JAnonymity: "the population model it rests on is not part of the release",
    KnownSearch: _MECHANISM,
    KAmbiguity: "the original rows that each released row covers are not part of the release",
    BoundedReidentification: _MECHANISM,
    DiverseLaw: "it is about the law the values were drawn from; one draw does not show it",
    PureDP: _MECHANISM,
    ApproxDP: _MECHANISM,
    ZCDP: _MECHANISM,
    NoGuarantee: "nothing is promised",
    Accounted: "the ledger is not part of the release: sfumato ledger check LEDGER --against RELEASE",
    Unaccounted: "no ledger was debited",
}


def check_claim(
    claim: Claim, table: Table, *, guests: bool = False, trust: Trust | None = None
) -> VerificationCheck:
    """What the file says about one claim.

    guests: whether to ask the package of a claim that is not ours. trust: whose word counts for its words.
    """
    if isinstance(claim, ForeignClaim):
        return _foreign(claim, table, guests, trust or Trust())
    if claim.scope:
        return unseen(claim, f"it is about {claim.scope} alone")
    if not _countable(claim):
        return unseen(claim, _UNSEEN.get(type(claim), "this version knows no way to count it"))
    columns = [n for part in ("columns", "sensitive", "codes") for n in getattr(claim, part, ())]
    absent = [repr(c) for c in columns if c not in table.schema]
    if absent:
        return VerificationCheck(claim.title, Outcome.FAILED, _RECOUNTED, f"the data lacks {listed(absent)}")
    if claim.unit.of == "person" and (
        len(table.schema.of_role(Role.PERSON)) != 1 or isinstance(claim, KMAnonymity)
    ):
        return unseen(claim, "the file does not say which rows belong to the same person")
    if isinstance(claim, TCloseness) and claim.distance == "ordered" and not _in_order(claim, table):
        return unseen(claim, "the file does not say in which order the values are")
    holds, detail = _recount(claim, table)
    return VerificationCheck(claim.title, Outcome.PASSED if holds else Outcome.FAILED, _RECOUNTED, detail)


def _countable(claim: Claim) -> bool:
    if isinstance(claim, TCloseness):  # the hierarchy of the values is not part of the release
        return claim.distance in ("equal", "ordered")
    return isinstance(
        claim, AlphaK | ConsistentTotals | HiddenCells | KAnonymity | KMAnonymity | LDiversity | Pseudonymous
    )


def _in_order(claim: TCloseness, table: Table) -> bool:
    columns = [table.schema[s] for s in claim.sensitive]
    return all(c.kind in (Kind.NUMERIC, Kind.DATE) or c.levels is not None for c in columns)


def _recount(claim: Claim, table: Table) -> tuple[bool, str]:
    match claim:
        case KAnonymity():
            return _k_anonymity(claim, table)
        case AlphaK():
            return _alpha_k(claim, table)
        case LDiversity():
            return _l_diversity(claim, table)
        case TCloseness():
            return _t_closeness(claim, table)
        case KMAnonymity():
            return recount_rows(claim, table)
        case Pseudonymous():
            return _pseudonymous(claim, table)
        case HiddenCells():
            return recount_cells(claim, table)
        case ConsistentTotals():
            return totals_add_up(claim, table)
    raise AssertionError("only countable claims come here")


def _foreign(claim: ForeignClaim, table: Table, guests: bool, trust: Trust) -> VerificationCheck:
    """Nothing of another package is loaded unless somebody asks for it: a release must not make code run."""
    stands, who = vouched(claim, trust)
    if stands is False:
        return VerificationCheck(claim.title, Outcome.FAILED, _NOT_OURS, who)
    why = f"it is a claim of {claim.package}, which is asked only with guests (--guests)"
    holds, detail = recounted(claim, table, KINDS) if guests else (None, why)
    if holds is None:
        why = f"because {printable(detail)}; {printable(who)}"
        return VerificationCheck(claim.title, Outcome.UNSEEN, _NOT_OURS, why)
    how = f"recounted by {claim.package}, not by Sfumato"
    found = f"{printable(detail)}; {printable(who)}" if claim.signature else printable(detail)
    return VerificationCheck(claim.title, Outcome.PASSED if holds else Outcome.FAILED, how, found)


def unseen(claim: Claim, reason: str) -> VerificationCheck:
    """A claim no file can show, and why."""
    return VerificationCheck(claim.title, Outcome.UNSEEN, "not visible in a file", f"because {reason}")


# -- counting as the file stands -----------------------------------------------------------------


def _plain(table: Table, columns: list[str], said: Sequence[str] = ()) -> Table:
    """Values as they stand: no bins, no missing codes, no order of codes that the schema could give them.

    said: sensitive columns, in which the same codes in another order are the same value.
    """
    plain = [
        Column(
            c.name,
            Kind.CODES if c.kind is Kind.CODES and c.name in said else Kind.NOMINAL,
            type=c.type,
            separator=c.separator,
            ignore_case=c.ignore_case,
        )
        for c in table.schema.select(columns)
    ]
    return table.with_schema(Schema(tuple(plain)))


def _counted(claim: Claim, table: Table, columns: list[str]) -> Counts:
    """Rows, or different persons, per combination of values; missing is a value of its own.

    Spellings of a sensitive value or of an id are one (`counts.spelling`); quasi-identifiers count as they
    stand, since an intruder sees them so.
    """
    said = [c for c in columns if c in getattr(claim, "sensitive", ())]
    if claim.unit.of == "row":
        return merged(_plain(table, columns, said).counts(*columns), *said)
    person = table.schema.of_role(Role.PERSON)[0]
    counts = _plain(table, list(dict.fromkeys([*columns, person])), said).counts(*columns, person)
    counts = merged(counts, *said, person)
    # Each person once per combination. Rows without a person may be those of one already counted: they
    # count only where nobody is named, and then as one. Missing is the last code and cells are sorted.
    keys, nameless = counts.codes[:, :-1], counts.codes[:, -1] == len(counts.codebooks[-1].levels)
    beside = np.append(False, (keys[1:] == keys[:-1]).all(axis=1))[: counts.cells]
    kept = keys[~(nameless & beside)]
    return Counts.of_cells(counts.codebooks[:-1], kept, np.ones(len(kept), np.int64))


def _groups(counts: Counts, first: int) -> Iterator[NDArray[np.int64]]:
    """For each combination of the first columns, the counts over the rest. Cells are sorted already."""
    keys = counts.codes[:, :first]
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
    yield from np.split(counts.n, starts[1:])


# -- one recount per claim -----------------------------------------------------------------------


def _k_anonymity(claim: KAnonymity, table: Table) -> tuple[bool, str]:
    counts = _counted(claim, table, list(claim.columns))
    if claim.matching:
        return _matching(claim, counts)
    asked = criteria.KAnonymity(claim.k)
    things = "persons" if claim.unit.of == "person" else "rows"
    if not counts.cells:
        return True, "the file has no rows"
    return asked.holds(counts), f"the smallest of {counts.cells} classes has {asked.measure(counts)} {things}"


def _matching(claim: KAnonymity, counts: Counts) -> tuple[bool, str]:
    """Every class against every other; an empty cell or a * matches any value, on either side."""
    if not counts.cells:
        return True, "the file has no rows"
    free = np.stack(
        [
            np.array([v in (None, "*") for v in book.decode(counts.codes[:, j]).to_pylist()])
            for j, book in enumerate(counts.codebooks)
        ],
        axis=1,
    )
    least = int(counts.total)  # what a row that fits all of them fits
    for at, i in enumerate(np.argsort(counts.n, kind="stable")):
        if counts.n[i] >= least:  # it fits itself, and so do all that come after it
            break
        report("comparing classes", at, counts.cells)
        fits = ((counts.codes == counts.codes[i]) | free | free[i]).all(axis=1)
        least = min(least, int(counts.n[fits].sum()))
    return least >= claim.k, f"the row that fits fewest of {counts.cells} classes fits {least} rows"


def _alpha_k(claim: AlphaK, table: Table) -> tuple[bool, str]:
    classes = _counted(claim, table, list(claim.columns))
    if not classes.cells:
        return True, "the file has no rows"
    most = 0.0
    for sensitive in claim.sensitive:
        counts = _counted(claim, table, [*claim.columns, sensitive])
        # Of the class, not of the groups' sum: a person with two values is in two of them.
        shares = zip(_groups(counts, len(claim.columns)), classes.n, strict=True)
        most = max(most, *(float(n.max() / size) for n, size in shares))
    least, things = int(classes.n.min()), "persons" if claim.unit.of == "person" else "rows"
    holds = least >= claim.k and most <= claim.alpha + _SLACK
    return holds, f"the smallest class has {least} {things}, the largest share of a value is {most:.6g}"


def _l_diversity(claim: LDiversity, table: Table) -> tuple[bool, str]:
    def diversity(n: NDArray[np.int64]) -> float:
        shares = n / n.sum()
        if claim.kind == "distinct":
            return len(n)
        if claim.kind == "entropy":
            return float(np.exp(-(shares * np.log(shares)).sum()))
        ordered = np.sort(n)[::-1]  # recursive: the most frequent against the tail, in multiples of c
        tail = (claim.c or 0) * ordered[int(claim.l) - 1 :].sum()
        return claim.l if ordered[0] < tail else 0

    least = _least(claim, table, diversity)
    if least is None:
        return True, "the file has no rows"
    if claim.kind == "recursive":
        return least > 0, "every class keeps the bound" if least > 0 else "a class breaks the bound"
    return least >= claim.l - _SLACK, f"the least diverse class has l = {least:.6g}"


def _least(claim: LDiversity, table: Table, diversity: Callable[[NDArray[np.int64]], float]) -> float | None:
    found = [
        diversity(group)
        for sensitive in claim.sensitive
        for counts in [_counted(claim, table, [*claim.columns, sensitive])]
        if counts.cells
        for group in _groups(counts, len(claim.columns))
    ]
    return min(found) if found else None


def _t_closeness(claim: TCloseness, table: Table) -> tuple[bool, str]:
    worst = 0.0
    for sensitive in claim.sensitive:
        counts = _counted(claim, table, [*claim.columns, sensitive])
        if not counts.cells:
            return True, "the file has no rows"
        place = _ranks(counts, table) if claim.distance == "ordered" else np.arange(counts.shape[-1])
        level = place[counts.codes[:, -1]]
        whole = np.bincount(level, counts.n) / counts.n.sum()
        start = 0
        for n in _groups(counts, len(claim.columns)):
            share = np.zeros_like(whole)
            share[level[start : start + len(n)]] = n / n.sum()
            gap = share - whole
            if claim.distance == "ordered":
                far = np.abs(np.cumsum(gap)[:-1]).sum() / max(len(gap) - 1, 1)
            else:
                far = np.abs(gap).sum() / 2
            worst = max(worst, float(far))
            start += len(n)
    return worst <= claim.t + _SLACK, f"the farthest class is at distance {worst:.6g}"


def _ranks(counts: Counts, table: Table) -> NDArray[np.int64]:
    """The rank of each value that occurs: as the schema lists them, or by size; missing comes last."""
    book = counts.codebooks[-1]
    declared = [str(v) for v in table.schema[book.name].levels or ()]
    texts = [str(v) for v in book.levels.to_pylist()]
    order = np.arange(counts.shape[-1])
    if declared:
        order[: len(texts)] = [declared.index(t) if t in declared else len(declared) for t in texts]
        order[len(texts) :] = len(declared) + 1
    occurring = np.unique(counts.codes[:, -1])
    ranks = np.full(counts.shape[-1], -1, np.int64)
    ranks[occurring[np.argsort(order[occurring], kind="stable")]] = np.arange(len(occurring))
    return ranks


def _pseudonymous(claim: Pseudonymous, table: Table) -> tuple[bool, str]:
    """Every value has the form of a pseudonym. That it is keyed shows in the record, not in the file."""
    wrong = dict.fromkeys(claim.columns, 0)
    for batch in _plain(table, list(claim.columns)).batches():
        for name in claim.columns:
            cells = batch.column(name).drop_null().cast(pa.string())
            alike = pc.sum(pc.match_substring_regex(cells, _PSEUDONYM)).as_py() or 0
            wrong[name] += len(cells) - alike
    bad = [f"'{name}' ({n})" for name, n in wrong.items() if n]
    if bad:
        return False, f"cells that are not pseudonyms: {listed(bad)}"
    return True, "every value has the form of a pseudonym; that the key is secret shows in no file"
