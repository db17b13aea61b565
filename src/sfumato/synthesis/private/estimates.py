"""What a model says of the counts of some columns, and rows of it as codes of the declared domains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts import Counts
from sfumato.counts.tables import check_set
from sfumato.errors import ParameterError
from sfumato.seeds import Key
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.layout import Codes, Floats
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.potentials import Potentials
from sfumato.synthesis.private.refinement import Refinement
from sfumato.synthesis.private.variables import DomainVariables

_MOST = 2**28  # cells of a table


def counts(
    domain: Domain, potentials: Potentials, refinement: Refinement, measured: Measured, columns: Sequence[str]
) -> Counts:
    """The estimated tables of one column or a measured pair, else those of the particles."""
    books = {b.name: b for b in (*domain.released, *domain.books)}
    check_set(columns, list(books))
    wanted = [books[c] for c in columns]
    if np.prod([float(b.size) for b in wanted]) > _MOST:
        raise ParameterError("a table of so many cells is too large.", hint="ask for fewer columns")
    known = None
    if {*columns} <= {*domain.names}:
        known = _estimated(domain, potentials, refinement, measured, [domain.place(c) for c in columns])
    if known is not None:
        return Counts.of_dense(wanted, known)
    key = Key.from_seed(0)
    cells = measured.variables.decode(refinement.fresh(potentials.particles, key))
    rows = dict(
        zip((b.name for b in domain.released), codes(domain, measured.variables, cells, key), strict=True)
    )
    rows |= dict(zip(domain.names, measured.variables.declared(cells), strict=True))
    sizes = [b.size for b in wanted]
    place = np.ravel_multi_index([rows[c].astype(np.int64) for c in columns], sizes)
    shown = np.bincount(place, minlength=int(np.prod(sizes))).reshape(sizes)
    return Counts.of_dense(wanted, np.asarray(shown * (measured.rows / cells.shape[1])))


def _estimated(
    domain: Domain, potentials: Potentials, refinement: Refinement, measured: Measured, places: Sequence[int]
) -> Floats | None:
    """Of columns of one variable, or of two whose pair was measured; None of others."""
    variables, sizes = measured.variables, [domain.sizes[j] for j in places]
    homes = [variables.place(j) for j in places]
    if len(set(homes)) == 1:
        variable = variables.all[homes[0]]
        states = np.ravel_multi_index([variable.column_of(j) for j in places], sizes)
        flat = np.bincount(states, measured.fine[homes[0]], minlength=int(np.prod(sizes)))
        return np.asarray(flat.reshape(sizes))
    if len(places) != 2:
        return None
    wanted = potentials.wanted
    for pair, table in zip(wanted.pairs, wanted.tables, strict=True):
        if set(pair) == set(homes):
            table = table if pair == tuple(homes) else table.T
            first, second = (
                refinement.shares(h, variables.every[h].column_of(j), domain.sizes[j])
                for h, j in zip(homes, places, strict=True)
            )
            return np.asarray(first.T @ table @ second)
    return None


def codes(domain: Domain, variables: DomainVariables, cells: Codes, key: Key, first_row: int = 0) -> Codes:
    """Rows as codes of the columns that are released, (columns, rows); cells: as variables decode them."""
    out = variables.declared(cells)
    if domain.differences:
        values = domain.decode(cells, key, first_row, variables.cuts)
        for place, (own, book) in enumerate(zip(domain.books, domain.released, strict=True)):
            if own is not book:
                out[place] = book.encode(values.column(book.name))
    return out


def require_measured(domain: Domain, columns: Sequence[str]) -> None:
    """Refuse what has no table of its own: a column that was drawn as a difference."""
    check_set(columns, [b.name for b in {b.name: b for b in (*domain.released, *domain.books)}.values()])
    for own, book in zip(domain.books, domain.released, strict=True):
        if own is not book and book.name in columns:
            raise ParameterError(
                f"'{book.name}' was not measured by itself, but as '{own.name}'.",
                hint=f"model.table('{own.name}')",
            )
