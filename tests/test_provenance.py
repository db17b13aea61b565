"""Where domains come from: bound to the domain, shown in every claim, and fatal to a claim if read off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from claiming import linked
from declared import PUBLIC, signed
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.methods.names import OURS, find
from sfumato.privacy import ApproxDP, Guarantee, Neighbours, NoGuarantee, PureDP
from sfumato.privacy.base import ROW, Unit
from sfumato.privacy.differential import DifferentialPrivacy
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import STANDARDS, Column, Kind, Provenance, Role, Schema
from sfumato.schema.domains import grounds, search_cost, with_search
from sfumato.schema.provenance import Checked
from sfumato.table import Table

AB = Column("a", Kind.NOMINAL, levels=("x", "y"), provenance=PUBLIC)


# -- one column --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"levels": ("x", "y", "z")},
        {"levels": ("y", "x")},
        {"levels": ("x",)},
        {"missing": False},
        {"other": "x"},
        {"kind": Kind.NUMERIC, "type": "real", "levels": None, "edges": (0, 1)},
    ],
)
def test_a_changed_domain_has_no_provenance(change: dict[str, Any]) -> None:
    assert AB.public
    changed = replace(AB, **change)
    assert not changed.public and changed.origin == "changed since it was declared"
    again = Schema.from_toml(Schema((changed,)).to_toml())["a"]
    assert again == changed and not again.public
    assert Schema((changed,)).declare("R. Weiss", "form F12")["a"].public


def test_what_is_no_domain_has_no_provenance() -> None:
    bare = Column("a", Kind.NOMINAL, provenance=PUBLIC)
    assert bare.provenance is None and not replace(bare, levels=("x", "y")).public


@given(st.sampled_from([(0, 1, 2), (0.5, 18, 1e300), (-1.5, 0, float("inf"))]), st.booleans())
def test_numbers_are_the_same_however_they_are_written(edges: tuple[float, ...], missing: bool) -> None:
    column = Column("a", Kind.NUMERIC, edges=edges, missing=missing, provenance=PUBLIC)
    assert Schema.from_toml(Schema((column,)).to_toml())["a"].stated
    assert Schema.from_toml(signed(Schema((column,))).to_toml())["a"].public


def test_a_text_edit_makes_nothing_public() -> None:
    """What stands in a file that `schema update` has written, with every word of it that promises changed."""
    table = Table.from_arrow(pa.table({"a": ["x", "y"] * 30, "n": list(range(60))}))
    from sfumato.description import update

    text = update(None, table).to_toml()
    assert text.count('origin = "read off the data"') == 2 and "confirmed = false" in text
    digest = Schema.from_toml(text)["a"].domain
    for before, after in (
        ("confirmed = false", "confirmed = true"),
        ('origin = "read off the data"', 'origin = "declared"\nby = "me"\nreason = "it is public"'),
        ('origin = "read off the data"', 'origin = "found with budget"\nepsilon = 0.5'),
        ('origin = "read off the data"', 'origin = "declared"\nby = "me"\nreason = "so"\ndomain = "sha256:"'),
    ):
        edited = Schema.from_toml(text.replace(before, after))
        assert not any(c.public for c in edited), after
        with pytest.raises(SchemaError, match="2 without a public domain"):
            sf.PrivateSynthesizer().fit(table.with_schema(edited))
    # The digest has no key, and anybody can compute it: a name in a file is nobody's word.
    lie = f'origin = "declared"\nby = "Mallory"\nreason = "so"\ndomain = "{digest}"'
    edited = Schema.from_toml(text.replace('origin = "read off the data"', lie))
    assert edited["a"].stated and not edited["a"].public and not grounds(edited)
    assert edited["a"].origin == "declared by Mallory, as the file says, but nobody signed that"
    with pytest.raises(SchemaError, match=r"nobody signed that") as refused:
        sf.PrivateSynthesizer().fit(table.with_schema(edited))
    assert "sfumato schema declare --key" in refused.value.hint


def test_an_old_schema_keeps_its_review_and_gets_no_promise() -> None:
    old = Schema.from_toml('[columns.a]\nkind = "nominal"\nlevels = ["x", "y"]\nconfirmed = true\n')
    assert old["a"].confirmed and not old["a"].public
    assert old["a"].origin == "nobody says where it comes from"


@pytest.mark.parametrize(
    "entries",
    [
        {"origin": "declared", "by": "", "reason": "so"},
        {"origin": "declared", "by": "me"},
        {"origin": "declared", "by": "me", "reason": "so", "epsilon": 0.5},
        {"origin": "standard"},
        {"origin": "found with budget", "epsilon": 0},
        {"origin": "found with budget", "epsilon": float("nan")},
        {"origin": "found with budget", "epsilon": 1, "delta": 1.0},
        {"origin": "found with budget", "epsilon": 1, "max_rows_per_person": -1},
        {"origin": "read off the data", "by": "me"},
        {"origin": "declared", "by": "me\nyou", "reason": "so"},
        {"origin": "declared", "by": "m" * 501, "reason": "so"},
        {"origin": "from a friend"},
        {"by": "me"},
        {"origin": "declared", "by": "me", "reason": "so", "when": "now"},
        {"origin": "declared", "by": 3, "reason": "so"},
    ],
)
def test_impossible_provenance_is_refused(entries: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"provenance|origin"):
        Provenance.from_dict(entries)
    with pytest.raises(SchemaError, match="column 'a'"):
        Schema.from_toml('[columns.a]\nkind = "nominal"\nprovenance = 3\n')


def test_declaring_asks_for_the_name_of_what_was_read_off() -> None:
    read = Column("r", Kind.NOMINAL, levels=("x", "y"), provenance=Provenance.read_off())
    schema = Schema((replace(AB, provenance=None), read, Column("open", Kind.NOMINAL)))
    declared = schema.declare("R.  Weiss", "form F12")
    assert declared["a"].public and declared["a"].confirmed and not declared["r"].public
    assert declared["a"].origin == "declared by R. Weiss (form F12)"
    with pytest.raises(SchemaError, match="read off the data, and nobody signed"):
        schema.declare("R. Weiss", "form F12", ["r"])
    assert schema.declare("R. Weiss", "form F12", ["r"], key=SigningKey.fresh())["r"].public
    with pytest.raises(SchemaError, match="'open'"):
        schema.declare("R. Weiss", "form F12", ["open"])
    with pytest.raises(SchemaError, match="needs 'by'"):
        schema.declare(" ", "form F12")


# -- public lists ------------------------------------------------------------------------------------


def test_public_lists_are_whole_and_typed() -> None:
    assert len(STANDARDS["countries-iso-3166"].levels or ()) == 249
    assert len(STANDARDS["us-states"].levels or ()) == 51
    assert STANDARDS["icd-9-cm-chapters"].size == 19 and STANDARDS["icd-10-cm-chapters"].size == 22
    for name, one in STANDARDS.items():
        column = Column("c", Kind(one.kind), provenance=Provenance.standard(name))
        assert column.public and (column.levels, column.edges, column.type) == (
            one.levels,
            one.edges,
            one.type,
        )
        values = one.levels or one.edges or ()
        assert len(set(values)) == len(values) and set(one.labels) <= {str(v) for v in values}
        text = Schema((column,)).to_toml()
        assert f'standard = "{name}"' in text and "levels" not in text
        assert Schema.from_toml(text)["c"] == column
        assert not replace(column, levels=None, edges=None, provenance=None).public
        if one.levels:
            assert not replace(column, levels=one.levels[:-1]).public  # those that occur would be a finding


def test_a_list_by_its_name_alone() -> None:
    schema = Schema.from_toml('[columns.m]\nstandard = "months"\nrole = "quasi-identifier"\n')
    assert schema["m"].public and schema["m"].labels["1"] == "January" and schema["m"].kind is Kind.ORDINAL
    assert "the public list months" in " ".join(grounds(schema))
    for wrong in ('standard = "moons"', "standard = 3", 'standard = "months"\nlevels = [1, 2]'):
        with pytest.raises(SchemaError, match="standard"):
            Schema.from_toml(f"[columns.m]\n{wrong}\n")
    with pytest.raises(SchemaError, match="no public list"):
        Column("m", Kind.ORDINAL, levels=("a", "b"), provenance=Provenance.standard("moons"))


# -- values outside ----------------------------------------------------------------------------------


def test_what_is_outside_the_levels_is_read_as_other() -> None:
    column = Column("a", Kind.NOMINAL, levels=("x", "other"), other="other", missing_codes=("?",))
    for array in (
        pa.array(["x", "q", "?", None, "r"]),
        pa.array(["x", "q", "?", None, "r"]).dictionary_encode(),
    ):
        table = Table.from_arrow(pa.table({"a": array}), Schema((column,)))
        assert table.counts("a").dense().tolist() == [1, 2, 2]
        assert table.to_arrow()["a"].to_pylist() == ["x", "other", None, None, "other"]
    assert Schema.from_toml(Schema((column,)).to_toml())["a"] == column
    for wrong in ({"other": "z"}, {"type": "integer", "levels": (1, 2), "other": "1"}):
        with pytest.raises(SchemaError, match="other must be"):
            Column("a", Kind.NOMINAL, **{"levels": ("x", "y"), **wrong})  # type: ignore[arg-type]


# -- claims ------------------------------------------------------------------------------------------


def found(epsilon: float = 0.5, delta: float = 1e-9, rows: int = 0) -> Column:
    said = replace(Provenance.found(epsilon, delta, rows), checked=Checked.DRAWN)
    return replace(AB, provenance=said)


def test_what_finding_cost_is_part_of_the_claim() -> None:
    cost = search_cost([found(), found(0.25, 0.0), AB], ROW, Neighbours.ADD_REMOVE)
    assert cost == (ApproxDP(0.5, 1e-9), PureDP(0.25))
    assert with_search(PureDP(1.0), cost) == ApproxDP(1.75, 1e-9)
    assert with_search(ApproxDP(1.0, 1e-6), cost) == ApproxDP(1.75, 1.001e-6)
    assert with_search(PureDP(1.0), cost[1:]) == PureDP(1.25)
    assert with_search(PureDP(1.0), ()) == PureDP(1.0)


def test_what_was_found_for_another_promise_is_refused() -> None:
    persons = Unit.person(3)
    assert search_cost([found(rows=3)], persons, Neighbours.ADD_REMOVE)[0].unit == persons
    grown = search_cost([found()], persons, Neighbours.ADD_REMOVE)[0]  # rows to persons: group privacy
    assert isinstance(grown, ApproxDP) and grown.epsilon == 1.5 and 3e-9 < grown.delta < 6e-9
    for column, unit, neighbours in (
        (found(rows=1), ROW, Neighbours.ADD_REMOVE),
        (found(rows=2), persons, Neighbours.ADD_REMOVE),
        (found(), ROW, Neighbours.REPLACE),
    ):
        with pytest.raises(SchemaError, match="found for another promise"):
            search_cost([column], unit, neighbours)


# -- every method that claims an epsilon -------------------------------------------------------------

_ROWS = 240
_DATA = pa.table(
    {
        "sex": [("female", "male")[i % 2] for i in range(_ROWS)],
        "region": [("east", "north", "south")[i % 3] for i in range(_ROWS)],
        "age": [20 + i % 50 for i in range(_ROWS)],
        "sick": [("no", "yes")[(i // 3) % 2] for i in range(_ROWS)],
    }
)


def table(provenance: Provenance | None) -> Table:
    said = {"missing": False, "confirmed": True, "provenance": provenance}
    return Table.from_arrow(
        _DATA,
        Schema(
            (
                Column("sex", Kind.NOMINAL, Role.QUASI_IDENTIFIER, levels=("female", "male"), **said),  # type: ignore[arg-type]
                Column("region", Kind.NOMINAL, levels=("east", "north", "south"), **said),  # type: ignore[arg-type]
                Column("age", Kind.NUMERIC, type="integer", edges=(0, 30, 50, 120), **said),  # type: ignore[arg-type]
                Column("sick", Kind.FLAG, levels=("no", "yes"), **said),  # type: ignore[arg-type]
            )
        ),
    )


_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "private": [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 0.0}],
    "pegs": [{"epsilon": 5.0}, {"epsilon": 5.0, "domain": "data"}, {"alpha": 2.0}],
    "pmi": [{"epsilon": 5.0}, {"epsilon": 5.0, "domain": "data"}],
    "marginals": [{"epsilon": 1.0}],
    "table": [{"epsilon": 1.0}, {"alpha": 1.0}, {"alpha": 1.0, "domain": "data"}],
    "noise": [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-9}],
    "linked": [
        {"epsilon": 1.0, "max_children": {"codes": 2}},
        {"epsilon": 1.0, "delta": 0.0, "max_children": {"codes": 2}},
    ],
    "additive": [{"epsilon": 20.0}],
    "forest": [{"epsilon": 20.0}],
    "logistic": [{"epsilon": 20.0}, {"epsilon": 20.0, "groups": ("sex",)}],
}


def claiming() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every method whose declaration names a claim of differential privacy, with settings that claim it."""
    for name in OURS:
        declaration = find(name).declaration
        if {"PureDP", "ApproxDP", "ZCDP"} & set(declaration.claims):
            yield from ((name, settings) for settings in _SETTINGS[name])


