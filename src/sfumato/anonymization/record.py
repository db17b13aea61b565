"""What stays with the publisher beside a release: its classes, what its values stand for, what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymization.explanation import explain
from sfumato.anonymization.nested_columns import Chains, meanings_of
from sfumato.anonymization.problem import MISSING, Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.anonymization.suppression import FinalClasses
from sfumato.criteria import Classes
from sfumato.release import STANDS_FOR

_MOST_MEANINGS = 10_000_000  # pairs of a value and a leaf that are looked at


def tables_of(
    settled: FinalClasses, classes: Classes, chains: Chains, further: Iterable[tuple[str, str, str]] = ()
) -> dict[str, pa.Table]:
    """The tables of the record. further: (column, value, leaf) of other columns that are more general now."""
    return {"classes": _class_table(settled, classes), STANDS_FOR: _meanings(settled, chains, further)}


def extra_of(
    settled: FinalClasses, recoding: Recoding, whole: Problem, spent: Mapping[str, float], chains: Chains
) -> dict[str, Any]:
    """What the search said, what became of the rows, what was lost and where. spent: seconds by clock."""
    return {
        "search": {**plain(recoding.about), **{name: round(s, 3) for name, s in spent.items()}},
        "rows": {
            "read": whole.rows,
            "with_rare_values": whole.rows - recoding.problem.rows,
            "withheld": settled.suppressed - settled.left_out,
            "left_out": settled.left_out,
        },
        "loss": settled.loss(),
        "explanation": explain(settled, chains).to_dict(),
    }


def _class_table(settled: FinalClasses, classes: Classes) -> pa.Table:
    """The classes of the file: how each is written, and how large it is. Internal."""
    columns: dict[str, pa.Array] = {
        name: pa.array(np.array(h.node_labels, object)[settled.class_nodes[:, j]], pa.string())
        for j, (name, h) in enumerate(zip(settled.problem.columns, settled.problem.hierarchies, strict=True))
    }
    name = "n"
    while name in columns:
        name += "_"
    columns[name] = pa.array(classes.sizes)
    return pa.table(columns)


def _meanings(settled: FinalClasses, chains: Chains, further: Iterable[tuple[str, str, str]]) -> pa.Table:
    """What the more general values of the file stand for, so that who judges it need not be told again."""
    rows = [
        (name, value, leaf)
        for name, h in zip(settled.problem.columns, settled.problem.hierarchies, strict=True)
        if h.size * len(h.leaves) <= _MOST_MEANINGS
        for value, leaves in h.stands_for.items()
        if (value,) != leaves
        for leaf in leaves
        if leaf != MISSING
    ]
    rows += [row for chain in chains.values() for row in meanings_of(chain)]
    rows += further
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([pa.array(list(c), pa.string()) for c in columns], names=["column", "value", "leaf"])


def about_of(settled: FinalClasses, *, hidden: bool) -> str:
    """What the file is, in a sentence that anyone may read."""
    lost = " Some rows were left out." if settled.left_out else ""
    so = ", so that every person hides among others" if hidden else ""
    return (
        f"Person-level data in which what others may know of a person was made more general{so}; the order "
        f"of the rows was drawn anew.{lost}"
    )


def plain(value: object) -> Any:
    """Numbers of numpy as JSON has them."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return value
