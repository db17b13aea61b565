"""One entry of a plan is changed, and nothing else: comments and other lines stay."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PlanError
from sfumato.studio.toml_text import entry, with_entry, with_item, without_entry

PLAN = """\
# On top.
title = ""                   # what it is

[columns]
# Why age.
age = { role = "other", reviewed = false }
"weird = name" = { drop = true }  # kept # as it is

[columns.sex]
role = "other"

[[steps]]
method = "local"
l = [2,
     3]     # two lines
[[steps]]
method = "optimal"
"""


def test_an_entry_changes_and_comments_stay() -> None:
    after = with_entry(PLAN, ("columns", "age", "role"), "sensitive")
    assert 'age = { role = "sensitive", reviewed = false }' in after
    assert after.replace('"sensitive"', '"other"', 1) == PLAN
    after = with_entry(PLAN, ("title",), 'a "b" #c')
    assert "# what it is" in after and tomllib.loads(after)["title"] == 'a "b" #c'
    after = with_entry(PLAN, ("columns", "weird = name", "reviewed"), True)
    assert "# kept # as it is" in after


def test_tables_written_out_items_and_new_tables() -> None:
    assert tomllib.loads(with_entry(PLAN, ("columns", "sex", "drop"), True))["columns"]["sex"]["drop"] is True
    after = with_entry(PLAN, ("steps", 0, "k"), 5)
    assert [s.get("k") for s in tomllib.loads(after)["steps"]] == [5, None]
    after = with_entry(PLAN, ("steps", 0, "l"), {"dx": 2})
    assert "# two lines" in after and tomllib.loads(after)["steps"][0]["l"] == {"dx": 2}
    assert tomllib.loads(without_entry(PLAN, ("steps", 0, "l")))["steps"][0] == {"method": "local"}
    after = with_entry(PLAN, ("thresholds", "k, the smallest class"), 5)
    assert tomllib.loads(after)["thresholds"] == {"k, the smallest class": 5}
    assert tomllib.loads(with_entry(PLAN, ("columns", "new", "role"), "other"))["columns"]["new"] == {
        "role": "other"
    }
    assert [s["method"] for s in tomllib.loads(with_item(PLAN, "steps", {"method": "x"}))["steps"]] == [
        "local", "optimal", "x",
    ]  # fmt: skip
    assert without_entry(PLAN, ("nowhere", "at", "all")) == PLAN


def test_line_ends_of_windows_stay() -> None:
    after = with_entry(PLAN.replace("\n", "\r\n"), ("columns", "age", "reviewed"), True)
    assert after.replace("\r\n", "\n") == PLAN.replace("reviewed = false", "reviewed = true")
    assert after.count("\r\n") == after.count("\n")


def test_what_cannot_be_changed_safely_is_refused() -> None:
    dotted = '[columns]\nage.role = "other"\nage.drop = true\n'
    with pytest.raises(PlanError, match="cannot be changed by a click"):
        with_entry(dotted, ("columns", "age", "role"), "sensitive")
    with pytest.raises(PlanError):
        with_entry(PLAN, ("steps", 7, "k"), 5)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(), st.integers(-(2**40), 2**40), NAMES, st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(NAMES, st.integers(0, 9), max_size=3),
)  # fmt: skip


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), max_size=4), NAMES, NAMES, VALUES)
def test_any_name_and_any_value(
    columns: dict[str, dict[str, Any]], name: str, key: str, value: object
) -> None:
    from sfumato.plan.proposal_text import value as spelt
    from sfumato.studio.toml_text import key as quoted

    text = "# a\n[columns]\n" + "".join(f"{quoted(n)} = {spelt(e)}  # why\n" for n, e in columns.items())
    after = with_entry(text, ("columns", name, key), value)
    assert entry(tomllib.loads(after), ("columns", name, key)) == value
    assert {n: e for n, e in tomllib.loads(after)["columns"].items() if n != name} == {
        n: e for n, e in columns.items() if n != name
    }
    assert after.count("# why") == len(columns)
