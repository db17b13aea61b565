"""What an intruder reaches: linking, inferring, singling out, telling who was in the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import (
    AssessmentCheck,
    as_far_as_possible,
    control,
    database,
    known,
    much_time,
    secret,
    secret_known,
    several,
    time,
    truth,
    two_known,
)
from sfumato.score import Score


def _linking(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.linkage import deterministic

    return deterministic(case.sharp, case.sharply_known, truth=case.truth, control=case.control)


def _nearest(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.linkage import nearest

    return nearest(case.sharp, case.sharply_known, truth=case.truth)


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
    from sfumato.assessment.attacks import inference

    first, second = case.files.original, case.files.released
    return as_far_as_possible(
        partial(
            inference,
            first,
            second,
            case.known,
            wanted,
            control=case.files.control,
            seed=case.seed,
            attacks=case.draws,
        )
        for wanted in case.secrets
    )


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


CHECKS = (
    AssessmentCheck("linking", ("linking",), _linking, (known,)),
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
