"""When two texts are the same id or the same sensitive value, however they were typed.

    "P1", "P1 ", "P1" with a zero-width space, and e-acute as one sign or as two: the same.
    "p1": the same only where the schema says `ignore_case = true`. "P01", "P-1": others, but near.

It is decided on the levels of a codebook, after an engine has counted, so every engine decides alike. Only
comparisons use it; what is released stays as it was written. Telling less apart never makes a count of
persons or of different values larger: a promise that rests on it is rather too careful than too bold.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts.codebook import Codebook
from sfumato.counts.tables import Counts
from sfumato.schema import Column, Kind

# Signs without ink that Unicode counts among marks and letters, beside all of category Cf and Cc.
_INKLESS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)}
_INKLESS |= {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
_PLAIN = r"^[\x20-\x7e]*$"  # only the blanks around such a text matter


def same_form(text: str, *, ignore_case: bool = False) -> str:
    """A text in the form in which ids and sensitive values are compared.

    Unicode's compatibility form (NFKC), without signs that have no ink, without blanks around it; folded
    where case does not count.
    """
    found, before = text, None
    while found != before:  # taking a sign away may let its neighbours combine
        before = found
        found = unicodedata.normalize("NFKC", found.casefold() if ignore_case else found)
        found = "".join(c for c in found if not _without_ink(c)).strip()
    return found


def _without_ink(sign: str) -> bool:
    return ord(sign) in _INKLESS or (unicodedata.category(sign) in ("Cf", "Cc") and not sign.isspace())


def same_forms(texts: pa.Array, *, ignore_case: bool = False) -> pa.Array:
    """`same_form` of each text, null for null; plain ones without a loop."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    out = pc.utf8_trim(pc.ascii_lower(texts) if ignore_case else texts, characters=" ")
    odd = pc.fill_null(pc.invert(pc.match_substring_regex(texts, _PLAIN)), False)
    where = np.flatnonzero(odd.to_numpy(zero_copy_only=False))
    if not len(where):
        return out
    forms = [same_form(t, ignore_case=ignore_case) for t in texts.take(pa.array(where)).to_pylist()]
    return pc.replace_with_mask(out, odd, pa.array(forms, texts.type))


def person_ids(column: Column, ids: pa.Array) -> pa.Array:
    """Canonical ids so that those of one person are equal; a blank id is nobody's, and null."""
    if not pa.types.is_string(ids.type):
        return ids
    forms = same_forms(ids, ignore_case=column.ignore_case)
    return pc.if_else(pc.equal(forms, ""), pa.scalar(None, pa.string()), forms)


def representatives(book: Codebook) -> NDArray[np.int64]:
    """(codes,): for each code the one that stands for all that mean the same, itself where none does.

    Blank text is no value: it is missing, where the column can be.
    """
    own = np.arange(book.size)
    column = book.column
    if not pa.types.is_string(book.levels.type) or column.edges is not None:
        return own
    forms = _cells(column, book.levels) if column.kind is Kind.CODES else _forms(column, book.levels)
    places = forms.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    kinds = int(places.max(initial=-1)) + 1
    if kinds == len(places) and not (book.missing and pc.any(pc.equal(forms, "")).as_py()):
        return own
    # A level that is written in this form already is the best name for it; else the first in the alphabet,
    # whatever order the levels were declared in.
    written = pc.equal(forms, book.levels).to_numpy(zero_copy_only=False)
    order = pc.sort_indices(book.levels).to_numpy()
    order = np.concatenate([order[written[order]], order[~written[order]]])[::-1]
    chosen = np.empty(kinds, np.int64)
    chosen[places[order]] = order
    own[: len(places)] = chosen[places]
    if book.missing:
        own[: len(places)][pc.equal(forms, "").to_numpy(zero_copy_only=False)] = len(places)
    return own


def _forms(column: Column, levels: pa.Array) -> pa.Array:
    return same_forms(levels, ignore_case=column.ignore_case)


def _cells(column: Column, levels: pa.Array) -> pa.Array:
    """Cells of several codes: each code by itself."""

    def cell(text: str) -> str:
        parts = {same_form(p, ignore_case=column.ignore_case) for p in text.split(column.separator)}
        return column.separator.join(sorted(parts - {""}))

    return pa.array([cell(t) for t in levels.to_pylist()], pa.string())


def merged(counts: Counts, *columns: str) -> Counts:
    """The counts with all spellings of a value of the named columns as one level; the codes stay in use."""
    codes = counts.codes
    for name in columns:
        axis = counts.columns.index(name)
        found = representatives(counts.codebooks[axis])
        if (found != np.arange(len(found))).any():
            codes = codes.copy() if codes is counts.codes else codes
            codes[:, axis] = found[codes[:, axis]]
    return counts if codes is counts.codes else Counts.of_cells(counts.codebooks, codes, counts.n)


def near_duplicates(book: Codebook) -> int:
    """How many levels differ from another one only in case, blanks, punctuation or leading zeros.

    Spellings that count as the same anyway are not among them. They may be the same person's ids, or
    different persons': only who issued them knows. A number, never the values.
    """
    if not pa.types.is_string(book.levels.type) or book.column.edges is not None:
        return 0
    forms = pc.unique(_forms(book.column, book.levels))
    return _shared(_bare(forms))


def case_variants(book: Codebook) -> int:
    """How many levels differ from another one in case alone, and count as others."""
    if not pa.types.is_string(book.levels.type) or book.column.edges is not None:
        return 0
    forms = pc.unique(_forms(book.column, book.levels))
    return _shared(same_forms(forms, ignore_case=True))


def _bare(forms: pa.Array) -> pa.Array:
    """Letters and digits alone, in small letters, numbers without leading zeros."""
    bare = pc.utf8_lower(pc.replace_substring_regex(forms, r"[^\pL\pN]", ""))
    return pc.replace_substring_regex(bare, r"(^|\D)0+(\d)", r"\1\2")


def _shared(texts: pa.Array) -> int:
    """How many texts another one equals; blank ones are none."""
    times: Any = pc.value_counts(texts.filter(pc.not_equal(texts, ""))).field("counts")
    return int(pc.sum(times.filter(pc.greater(times, 1))).as_py() or 0)
