"""The notebooks run, and show what they showed; what objects show in them is escaped and holds no cell."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pyarrow as pa
import pytest
from architecture import ROOT

import sfumato as sf

_SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
assert _SPEC is not None and _SPEC.loader is not None
notebooks = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(notebooks)

CANARY = "zebra-7319"
EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize("path", notebooks.all_of_them(), ids=lambda p: p.stem)
def test_a_notebook_shows_what_it_gives(path: Path) -> None:
    kept = notebooks.read(path)
    again = notebooks.run(kept)
    assert notebooks.in_words(again) == notebooks.in_words(kept), (
        f"{path.name} is out of date: make notebooks"
    )
    assert len(notebooks.in_words(kept)) >= 3
    assert kept["nbformat"] == 4 and all(c["id"] for c in kept["cells"])


def test_there_is_one_for_each_user() -> None:
    assert [p.stem for p in notebooks.all_of_them()] == ["analyst", "builder", "publisher"]


def test_a_run_keeps_what_was_printed_and_the_last_value() -> None:
    def cell(source: str) -> dict[str, object]:
        return {"cell_type": "code", "source": [source], "outputs": [], "execution_count": None}

    ran = notebooks.run({"cells": [cell("x = 2\nprint(chr(60) + 'b>')"), cell("x + 1"), cell("None")]})
    printed, value, nothing = (c["outputs"] for c in ran["cells"])
    assert printed[0]["text"] == ["<b>\n"] and value[0]["data"]["text/plain"] == ["3"] and nothing == []
    assert "&lt;b&gt;" in notebooks.page(ran, "x") and "<b>" not in notebooks.page(ran, "x")
    with pytest.raises(ZeroDivisionError):
        notebooks.run({"cells": [cell("1 / 0")]})


def test_what_objects_show_is_escaped_and_holds_no_cell() -> None:
    rows = pa.table({EVIL: [CANARY, *["b", "c", "d"] * 13], "age": list(range(40))})
    table = sf.scan(rows, sf.Schema((
        sf.Column(EVIL, sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER, reason=EVIL),
        sf.Column("age", sf.Kind.NUMERIC, sf.Role.SENSITIVE, "integer"),
    )))  # fmt: skip
    promised = sf.Guarantee.of(sf.privacy.KAnonymity(1, (EVIL,), assumptions=(EVIL,)))
    release = sf.Release(table, promised, draft=EVIL)
    judged = sf.assess(table, table, effort="quick", quasi_identifiers=[EVIL], scope="limits",
                       thresholds={"copied rows": 0.5})  # fmt: skip
    for thing in (table.schema, table, promised, release, judged):
        shown = thing._repr_html_()
        assert "<script" not in shown and CANARY not in shown and len(shown) > 40, type(thing).__name__
        heads = re.findall(r"<t[hd][ >]", shown)
        assert not heads or "<th" in shown  # a table has its headers
