"""German beside English: no text is missing, numbers have their form, what programs read stays as it is."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from rich.table import Table as Grid
from rich.text import Text

import sfumato as sf
from sfumato.assessment.frontier import Candidate
from sfumato.assessment.judgement import Assessment
from sfumato.cli.renderings import NameText, said
from sfumato.errors import ParameterError
from sfumato.languages import LANGUAGES, Verbatim, form, listening, say, speaking, tried
from sfumato.languages.catalogue import Catalogue
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import OURS, find
from sfumato.privacy import Guarantee, account, claims, code_sets, differential, known_search, secret, tables
from sfumato.privacy.base import Claim, Unit
from sfumato.privacy.differential import Neighbours
from sfumato.release import verify
from sfumato.report import Page, Section, card
from sfumato.report.determination import Said, determination, template
from sfumato.table import Table

OTHERS = [code for code in LANGUAGES if code != "en"]
KNOWN = ["age", "sex"]
FIELD = re.compile(r"\{(\w+)[}|]")


@pytest.fixture(scope="module")
def table() -> Table:
    return sf.samples.discharges(300, seed=1).select([*KNOWN, "pay", "los_days"])


@pytest.fixture(scope="module")
def judged(table: Table) -> Assessment:
    rows = table.to_arrow()
    halves = [Table.from_arrow(rows.slice(at, 150), table.schema) for at in (0, 150)]
    limits = {"risk": 0.05, "k": 1.0, "utility": 0.1}
    return sf.assess(
        halves[0], halves[0], control=halves[1], effort="quick", quasi_identifiers=KNOWN,
        sensitive=["pay"], thresholds=limits,
    )  # fmt: skip


# -- the catalogue -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", OTHERS)
def test_each_text_of_a_catalogue_uses_the_fields_of_the_english_one(language: str) -> None:
    for english, own in Catalogue.read(language).texts.items():
        assert own.strip(), english
        assert set(FIELD.findall(own)) == set(FIELD.findall(english)), english


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("0.05", "0,05"), ("1,234,567.8", "1\u202f234\u202f567,8"), ("12.3%", "12,3\u00a0%"), ("−3", "−3"),
        ("4.62e−05 to 0.0419", "4,62e−05 bis 0,0419"), ("1 row", "1 Zeile"), ("2 rows", "2 Zeilen"),
        ("Signed by A. Weber on 2026-11-18.", "Unterschrieben von A. Weber am 18.11.2026."),
        ("Signed by Prof. Dr. Weber on 2026-11-18.", "Unterschrieben von Prof. Dr. Weber am 18.11.2026."),
        ("1 thresholds that are met", "1 eingehaltener Grenzwert"),
        ("risk at most 0.05: 0.3 (linking, claimed)", "Risiko höchstens 0,05: 0,3 (Verknüpfung, behauptet)"),
        ("K-anonymity with k = 5 rows.", "k-Anonymität mit k = 5 Zeilen."),
        ("Columns: a, b and 3 more.", "Spalten: a, b und 3 weitere."),
        ("Columns: a (in 9 bins), b and 3 more.", "Spalten: a (in 9 Klassen), b und 3 weitere."),
        ("Columns: 'a' with 'b', a with b.", "Spalten: 'a' mit 'b', a with b."),
        (
            "Likewise: distinct l-diversity with l = 2 of 'a'.",
            "Ebenso: l-Diversität (verschiedene Werte) mit l = 2 für 'a'.",
        ),
    ],
)  # fmt: skip
def test_numbers_days_and_names_within_a_text(english: str, german: str) -> None:
    with speaking("de"), listening() as missing:
        assert say(english) == german
    assert missing == []


def test_a_text_that_is_not_there_is_english_and_counted() -> None:
    with speaking("de"), listening() as missing:
        assert say("Zebras graze. The threshold is met.") == "Zebras graze. Der Grenzwert ist eingehalten."
        assert tried("zebras") == "zebras"
    assert missing == ["Zebras graze"]
    assert say("The threshold is met.") == "The threshold is met."


def test_what_a_person_wrote_stays_as_it_is() -> None:
    with speaking("de"):
        assert say(Verbatim("risk")) == "risk"
        page = Page("T", "", [Section("S", [Verbatim("The threshold is met."), "The threshold is met."])])
        assert page.to_html().count("The threshold is met.") == 1


def test_an_unknown_language_is_refused_and_the_old_one_comes_back() -> None:
    with pytest.raises(ParameterError, match="'xx'"), speaking("xx"):
        pass
    with pytest.raises(ZeroDivisionError), speaking("de"):
        raise ZeroDivisionError
    assert form("0.5") == "0.5"


def test_a_text_made_to_take_for_ever_stays_english_soon() -> None:
    begin = time.process_time()
    with speaking("de"):
        for part in ("A. B. c, and d: ", "' in the name, and ", "a: b. C; ", "The data. "):
            say(part * (5_000 // len(part)))
        assert say("x and " * 1_000) == "x and " * 1_000
    assert time.process_time() - begin < 30


def test_a_name_in_a_printed_table_is_not_translated() -> None:
    grid = Grid("risk", "value")
    grid.add_row(NameText("risk"), Text("0.5"))
    with speaking("de"):
        said(grid)
    assert [c.header for c in grid.columns] == ["Risiko", "Wert"]
    assert [str(next(iter(c.cells))) for c in grid.columns] == ["risk", "0,5"]


# -- nothing is missing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_of_report_card_and_determination_is_missing(
    judged: Assessment, language: str, tmp_path: Path
) -> None:
    with speaking(language), listening() as missing:
        (tmp_path / "form.toml").write_text(template(), encoding="utf-8")
        form_ = Said.read(tmp_path / "form.toml")
        shown = [judged.to_html(), judged.to_markdown(), determination(form_, judged.to_dict()).to_html()]
        assert judged.schema is not None
        shown.append(card(judged.schema, Guarantee()).to_html())
    assert missing == []
    assert all(f'<html lang="{language}">' in page for page in shown if page.startswith("<!"))


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_of_the_map_is_missing(table: Table, language: str, tmp_path: Path) -> None:
    ways = [Candidate("part", lambda t, key, *, share: t, {"share": share}) for share in (0.3, 0.6)]
    drawn = sf.frontier(table.select(KNOWN), ways, quasi_identifiers=KNOWN, repeats=1, workers=1)
    with listening() as missing:
        page = drawn.save(tmp_path / "map.html", language=language).read_text("utf-8")
    assert missing == []
    assert f'<html lang="{language}">' in page
    assert language != "de" or "Die Risiko-Nutzen-Karte" in page


def every_claim() -> list[Claim]:
    """A claim of each kind, in each of its wordings."""
    some, about = ("a", "b"), ("s",)
    person = Unit.person(3)
    found: list[Claim] = [
        claims.KAnonymity(5, some), claims.KAnonymity(5, some, unit=Unit.person()),
        claims.KAnonymity(1, some), claims.KAnonymity(2, some, matching="anything"),
        claims.AlphaK(3, some, 0.5, about), claims.KMap(5, some, "the county"),
        claims.JAnonymity(5, some, 0.05, "a model"), claims.LDiversity(3, some, about),
        claims.LDiversity(2.5, some, about, "entropy"), claims.LDiversity(3, some, about, "recursive", 2.0),
        *(claims.TCloseness(0.2, some, about, d) for d in ("equal", "ordered", "hierarchical")),
        claims.KAmbiguity(4, some), secret.BoundedReidentification(5, some), secret.DiverseLaw(2.0, some),
        secret.DiverseLaw(2.0, some, ("a",)), secret.Pseudonymous(some), tables.HiddenCells(5, some, "x"),
        tables.ConsistentTotals(some, "x"), known_search.KnownSearch(some, about),
        code_sets.KMAnonymity(5, 2, ("c",)), code_sets.KMAnonymity(5, 2, ("c",), some),
        code_sets.KMAnonymity(5, 1, ("c",), unit=Unit.person()),
    ]  # fmt: skip
    debited = ("a" * 32, "b" * 32)
    found += [
        account.UNACCOUNTED, account.Accounted(*debited, "epsilon", 1.5),
        account.Accounted(*debited, "rho", 0.5, 1e-6),
    ]  # fmt: skip
    for kind in Neighbours:
        for unit in (Unit.row(), person):
            found += [differential.PureDP(e, unit=unit, neighbours=kind) for e in (1.0, 9.0, 700.0)]
            found.append(differential.ApproxDP(1.0, 1e-6, unit=unit, neighbours=kind))
            found.append(differential.ZCDP(0.1, unit=unit, neighbours=kind))
    return found


def test_a_name_takes_no_words_with_it() -> None:
    with speaking("de"), listening() as missing:  # "attribute inference, mode, {column}" fits all of it
        said = say("attribute inference, mode, pay: 0.3 by a plain guess")
        assert said == "Inferenz eines Merkmals, häufigster Wert, pay: 0,3 durch bloßes Raten"
        assert say("attribute inference, mode, a: b") == "Inferenz eines Merkmals, häufigster Wert, a: b"
    assert missing == []


@pytest.mark.parametrize(
    ("method", "settings"),
    [("imputation", {}), ("lugs", {}), ("marginals", {}), ("table", {}), ("private", {"epsilon": 0.3})],
)
def test_no_text_of_a_synthetic_release_is_missing(
    table: Table, method: str, settings: dict[str, float], tmp_path: Path
) -> None:
    release = sf.synthesize(table.select(KNOWN), find(method)(**settings), rows=20)
    with listening() as missing:
        release.save(tmp_path / "r", language="de")
    assert missing == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_of_a_promise_or_method_is_missing(language: str) -> None:
    releasing = [n for n in OURS if declaration_of(find(n)).does is not Does.FIT]  # what a plan may hold
    with speaking(language), listening() as missing:
        for claim in every_claim():
            for text in (claim.title, claim.promise(), claim.limits(), claim.text()):
                say(text)
        for name in releasing:
            say(declaration_of(find(name)).summary)
    assert missing == []


# -- what programs read --------------------------------------------------------------------------------


def test_what_programs_read_is_the_same_in_every_language(judged: Assessment) -> None:
    english = judged.to_html()
    with speaking("de"):
        assert judged.to_json() == json.dumps(judged.to_dict(), indent=1, ensure_ascii=False) + "\n"
        assert '"because": "' + judged.because in judged.to_json()
        assert judged.page().to_json() == _plain(judged)
        assert "Nicht eingehalten" in judged.to_html()
    assert judged.to_html() == judged.to_html(language="en") == english


def _plain(judged: Assessment) -> str:
    with speaking("en"):
        return judged.page().to_json()


def made_of_ids() -> sf.Release:
    return sf.pseudonymize(sf.samples.discharges(20, seed=1).select(["id", "pay"]))


def test_a_german_card_verifies_whoever_reads_it(tmp_path: Path) -> None:
    made = made_of_ids()
    folder = made.save(tmp_path / "de", language="de")
    text = (folder / "public" / "card.md").read_text("utf-8")
    assert "# Über diese Daten" in text
    assert "What is promised" not in text
    assert json.loads((folder / "public" / "manifest.json").read_text("utf-8"))["language"] == "de"
    assert "language" not in (made.save(tmp_path / "en") / "public" / "manifest.json").read_text("utf-8")
    assert verify(folder, trusted=[]).ok
    with speaking("de"):
        assert verify(folder, trusted=[]).ok
        assert verify(tmp_path / "en", trusted=[]).ok
    assert sf.Release.load(folder).guarantee == made.guarantee


@pytest.mark.parametrize("named", ['"en"', '"a secret of 40 bytes"', "[1]", "null"])
def test_a_manifest_that_names_another_language_does_not_verify(tmp_path: Path, named: str) -> None:
    folder = made_of_ids().save(tmp_path / "r", language="de")
    manifest = folder / "public" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"language": "de"', f'"language": {named}'))
    assert not verify(folder, trusted=[]).ok
