"""Criteria as text: each means what its Python form means, and everything wrong is said at once."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria import (
    AlphaK,
    JAnonymity,
    KAnonymity,
    KMAnonymity,
    KMap,
    KnownSearch,
    LDiversity,
    TCloseness,
    read_criteria,
)
from sfumato.criteria.text import FORMS
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy, Intervals

MEANT = {
    "k-anonymity(5)": KAnonymity(5),
    "k-anonymity(5, count=persons)": KAnonymity(5, persons=True),
    "k-anonymity(k=5, count=rows)": KAnonymity(5, persons=False),
    "k-anonymity(5, missing=anything)": KAnonymity(5, missing="matches anything"),
    "distinct-l(dx, 3)": LDiversity(3, "dx"),
    "entropy-l( dx , 2.5 )": LDiversity(2.5, "dx", "entropy"),
    "recursive-l(dx, 3, c=2)": LDiversity(3, "dx", "recursive", c=2.0),
    "recursive-l(c=.5, l=3, column=dx)": LDiversity(3, "dx", "recursive", c=0.5),
    "equal-t(dx, 0.2)": TCloseness(0.2, "dx"),
    "ordered-t(age at entry, 2e-1)": TCloseness(0.2, "age at entry", "ordered"),
    'equal-t("a, (b) = c", 0.2)': TCloseness(0.2, "a, (b) = c"),
    "alpha-k(dx, 0.5, 5)": AlphaK(0.5, 5, "dx"),
    "alpha-k(dx, 0.5, k=5)": AlphaK(0.5, 5, "dx"),
    "k-map(5, weight=w)": KMap(5, weight="w"),
    "km-anonymity(dx, 5)": KMAnonymity(5, 2, "dx"),
    'km-anonymity("dx & drugs", 5, m=3)': KMAnonymity(5, 3, ("dx", "drugs")),
    "known-search(values)": KnownSearch("values"),
    "known-search(hides=both)": KnownSearch("both"),
    "j-anonymity(5, fraction=0.1)": JAnonymity(5, fraction=0.1),
    "j-anonymity(5, weight=w, delta=0.01)": JAnonymity(5, 0.01, weight="w"),
}


def test_each_text_means_what_its_python_form_means() -> None:
    for text, meant in MEANT.items():
        (wanted,) = read_criteria([text])
        assert wanted.make() == meant, text
    assert {text.partition("(")[0] for text in MEANT} == set(FORMS) - {"hierarchical-t"}
    assert len(read_criteria([form.example for form in FORMS.values()])) == len(FORMS)


def test_files_and_hierarchies_are_opened_when_it_is_made() -> None:
    tree = Hierarchy.of_rows([["a", "*"], ["b", "*"]])
    people = sf.samples.discharges(20, seed=1)
    mapped, far = read_criteria(["k-map(4, population=people.csv, name=the town)", "hierarchical-t(dx, 0.3)"])
    assert (mapped.population, far.tree) == ("people.csv", "dx")
    made = mapped.make(population=lambda name: people if name == "people.csv" else None)  # type: ignore
    assert isinstance(made, KMap) and made.population is people and made.name == "the town"
    close = far.make(tree=lambda column: tree)
    assert isinstance(close, TCloseness) and close.hierarchy is tree and close.distance == "hierarchical"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k=5", "not a criterion with its settings in brackets"),
        ("entropy-l", "not a criterion with its settings in brackets"),
        ("entropi-l(dx, 3)", "did you mean entropy-l?"),
        ("entropy-l(dx, 3", "in brackets"),
        ("entropy-l(dx)", "needs l"),
        ("entropy-l(dx, 3, 4)", "3 parts, of which 2"),
        ("entropy-l(dx, l=3, l=4)", "says l twice"),
        ("entropy-l(dx, 3, c=2)", "has no part c; it may have column, l"),
        ("entropy-l(dx, -3)", "l must be a number"),
        ("entropy-l(dx, nan)", "l must be a number"),
        ("entropy-l(dx, 0.5)", "l must be a number above"),
        ("distinct-l(dx, 2.5)", "l must be a whole number"),
        ("distinct-l(dx,, 2)", "an empty part"),
        ("distinct-l(a(b), 2)", "where none belongs"),
        ("equal-t(dx, 1.5)", "t must be a number"),
        ("hierarchical-t(dx, 1.5)", "t must be a number"),
        ("alpha-k(dx, 2, 5)", "alpha must be"),
        ("k-anonymity(5, count=people)", "count must be persons or rows"),
        ("k-anonymity(5, count=persons, missing=anything)", "persons can be counted"),
        ("k-map(5)", "counts in a population, or by survey weights"),
        ("k-map(5, population=p.csv, weight=w)", "not in both"),
        ("k-map(0, population=p.csv)", "k must be a whole number from 1"),
        ("j-anonymity(5)", "needs the share of the population"),
        ("j-anonymity(5, fraction=0.1, delta=0.9)", "delta must be"),
    ],
)
def test_what_is_wrong_is_said_with_a_form_to_follow(text: str, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        read_criteria([text])
    assert words in caught.value.message and text[:20] in caught.value.message
    assert "(" in caught.value.hint


def test_all_faults_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        read_criteria(["distinct-l(dx)", "equal-t(dx, 0.2)", "j-anonimity(5)", "alpha-k(x=1)"])
    said = caught.value.message
    parts = ("needs l", "did you mean j-anonymity", "no part x", "needs column", "needs alpha", "needs k")
    assert all(words in said for words in parts) and "equal-t" not in said + caught.value.hint


@given(
    st.text(max_size=40) | st.builds("{}({})".format, st.sampled_from(sorted(FORMS)), st.text(max_size=20))
)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ParameterError):
        read_criteria([text])


@given(column=st.text(st.characters(exclude_characters="\"'"), min_size=1).map(str.strip).filter(bool))
def test_any_name_of_a_column_can_be_quoted(column: str) -> None:
    (wanted,) = read_criteria([f'distinct-l("{column}", 2)'])
    assert wanted.make() == LDiversity(2, column)


def test_recipes_cover_a_population_that_has_more_values(tmp_path: Path) -> None:
    """Ages of the population that the file has not, and bins of the schema that the population has not."""
    from sfumato.anonymization.requirements import asked_of

    (tmp_path / "town.csv").write_text("sex,age\n" + "".join(f"{'fm'[i % 2]},{i % 60}\n" for i in range(300)))
    (tmp_path / "file.csv").write_text("sex,age\n" + "".join(f"{'fm'[i % 2]},{20 + i}\n" for i in range(30)))
    table = sf.scan(tmp_path / "file.csv")
    recipes = {"sex": Hierarchy.of_rows([["f", "*"], ["m", "*"]]), "age": Intervals(widths=(10, 20))}
    for edges in (None, (0, 40, 120)):
        table = table.with_schema(table.schema.with_("age", edges=edges))
        common = {"hierarchies": recipes, "quasi_identifiers": ["sex", "age"]}
        asked = asked_of(read_criteria(["k-map(20, population=town.csv)"]), table, folder=tmp_path, **common)
        release = sf.anonymize(table, asked[0], seed=1, **common)
        (claim,) = release.guarantee.claims
        assert claim.k >= 20 and release.data.rows() == 30
