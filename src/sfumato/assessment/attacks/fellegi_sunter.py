"""Probabilistic linking (Fellegi and Sunter 1969) through Splink on DuckDB, without any network.

The intruder holds a *virtual attack database*: tables somebody could have, joined, with fields that
could be inferred. How much an agreement on a column tells is learnt from the two files alone, or read
off the release where it generalizes, so the intruder needs no labelled pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import (
    Floats,
    Ints,
    View,
    correspondence,
    encode,
    known_columns,
    knows,
    look,
)
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.counts.duck import connect
from sfumato.errors import DataError, MissingExtraError, ParameterError, listed
from sfumato.score import Score
from sfumato.table import Table

_ALL = 100_000  # so many pairs are all looked at
_ERRORS = 0.02  # how often a true match disagrees on a column, where that is not learnt
_PER_PERSON = 20  # else a blocking rule leaves so many records per person, on average
_MOST = 5_000_000  # pairs of a single rule over all columns, where the telling ones leave too many
_ID = "unique_id"

Infer = Callable[[pa.Table], pa.Array]


@dataclass(frozen=True, eq=False)
class AttackDatabase:
    """What an intruder could hold: tables joined on their common columns, and fields that can be inferred.

    tables: the first holds the people, a row each; the others add columns by the columns they share with
        what was joined before (a register, a phone book, an earlier release). Where several rows of a
        later table fit, its first is taken.
    inferred: column -> a function of the joined table that gives its values (sex from the first name), or a
        fixed value. They are named in the score, because they are assumptions about the intruder.
    person: the row of the original each row of the first table belongs to, -1 for people who are not in
        the data; by default row i is row i.
    """

    tables: Sequence[Table]
    inferred: Mapping[str, Infer | object] = field(default_factory=dict)
    person: Sequence[int] | Ints | None = None

    def __post_init__(self) -> None:
        if not self.tables:
            raise ParameterError("an attack database has at least one table.", hint="tables=[register]")

    def joined(self) -> pa.Table:
        """The database as one table, in the order of the first one's rows."""
        whole = self.tables[0].to_arrow()
        for number, table in enumerate(self.tables[1:], 2):
            extra = table.to_arrow()
            shared = [c for c in extra.column_names if c in whole.column_names]
            if not shared:
                raise DataError(
                    f"table {number} of the attack database shares no column with those before it.",
                    hint="the tables are joined on the columns they share",
                )
            other = [repr(c) for c in shared if extra.schema.field(c).type != whole.schema.field(c).type]
            if other:
                raise DataError(
                    f"table {number} of the attack database holds {listed(other)} in another type.",
                    hint="tables are joined on the columns they share: give these the same type",
                )
            whole = _join(whole, extra, shared)
        for name, how in self.inferred.items():
            values = how(whole) if callable(how) else pa.array([how] * whole.num_rows)
            if len(values) != whole.num_rows:
                raise ParameterError(f"inferred field '{name}' needs a value per row.", hint="one per row")
            at = whole.column_names.index(name) if name in whole.column_names else -1
            whole = whole.append_column(name, values) if at < 0 else whole.set_column(at, name, values)
        return whole


def _join(whole: pa.Table, extra: pa.Table, shared: Sequence[str]) -> pa.Table:
    """The first fitting row of the second table beside each row of the first."""
    keyed = extra.append_column("__row", pa.array(np.arange(extra.num_rows)))
    first = keyed.group_by(list(shared)).aggregate([("__row", "min")])
    numbered = whole.append_column("__order", pa.array(np.arange(whole.num_rows)))
    both = numbered.join(first, keys=list(shared), join_type="left outer").sort_by("__order")
    rows = both.column("__row_min")
    for name in extra.column_names:
        if name not in shared:
            whole = whole.append_column(name, extra.column(name).take(rows))
    return whole


