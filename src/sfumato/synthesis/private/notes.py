"""What a user of private rows should know, and the card says: what was merged, left out, or lost in noise.

All of it follows from public numbers and from answers that were paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sfumato.errors import listed
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import labels
from sfumato.synthesis.private.exact_counts import MAX_CELLS, candidates
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.workload import expected_after

_MUCH = 0.3
_NAMED = 12

PairNames = tuple[str, str]


def of(
    domain: Domain, measured: Measured, columns: int, noise: float, workload: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The notes. columns: of the rows; noise: the share of rows that it would move in a pair's table."""
    names = _names(domain, measured)
    may = {(names[a], names[b]) for a, b in candidates(measured.sizes)}
    left = unmeasured(domain, measured)
    return (
        *_merged(domain, measured),
        *_late(domain, measured),
        *_too_wide([p for p in left if p not in may]),
        *_not_bought([p for p in left if p in may]),
        *(_too_noisy(measured, columns) if noise >= _MUCH else ()),
        *_expected(domain, measured, workload),
    )


def unmeasured(domain: Domain, measured: Measured) -> tuple[PairNames, ...]:
    """Pairs of variables of which no table was measured."""
    names, there = _names(domain, measured), {m.columns for m in measured.pairs}
    return tuple((names[a], names[b]) for a, b in combinations(range(len(names)), 2) if (a, b) not in there)


def _names(domain: Domain, measured: Measured) -> list[str]:
    return [labels.name_of(domain, v) for v in measured.variables.every]


def _merged(domain: Domain, measured: Measured) -> tuple[str, ...]:
    named = [
        f"'{labels.name_of(domain, v)}' ({v.size:,} as {int(c.max()) + 1})"
        for v, c in zip(measured.variables.every, measured.classes, strict=True)
        if c is not None
    ]
    if not named:
        return ()
    return (
        "Levels that few people have were put together before pairs of columns were measured, as "
        f"finely as noise allows: {listed(named, _NAMED)}. Each is as frequent as was measured, and depends "
        "on other columns as the levels beside it do.",
    )


def _late(domain: Domain, measured: Measured) -> tuple[str, ...]:
    released = [b.name for b in domain.released]
    late = [repr(released[v.columns[1]]) for v in measured.variables.details]
    if not late:
        return ()
    return (f"Codes that depend on other columns only by way of their group: {listed(late, _NAMED)}.",)


def _too_wide(pairs: Sequence[PairNames]) -> tuple[str, ...]:
    if not pairs:
        return ()
    return (
        f"Pairs of columns with more than {MAX_CELLS:,} combinations were not measured and come out as "
        f"if independent, but for what other columns say of both: {_shown(pairs)}.",
    )


def _not_bought(pairs: Sequence[PairNames]) -> tuple[str, ...]:
    if not pairs:
        return ()
    return (
        "Pairs of columns that were not measured, as noise would have hidden more than their tables show; "
        f"they come out as if independent, but for what other columns say of both: {_shown(pairs)}.",
    )


def _shown(pairs: Sequence[PairNames]) -> str:
    return listed([f"'{a}' with '{b}'" for a, b in pairs], _NAMED)


def _too_noisy(measured: Measured, columns: int) -> tuple[str, ...]:
    pairs = columns * (columns - 1) // 2
    return (
        f"With this budget and about {max(round(measured.rows), 1):,} rows, {len(measured.pairs)} of {pairs} "
        "pairs of columns were measured, and noise hides most of how columns depend on each other. Expect "
        "tables of two columns hardly better than if all columns were independent. No private method does "
        "much better here: it takes more rows, fewer levels or a larger epsilon.",
    )


def _expected(domain: Domain, measured: Measured, workload: Sequence[str] | None) -> tuple[str, ...]:
    """Of what a workload names: by how much its tables are expected to be off."""
    if not workload:
        return ()
    rows = expected_after(workload, domain, measured).to_pylist()
    off = {
        tuple(sorted((r["first"], r["second"]))): r["expected_error"]
        for r in rows
        if r["expected_error"] is not None
    }
    if not off:
        return ()
    mean, worst = sum(off.values()) / len(off), max(off.values())
    return (
        f"{len(off)} tables of two columns matter by the workload. On average {mean:.1%} of their rows are "
        f"expected in a wrong cell, in the worst {worst:.1%}.",
    )
