"""Statistical building blocks: each variable's parents, and how often each of its values goes with theirs.

The disintegration step of PeGS, for any source: the tables come from one scan, dense where they are small and
as the cells that occur where they are not. They are counts of people: confidential, whatever is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.errors import DataError, ParameterError, listed
from sfumato.io.atomic import owner_only
from sfumato.io.output import atomic_directory
from sfumato.privacy import Neighbours
from sfumato.schema import Schema
from sfumato.sources import BatchSource
from sfumato.synthesis import parents as choosing
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.joint_columns import joined
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.counts.tables import Countable

_IN_MEMORY = 2**29  # codes: a table up to this size is read once, encoded, and counted from memory
_NOTE = "internal: counts of people, must not leave the house"


@dataclass(frozen=True, eq=False)
class Block:
    """One variable's table.  counts: over the parents, in order, then the variable."""

    column: str
    parents: tuple[str, ...]
    counts: Counts


@dataclass(frozen=True, eq=False)
class Blocks:
    """The tables of all variables, in the order they are drawn in: detailed columns last.

    chosen: how the parents were found: "declared", "data", or "privately", for `epsilon` and `neighbours`.
    rows: how many rows were counted; dropped: how many broke a constraint. Both are confidential.

    >>> from sfumato.synthesis.domain import Domain
    >>> people = sf.samples.members(200)
    >>> domain = Domain.of(people.schema, ["sex", "region", "diabetes"])
    >>> blocks = sf.Blocks.fit(people, domain, {"diabetes": ["sex"]})
    >>> blocks.parents
    {'sex': (), 'region': (), 'diabetes': ('sex',)}
    """

    domain: Domain
    blocks: tuple[Block, ...]
    chosen: str = "declared"
    epsilon: float = 0.0
    rows: int = 0
    dropped: int = 0
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def fit(
        cls,
        table: Table,
        domain: Domain,
        parents: Mapping[str, Sequence[str]] | int | None,
        *,
        privately: float = 0.0,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        declared_rows: int | None = None,
    ) -> Blocks:
        """Disintegrate a table.

        parents: {column: parents}; or how many to choose; or None, as many as thirty rows a cell allow.
        privately: the epsilon to choose them with; 0 reads them off the data, as the paper does.
        declared_rows: a public number of rows for that rule; otherwise n is noised, or read off the data.
        """
        weight = domain.weight.name if domain.weight is not None else None
        fixed = choosing.declared(domain, parents) if isinstance(parents, Mapping) else None
        if fixed is None and privately and weight:
            raise ParameterError("parents of weighted rows cannot be chosen privately.", hint="declare them")
        source, dropped = domain.prepared(table)
        if fixed is not None:
            counted: Any = source
            chosen = fixed
        else:
            counted = _once(table, source, domain) if weight is None else source
            pairs = counted.tabulate(choosing.pairs_of(domain))
            m, rows = parents if isinstance(parents, int) else None, int(next(iter(pairs.values())).total)
            chosen = (
                choosing.privately(domain, pairs, m, declared_rows, privately, neighbours, rows)
                if privately
                else choosing.by_information(domain, pairs, m, declared_rows or rows)
            )
        order = [n for n in domain.names if n not in domain.details] + list(domain.details)
        sets = [(*chosen[n], n) for n in order]
        tables = counted.tabulate(sets, weight=weight) if weight else counted.tabulate(sets)
        blocks = tuple(Block(n, chosen[n], tables[s]) for n, s in zip(order, sets, strict=True))
        how = "declared" if fixed is not None else "privately" if privately else "data"
        rows = int(blocks[0].counts.total)
        spent = privately if fixed is None else 0.0
        return cls(domain, blocks, how, spent, rows, dropped.rows, Neighbours(neighbours))

    def __getitem__(self, column: str) -> Block:
        found = next((b for b in self.blocks if b.column == column), None)
        if found is None:
            raise ParameterError(
                "there is no block of that name.", hint=f"there are {listed([b.column for b in self.blocks])}"
            )
        return found

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents of each variable."""
        return {b.column: b.parents for b in self.blocks}

    def counts(self, *columns: str) -> Counts:
        """The counts of columns that some block holds together."""
        for block in sorted(self.blocks, key=lambda b: b.counts.cells):
            if set(columns) <= {*block.parents, block.column}:
                return block.counts.project(*columns)
        raise ParameterError(
            "no block holds these columns together.", hint="count the table itself, or declare the parents"
        )

    # -- looking ---------------------------------------------------------------------------------

    def show(self, column: str, alpha: float = 0.0, *, most: int = 20) -> str:
        """A block as the paper prints it (figure 3): the parents' values, then the probabilities.

        For who may see counts of people: the table is confidential.
        """
        block = self[column]
        book = block.counts.codebooks[-1]
        levels = [*map(str, book.levels.to_pylist()), *["missing"] * book.missing]
        keys, table = law_counts(block.counts)
        laws = (table + alpha) / np.maximum(table.sum(axis=1, keepdims=True) + len(levels) * alpha, 1e-300)
        heads = [*block.parents, *levels, "rows"]
        lines = [
            [*_values(block, key), *(f"{p:.3f}" for p in law), str(int(total))]
            for key, law, total in zip(keys[:most], laws, table.sum(axis=1), strict=False)
        ]
        widths = [max(len(cell) for cell in column_) for column_ in zip(heads, *lines, strict=True)]
        text = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in [heads, *lines]]
        more = [f"... {len(keys) - most:,} more keys"] if len(keys) > most else []
        return "\n".join([f"Pr({column} | {', '.join(block.parents) or 'nothing'})", *text, *more])

    def __repr__(self) -> str:
        given = ", ".join(f"{b.column} | {' '.join(b.parents) or '-'}" for b in self.blocks[:4])
        more = f", {len(self.blocks) - 4} more" if len(self.blocks) > 4 else ""
        return f"Blocks({given}{more}; parents: {self.chosen})"

    # -- disk ------------------------------------------------------------------------------------

    def save(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write the tables into a folder that only its owner can read. It must not leave the house."""
        target = Path(directory)
        with atomic_directory(target, overwrite=overwrite) as folder:
            owner_only(folder)
            files = []
            for i, block in enumerate(self.blocks):
                columns = {f"c{j}": pa.array(block.counts.codes[:, j]) for j in range(len(block.parents) + 1)}
                table = pa.table({**columns, "n": pa.array(block.counts.n)})
                path = str(folder / f"{i:04d}.arrow")
                with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                    writer.write_table(table)
                files.append({"column": block.column, "parents": list(block.parents)})
            document = {
                "note": _NOTE,
                "sfumato_blocks": 1,
                "blocks": files,
                "chosen": self.chosen,
                "epsilon": self.epsilon,
                "rows": self.rows,
                "dropped": self.dropped,
                "neighbours": str(self.neighbours),
            }
            (folder / "blocks.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            schema = Schema(tuple(b.column for b in self.domain.books))
            (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
            owner_only(folder)
        return target

    @classmethod
    def load(cls, directory: str | Path, domain: Domain) -> Blocks:
        """Read what `save` wrote. The domain, with its constraints, is declared anew and must fit."""
        folder = Path(directory)
        try:
            document = json.loads((folder / "blocks.json").read_text(encoding="utf-8"))
            if document["sfumato_blocks"] != 1:
                raise KeyError
            domain = joined(domain, apart=[entry["column"] for entry in document["blocks"]])
            books = {b.name: b for b in domain.books}
            blocks = []
            for i, entry_ in enumerate(document["blocks"]):
                names = [*entry_["parents"], entry_["column"]]
                with pa.OSFile(str(folder / f"{i:04d}.arrow"), "rb") as source:
                    table = pa.ipc.open_file(source).read_all()
                codes = np.stack([table.column(f"c{j}").to_numpy() for j in range(len(names))], axis=1)
                held = [books[n] for n in names]
                if (codes >= np.array([b.size for b in held])).any():
                    raise KeyError
                counts = Counts.of_cells(held, codes, table.column("n").to_numpy())
                blocks.append(Block(names[-1], tuple(names[:-1]), counts))
            if {b.column for b in blocks} != set(domain.names):
                raise KeyError
            keep = {k: document[k] for k in ("chosen", "epsilon", "rows", "dropped")}
            keep["neighbours"] = Neighbours(document["neighbours"])
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid):
            raise DataError(
                "the folder holds no blocks of these columns.",
                hint="give the folder and the domain it was saved with",
            ) from None
        return cls(domain, tuple(blocks), **keep)


def law_counts(counts: Counts) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """The keys that occur, (keys, parents), and the counts of the last column for each, (keys, C)."""
    codes, size = counts.codes[:, :-1], counts.shape[-1]
    new = np.append(True, (codes[1:] != codes[:-1]).any(axis=1))[: counts.cells]
    table = np.zeros((int(new.sum()), size), counts.n.dtype)
    table[np.cumsum(new) - 1, counts.codes[:, -1]] = counts.n
    return codes[new], table


def _values(block: Block, key: NDArray[np.uint32]) -> list[str]:
    return [
        "missing" if code >= len(book.levels) else str(book.levels[int(code)].as_py())
        for book, code in zip(block.counts.codebooks, key, strict=False)
    ]


def _once(table: Table, source: Table, domain: Domain) -> Countable:
    """Codes in memory where they fit, so that the source is read once; otherwise it is read twice."""
    rows = table.source.rows if isinstance(table.source, BatchSource) else None
    fits = rows is not None and rows * len(domain.names) <= _IN_MEMORY
    return source.encode(domain.names) if fits else source
