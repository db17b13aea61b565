"""Rows for models: both files as frames with the same columns and levels.

Models need one value per cell. A generalized name is completed by a random draw among the levels it stands
for. An interval of numbers becomes its middle, which leaves a slope unbiased where a draw would flatten
it, and a suppressed number is missing; or, to compare distributions, both are drawn as well.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.reading import notation
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.bins import edge_numbers
from sfumato.assessment.reading.lines import text_of
from sfumato.counts import Codebook, canonical, canonical_type
from sfumato.errors import DataError, MissingExtraError
from sfumato.schema import Kind
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    import pandas as pd

Float = NDArray[np.float64]
_CLOCKS = {"date": "date", "datetime": "datetime", "instant": "datetime"}


def frames(
    pair: Pair, *, most_rows: int | None = None, seed: int = 0, drawn: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The original and the released rows as pandas frames; a random sample of each where they are many.

    drawn: a number within its interval is drawn, instead of being its middle.
    """
    key = Key.from_seed(seed)
    before = _frame(pair, pair.original, False, most_rows, key.generator("original rows"))
    after = _frame(pair, pair.released, True, most_rows, key.generator("released rows"), drawn)
    return before, after


def frame_like(pair: Pair, table: Table, *, most_rows: int | None = None, seed: int = 0) -> pd.DataFrame:
    """Further rows of the original's kind (a holdout) as a frame; levels it alone has are missing."""
    absent = [c for c in pair.columns if c not in table.columns]
    if absent:
        raise DataError(
            f"the holdout lacks {len(absent)} of the compared columns.", hint="keep the original's columns"
        )
    names = [*pair.columns, *([pair.weight] if pair.weight in table.columns and pair.weight else [])]
    like = table.with_schema(table.schema.select(names))
    return _frame(pair, like, False, most_rows, Key.from_seed(seed).generator("holdout rows"))


def is_numeric(pair: Pair, column: str) -> bool:
    """Whether models read the column as a number."""
    return pair.leaves[column].column.kind in (Kind.NUMERIC, Kind.DATE)


def levels_of(book: Codebook) -> list[str]:
    """The levels as text, without missing."""
    return [text_of(v) for v in book.levels.to_pylist()]


def _frame(
    pair: Pair,
    table: Table,
    released: bool,
    most: int | None,
    generator: np.random.Generator,
    drawn: bool = False,
) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a model on rows", "stats") from None
    weight = pair.released_weight if released else pair.weight
    names = [*pair.columns, *([weight] if weight and weight in table.columns else [])]
    rows = _rows(table, names, most, generator)
    if not rows.num_rows:
        raise DataError("a file without rows.", hint="models need rows")
    data: dict[str, Any] = {}
    for name in names:
        array = rows.column(name).combine_chunks()
        if name == weight:
            data[name] = _plain(array)
        elif is_numeric(pair, name):
            data[name] = _numbers(pair, name, array, generator if drawn else None)
        else:
            levels = levels_of(pair.leaves[name])
            codes = _codes(pair, name, array, released, generator)
            kept: Any = np.where(codes < len(levels), codes, -1)
            data[name] = pd.Categorical.from_codes(kept, dtype=pd.CategoricalDtype(levels))
    return pd.DataFrame(data)


def _rows(table: Table, names: list[str], most: int | None, generator: np.random.Generator) -> pa.Table:
    """All rows, or so many drawn at random without replacement."""
    total = table.rows()
    batches = table.batches(names)
    if most is None or total <= most:
        found = list(batches)
    else:
        chosen = np.sort(generator.choice(total, most, replace=False))
        found, first = [], 0
        for batch in batches:
            low, high = np.searchsorted(chosen, [first, first + batch.num_rows])
            found.append(batch.take(pa.array(chosen[low:high] - first)))
            first += batch.num_rows
    return pa.Table.from_batches(found) if found else pa.table({n: pa.array([]) for n in names})


