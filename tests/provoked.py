"""Errors provoked on purpose, each from a table or schema in which CANARY is a cell value.

Register one with `@provoke`: a function of an empty folder that must raise a SfumatoError.
test_architecture.py runs them all and looks for the canary in everything that is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

CANARY = "zebra-7319"

Provocation = Callable[[Path], object]
PROVOKED: dict[str, Provocation] = {}


def provoke(function: Provocation) -> Provocation:
    """Put a provocation on the list."""
    PROVOKED[function.__name__] = function
    return function


@provoke
def levels_repeat(folder: Path) -> object:
    from sfumato.schema import Column, Kind

    return Column("dx", Kind.NOMINAL, levels=(CANARY, CANARY))


@provoke
def flag_with_three_levels(folder: Path) -> object:
    from sfumato.schema import Column, Kind

    return Column("dx", Kind.FLAG, levels=("a", "b", CANARY))


@provoke
def edges_that_are_no_numbers(folder: Path) -> object:
    from sfumato.schema import Column, Kind

    return Column("age", Kind.NUMERIC, edges=(0, CANARY))


@provoke
def bytes_that_are_no_table(folder: Path) -> object:
    import sfumato as sf

    path = folder / "binary.parquet"
    path.write_bytes(b"PAR1" + CANARY.encode() * 50 + b"PAR1")
    return sf.scan(path).rows()


@provoke
def ragged_rows(folder: Path) -> object:
    import sfumato as sf

    path = folder / "ragged.csv"
    path.write_text("sex,dx\n" + "F,a\nM,b\n" * 30 + f"F,{CANARY},{CANARY}\n" + "M,a\n" * 30)
    return sf.scan(path).rows()


@provoke
def wrong_encoding(folder: Path) -> object:
    import sfumato as sf

    path = folder / "latin.csv"
    path.write_bytes(b"sex,dx\n" + f"F,{CANARY}-é\n".encode("latin-1") * 20)
    return sf.scan(path, encoding="utf-8").rows()


@provoke
def outside_the_declared_domain(folder: Path) -> object:
    import pyarrow as pa

    import sfumato as sf

    schema = sf.Schema((sf.Column("dx", sf.Kind.NOMINAL, levels=("a", "b")),))
    return sf.Table.from_arrow(pa.table({"dx": ["a", "b", CANARY]}), schema).counts("dx")


@provoke
def not_a_number(folder: Path) -> object:
    import pyarrow as pa

    import sfumato as sf

    schema = sf.Schema((sf.Column("age", sf.Kind.NUMERIC, type="integer", edges=(0, 50, 100)),))
    return sf.Table.from_arrow(pa.table({"age": ["1", "2", CANARY]}), schema).counts("age")


@provoke
def unknown_column(folder: Path) -> object:
    import pyarrow as pa

    import sfumato as sf

    schema = sf.Schema((sf.Column("dx", sf.Kind.NOMINAL),))
    return sf.Table.from_arrow(pa.table({"dx": ["a", CANARY]}), schema).counts("age")


@provoke
def constraint_names_no_level(folder: Path) -> object:
    from declared import PUBLIC

    from sfumato.schema import Column, Kind, Schema
    from sfumato.synthesis.constraints import Never
    from sfumato.synthesis.domain import Domain

    columns = [Column(n, Kind.NOMINAL, levels=("x", "y"), provenance=PUBLIC) for n in "ab"]
    return Domain.of(Schema(tuple(columns)), constraints=[Never({"a": CANARY, "b": "x"})])


@provoke
def pool_of_seeds_with_another_value(folder: Path) -> object:
    import pyarrow as pa
    from declared import PUBLIC

    from sfumato.schema import Column, Kind, Schema
    from sfumato.synthesis.pegs import PeGS
    from sfumato.table import Table

    columns = tuple(Column(n, Kind.NOMINAL, levels=("x", "y"), provenance=PUBLIC) for n in "ab")
    data = Table.from_arrow(pa.table({"a": ["x"], "b": ["y"]}), Schema(columns))
    pool = Table.from_arrow(pa.table({"a": [CANARY], "b": ["y"]}))
    return PeGS(epsilon_per_row=1.0, seeds=pool).fit(data)


@provoke
def texts_in_an_array_to_learn_from(folder: Path) -> object:
    import numpy as np

    import sfumato as sf

    return sf.AlphaTree().fit(np.array([["1"], [CANARY]], dtype=object), [0, 1])


@provoke
def one_row_of_texts_to_learn_from(folder: Path) -> object:
    import numpy as np

    import sfumato as sf

    return sf.AlphaTree().fit(np.array(["1", CANARY]), [0, 1])


@provoke
def classes_that_are_too_many(folder: Path) -> object:
    import sfumato as sf

    return sf.DPaT().fit([[0.0], [1.0], [2.0]], ["a", "b", CANARY])


@provoke
def classes_of_different_types(folder: Path) -> object:
    import numpy as np

    import sfumato as sf

    return sf.AlphaTree().fit([[0.0], [1.0]], np.array([1, CANARY], dtype=object))


@provoke
def another_type_to_score(folder: Path) -> object:
    import pyarrow as pa

    import sfumato as sf
    from sfumato.table import Table

    tree = sf.AlphaTree().fit(Table.from_arrow(pa.table({"age": [1.0, 2.0]})), [0, 1])
    return tree.predict(Table.from_arrow(pa.table({"age": [CANARY]})))


@provoke
def a_confidential_file_with_a_cell(folder: Path) -> object:
    from sfumato.prediction.confidential import load_confidential

    (folder / "m.dpat").write_text(f'{{"CONFIDENTIAL": "{CANARY}", "{CANARY}": NaN}}')
    return load_confidential(folder / "m.dpat")
