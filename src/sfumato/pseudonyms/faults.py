"""What is wrong with the ids and dates of a table, found in the reading that its fingerprint needs anyway.

Tested by: tests/test_pseudonyms.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import DomainWatch, person_ids
from sfumato.database.ids import id_family
from sfumato.errors import DataError, listed
from sfumato.pseudonyms.digests import day_numbers
from sfumato.pseudonyms.numbers import most_id
from sfumato.pseudonyms.recipe import PseudonymRecipe
from sfumato.table import Table

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
# Days that databases and forms write for "unknown" or "no end": everyone knows them.
_STAND_INS = [
    date(*day).toordinal() - _EPOCH
    for year in (1753, 1800, 1899, 1900, 1901, 2099, 2100, 2199, 2200, 2299, 2300, 2999, 3000, 9998, 9999)
    for day in ((year, 1, 1), (year, 12, 30), (year, 12, 31))
]


def checked(table: Table, recipe: PseudonymRecipe, width: int | None = None) -> Iterator[pa.RecordBatch]:
    """The input's batches; at their end, all faults at once. width: of pseudonyms that stay whole numbers."""
    nobody = 0
    kept = [c for c in table.schema if c.name not in (*recipe.dropped, *recipe.replaced)]
    watch = DomainWatch(kept)
    stand_ins = pa.array(_STAND_INS, pa.int64())
    edge = dict.fromkeys(recipe.shifted, 0)
    ids = {*recipe.replaced, *filter(None, [recipe.person])}
    blurred = {n: 0 for n in table.columns if n in ids and table.schema[n].type == "real"}
    whole = [n for n in recipe.replaced if width is not None and id_family(table.schema[n]) == "number"]
    outside, most = dict.fromkeys(whole, 0), most_id(width or 32)
    for batch in table.batches():
        watch.look(batch)
        if recipe.person:  # blank ids are nobody's too: one shift for all would tie strangers together
            whose = table.schema[recipe.person]
            nobody += person_ids(whose, batch.column(recipe.person)).null_count
        for name in edge:
            days = day_numbers(batch.column(name))
            low, high = _FIRST + recipe.max_days, _LAST - recipe.max_days
            ends = pc.or_(pc.less(days, low), pc.greater(days, high))
            edge[name] += _how_many(pc.or_(ends, pc.is_in(days, value_set=stand_ins)))
        for name in blurred:
            blurred[name] += _how_many(pc.greater_equal(pc.abs(batch.column(name)), 2.0**53))
        for name in outside:
            plain = batch.column(name)
            plain = plain if pa.types.is_integer(plain.type) else plain.cast(pa.float64())
            outside[name] += _how_many(pc.or_(pc.less(plain, 0), pc.greater(plain, most)))
        yield batch
    _refuse(nobody, edge, blurred, outside, most, recipe, watch)


def _how_many(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _refuse(
    nobody: int,
    edge: Mapping[str, int],
    blurred: Mapping[str, int],
    outside: Mapping[str, int],
    most: int,
    recipe: PseudonymRecipe,
    watch: DomainWatch,
) -> None:
    faults, hints = [], []
    if nobody:
        faults.append(
            f"{nobody} row{'s' * (nobody > 1)} without '{recipe.person}', so that no dates can be moved"
        )
        hints.append("leave those rows out first")
    if any(edge.values()):
        # 9999-12-31 means "no end", and everyone knows: a shifted one would tell the person's shift.
        faults.append(
            f"dates within {recipe.max_days} days of the calendar's end, or that usually stand for "
            f"'unknown', in {_with_numbers(edge)}"
        )
        hints.append(
            "list codes such as 9999-12-31 or 1900-01-01 in missing_codes: "
            "a code that moves gives the shift away"
        )
    if any(blurred.values()):
        faults.append(f"ids kept as real numbers too large to be told apart in {_with_numbers(blurred)}")
        hints.append("read them as text or as whole numbers")
    if any(outside.values()):
        faults.append(f"ids below 0 or above {most}, which get no whole number, in {_with_numbers(outside)}")
        hints.append("integers = 64 takes larger ones; number those below 0 anew, alike in all tables")
    if watch.message:
        faults.append(watch.message)
        hints.append(watch.hint)
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="; ".join(hints))


def _with_numbers(found: Mapping[str, int]) -> str:
    return listed([f"'{name}' ({n} cells)" for name, n in found.items() if n])
