"""The driver: any two files, thresholds, what was not examined, bad input, and no cell in any message."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from assess_files import KEY, QUICK, frame
from cli_support import CANARY
from toys import coarse, independent, people, sampled

import sfumato as sf
from sfumato.assessment import thresholds
from sfumato.assessment.assess import Assessment, assess
from sfumato.assessment.attacks.linkage import AttackDatabase
from sfumato.assessment.checks import CHECKS
from sfumato.errors import OutputError, ParameterError
from sfumato.privacy import KAnonymity
from sfumato.progress import listening
from sfumato.report import overclaims
from sfumato.score import Score


@pytest.fixture(scope="module")
def same() -> Assessment:
    table = people()
    return assess(table, table, truth="rows", control=people(400, seed=77), key=KEY, target="dx")


def test_identical_files_differ_in_nothing(same: Assessment) -> None:
    for score in same.of("utility"):
        if score.name.startswith(("total variation", "marginal", "conditional", "missing")):
            assert score.value == pytest.approx(0, abs=1e-12), score.name
    assert same["histogram intersection"].value == pytest.approx(1)


def test_on_identical_files_linking_finds_who_is_unique(same: Assessment) -> None:
    unique = same["unique on all quasi-identifiers"].value
    assert unique > 0
    assert same["linking, claimed"].value == pytest.approx(unique)


def test_every_part_gives_what_it_says_and_nothing_fails(same: Assessment) -> None:
    known = {m for check in CHECKS for m in check.gives}
    assert {thresholds.measure(n) for n in same.names} <= known
    assert not [s for s in same.skipped if "failed" in s.reason]
    assert len(set(same.names)) == len(same.names)
    for score in same.scores:  # which way is better is known before anything is measured
        said = thresholds.measure(score.name)
        ways = {"higher": said in thresholds.RISING, "neither": said in thresholds.VAGUE}
        assert ways.get(score.better, said not in thresholds.RISING | thresholds.VAGUE), score.name
    assert known >= thresholds.RISING | thresholds.VAGUE


def test_every_skipped_part_says_why() -> None:
    found = assess(people().select(["dx"]), people().select(["dx"]), effort="quick", key=KEY)
    assert {"linking", "class sizes"} <= {s.part for s in found.skipped}
    assert all(s.reason for s in found.skipped)
    assert "quasi_identifiers=" in str(found.verdict().not_examined)
    assert "quasi_identifiers" not in str(found.page().sections[0])  # plain words come first


def test_no_column_is_not_by_role() -> None:
    """An empty list says that an intruder knows nothing; leaving it out leaves it to the roles."""
    table = people()
    by_role, nothing = (assess(table, table, effort="quick", quasi_identifiers=q) for q in (None, []))
    assert by_role.quasi_identifiers and "k, the smallest class" in by_role.names
    assert nothing.quasi_identifiers == () and "k, the smallest class" not in nothing.names


def test_noise_is_farther_off_than_a_sample() -> None:
    table = people()
    kept = assess(table, sampled(table, KEY, share=0.6), **QUICK)
    lost = assess(table, independent(table, KEY), **QUICK)
    assert kept["Cramer's V, mean difference"].value < lost["Cramer's V, mean difference"].value


# -- what a release is -----------------------------------------------------------------------------


def test_a_release_brings_its_guarantee(tmp_path: Path) -> None:
    release = coarse(people(), KEY, width=20)
    found = assess(people(), release, **QUICK)
    assert found.guarantee == release.guarantee
    release.save(tmp_path / "release")
    again = assess(people(), tmp_path / "release", **QUICK)
    assert again.guarantee is not None and isinstance(again.guarantee.claims[0], KAnonymity)
    public = assess(people(), tmp_path / "release" / "public", **QUICK)
    assert public.guarantee == again.guarantee
    assert assess(people(), release.data, **QUICK).guarantee is None
    for name in ("linking, at most", "total variation, pairs"):
        assert found[name].value == pytest.approx(again[name].value)


def test_a_file_of_another_tool_needs_no_line_of_code(tmp_path: Path) -> None:
    original = frame()
    arx = original.assign(
        age=[f"[{a // 20 * 20}, {a // 20 * 20 + 20}[" for a in original["age"]],
        sex=["*" if i % 9 == 0 else s for i, s in enumerate(original["sex"])],
        zip=[z[:4] + "*" for z in original["zip"]],
    )
    original.to_csv(tmp_path / "original.csv", index=False)
    arx.to_csv(tmp_path / "arx.csv", index=False, sep=";")
    found = assess(
        tmp_path / "original.csv", tmp_path / "arx.csv",
        quasi_identifiers=["age", "sex", "zip"], sensitive=["dx"], truth="rows", key=KEY,
    )  # fmt: skip
    assert found.columns == ("age", "sex", "zip", "dx")
    assert not [s for s in found.skipped if "failed" in s.reason]
    assert found["total variation, columns"].value < 0.3  # spread over what they stand for
    assert found["linking, re-identified"].value < 0.05


def test_a_plain_sample_in_pandas() -> None:
    original = frame()
    found = assess(original, original.sample(100, random_state=1), **QUICK)
    assert found.rows == (300, 100)
    assert found["total variation, columns"].value < 0.4


# -- thresholds ------------------------------------------------------------------------------------


def score(value: float, better: str = "lower", **more: object) -> Score:
    return Score(
        str(more.pop("name", "linking")), str(more.pop("section", "attack")), value, (0, 1), better,  # type: ignore[arg-type]
        "For a test.", knowledge="all", **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_unfavourable_end_of_the_interval_decides() -> None:
    near = score(0.04, low=0.01, high=0.08, confidence=0.95)
    (found,) = thresholds.judged({"linking": 0.05}, [near], {})
    assert found.outcome == "undecided" and found.value == 0.08  # 0.01 would meet it
    assert thresholds.judged({"linking": 0.08}, [near], {})[0].outcome == "met"
    assert thresholds.judged({"linking": 0.005}, [near], {})[0].outcome == "not met"
    kept = score(0.9, "higher", name="overlap", section="utility", low=0.7, high=1.0, confidence=0.95)
    assert thresholds.judged({"overlap": 0.8}, [kept], {})[0].outcome == "undecided"
    assert thresholds.judged({"utility": 0.7}, [kept], {})[0].outcome == "met"


def test_risk_is_what_an_attack_reaches_beyond_its_control() -> None:
    assert thresholds.excess(score(0.6, control=0.6)) == 0
    assert thresholds.excess(score(0.8, control=0.6)) == pytest.approx(0.2)
    assert thresholds.excess(score(0.8, baseline=0.6)) == pytest.approx(0.2)
    assert thresholds.excess(score(0.8)) == 0.8
    assert thresholds.excess(score(1.0, control=1.0)) == 0
    both = [score(0.6, control=0.6), score(0.3, control=0.2, name="inference")]
    (found,) = thresholds.judged({"risk": 0.05}, both, {})
    assert found.outcome == "not met" and found.worst == "inference"


def test_what_was_not_examined_is_not_met() -> None:
    found = assess(people().select(["dx"]), people().select(["dx"]), effort="quick", thresholds={"risk": 0.5})
    assert not found.met and found.thresholds[0].outcome == "not examined"
    assert "quasi_identifiers" in found.thresholds[0].sentence
    assert found.verdict().not_met[0].startswith("risk was not examined: ")  # not "no threshold was set"
    assert assess(people(), people(), **QUICK).met  # nothing was asked


def test_thresholds_of_an_assessment() -> None:
    table = people()
    found = assess(table, table, thresholds={"risk": 0.01, "total variation, pairs": 0.1, "k": 2}, **QUICK)
    assert [t.outcome for t in found.thresholds] == ["not met", "met", "not met"]
    assert not found.met
    words = found.verdict()
    assert len(words.met) == 1 and len(words.not_met) == 2


def test_a_score_that_is_not_there_is_not_judged_by_another() -> None:
    alone = people().select(["dx"])  # one column has no pairs
    found = assess(alone, alone, effort="quick", thresholds={"total variation, pairs": 0.1})
    assert found.thresholds[0].outcome == "not examined" and not found.met
    assert "'total variation, columns'" in found.thresholds[0].sentence


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"linkin": 1}, "no score is called 'linkin'"), ({"risk": "low"}, "not a number"),
     ({"risk": float("nan")}, "not a number"), ({"risk": True}, "not a number"),
     ({"chi-square ratio": 1}, "no way is better")],
)  # fmt: skip
def test_bad_thresholds_are_refused_before_any_work(limits: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        assess("no such file", "no such file", thresholds=limits)
    assert caught.value.hint


def test_a_near_miss_is_told_the_name() -> None:
    with pytest.raises(ParameterError) as caught:
        assess(people(), people(), thresholds={"linkage": 0.1})
    assert "linking" in caught.value.hint


def test_a_part_that_breaks_is_said_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.assessment import assess as driver

    def broken(case: object) -> list[Score]:
        raise ValueError(f"{CANARY} is not in list")

    parts = (*CHECKS[:1], driver.AssessmentCheck("broken", ("broken",), broken))
    monkeypatch.setattr(driver, "CHECKS", parts)
    found = assess(people(), people(), **QUICK)
    assert found.of("utility") and found.skipped[0].part == "broken"
    assert "ValueError" in found.skipped[0].reason and CANARY not in str(found)


def test_an_attack_that_breaks_meets_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.assessment import assess as driver

    def broken(case: object) -> list[Score]:
        raise ValueError(f"{CANARY} is not in list")

    asked = {"thresholds": {"linking": 1.0, "utility": 0.0}, **QUICK}
    assert assess(people(), people(), **asked).met  # type: ignore[arg-type]
    parts = tuple(replace(p, run=broken) if p.name == "linking" else p for p in CHECKS)
    monkeypatch.setattr(driver, "CHECKS", parts)
    found = assess(people(), people(), **asked)  # type: ignore[arg-type]
    assert [t.outcome for t in found.thresholds] == ["not examined", "met"]
    assert "linking: it failed (ValueError)" in found.thresholds[0].sentence


def test_ctrl_c_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.assessment import assess as driver

    def stopped(case: object) -> list[Score]:
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "CHECKS", (driver.AssessmentCheck("x", ("x",), stopped),))
    with pytest.raises(KeyboardInterrupt):
        assess(people(), people(), **QUICK)


# -- out -------------------------------------------------------------------------------------------


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    with listening(lambda *said: told.append(said)):
        assess(people(), people(), **QUICK)
    parts = [t for t in told if t[0] == "parts of the assessment"]
    assert parts[0][1:] == (0, len(CHECKS)) and parts[-1][1:] == (len(CHECKS), len(CHECKS))


def test_the_report_is_written_by_suffix(tmp_path: Path, same: Assessment) -> None:
    for suffix in ("html", "md", "json"):
        path = same.save(tmp_path / f"report.{suffix}")
        assert oct(path.stat().st_mode)[-3:] == "600"
    page = (tmp_path / "report.html").read_text()
    assert "INTERNAL" in page and "http://" not in page.replace("http://www.w3.org", "")
    assert len(page) < 3_000_000
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["internal"] is True and len(document["scores"]) == len(same.scores)
    assert "INTERNAL" in same.to_markdown()
    with pytest.raises(OutputError, match="exists"):
        same.save(tmp_path / "report.html")
    with pytest.raises(ParameterError):
        same.save(tmp_path / "report.png")


def test_the_report_claims_nothing_that_was_not_measured(same: Assessment) -> None:
    assert not overclaims(same.to_markdown())
    assert not overclaims(str(same))


def test_the_pictures_are_there(same: Assessment) -> None:
    assert [section for section, _ in same.figures] == ["utility", "utility", "risk", "risk", "attack"]


def test_the_card_holds_nothing_of_the_original(tmp_path: Path) -> None:
    first = people()
    found = assess(first, coarse(first, KEY, width=20), **QUICK)
    text = found.card(tmp_path / "card.md").read_text()
    assert "2-anonym" in text or "shared by at least 2" in text
    assert "INTERNAL" not in text and "400" not in text


def test_a_card_of_a_table_in_memory_has_no_level_and_no_range_of_the_original(tmp_path: Path) -> None:
    schema = sf.Schema((
        sf.Column("dx", sf.Kind.NOMINAL, levels=("flu", "rare")),
        sf.Column("age", sf.Kind.NUMERIC, type="integer", edges=(0, 50, 117)),
    ))  # fmt: skip
    rows = pa.table({"dx": ["flu"] * 40 + ["rare"], "age": [*range(20, 60), 117]})
    released = sf.Table.from_arrow(rows.slice(0, 40), schema)  # as a method gives it back
    found = assess(sf.Table.from_arrow(rows, schema), released, effort="quick")
    text = found.card(tmp_path / "c.md").read_text()
    assert "flu" in text and "rare" not in text and "117" not in text


def test_bins_are_shown_in_few_digits() -> None:
    from sfumato.assessment.pictures import levels_of
    from sfumato.assessment.reading.alignment import align

    values = [0.123456789 + k for k in range(40)]
    rows = pa.table({"x": values, "n": [*range(39), 60], "few": [1.5, 2.5] * 20})
    more = pa.table({"x": [-5.0, *values[1:]], "n": [*range(39), 61], "few": [1.5] * 40})
    pair = align(sf.Table.from_arrow(rows), sf.Table.from_arrow(more))
    assert levels_of(pair, "x")[:2] == ["below 0.123", "[0.123, 1.12)"]
    assert levels_of(pair, "n")[-1] == "from 61" and levels_of(pair, "few") == ["1.5", "2.5"]


def test_words(same: Assessment) -> None:
    assert str(same).startswith("INTERNAL. No threshold was set")
    risk, utility = (str(same).index(title) for title in ("Risk: what the", "Utility: what the"))
    assert risk < str(same).index("linking, claimed") < utility
    assert same._repr_html_().startswith("<p>INTERNAL. <strong>")
    assert repr(same).startswith(f"Assessment({len(same.scores)} scores; no threshold; ")
    with pytest.raises(ParameterError, match="no score"):
        same["nothing"]
    assert sf.assess is assess


def test_a_database_of_the_intruders_and_regressions() -> None:
    columns = ["age_years", "sex", "race", "zip", "pay", "charge_usd"]
    everyone = sf.samples.discharges(300, seed=3).select(columns)
    known = ["age_years", "sex", "race", "zip"]
    found = assess(
        everyone, everyone, quasi_identifiers=known, sensitive=["pay"], truth="rows", effort="quick",
        database=AttackDatabase([everyone.select(known)]),
        formulas={"charge_usd ~ nothing": "linear", "charge_usd ~ age_years + sex": "linear"},
    )  # fmt: skip
    assert found["probabilistic linking"].value > 0.5
    assert any(s.reason.startswith("charge_usd ~ nothing") for s in found.skipped)
    assert found["interval overlap, linear regression charge_usd ~ age_years + sex"].value == pytest.approx(1)
    alone = assess(everyone, everyone, quasi_identifiers=known, sensitive=["pay"], effort="quick")
    reasons = {s.part: s.reason for s in alone.skipped}
    assert "truth" in reasons["linking a database of the intruder's (Fellegi and Sunter)"]
    assert "formulas" in reasons["the same regression on both files"]