def fellegi_sunter(
    pair: Pair,
    known: Sequence[str],
    *,
    database: AttackDatabase | None = None,
    truth: str | Sequence[int] | Ints | None = "rows",
    threshold: float = 0.9,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[Score]:
    """Link the attack database with the release; right where the most likely record is the person's own.

    database: by default the original's own columns `known`. Values are compared after both files were put
        on the pair's scale; a generalized cell counts as agreement where it covers the value.
    threshold: the match probability from which the intruder claims a link.
    seed: Splink samples pairs to learn how often strangers agree.
    """
    names = known_columns(pair, known)
    own = correspondence(pair, truth)
    if own is None:
        raise ParameterError("probabilistic linking needs the truth.", hint="truth='rows', or by_key(...)")
    people, person = _people(pair, names, database)
    links = _links(pair, people, names, seed)
    target = np.where(person >= 0, own[person], -1)
    chance, sure = _chances(links, target, threshold)
    inside = person >= 0
    if not inside.any():
        raise DataError("the attack database holds nobody of the original.", hint="give person=[...]")
    fields = sorted(database.inferred) if database else []
    rest = f", with {listed(fields)} inferred" if fields else ""
    where = "an attack database with " if database else ""
    knowledge = f"{where}{knows(names, rest, pair)}"
    outsiders = sure[~inside] if (~inside).any() else None
    return [
        rate(
            "probabilistic linking",
            chance[inside],
            meaning="Share of people whose own record is the most likely one in Fellegi and Sunter's model, "
            "ties broken at random.",
            knowledge=knowledge,
            columns=names,
            baseline=1 / pair.released.rows(),
            confidence=confidence,
        ),
        rate(
            "probabilistic linking, claimed",
            sure[inside],
            meaning=f"Share of people for whom one released record alone is most likely, with a match "
            f"probability of {threshold:g} or more. The control are people of the attack database who are "
            "not in the data: all claims about them are wrong.",
            knowledge=knowledge,
            columns=names,
            control=outsiders,
            confidence=confidence,
            details={
                "right_among_claimed": float(chance[inside & sure].mean()) if (inside & sure).any() else None
            },
        ),
    ]


def _people(pair: Pair, names: Sequence[str], database: AttackDatabase | None) -> tuple[Ints, Ints]:
    """The database over the pair's leaves, and the original row of each of its rows."""
    if database is None:
        original = pair.codes()[0]
        codes = original.codes[[original.columns.index(c) for c in names]].T.astype(np.int64)
        return codes, np.arange(len(codes))
    whole = database.joined()
    absent = [repr(c) for c in names if c not in whole.column_names]
    if absent:
        raise DataError(
            f"the attack database lacks {listed(absent)}.",
            hint="add a table, or declare it in inferred={...}",
        )
    codes = encode(pair, Table.from_arrow(whole.select(list(names))), names)
    rows = np.arange(len(codes)) if database.person is None else np.asarray(database.person, np.int64)
    if len(rows) != len(codes) or (len(rows) and rows.max() >= pair.original.rows()):
        raise ParameterError(
            f"the attack database has {len(codes)} rows: person names an original row for each, -1 for none.",
            hint="AttackDatabase(..., person=[...])",
        )
    return codes, rows


def _links(pair: Pair, people: Ints, names: Sequence[str], seed: int) -> pa.Table:
    """Splink's scored pairs: person, record, match weight, match probability."""
    try:
        import splink.comparison_library as library
        from splink import DuckDBAPI, Linker, SettingsCreator
    except ImportError:
        raise MissingExtraError("probabilistic linking", "linkage") from None
    view = look(pair, names)
    wide = {c for c, covers in zip(view.columns, view.covers, strict=True) if (covers.sum(axis=1) > 1).any()}
    rules = _blocks(pair, names, wide, len(people))
    teaching = [] if wide else [rule for rule, columns in rules if len(columns) < len(names)]
    exact = {
        c: float((covers.sum(axis=1) == 1)[view.released[:, i]].mean())
        for i, (c, covers) in enumerate(zip(view.columns, view.covers, strict=True))
        if not teaching
    }
    with connect() as connection, _quiet():
        connection.execute("SET preserve_insertion_order = true")  # a sample by seed hangs on the order
        api = DuckDBAPI(connection)
        tables = [
            api.register(_persons(people, names, wide), table_name="people"),
            api.register(_records(view, names, wide), table_name="released"),
        ]
        settings = SettingsCreator(
            link_type="link_only",
            comparisons=[_comparison(library, _plain(names, c), exact.get(c)) for c in names],
            blocking_rules_to_generate_predictions=[rule for rule, _ in rules],
            probability_two_random_records_match=1 / max(2, len(view.released)),
            retain_matching_columns=False,
        )
        linker = Linker(tables, settings, log_level=logging.CRITICAL)
        logging.getLogger("splink").setLevel(logging.CRITICAL)
        linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=seed)
        for rule in teaching:
            linker.training.estimate_parameters_using_expectation_maximisation(
                rule, estimate_without_term_frequencies=True
            )
        found = linker.inference.predict(warning_mode="never")
        query = (
            "select unique_id_l as person, unique_id_r as record, match_weight, match_probability "
            f"from {found.physical_name}"
        )
        return connection.sql(query).to_arrow_table()


@contextmanager
def _quiet() -> Iterator[None]:
    """Splink sets its logger's level itself, and reports each step of its learning on it."""
    logger = logging.getLogger("splink")
    level = logger.level
    try:
        yield
    finally:
        logger.setLevel(level)


def _persons(people: Ints, names: Sequence[str], wide: set[str]) -> pa.Table:
    """The people for Splink: leaf codes, as lists of one where the release generalizes the column."""
    columns = {_ID: pa.array(np.arange(len(people)))}
    for i, name in enumerate(names):
        codes = pa.array(people[:, i], pa.int64())
        if name in wide:
            codes = pa.ListArray.from_arrays(pa.array(np.arange(len(people) + 1), pa.int32()), codes)
        columns[_plain(names, name)] = codes
    return pa.table(columns)


