"""One person under several spellings of an id is one person; one value under several is no variety."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.counts import (
    Codebook,
    case_variants,
    merged,
    near_duplicates,
    person_ids,
    representatives,
    same_form,
    same_forms,
)
from sfumato.errors import SchemaError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

SAME = ["P1", "P1 ", " P1", "P1\u200b", "\ufeffP1", "P\u00ad1", "P1\u00a0", "\uff301", "P1\x00", "\tP1\n"]


def book(values: list[str | None], **more: object) -> Codebook:
    column = Column("id", Kind.NOMINAL, Role.PERSON, **more)  # type: ignore[arg-type]
    return Codebook.of_values(column, pa.array(values, pa.string()))


@pytest.mark.parametrize("text", SAME)
def test_blanks_around_and_signs_without_ink_do_not_make_another_id(text: str) -> None:
    assert same_form(text) == "P1" and same_form(text, ignore_case=True) == "p1"


def test_letters_are_the_same_however_they_are_composed() -> None:
    assert same_form("Ren\u00e9") == same_form("Rene\u0301")
    assert same_form("STRASSE", ignore_case=True) == same_form("Stra\u00dfe", ignore_case=True)


@pytest.mark.parametrize("other", ["p1", "P01", "P-1", "P 1", "P2"])
def test_what_is_written_differently_stays_different(other: str) -> None:
    assert same_form(other) != "P1"


@given(st.text(max_size=12), st.booleans())
def test_the_form_is_its_own_form_and_the_fast_way_agrees(text: str, ignore_case: bool) -> None:
    form = same_form(text, ignore_case=ignore_case)
    assert same_form(form, ignore_case=ignore_case) == form
    fast = same_forms(pa.array([text, None, "plain "]), ignore_case=ignore_case).to_pylist()
    assert fast == [form, None, "plain"]


@given(st.lists(st.sampled_from([*SAME, "p1", "P2", "", " ", None]), max_size=30), st.booleans())
def test_merged_counts_are_those_of_the_forms(values: list[str | None], ignore_case: bool) -> None:
    schema = Schema((Column("id", Kind.NOMINAL, ignore_case=ignore_case),))
    counts = merged(
        Table.from_arrow(pa.table({"id": pa.array(values, pa.string())}), schema).counts("id"), "id"
    )
    forms = [None if v is None else same_form(v, ignore_case=ignore_case) or None for v in values]
    expected = sorted(forms.count(f) for f in set(forms))
    assert sorted(counts.n.tolist()) == expected and counts.total == len(values)


def test_the_level_that_is_written_so_stands_for_the_others_whatever_the_order() -> None:
    levels = (" P1", "P1 ", "P2", "P1")
    for order in (levels, levels[::-1]):
        declared = Codebook.declared(Column("id", Kind.NOMINAL, levels=order))
        chosen = {declared.levels[i].as_py() for i in representatives(declared)[:4]}
        assert chosen == {"P1", "P2"}


def test_numbers_and_bins_are_left_alone() -> None:
    numbers = Codebook.of_values(Column("n", Kind.NOMINAL, type="integer"), pa.array([1, 2]))
    bins = Codebook.declared(Column("x", Kind.NUMERIC, edges=(0, 1, 2)))
    for found in (numbers, bins):
        assert (representatives(found) == np.arange(found.size)).all() and near_duplicates(found) == 0


def test_the_same_codes_of_a_cell_are_the_same_value() -> None:
    column = Column("dx", Kind.CODES, ignore_case=True)
    codes = Codebook.of_values(column, pa.array(["a;b", "B;A", "a\u200b;b", "c"]))
    assert len(set(representatives(codes)[: len(codes.levels)].tolist())) == 2


def test_ids_that_are_nearly_alike_are_counted_and_never_shown() -> None:
    found = book(["P1", "p1", "P-1", "P01", "P2", "P2 ", "Q10"])
    assert near_duplicates(found) == 4 and case_variants(found) == 2
    folded = book(["P1", "p1", "P2"], ignore_case=True)
    assert near_duplicates(folded) == 0 and case_variants(folded) == 0


def test_a_blank_id_is_nobodys() -> None:
    ids = person_ids(Column("id", Kind.NOMINAL), pa.array(["", " ", "\u200b", "x ", None]))
    assert ids.to_pylist() == [None, None, None, "x", None]


def test_case_is_a_matter_of_text() -> None:
    with pytest.raises(SchemaError, match="ignore_case is for text"):
        Column("id", Kind.NOMINAL, type="integer", ignore_case=True)
    again = Schema.from_toml(Schema((Column("id", Kind.NOMINAL, ignore_case=True),)).to_toml())
    assert again["id"].ignore_case
    with pytest.raises(SchemaError, match="ignore_case must be true or false"):
        Schema.from_toml('[columns.id]\nkind = "nominal"\nignore_case = 1\n')
