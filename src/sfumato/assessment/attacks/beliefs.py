"""What the records that may be a person say about a sensitive column: the base of attribute attacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Distinct, Floats, Ints, View, encode, known_columns, look
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.same_values import is_number
from sfumato.errors import ParameterError
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS = 4_000_000  # of the (persons, leaves) tables held at once: 32 MB
_LEARNT = 25_000_000  # of the (records, secrets) tables that models learn with: 200 MB each


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per person, over the released records that may be them.

    total: how many there are. top, ties: how often the most frequent sensitive value occurs, and how many
    values occur that often. distinct: how many values occur. true: how often the person's own value does.
    secret: the person's own value, as a leaf. marginal: the release as a whole, (leaves + 1,).
    """

    total: Floats
    top: Floats
    ties: Ints
    distinct: Ints
    true: Floats
    secret: Ints
    marginal: Floats

    def mode_right(self) -> Floats:
        """Whether the most frequent value among the matches is right; 1/ties where several are.

        Nobody matches: the most frequent value of the whole release is guessed.
        """
        best = self.marginal.max()
        fallback = (self.marginal[self.secret] >= best * (1 - 1e-12)) / (
            self.marginal >= best * (1 - 1e-12)
        ).sum()
        right = (self.true >= self.top - 1e-9) / np.maximum(self.ties, 1)
        return np.where(self.total > 0, right, fallback)

    def confidence_in_truth(self) -> Floats:
        """The share of the matches with the true value; of the whole release where nobody matches."""
        fallback = self.marginal[self.secret] / self.marginal.sum()
        return np.where(self.total > 0, self.true / np.maximum(self.total, 1e-300), fallback)

    def certain(self, excluded: int = 0) -> NDArray[np.bool_]:
        """Whether the true value is the only one left once so many other values were ruled out."""
        return (self.true > 0) & (self.distinct <= 1 + excluded)

    def constant_guess(self) -> float:
        """How often the most frequent value of the whole release is right: a guess without knowledge."""
        best = self.marginal >= self.marginal.max() * (1 - 1e-12)
        return float((best[self.secret] / best.sum()).mean())


def secrets(pair: Pair, sensitive: str, people: Table | None = None) -> Ints:
    """The true sensitive value of each person, as a leaf; one past the last where nobody has it."""
    known_columns(pair, [sensitive])
    if people is not None:
        return encode(pair, people, [sensitive])[:, 0]
    original = pair.codes()[0]
    out: Ints = original.codes[original.columns.index(sensitive)].astype(np.int64)
    return out


def released_nodes(pair: Pair, column: str) -> Ints:
    """The released cells of a column, as nodes."""
    released = pair.codes()[1]
    out: Ints = released.codes[released.columns.index(column)].astype(np.int64)
    return out


def check_secret(known: Sequence[str], sensitive: str) -> None:
    """An intruder who knows the secret needs no attack."""
    if sensitive in known:
        raise ParameterError(
            f"'{sensitive}' is among the columns the intruder knows.", hint="leave it out of known"
        )


def histograms(view: View, values: Floats | csr_matrix) -> Iterator[tuple[slice, Floats]]:
    """For the distinct persons in turn, the sum over matching classes of values: (classes, leaves)."""
    step = max(1, _CELLS // max(1, values.shape[1]))
    for part, matrix in view.compatible():
        for start in range(0, matrix.shape[0], step):
            block = matrix[start : start + step] @ values
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            yield slice(part.start + start, part.start + start + len(dense)), dense


def class_values(pair: Pair, view: View, sensitive: str) -> csr_matrix:
    """Sparse (classes, leaves + 1): how often each class has each value, generalized ones spread."""
    from scipy import sparse

    nodes = released_nodes(pair, sensitive)
    spread = sparse.csr_matrix(
        np.column_stack([pair.spread[sensitive], np.zeros(len(pair.spread[sensitive]))])
    )
    shape = (len(view.classes.rows), spread.shape[0])
    return sparse.csr_matrix((np.ones(len(nodes)), (view.classes.of, nodes)), shape) @ spread


def believe(pair: Pair, known: Sequence[str], sensitive: str, people: Table | None = None) -> Beliefs:
    """What an intruder who knows `known` believes about `sensitive`, person by person."""
    check_secret(known, sensitive)
    view = look(pair, known, people)
    return pair.once(
        "beliefs", (view.columns, sensitive), people, lambda: _believe(pair, view, sensitive, people)
    )


def _believe(pair: Pair, view: View, sensitive: str, people: Table | None) -> Beliefs:
    secret = secrets(pair, sensitive, people)
    values = class_values(pair, view, sensitive)
    persons = len(view.persons.rows)
    total, top = np.zeros(persons), np.zeros(persons)
    ties, distinct = np.zeros(persons, np.int64), np.zeros(persons, np.int64)
    true = np.zeros(len(secret))
    order = np.argsort(view.persons.of, kind="stable")
    ends = np.concatenate([[0], np.cumsum(view.persons.sizes)])
    for part, block in histograms(view, values):
        total[part] = block.sum(axis=1)
        top[part] = block.max(axis=1)
        ties[part] = (block >= top[part, None] - 1e-9).sum(axis=1)
        distinct[part] = (block > 1e-9).sum(axis=1)
        rows = order[ends[part.start] : ends[part.stop]]
        true[rows] = block[view.persons.of[rows] - part.start, secret[rows]]
    of = view.persons.of
    return Beliefs(
        total[of], top[of], ties[of], distinct[of], true, secret, np.asarray(values.sum(axis=0)).ravel()
    )


def learnt_from(records: int, secrets_: int) -> Ints:
    """The records a model learns from: all, or as many at random as tables of them by secrets hold."""
    most = max(1, _LEARNT // max(1, secrets_))
    if records <= most:
        return np.arange(records)
    return np.sort(Key.from_seed(0).generator("learnt from").choice(records, most, replace=False))


def in_turn(guess: Callable[[Ints], Ints], persons: Distinct, secrets_: int) -> Ints:
    """Guesses about people, each kind of person once, so many at a time as tables of them by secrets hold."""
    step = max(1, _LEARNT // max(1, secrets_))
    rows = persons.rows
    return np.concatenate([guess(rows[i : i + step]) for i in range(0, len(rows), step)])[persons.of]


def numbers_of(table: Table, column: str) -> Floats | None:
    """A column as numbers, NaN where missing; None where it holds something else."""
    values = table.select([column]).to_arrow().column(0)
    if not is_number(values.type):
        return None
    out: Floats = pc.cast(values, pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.asarray(out, np.float64)
