"""The common scale of one column: leaves, nodes, and how the nodes are spread over the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.assessment.reading import notation
from sfumato.assessment.reading.bins import Binned, told_apart
from sfumato.assessment.reading.lines import CLOCKS, ColumnScale, Float, Tree, has_missing, measured, text_of
from sfumato.assessment.reading.notation import Span
from sfumato.counts import Codebook, Counts
from sfumato.schema import Column, Kind


def common_scale(column: Column, before: Counts, after: Counts, tree: Tree, bins: int) -> ColumnScale:
    """The scale of a column: bins for quantities and dates, levels for everything else.

    before, after: what each file holds, with its counts. tree: generalized value -> its leaves.
    """
    if column.kind in (Kind.NUMERIC, Kind.DATE) and len(before.codebooks[0].levels):
        if told_apart(before.codebooks[0].levels):
            return Binned(column, before, after, tree, bins).scale()
        column = replace(column, kind=Kind.NOMINAL, levels=None, edges=None)
    return _levels(column, before, after, tree)


def pooled(before: Counts, more: Counts) -> Counts:
    """What occurs in one column of two files together, over the values of both."""
    books = before.codebooks[0], more.codebooks[0]
    values = pa.concat_arrays([books[0].levels, books[1].levels.cast(books[0].levels.type)])
    levels = pc.unique(values)
    levels = levels.take(pc.sort_indices(levels))
    book = replace(books[0], levels=levels, missing=any(b.missing for b in books))
    codes, n = [], []
    for counts, one in zip((before, more), books, strict=True):
        own = pc.index_in(one.levels.cast(levels.type), value_set=levels).to_numpy(zero_copy_only=False)
        codes.append(np.append(own, len(levels))[counts.codes[:, 0]])
        n.append(counts.n)
    return Counts.of_cells([book], np.concatenate(codes), np.concatenate(n))


def _levels(column: Column, before: Counts, after: Counts, tree: Tree) -> ColumnScale:
    found, there = before.codebooks[0].levels, after.codebooks[0]
    levels = found
    notes = []
    if column.levels is not None and column.kind is not Kind.CODES:
        declared = Codebook.declared(column).levels
        extra = found.filter(pc.invert(pc.is_in(found, value_set=declared)))
        levels = pa.concat_arrays([declared, extra])
        if len(extra):
            notes.append(f"levels of the original outside its declared domain: {len(extra)}")
    names = [text_of(v) for v in levels.to_pylist()]
    reader = Names(names, tree, CLOCKS.get(column.type, ""), column.type == "boolean")
    values = there.levels.to_pylist()
    rows = reader.rows([text_of(v) for v in values])
    unseen = [i for i, row in enumerate(rows) if row is None]
    spread_nodes = sum(1 for row in rows if row is not None and np.count_nonzero(row) > 1)
    if spread_nodes:
        notes.append(f"generalized values spread evenly over the levels they stand for: {spread_nodes}")
    if unseen:
        notes.append(
            "released values not in the original, levels of their own unless hierarchies= says what they "
            f"stand for: {len(unseen)}"
        )
    leaf_column, levels = _extended(column, levels, there, unseen)
    missing = has_missing(before) or has_missing(after)
    leaves = Codebook(replace(leaf_column, missing=missing), levels, missing)
    nodes = Codebook(replace(there.column, missing=has_missing(after)), there.levels, has_missing(after))
    spread = np.zeros((nodes.size, leaves.size))
    for i, row in enumerate(rows):
        if row is not None:
            spread[i, : len(row)] = row
    spread[unseen, len(names) + np.arange(len(unseen))] = 1.0
    if nodes.missing:
        spread[-1, -1] = 1.0
    return ColumnScale(leaves, nodes, spread, tuple(notes))


def _extended(
    column: Column, levels: pa.Array, there: Codebook, unseen: Sequence[int]
) -> tuple[Column, pa.Array]:
    """The leaves with the unseen released values after them; as text where the types do not agree."""
    kind = Kind.NOMINAL if column.kind is Kind.FLAG else column.kind
    open_ = replace(column, kind=kind, levels=None, edges=None)
    if not unseen:
        return open_, levels
    new = there.levels.take(pa.array(unseen, pa.int64()))
    if new.type == levels.type:
        return open_, pa.concat_arrays([levels, new])
    try:
        return open_, pa.concat_arrays([levels, new.cast(levels.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        gaps = tuple(text_of(v) for v in column.missing_codes)
        text = replace(open_, kind=Kind.NOMINAL, type="text", missing_codes=gaps)
        return text, pa.concat_arrays([levels.cast(pa.string()), new.cast(pa.string())])


class Names:
    """What a text stands for among named leaves."""

    def __init__(self, names: Sequence[str], tree: Tree, clock: str, truth: bool) -> None:
        self.names = list(names)
        self.places = {name: i for i, name in enumerate(names)}
        if truth:
            self.places |= {n.capitalize(): i for n, i in self.places.items()}
            self.places |= {n.upper(): i for n, i in self.places.items()}
            for digit, name in (("1", "true"), ("0", "false")):
                if name in self.places:
                    self.places[digit] = self.places[name]
        self.tree = {text_of(node): [text_of(v) for v in leaves] for node, leaves in tree.items()}
        self.clock = clock
        self.line = measured(notation.spans(names, clock))

    def rows(self, texts: Sequence[str]) -> list[Float | None]:
        """For each text its spread over the leaves, or None where it stands for none of them."""
        spans = notation.spans(texts, self.clock)
        weights = [self._weights(text, span) for text, span in zip(texts, spans, strict=True)]
        return [w / w.sum() if w is not None and w.sum() > 0 else None for w in weights]

    def _weights(self, text: str, span: Span | None) -> Float | None:
        if text in self.places:
            return self._of([self.places[text]])
        if text in self.tree:
            return self._of([self.places[n] for n in self.tree[text] if n in self.places])
        if notation.is_everything(text):
            return np.ones(len(self.names))
        parts = notation.members(text)
        if parts is not None:
            rows = [
                self._weights(p, s) for p, s in zip(parts, notation.spans(parts, self.clock), strict=True)
            ]
            known = [r for r in rows if r is not None]
            return np.asarray(np.max(known, axis=0)) if known else None
        matched = notation.masked(text, self.names)
        if matched is not None:
            return matched.astype(float)
        return self.line.weights(span) if self.line is not None and span is not None else None

    def _of(self, places: Sequence[int]) -> Float:
        row = np.zeros(len(self.names))
        row[list(places)] = 1.0
        return row