def promised(name: str, settings: dict[str, Any], rows: Table) -> Guarantee:
    method: Any = find(name)(**settings)
    if hasattr(method, "predict_proba"):
        return method.fit(rows, "sick").guarantee_
    if isinstance(method, sf.PrivateTables):
        return sf.tabulate(rows, ["sex,region", "age,sick"], method=method).guarantee
    if isinstance(method, sf.LinkedSynthesizer):
        return method.fit(linked(rows)).guarantee
    release = sf.synthesize(rows, method=method, rows=10)
    return release.guarantee


def differential(guarantee: Guarantee) -> list[DifferentialPrivacy]:
    return [c for c in guarantee if isinstance(c, DifferentialPrivacy)]


@pytest.mark.parametrize(
    ("name", "settings"), list(claiming()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_domains_from_the_data_end_every_claim(name: str, settings: dict[str, Any]) -> None:
    """Read off, or of unknown origin, though a person confirmed every column: no epsilon."""
    for said in (Provenance.read_off(), None):
        try:
            got = promised(name, settings, table(said))
        except SchemaError as error:
            assert "without a public domain" in error.message or "public levels" in error.message
        else:
            assert not differential(got) and any(isinstance(c, NoGuarantee) for c in got)


@pytest.mark.parametrize(
    ("name", "settings"), list(claiming()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_every_claim_says_who_answers_and_what_finding_cost(name: str, settings: dict[str, Any]) -> None:
    (own,) = differential(promised(name, settings, table(PUBLIC)))
    assert "declared by a test (made up for it)" in own.text()
    searched = replace(Provenance.found(0.25, 1e-9), checked=Checked.DRAWN)
    (paid,) = differential(promised(name, settings, table(searched)))
    assert (
        isinstance(paid, ApproxDP) and "found in the data with epsilon = 0.25, delta = 1e-09" in paid.text()
    )
    before = own.delta if isinstance(own, ApproxDP) else 0.0
    assert paid.epsilon == pytest.approx(own.epsilon + 1.0) and paid.delta == pytest.approx(before + 4e-9)


def test_a_bound_of_weights_needs_a_provenance_too() -> None:
    for said, fine in ((PUBLIC, True), (None, False), (Provenance.read_off(), False)):
        weight = Column("w", Kind.NUMERIC, Role.WEIGHT, edges=(0.0, 4.0), provenance=said)
        rows = Table.from_arrow(
            _DATA.append_column("w", pa.array([1.0] * _ROWS)), Schema((*table(PUBLIC).schema, weight))
        )
        if fine:
            (claim,) = differential(sf.PrivateSynthesizer(weight="w").fit(rows).guarantee)
            assert "'w'" in claim.text()
        else:
            with pytest.raises(SchemaError, match="largest weight"):
                sf.PrivateSynthesizer(weight="w").fit(rows)


def test_a_release_shows_where_public_domains_come_from(tmp_path: Path) -> None:
    rows = table(PUBLIC)
    rows = rows.with_schema(rows.schema.with_("region", provenance=Provenance.read_off()))
    release = sf.Release(rows, Guarantee.of(NoGuarantee("for a test")))
    release.save(tmp_path / "out")
    public = Schema.read(tmp_path / "out" / "public" / "schema.toml")
    assert public["sex"].stated and public["sex"].provenance == rows.schema["sex"].provenance
    assert not public["region"].public and public["region"].provenance is None


def test_a_model_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    import json

    import numpy as np

    from sfumato.errors import DataError

    path = sf.PrivateSynthesizer(epsilon=5.0).fit(table(PUBLIC)).save(tmp_path / "new.sfm")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(arrays["document"].tobytes())
    old = Schema(tuple(replace(c, provenance=None) for c in Schema.from_toml(document["schema"])))
    document["schema"] = old.to_toml()
    arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    with (tmp_path / "old.sfm").open("wb") as sink:
        np.savez_compressed(sink, **arrays)
    assert sf.PrivateModel.load(path).domain.public
    with pytest.raises(DataError, match="nobody says where they come from"):
        sf.PrivateModel.load(tmp_path / "old.sfm")
