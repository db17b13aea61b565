"""Is the control a sample of the same people as the original? If not, whatever differs looks like copying.

Where the two were parted at random, each group of people (those of one county, those below forty, the men of
one county) has its share of originals by chance: the number of originals in it is hypergeometric. Groups
are formed without looking at who is in which file, and the smallest chance pays for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.table import Table

Ints = NDArray[np.int64]

LIMIT = 1e-3  # the chance at which a control counts as one of other people
_ROWS = 50_000  # of each file, evenly spread
_LEVELS = 20  # groups of one column
_COARSE = 5  # groups of a column in pairs of columns
_PAIRED = 10  # columns that are taken in pairs
_FEWEST = 10  # people of a group


@dataclass(frozen=True)
class ControlDrift:
    """The chance of so different files, and the columns that differ beyond it, the clearest first."""

    p: float
    columns: tuple[str, ...]

    @property
    def seen(self) -> bool:
        """Whether the control is of other people."""
        return self.p <= LIMIT


def drift(original: Table, control: Table, columns: Sequence[str]) -> ControlDrift:
    """Compare the files column by column, and pair by pair of those that say most."""
    files = [_rows(t, columns) for t in (original, control)]
    inside = np.arange(sum(f.num_rows for f in files)) < files[0].num_rows
    fine = {n: _groups([f.column(n) for f in files], _LEVELS) for n in columns}
    coarse = {n: _groups([f.column(n) for f in files], _COARSE)[0] for n in _telling(fine)}
    names, originals, people = [], [], []
    for name, groups in (*_single(fine), *_pairs(coarse)):
        count = np.bincount(groups)
        kept = count >= _FEWEST
        names += [name] * int(kept.sum())
        originals.append(np.bincount(groups[inside], minlength=len(count))[kept])
        people.append(count[kept])
    if not names:
        return ControlDrift(1.0, ())
    chance = _chance(np.concatenate(originals), np.concatenate(people), len(inside), files[0].num_rows)
    paid = np.minimum(1.0, chance * len(names))
    order = np.argsort(paid, kind="stable")
    differing = [names[i] for i in order if paid[i] <= LIMIT]
    alone = [n for n in differing if len(n) == 1]  # pairs name others beside those that differ by themselves
    return ControlDrift(
        float(paid.min()), tuple(dict.fromkeys(c for names in alone or differing for c in names))
    )


def _chance(originals: Ints, people: Ints, everyone: int, files: int) -> NDArray[np.float64]:
    """Of so many originals in a group, or as few: twice that of the side on which they are.

    The other side is at least as likely, but around the middle, where nothing is seen.
    """
    from scipy.stats import hypergeom

    many = originals * everyone >= people * files
    out = np.empty(len(originals))
    out[many] = hypergeom.sf(originals[many] - 1, everyone, people[many], files)
    out[~many] = hypergeom.cdf(originals[~many], everyone, people[~many], files)
    return np.minimum(1.0, 2 * out)


def _single(fine: dict[str, tuple[Ints, bool]]) -> Iterator[tuple[tuple[str, ...], Ints]]:
    """The groups of one column; of ordered ones also all people up to each group: files may be moved."""
    for name, (groups, ordered) in fine.items():
        yield (name,), groups
        for cut in range(1, int(groups.max(initial=0))) if ordered else ():
            yield (name,), (groups <= cut).astype(np.int64)


def _pairs(coarse: dict[str, Ints]) -> Iterator[tuple[tuple[str, ...], Ints]]:
    for a, b in combinations(coarse, 2):
        yield (a, b), coarse[a] * (int(coarse[b].max(initial=0)) + 1) + coarse[b]


def _telling(fine: dict[str, tuple[Ints, bool]]) -> list[str]:
    def entropy(groups: Ints) -> float:
        shares = np.bincount(groups) / len(groups)
        return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())

    return sorted(fine, key=lambda n: -entropy(fine[n][0]))[:_PAIRED]


def _rows(table: Table, columns: Sequence[str]) -> pa.Table:
    step = max(1, math.ceil(table.rows() / _ROWS))
    kept, seen = [], 0
    for batch in table.batches(columns):
        kept.append(batch.take(pa.array(np.arange(-seen % step, batch.num_rows, step))))
        seen += batch.num_rows
    return pa.Table.from_batches(kept)


def _groups(parts: Sequence[pa.ChunkedArray], most: int) -> tuple[Ints, bool]:
    """Both files' cells in at most so many groups, rare names in one more; and whether they are ordered."""
    if all(is_number(p.type) or pa.types.is_temporal(p.type) for p in parts):
        return _cut(np.concatenate([_numbers(p) for p in parts]), most), True
    text = pa.chunked_array(
        [c for t in same_text(parts) for c in (t.chunks if hasattr(t, "chunks") else [t])]
    )
    codes = text.combine_chunks().dictionary_encode()
    at = codes.indices.fill_null(len(codes.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
    count = np.bincount(at, minlength=len(codes.dictionary) + 1)
    place = np.full(len(count), most)
    frequent = np.argsort(-count, kind="stable")[:most]
    place[frequent] = np.arange(len(frequent))
    return place[at], False


def _numbers(part: pa.ChunkedArray) -> NDArray[np.float64]:
    if pa.types.is_temporal(part.type):
        part = pc.cast(pc.cast(part, pa.timestamp("us"), safe=False), pa.int64())
    out = pc.cast(part, pa.float64(), safe=False).to_numpy()
    return np.asarray(out, np.float64)


def _cut(values: NDArray[np.float64], most: int) -> Ints:
    """By value where there are few, else at the quantiles of both; missing is 0."""
    there = ~np.isnan(values)
    edges = np.unique(values[there])
    if len(edges) > most:
        edges = np.unique(np.quantile(values[there], np.linspace(0, 1, most + 1)[:-1]))
    out = np.zeros(len(values), np.int64)
    out[there] = np.searchsorted(edges, values[there], "right")
    return out