def _records(view: View, names: Sequence[str], wide: set[str]) -> pa.Table:
    """The released records for Splink: the leaf code of each cell, or the codes of all leaves it covers."""
    columns = {_ID: pa.array(np.arange(len(view.released)))}
    for i, name in enumerate(view.columns):
        covers, nodes = view.covers[i], view.released[:, i]
        if name in wide:
            lists = pa.array([np.flatnonzero(row).tolist() for row in covers], pa.list_(pa.int64()))
            columns[_plain(names, name)] = lists.take(pa.array(nodes))
        else:
            columns[_plain(names, name)] = pa.array(covers.argmax(axis=1)[nodes], pa.int64())
    return pa.table(columns)


def _comparison(library: ModuleType, name: str, exact: float | None) -> Any:
    """Agreement or not; where cells are generalized, being covered is a weaker agreement than being equal.

    exact: the share of exact cells, where some column of the release is generalized, or all pairs agree on
    everything. How often true matches agree is then not learnt (of a thousand pairs that agree a little one
    is a match, and the learning finds something else) but read off the release: they agree, but for a few
    errors, and are equal as often as cells are exact.
    """
    plain = library.ExactMatch(name)
    if exact is None:
        return plain.configure(term_frequency_adjustments=True)
    if exact == 1:
        return plain.configure(term_frequency_adjustments=True, m_probabilities=[1 - _ERRORS, _ERRORS])
    right = 1 - _ERRORS
    levels = [
        {"sql_condition": f"{name}_l is null or {name}_r is null", "is_null_level": True},
        {"sql_condition": f"{name}_l = {name}_r", "m_probability": max(right * exact, 1e-4)},
        {"sql_condition": f"list_has_any({name}_l, {name}_r)", "m_probability": right * (1 - exact)},
        {"sql_condition": "ELSE", "m_probability": _ERRORS},
    ]
    for level, label in zip(levels, ("missing", "equal", "covered", "different"), strict=True):
        level["label_for_charts"] = label
    return {"output_column_name": name, "comparison_levels": levels}


def _blocks(pair: Pair, names: Sequence[str], wide: set[str], people: int) -> list[tuple[Any, Sequence[str]]]:
    """Which pairs are looked at: all of a small product, else those that agree on a few columns.

    A rule comes with its columns. They agree in all its pairs, so that nothing is learnt about them: the
    columns are dealt out to two or three rules, the telling ones first, until a rule's pairs are few.
    Few pairs also hold a larger share of true matches, without which the learning goes astray.
    """
    records = pair.released.rows()
    if people * records <= _ALL:
        return [("1=1", ())]
    everyone = people / pair.original.rows()
    agree = {c: float(look(pair, [c]).matches.mean()) / records for c in names}
    telling = sorted(names, key=lambda c: agree[c])
    hands = 3 if len(names) >= 6 else 2
    rules: list[tuple[Any, Sequence[str]]] = []
    for hand in range(hands):
        # Its own share of the columns first, then the others', where its own leave too many pairs.
        order = telling[hand::hands] + [c for c in telling if c not in telling[hand::hands]]
        chosen: list[str] = []
        for column in order:
            chosen.append(column)
            if len(chosen) > 1 and float(look(pair, chosen).matches.sum()) * everyone <= _PER_PERSON * people:
                break
        else:
            continue
        rules.append((_agree(names, chosen, wide), chosen))
    if not rules and float(look(pair, names).matches.sum()) * everyone <= _MOST:
        return [(_agree(names, names, wide), names)]
    if not rules:
        raise DataError(
            f"more than {_MOST:,} pairs of a person and a record agree on all of "
            f"{listed([repr(c) for c in names])}.",
            hint="let the intruder know more columns, or attack a sample of the people",
        )
    return rules


def _agree(names: Sequence[str], columns: Sequence[str], wide: set[str]) -> Any:
    """The pairs that agree on some columns."""
    from splink import block_on

    plain = [_plain(names, c) for c in columns]
    exploded = [_plain(names, c) for c in columns if c in wide]
    return block_on(*plain, arrays_to_explode=exploded) if exploded else block_on(*plain)


def _plain(names: Sequence[str], name: str) -> str:
    """A column's name as Splink gets it: names of files may hold anything, and would end up in SQL."""
    return f"c{list(names).index(name)}"


def _chances(links: pa.Table, own: Ints, threshold: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Per person of the database: the chance that the most likely record is right; a claim, or not."""
    person, record = (links.column(c).to_numpy().astype(np.int64) for c in ("person", "record"))
    weight = links.column("match_weight").to_numpy()
    best = np.full(len(own), -np.inf)
    np.maximum.at(best, person, weight)
    top = weight >= best[person] - 1e-9
    ties = np.bincount(person[top], minlength=len(own))
    right = np.bincount(person[top & (record == own[person])], minlength=len(own)) > 0
    likely = np.zeros(len(own))
    np.maximum.at(likely, person, links.column("match_probability").to_numpy())
    return np.where(right, 1 / np.maximum(ties, 1), 0.0), (ties == 1) & (likely >= threshold)
