"""A folder of hierarchies, one file for each column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError
from sfumato.hierarchy.codes import SparseCodes
from sfumato.hierarchy.dsg import read_posets
from sfumato.hierarchy.tables import read_levels

if TYPE_CHECKING:
    from sfumato.hierarchy.poset import Poset


def read_folder(folder: str | Path, columns: Sequence[str]) -> dict[str, Any]:
    """Level tables of a folder: `age.csv` or `anything_age.csv` for column age; `age.xml` holds one poset."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"no folder '{folder.name}' with hierarchies.", hint="one level table per column")
    found = {}
    for name in columns:
        exact = [folder / f"{name}{kind}" for kind in (".csv", ".xml")]
        files = [f for f in exact if f.is_file()] or sorted(folder.glob(f"*_{name}.csv"))
        if len(files) > 1:
            raise DataError(
                f"{len(files)} files could be the hierarchy of '{name}'.", hint=f"name it {name}.csv"
            )
        if files:
            found[name] = read_levels(files[0]) if files[0].suffix == ".csv" else _only_poset(files[0])
    return found


def _only_poset(file: Path) -> Poset[Any]:
    posets = [p for p in read_posets(file).values() if p is not None]
    # The codes of sparse cells are a poset of the same file, which the column itself does not have.
    cells = [p for p in posets if isinstance(p, SparseCodes)]
    chosen = cells if cells else posets
    if len(chosen) != 1:
        raise DataError(f"{file.name} has {len(chosen)} posets for one column.", hint="one in each file")
    return chosen[0]
