"""The verdict on linked tables: per person, against people who are not in the data, by exact rules."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.assessment.sequences._kernels import nearest
from sfumato.assessment.sequences.linkage import ReleasedPersons, classes
from sfumato.assessment.sequences.traces import grain_of, traces
from sfumato.assessment.sequences.vocabulary import meaning
from sfumato.errors import ParameterError, PlanError
from sfumato.plan.database import DatabasePlan, held_back, run_database
from sfumato.report.determination import template

LIMIT = {"risk": 0.2}
KM = {"hierarchies": {"diagnoses.code": "icd9"}, "columns": ["sex", "age_band"]}


@pytest.fixture(scope="module")
def three() -> list[sf.Database]:
    """Originals, people who are not in the data, and others again."""
    whole = sf.samples.hospital(900)
    part = np.arange(900) // 300
    return [whole.only(part == i) for i in range(3)]


@pytest.fixture(scope="module")
def general(three: list[sf.Database]) -> sf.DatabaseRelease:
    with pytest.warns(sf.SfumatoWarning, match="left out"):
        return sf.anonymize_database(three[0], sf.KMAnonymity(5, 2), **KM)  # type: ignore[arg-type]


def test_only_some_persons_in_every_table(three: list[sf.Database]) -> None:
    whole = sf.samples.hospital(900)
    for name in whole.tables:
        assert sum(db[name].rows() for db in three) == whole[name].rows()
    assert all(not db.differences and db.people.count == 300 for db in three)
    with pytest.raises(ParameterError, match="900 persons"):
        whole.only(np.ones(3, bool))


def test_records_of_other_people_are_not_called_copies(three: list[sf.Database]) -> None:
    """No seed is special: by chance a tail of 1e-2 is paid for all cuts, and this seed is fixed."""
    found = sf.assess_database(three[0], three[2], control=three[1], thresholds=LIMIT)
    assert found.thresholds[0].outcome in ("met", "undecided")
    assert len(found.people) <= 3 and found.unit == "persons"
    assert abs(found["linking by 3 codes"].value - (found["linking by 3 codes"].control or 0)) < 0.05


def test_pseudonyms_alone_give_people_away(three: list[sf.Database]) -> None:
    made = sf.pseudonymize(three[0], shift_dates=365)
    found = sf.assess_database(three[0], made, control=three[1], thresholds=LIMIT)
    assert found.thresholds[0].outcome == "not met" and len(found.people) > 200
    gaps = found["linking by 2 gaps in days"]
    assert gaps.value > 0.9 and (gaps.control or 0) < 0.1  # a shift leaves gaps as they are
    days = found["linking by 2 days"]
    assert days.value < 0.1  # and moves days
    assert found["people nearly copied"].value > 0.8
    assert found.guarantee is not None and "persons of the original" in found.to_html()


def test_few_codes_do_not_find_people_and_whole_sequences_do(
    three: list[sf.Database], general: sf.DatabaseRelease
) -> None:
    found = sf.assess_database(three[0], general, control=three[1], thresholds=LIMIT)
    assert found["linking by 2 codes"].value <= 1 / 5  # k = 5: one in five at most, for everybody
    assert found.thresholds[0].outcome == "not met"
    few = sf.assess_database(three[0], general, control=three[1], thresholds=LIMIT, known=2)
    assert "at most 2 things" in few.notes[0] and "linking by 3 codes" in few.notes[0]
    # What k^m does not speak of is tried all the same.
    assert few["linking by the number of records in 2 tables"].value > 0.4
    assert few.thresholds[0].worst.startswith("linking by the number of records")


def test_what_is_no_control_or_not_understood_is_never_met(three: list[sf.Database]) -> None:
    original, control, others = three
    same = sf.assess_database(original, others, control=original, thresholds=LIMIT)
    assert same.thresholds[0].outcome == "not examined" and "persons of the control" in same.because
    none = sf.assess_database(original, others, thresholds=LIMIT)
    assert none.thresholds[0].outcome != "met" and not none.met
    stays = control.people.numbers("stays")
    often = np.bincount(stays, minlength=control.people.count) > 3
    drifted = sf.assess_database(original, others, control=control.only(often), thresholds=LIMIT)
    assert drifted.thresholds[0].outcome == "not examined" and "other people" in drifted.because
    rows = others["diagnoses"].to_arrow()
    hidden = rows.set_column(
        rows.column_names.index("code"), "code", [[f"§{i % 50}" for i in range(len(rows))]]
    )
    schema = others["diagnoses"].schema.with_("code", levels=None)
    coded = others.with_tables({"diagnoses": sf.Table.from_arrow(hidden, schema)})
    unread = sf.assess_database(original, coded, control=control, thresholds=LIMIT)
    assert unread.thresholds[0].outcome == "not examined" and "stand for none" in unread.because


def test_wrong_questions_are_refused(three: list[sf.Database]) -> None:
    less = sf.Database({"patients": three[1]["patients"]})
    with pytest.raises(ParameterError, match="lacks stays"):
        sf.assess_database(three[0], three[2], control=less)
    with pytest.raises(ParameterError, match="known must"):
        sf.assess_database(three[0], three[2], known=0)
    with pytest.raises(ParameterError, match="not in the table of persons"):
        sf.assess_database(three[0], three[2], columns=["shoe_size"])


@pytest.mark.parametrize(
    ("leaves", "labels", "unit", "nodes", "unread"),
    [
        (["4019", "4011", "25000"], ["401*", "25000", "*"], "", [[0, 2], [0, 2], [1, 2]], []),
        (["a", "b"], ["{a, b}", "c"], "", [[0], [0]], [1]),
        (["31", "44"], ["30-39", "[40, 50)"], "", [[0], [1]], []),
        (["2008-01-09", "2008-04-01"], ["week of 2008-01-07", "2008-Q2", "2008"], "date",
         [[0, 2], [1, 2]], []),
    ],
)  # fmt: skip
def test_what_released_values_stand_for(
    leaves: list[str], labels: list[str], unit: str, nodes: list[list[int]], unread: list[int]
) -> None:
    found = meaning(leaves, labels, unit=unit)
    assert [n.tolist() for n in found.nodes] == nodes and sorted(found.unread) == unread


def test_dictionaries_are_recognized() -> None:
    codes = [f"{n:03d}{d}" for n in (401, 402, 410, 414, 427) for d in range(4)]
    found = meaning([c for c in codes if c != "4020x"], ["401*", "390-459 circulatory"])
    assert not found.unread and all(1 in n for n in found.nodes)


def test_who_fits_is_who_fits(three: list[sf.Database], general: sf.DatabaseRelease) -> None:
    """Postings and classes against a loop over all released persons."""
    sides = (three[0], three[1], general.data)
    known = classes(sides)
    trace = traces(sides, ["diagnoses.code"], {}, known.columns)[0]
    released = ReleasedPersons(trace, known)
    has: dict[int, set[int]] = {}
    for person, item in zip(trace.released.person.tolist(), trace.released.item.tolist(), strict=True):
        has.setdefault(person, set()).add(item)
    once = trace.original.once
    for person in range(0, 300, 37):
        leaves = once.item[once.person == person][:2]
        if not len(leaves):
            continue
        group = int(known.original[person])
        stands = [set(trace.nodes[trace.start[x] : trace.start[x + 1]].tolist()) for x in leaves]
        fit = [
            p for p, items in has.items()
            if all(items & s for s in stands) and known.fits[group, known.released[p]]
        ]  # fmt: skip
        assert released.fitting(leaves, group).tolist() == sorted(fit)


def test_the_nearest_by_hand() -> None:
    """Three released persons, things 0 to 3; node i stands for thing i."""
    start, things = np.array([0, 2, 3]), np.array([0, 1, 3])
    line = np.arange(5)
    posts, post_start = np.array([0, 1, 0, 2, 1]), np.array([0, 2, 3, 4, 5])  # 0: p0 p1; 1: p0; 2: p2; 3: p1
    weight, sizes = np.array([0.5, 1.0, 2.0, 3.0]), np.array([2, 2, 1])
    for kernel in (nearest, getattr(nearest, "py_func", nearest)):
        best, shared = np.zeros(2), np.zeros(2, np.int64)
        fits = np.array([[True]])
        kernel(start, things, line, np.arange(4), post_start, posts, weight, sizes,
               np.zeros(2, np.int64), np.zeros(3, np.int64), fits, 1.0, best, shared)  # fmt: skip
        assert best.tolist() == [1.5, 2.0] and shared.tolist() == [2, 1]


def test_the_grain_of_released_days() -> None:
    assert grain_of(np.array([3, 10, 17])) == 7 and grain_of(np.array([1, 2, 9])) == 1
    months = np.array(["2008-01-01", "2008-02-01", "2008-05-01"], "datetime64[D]").astype(np.int64)
    assert grain_of(months) == 31 and grain_of(np.empty(0, np.int64)) == 1


def test_held_back_persons_are_in_no_table_of_the_release() -> None:
    db = sf.samples.hospital(60)
    kept, held = held_back(db, 0.25, sf.Key.from_seed(1))
    ids = [set(part["patients"].to_arrow()["patient_id"].to_pylist()) for part in (kept, held)]
    assert 5 < len(ids[1]) < 25 and not ids[0] & ids[1] and len(ids[0] | ids[1]) == 60
    assert set(held["stays"].to_arrow()["patient_id"].to_pylist()) <= ids[1]
    with pytest.raises(PlanError, match="60 persons"):
        held_back(db, 60, sf.Key.from_seed(1))


def test_one_person_more_changes_nobody_elses_side() -> None:
    """What a promise to persons needs: a rounded share of all would exchange some for others."""
    db = sf.samples.hospital(45)
    everybody = db["patients"].to_arrow()["patient_id"].to_pylist()
    sides = []
    for many in range(40, 46):  # 0.1 of 45 is rounded otherwise than of 44
        some = db.only(np.arange(45) < many)
        kept, _ = held_back(some, 0.1, sf.Key.from_seed(2))
        sides.append(set(kept["patients"].to_arrow()["patient_id"].to_pylist()))
    for more, (before, after) in enumerate(pairwise(sides), 40):
        assert before ^ after <= {everybody[more]}


@pytest.mark.filterwarnings("ignore:left out, since they identify")
def test_a_plan_with_limits_control_and_determination(tmp_path: Path) -> None:
    from linked import saved

    saved(tmp_path / "hospital", sf.samples.hospital(300))
    (tmp_path / "form.toml").write_text(template())
    (tmp_path / "plan.toml").write_text(
        '[database]\ndata = "hospital"\n[codes]\nk = 5\nm = 2\ncolumns = ["sex"]\n'
        '[codes.hierarchies]\n"diagnoses.code" = "icd9"\n[assess]\nhold_back = 120\nknown = 2\n'
        '[thresholds]\nrisk = 0.01\n[outputs]\ndetermination = "form.toml"\n'
    )
    found = run_database(DatabasePlan.read(tmp_path / "plan.toml"), tmp_path / "out")
    assert not found.passed and "a limit is missed" in found.release.draft
    assert found.assessment.rows == (180, 180) and found.assessment["linking by 2 codes"].control is not None
    page = (tmp_path / "out" / "internal" / "determination.html").read_text()
    assert "180 persons of the original" in page and "numbers of records" in page and "table stays" in page
    assert (tmp_path / "out" / "internal" / "report.json").is_file()
    assert sf.verify(tmp_path / "out").ok


def test_faults_of_limits_are_listed(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[database]\ndata = "x"\n[assess]\nhold_back = 1.5\ncontrol = "y"\nknown = 0\n'
        "[thresholds]\nrisk = 3\naccepted = 1\n"
    )
    with pytest.raises(PlanError) as caught:
        DatabasePlan.read(tmp_path / "plan.toml")
    for words in (
        "hold_back must be",
        "keep one of them",
        "known must",
        "from 0 to 1",
        "accepted must be text",
    ):
        assert words in str(caught.value)
