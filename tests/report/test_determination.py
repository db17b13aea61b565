"""The determination file: numbers from a run, words from a person, open until both are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.privacy import Guarantee, KAnonymity
from sfumato.report import overclaims
from sfumato.report.contents import DataTable
from sfumato.report.determination import FIELDS, Said, determination, read_report, template

FILLED = "\n".join(
    [
        *(f'{key} = "words on {key}"' for key, *_ in FIELDS),
        '[thresholds]\nrisk = "policy 7"',
        '[signature]\nname = "A. Person"\nrole = "officer"\ndate = 2026-11-16\n',
    ]
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = sf.samples.discharges(400, seed=1).select(["age", "sex", "pay", "zip"])
    found = sf.assess(
        table, table, effort="quick", quasi_identifiers=["age", "sex"], thresholds={"risk": 0.05}
    )
    return found.save(tmp_path_factory.mktemp("report") / "report.json")


def said(tmp_path: Path, text: str) -> Said:
    (tmp_path / "said.toml").write_text(text)
    return Said.read(tmp_path / "said.toml")


def test_the_untouched_form_is_a_draft_that_lists_what_is_open(tmp_path: Path, report: Path) -> None:
    form = said(tmp_path, template())
    assert len(form.missing) == len(FIELDS) + 3
    page = determination(form, read_report(report))
    assert page.title.startswith("DRAFT") and "signature: name" in page.sections[0].prose[0]
    assert "source of the threshold" in page.sections[0].prose[0]


def test_filled_in_it_holds_the_words_the_numbers_and_the_promise(tmp_path: Path, report: Path) -> None:
    promised = Guarantee.of(KAnonymity(5, ("age", "sex")))
    found = {**read_report(report), "guarantee": json.loads(promised.to_json())}
    page = determination(said(tmp_path, FILLED), found)
    html = page.to_html()
    assert not page.title.startswith("DRAFT") and "INTERNAL" in html
    for words in ("words on recipient", "policy 7", "A. Person", "2026-11-16", "K-anonymity with k = 5"):
        assert words in html
    attacks = [s["name"] for s in found["scores"] if s["section"] == "attack"]
    assert attacks and all(name in page.to_markdown() for name in attacks)
    assert not overclaims(page.to_markdown())


@pytest.mark.parametrize(("text", "words"), [
    ("data = 3\nother = 1\n", "'other' is not asked for; 'data' must be text"),
    ("thresholds = 3\n", r"\[thresholds\] holds texts"),
    ("[signature]\nname = [1]\n", r"\[signature\] holds texts"),
    ("data = ", "no TOML"),
])  # fmt: skip
def test_a_wrong_form_is_refused_with_all_faults(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        said(tmp_path, text)


@pytest.mark.parametrize(("text", "words"), [
    ("[]", "is not an assessment"),
    ("{", "not a report in JSON"),
    ('{"sfumato_assessment": 1}', "is not an assessment"),
    ('{"sfumato_report": 1, "sections": []}', "holds no assessment"),
    ('{"sfumato_report": 1, "assessment": null}', "is not an assessment"),
])  # fmt: skip
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(DataError, match=words):
        read_report(tmp_path / "r.json")
    with pytest.raises(DataError, match="is not there"):
        read_report(tmp_path / "none.json")
    with pytest.raises(DataError, match="holds no internal"):
        read_report(tmp_path)


def test_a_source_that_is_left_empty_is_open(tmp_path: Path) -> None:
    form = tmp_path / "said.toml"
    form.write_text('[thresholds]\nrisk = ""\n', encoding="utf-8")
    assert not Said.read(form).sources["risk"]


def test_a_measure_of_several_columns_is_explained_once_and_loses_no_number(tmp_path: Path) -> None:
    table = sf.samples.discharges(300, seed=1).select(["age", "sex", "pay", "mdc"])
    judged = sf.assess(
        table, table, effort="quick", quasi_identifiers=["age", "sex"], sensitive=["pay", "mdc"]
    )
    found = read_report(judged.save(tmp_path / "report.json"))
    section = next(
        s for s in determination(said(tmp_path, FILLED), found).sections if s.title == "What was measured"
    )
    risks = section.blocks[0]
    assert isinstance(risks, DataTable)
    assert len(risks.rows) == sum(s["section"] == "risk" for s in found["scores"])
    assert "control" not in risks.columns  # nothing stood below it
    at = next(i for i, row in enumerate(risks.rows) if row[:2] == ("distinct l", "pay"))
    assert risks.rows[at][-1] and risks.rows[at + 1][:2] == ("", "mdc") and not risks.rows[at + 1][-1]
    (other,) = (s for s in found["scores"] if s["name"] == "distinct l, mdc")
    other["meaning"] = "something else"  # is not passed over
    section = next(
        s for s in determination(said(tmp_path, FILLED), found).sections if s.title == "What was measured"
    )
    assert section.blocks[0].rows[at + 1] == ("", "mdc", *risks.rows[at + 1][2:-1], "something else")
