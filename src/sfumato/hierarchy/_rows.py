"""What can be wrong with a table of levels, all of it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def row_faults(rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """What is wrong, in names and numbers; and the values it is about, for eyes at a terminal.

    Ragged rows are told apart first (the width of most rows is taken as meant); the others are looked at
    nevertheless, so that a person corrects the file once.
    """
    if not rows:
        return ["it is empty"], []
    width = Counter(map(len, rows)).most_common(1)[0][0]
    whole = [row for row in rows if len(row) == width]
    faults: list[str] = []
    if len(whole) < len(rows):
        where = [i + 1 for i, row in enumerate(rows) if len(row) != width]
        lines = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        faults.append(
            f"{_many(len(where), 'row has', 'rows have')} not {width} cells like most (row {lines})"
        )
    if width == 0:
        return [*faults, "its rows have no cells"], []
    examples: list[str] = []
    twice = [v for v, n in Counter(row[0] for row in whole).items() if n > 1]
    if twice:
        faults.append(f"{_many(len(twice), 'value occurs', 'values occur')} more than once")
        examples += twice
    roots = sorted({row[-1] for row in whole})
    if len(roots) > 1:
        faults.append(f"it has {len(roots)} roots instead of one")
        examples += roots
    for below in range(1, width - 1):
        torn = _torn(whole, below)
        if torn:
            has = _many(len(torn), "node has", "nodes have")
            faults.append(f"{has} several parents: column {below + 1} under column {below + 2}")
            examples += torn
    both = _above_others(whole)
    if both:
        stand = _many(len(both), "value stands", "values stand")
        faults.append(f"{stand} in a further column too, over other values: a cell could mean either")
        examples += both
    return faults, examples


def _torn(rows: Sequence[Sequence[str]], below: int) -> list[str]:
    """Names of one column that stand beside different names in the next."""
    parent: dict[str, str] = {}
    torn: dict[str, None] = {}
    for row in rows:
        if parent.setdefault(row[below], row[below + 1]) != row[below + 1]:
            torn[row[below]] = None
    return list(torn)


def _above_others(rows: Sequence[Sequence[str]]) -> list[str]:
    """Values whose name is also that of a node over some other value."""
    values = {row[0] for row in rows}
    return list(dict.fromkeys(name for row in rows for name in row[1:] if name != row[0] and name in values))


def _many(n: int, one: str, more: str) -> str:
    return f"{n:,} {one if n == 1 else more}"
