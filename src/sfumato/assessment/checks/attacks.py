"""What an intruder reaches: linking, inferring, singling out, telling who was in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import (
    AssessmentCheck,
    as_far_as_possible,
    control,
    database,
    known,
    made,
    much_time,
    secret,
    secret_known,
    several,
    time,
    truth,
    two_known,
)
from sfumato.assessment.reading.alignment import MAX_LEVELS, Pair
from sfumato.assessment.reading.files import asked_of_classes, meanings
from sfumato.errors import DataError
from sfumato.release import Release
from sfumato.schema import Column, Kind, Schema
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

_PAIRS = {"quick": 2e8, "normal": 6e8, "thorough": 4e9}  # people times records compared by one who forgives
_LONGEST = {"normal": 50_000, "thorough": 500_000}  # rows of which a predicting intruder learns
_CONDITIONS = 6  # columns of a description: of fewer, few records can be described, and bounds stay wide
_PEOPLE = 2_000  # rows that releases are made of again and again
_ROUNDS = {"normal": 20, "thorough": 100}
_ONE_LEVEL = ("OptimalRecoding", "Datafly")  # all rows share one level of each column
_BY_CLASS = ("LocalRecoding", "Mondrian", "Partition", "Greedy", "Beam", "ModelGuided")
_SIMULATABLE = "SimulatableRecoding"
_SAME_FILE = "the record names a search that makes the same file in every world it leaves open"
MOST_CODES = 3  # that an intruder is taken to know where no release says for how many it holds
_TICKET = "row of the original (sfumato)"


def _linking(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.linkage import deterministic

    return deterministic(case.sharp, case.sharply_known, truth=case.truth, control=case.control)


def _by_codes(case: Case) -> list[Score]:
    from sfumato.assessment.sequences.row_codes import linking_by_codes

    return linking_by_codes(
        case.files.whole, case.files.release, case.files.outside, case.code_columns,
        known=[n for n in case.known if n not in case.code_columns], meanings=case.hierarchies,
        most=case.promised_codes or MOST_CODES, people=case.draws, key=case.key.derive("codes"),
    )  # fmt: skip


def _codes(case: Case) -> str:
    return "" if case.code_columns else "no column with several codes in a cell is in both files"


def _nearest(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.linkage import nearest

    return nearest(case.sharp, case.sharply_known, truth=case.truth)


def _said(case: Case, scores: list[Score]) -> list[Score]:
    """The scores, with the columns that were named as known and that no attack could use."""
    named = case.subject.quasi_identifiers or ()
    lost = [n for n in ([named] if isinstance(named, str) else named) if n not in case.known]
    lost += case.left_out
    return [replace(s, details={**s.details, "not_usable": lost}) for s in scores] if lost else scores


def _telling(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.subset_linkage import most_telling

    key = case.key.derive("telling")
    return _said(
        case,
        most_telling(case.sharp, case.sharply_known, key=key, truth=case.truth, control=case.control),
    )


def _forgiving(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.subset_linkage import tolerant

    found = tolerant(
        case.sharp, case.sharply_known, key=case.key.derive("forgiving"), truth=case.truth,
        control=case.control, pairs=_PAIRS[case.subject.effort],
    )  # fmt: skip
    return _said(case, found)


def _single_value(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.single_value import single_value
    from sfumato.assessment.reading.weights import holdable

    files, weight = case.files, [case.files.weight] if case.files.weight is not None else []
    named = case.subject.sensitive or ()
    secrets = [named] if isinstance(named, str) else named  # what a person says that nobody holds
    columns = [*weight, *holdable(files.whole, files.columns, {*case.known, *secrets})]
    return single_value(
        files.whole, files.release, columns, key=case.key.derive("single value"), control=files.outside,
        beside=files.columns,
    )  # fmt: skip


def _order(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.order import order_of_rows

    return order_of_rows(case.sharp)


def _predicting(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.prediction import predicting

    found = predicting(
        case.sharp, case.sharply_known, key=case.key.derive("predicting"), truth=case.truth,
        k=case.promised, people=None if case.thorough else 10_000,
    )  # fmt: skip
    return _said(case, found)


def _predicting_again(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.prediction import predicted_again

    assert case.promised is not None
    rounds = _ROUNDS[case.subject.effort]
    key = case.key.derive("plays")
    return predicted_again(_plays(case, key, rounds), case.known, key=key, k=case.promised, rounds=rounds)


def _minimality(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.minimality import minimality

    (k, l), method = asked_of_classes(case.subject.released), case.method  # noqa: E741
    return as_far_as_possible(
        partial(
            minimality, case.sharp, case.sharply_known, wanted, k=k, l=l, finer=case.hierarchies,
            everywhere=method in _ONE_LEVEL, key=case.key.derive("minimality", wanted),
        )
        for wanted in case.sharply_wanted
    )  # fmt: skip


def _downcoding(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.downcoding import downcoding

    k, l = asked_of_classes(case.subject.released)  # noqa: E741
    return downcoding(
        case.sharp, case.sharply_known, k=k, finer=case.hierarchies, truth=case.truth,
        parts=l <= 1 and case.method == "Mondrian", key=case.key.derive("downcoding"),
    )  # fmt: skip


def _plays(case: Case, key: Key, rounds: int) -> Iterator[tuple[Pair, NDArray[np.int64]]]:
    """Releases made anew of the same people, each with whose row is whose: a number is carried along."""
    from sfumato.assessment.attacks import sharp

    maker, people = case.subject.maker, case.files.whole
    assert maker is not None
    rows = people.to_arrow()
    if len(rows) > _PEOPLE:
        rows = rows.take(pa.array(np.sort(key.generator("people").choice(len(rows), _PEOPLE, replace=False))))
    number = Column(_TICKET, Kind.NUMERIC, type="integer")
    numbered = Table.from_arrow(
        rows.append_column(_TICKET, pa.array(np.arange(len(rows)))), Schema((*people.schema, number))
    )
    columns = list(case.files.columns)
    original = Table.from_arrow(rows, people.schema).select(columns)
    for play in range(rounds):
        made = maker(numbered, key.derive("release", play))
        data = made.data if isinstance(made, Release) else made
        released = data if isinstance(data, Table) else Table.from_arrow(data)
        own = _carried(released, len(rows))
        there = [c for c in columns if c in released.columns]
        told = meanings(case.subject.hierarchies, made, columns)
        yield sharp(original, released.select(there), hierarchies=told, bins=MAX_LEVELS), own


def _carried(released: Table, people: int) -> NDArray[np.int64]:
    """The released row of each person, by the number that was carried along; -1 for none."""
    numbers = None
    if _TICKET in released.columns:
        column = released.select([_TICKET]).to_arrow().column(0)
        if pa.types.is_integer(column.type) and not column.null_count:
            numbers = column.to_numpy()
    there = numbers is not None and ((numbers >= 0) & (numbers < people)).all()
    if numbers is None or not there or len(np.unique(numbers)) < len(numbers):
        raise DataError(
            "the method does not carry along a column that it was not told of, so nobody knows whose row is "
            "whose.",
            hint="let the maker keep columns that are not quasi-identifiers",
        )
    own = np.full(people, -1, np.int64)
    own[numbers] = np.arange(len(numbers))
    return own


def _matching(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import perfect_matching

    return perfect_matching(case.sharp, case.sharply_known, truth=case.truth)


def _probabilistic(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.fellegi_sunter import fellegi_sunter

    return fellegi_sunter(
        case.sharp, case.sharply_known, database=case.database, truth=case.truth, seed=case.seed
    )


def _inferring(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import background, bayesian_network, homogeneity, learnt, most_frequent

    attacks: list[Callable[..., list[Score]]] = [most_frequent, homogeneity]
    if not case.quick:
        attacks += [background, learnt, bayesian_network]
    return as_far_as_possible(
        partial(attack, case.sharp, case.sharply_known, wanted, control=case.control)
        for wanted in case.sharply_wanted
        for attack in attacks
    )


def _nearest_value(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.three_risks import inferences

    found = inferences(
        case.files.original, case.files.released, case.known, case.secrets, control=case.files.control,
        seed=case.seed, attacks=case.draws,
    )  # fmt: skip
    return as_far_as_possible(partial(_scores_or_refusal, each) for each in found)


def _scores_or_refusal(found: list[Score] | DataError) -> list[Score]:
    if isinstance(found, DataError):
        raise found
    return found


def _singling_out(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import singling_out

    files = case.files
    return singling_out(
        files.original,
        files.released,
        columns=case.pair.columns,
        control=files.control,
        seed=case.seed,
        attacks=case.draws,
        conditions=_CONDITIONS,
    )


def _linkability(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import linkability

    files, half = case.files, len(case.known) // 2
    halves = (case.known[:half], case.known[half:])
    return linkability(
        files.original, files.released, halves, control=files.control, seed=case.seed, attacks=case.draws
    )


def _membership(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.membership import density_membership

    files = case.files
    assert files.control is not None
    return density_membership(
        files.released, files.original, files.control, key=case.key.derive("membership"),
        columns=case.pair.columns, most=case.draws,
    )  # fmt: skip


def _judged(case: Case) -> str:
    """What tells a right claim from a wrong one."""
    there = case.files.control is not None or bool(case.truth)
    return "" if there else "no control of people outside the data was given, nor whose row is whose"


def _learnable(case: Case) -> str:
    """A release of a length that a model learns in reasonable time."""
    most = _LONGEST.get(case.subject.effort, 0)
    return "" if case.files.rows[1] <= most else f"the release has more than {most:,} rows to learn from"


def _search_known(case: Case) -> str:
    """A record that says which search generalized for the sake of variety."""
    if case.method == _SIMULATABLE:
        return _SAME_FILE
    if case.method not in (*_ONE_LEVEL, *_BY_CLASS):
        return "no record says by which search values were made more general"
    varied = asked_of_classes(case.subject.released)[1] > 1
    return "" if varied else "no variety of sensitive values (distinct l) was asked for"


def _classes_known(case: Case) -> str:
    """A record that says that each class was given the least general values that hold it."""
    if case.method == _SIMULATABLE:
        return _SAME_FILE
    return "" if case.method in _BY_CLASS else "no record says by which search each class got its values"


def _promise(case: Case) -> str:
    """A k that each record is promised."""
    return "" if case.promised else "the release promises no record a chance of at most 1/k"


CHECKS = (
    AssessmentCheck("linking", ("linking",), _linking, (known,)),
    AssessmentCheck(
        "linking by the most telling columns", ("linking by the most telling columns",), _telling,
        (known, _judged),
    ),
    AssessmentCheck(
        "linking that forgives errors", ("linking that forgives errors",), _forgiving, (known, _judged),
    ),
    AssessmentCheck(
        "linking by codes", ("linking by 1 code", "linking by 2 codes", "linking by 3 codes"), _by_codes,
        (_codes,), drawn=True,
    ),
    AssessmentCheck("linking by a single value", ("linking by a single value",), _single_value),
    AssessmentCheck("order of rows", ("order of rows",), _order, (known,)),
    AssessmentCheck(
        "predicting what a person's row looks like", ("predicting intruder",), _predicting,
        (known, truth, time, _learnable),
    ),
    AssessmentCheck(
        "predicting, in releases made anew",
        ("predicting intruder", "records above the promise", "largest chance of a single record"),
        _predicting_again, (known, made, time, _promise),
    ),
    AssessmentCheck(
        "knowing the search (minimality)", ("minimality",), _minimality,
        (known, secret_known, time, _search_known),
    ),
    AssessmentCheck(
        "knowing the search (downcoding)", ("downcoding",), _downcoding, (known, time, _classes_known)
    ),
    AssessmentCheck("linking by the nearest record", ("nearest record",), _nearest, (known, truth)),
    AssessmentCheck(
        "matching everybody at once", ("perfect matching",), _matching, (known, truth, much_time),
    ),
    AssessmentCheck(
        "inferring sensitive values", ("attribute inference", "homogeneity", "background knowledge of 1"),
        _inferring, (known, secret_known),
    ),
    AssessmentCheck(
        "inferring by the nearest record", ("inference",), _nearest_value, (known, secret, time), drawn=True,
    ),
    AssessmentCheck("singling out", ("singling out",), _singling_out, (several, time), drawn=True),
    AssessmentCheck(
        "linking two data sets through the release", ("linkability",), _linkability, (two_known, time),
        drawn=True,
    ),
    AssessmentCheck(
        "telling who was in the data", ("membership by density", "membership by nearest row"), _membership,
        (control, time), drawn=True,
    ),
    AssessmentCheck(
        "linking a database of the intruder's (Fellegi and Sunter)", ("probabilistic linking",),
        _probabilistic, (known, truth, database),
    ),
)  # fmt: skip