def _plain(array: pa.Array, clock: str = "") -> Float:
    """Numbers; for a clock days or microseconds since 1970, in whatever unit the file has them."""
    if clock == "date":
        array = array.cast(pa.date32(), safe=False).cast(pa.int32())
    elif clock:
        zone = getattr(array.type, "tz", None)
        array = array.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _numbers(pair: Pair, name: str, array: pa.Array, generator: np.random.Generator | None) -> Float:
    """Numbers as they are, dates as days or microseconds, intervals by their middle or by a draw."""
    column = pair.leaves[name].column
    clock = _CLOCKS.get(column.type, "")
    if not pa.types.is_string(array.type) and pa.types.is_temporal(array.type) == bool(clock):
        return _plain(array, clock)
    encoded = array.dictionary_encode()
    texts = [text_of(v) for v in encoded.dictionary.to_pylist()]
    ends = np.full((len(texts) + 1, 2), np.nan)
    known = [e for e in column.edges or () if not unbounded(e)]
    inner = edge_numbers(replace(column, edges=tuple(known)), canonical_type(column))
    inner = pair.values.get(name, inner)  # the edge above a value that is a bin is no value
    for i, span in enumerate(notation.spans(texts, clock)):
        if notation.is_everything(texts[i]):
            span = None if generator is None else notation.Span(-math.inf, math.inf)
        elif span is None:
            span = _covered(pair, name, encoded.dictionary[i].as_py(), inner)
        if span is not None:
            ends[i] = _ends(span, inner[0], inner[-1], column.type in ("integer", "date"))
    places = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    low, high = ends[places].T
    if generator is None:
        return np.asarray((low + high) / 2)
    u = generator.random(len(low))
    if column.type in ("integer", "date"):
        return np.asarray(low + np.floor(u * (high - low + 1)))
    return np.asarray(low + u * (high - low))


def _covered(pair: Pair, name: str, value: object, inner: Float) -> notation.Span | None:
    """What a set or a node with a name covers: from the first to the last of the bins it is spread over."""
    column = pair.leaves[name].column
    row = pair.spread[name][pair.nodes[name].code_of(value)]
    places = np.flatnonzero(row[: len(pair.leaves[name].levels)])
    if not len(places):
        return None
    edges = np.clip(edge_numbers(column, canonical_type(column)), inner[0], inner[-1])
    own, last = name in pair.values, int(places[-1])  # a value that is a bin is the lower edge of it
    return notation.Span(edges[places[0]], edges[last + (not own)], True, own or last + 2 == len(edges))


def _ends(span: notation.Span, low: float, high: float, whole: bool) -> tuple[float, float]:
    """The first and the last number of a span; an open end is that of the original's range."""
    if span.point:
        return span.low, span.high
    a = span.low if math.isfinite(span.low) else min(low, span.high)
    b = span.high if math.isfinite(span.high) else max(high, span.low)
    if whole:
        first, end = notation.Span(
            a, b, span.with_low or a != span.low, span.with_high or b != span.high
        ).wholes()
        return first, max(first, end - 1)
    return a, b


def unbounded(edge: Any) -> bool:
    """Whether an edge stands for no bound: infinite, or the first and last day there is."""
    if isinstance(edge, date):
        return (edge.year, edge.month, edge.day) in ((1, 1, 1), (9999, 12, 31))
    return math.isinf(edge)


def _codes(
    pair: Pair, name: str, array: pa.Array, released: bool, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Leaf codes; a generalized value is drawn from its spread."""
    if not released:
        book = pair.leaves[name]
        places = np.asarray(book.locate(canonical(book.column, array)))
        return np.where(places < 0, len(book.levels), places)
    nodes = pair.nodes[name].encode(array).astype(np.int64)
    spread = pair.spread[name]
    out = spread.argmax(axis=1)[nodes]
    for node in np.flatnonzero((spread > 0).sum(axis=1) > 1):
        where = np.flatnonzero(nodes == node)
        out[where] = generator.choice(spread.shape[1], len(where), p=spread[node])
    return np.asarray(out, np.int64)
