"""Found with budget is what a ledger sealed or somebody trusted signed, never what a file says of itself."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tomli_w

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.schema.provenance import Checked

KEY, OTHER = SigningKey.fresh(), SigningKey.fresh()
NOBODY = Trust()
TRUST = Trust((TrustedKey(KEY.public, "R. Weiss", (Purpose.DECLARATION,)),))
ROWS = pa.table(
    {"dx": ["E11", "I10"] * 300, "sex": ["f", "m"] * 300, "age": [float(i % 90) for i in range(600)]}
)
OPEN = Schema((Column("dx", Kind.NOMINAL), Column("sex", Kind.NOMINAL), Column("age", Kind.NUMERIC)))


def book(folder: Path, name: str = "a.ledger") -> Ledger:
    return Ledger.open(folder / name, Budget(epsilon=20.0, delta=1e-6))


def found(ledger: Ledger | None, *columns: str) -> Any:
    table = sf.scan(ROWS, OPEN)
    return sf.DomainSearch(1.0, 1e-9).find(table, columns or ("dx", "sex", "age"), ledger=ledger)


def reread(schema: Schema) -> Schema:
    """As whoever gets the file has it."""
    return Schema.from_toml(schema.to_toml())


def edited(schema: Schema, column: str, **changes: Any) -> Schema:
    """As a hostile editor leaves the file: what is changed, and the digest without a key rewritten to fit."""
    document = tomllib.loads(schema.to_toml())
    entry = document["columns"][column]
    said = {k: v for k, v in changes.items() if k in entry["provenance"] or k in ("line", "seal", "ledger")}
    entry["provenance"] |= said
    entry |= {k: v for k, v in changes.items() if k not in said}
    bound = Schema.from_toml(tomli_w.dumps(document))[column]
    assert bound.provenance is not None
    entry["provenance"]["domain"] = bound.domain
    return Schema.from_toml(tomli_w.dumps(document))


def test_what_was_drawn_here_counts_and_the_file_alone_does_not(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    made = found(ledger)
    made.schema.require_public()
    again = reread(made.schema)
    assert again == made.schema and not any(c.public for c in again) and all(c.stated for c in again)
    with pytest.raises(SchemaError, match="neither its ledger nor a signature"):
        again.require_public()
    assert all(c.public for c in again.trusting(NOBODY, ledger))
    assert all(c.public for c in again.trusting(NOBODY, Ledger.look(tmp_path / "a.ledger")))
    assert not any(c.public for c in again.trusting(NOBODY))


def test_a_claim_ends_where_the_record_is_not_checked(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    rows = sf.scan(ROWS, reread(found(ledger).schema))
    before = ledger.spent
    with pytest.raises(SchemaError, match="without a public domain"):
        sf.PrivateSynthesizer(epsilon=1.0, delta=0.0).fit(rows, ledger=ledger)
    assert ledger.spent == before
    counted = rows.with_schema(rows.schema.trusting(NOBODY, ledger))
    model = sf.PrivateSynthesizer(epsilon=1.0, delta=0.0).fit(counted, ledger=ledger)
    (claim,) = (c for c in model.guarantee if c.differential)
    assert claim.epsilon == pytest.approx(4.0)
    model.save(tmp_path / "m.model")  # and what was made is read again as it is
    assert sf.PrivateModel.load(tmp_path / "m.model").guarantee == model.guarantee


def test_no_file_says_of_itself_that_it_was_checked() -> None:
    for how in ("drawn here", "its ledger has it", ""):
        with pytest.raises(SchemaError, match="unknown key 'checked'"):
            Provenance.from_dict({"origin": "found with budget", "epsilon": 1.0, "checked": how})
    entry = replace(Provenance.found(1.0, 0.0), checked=Checked.DRAWN).to_dict()
    assert "checked" not in entry
    by_hand = Column("dx", Kind.NOMINAL, levels=("E11",), provenance=Provenance.found(0.1, 0.0))
    assert by_hand.stated and not by_hand.public


EDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "another level": ("dx", {"levels": ["E11", "Z99", "other"]}),
    "a level more": ("dx", {"levels": ["E11", "I10", "Z99", "other"]}),
    "a level less": ("dx", {"levels": ["E11", "other"]}),
    "their order": ("dx", {"levels": ["I10", "E11", "other"]}),
    "what the rest is called": ("dx", {"other": "E11"}),
    "that nothing is missing": ("dx", {"missing": False}),
    "bounds": ("age", {"edges": [0.0, 17.0, 80.0]}),
    "a smaller cost": ("dx", {"epsilon": 0.01}),
    "a smaller delta": ("dx", {"delta": 1e-12}),
    "rows for persons": ("dx", {"max_rows_per_person": 1}),
    "another line": ("dx", {"line": "0" * 32}),
    "another seal": ("dx", {"seal": "0" * 64}),
    "no seal": ("dx", {"seal": ""}),
    "another ledger": ("dx", {"ledger": "0" * 32}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_nothing_that_was_sealed_can_be_changed(tmp_path: Path, edit: str) -> None:
    ledger = book(tmp_path)
    column, change = EDITS[edit]
    if "max_rows_per_person" in change:
        schema = edited(found(ledger).schema, "dx", epsilon=1.0)
        said = schema["dx"].provenance
        assert said is not None
        schema = schema.with_("dx", provenance=replace(said, **change))
    else:
        schema = edited(found(ledger).schema, column, **change)
    after = schema.trusting(NOBODY, ledger)
    assert not after[column].public
    assert all(after[c.name].public for c in after if c.name != column), "the others count as before"


def test_a_record_is_no_good_for_another_column(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    schema = found(ledger).schema
    for other in ("sex", "new"):
        copied = Schema((replace(reread(schema)["dx"], name=other),)).trusting(NOBODY, ledger)
        assert copied[other].stated and not copied[other].public
    mixed = reread(schema)["sex"]
    moved = replace(mixed, provenance=reread(schema)["dx"].provenance)
    assert not Schema((moved,)).trusting(NOBODY, ledger)["sex"].public


def test_another_ledger_and_an_older_one_do_not_bear_it_out(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    found(ledger, "sex")
    old = tmp_path / "old"
    old.mkdir()
    (old / "a.ledger").write_bytes((tmp_path / "a.ledger").read_bytes())
    schema = reread(found(ledger, "dx").schema)
    assert schema.trusting(NOBODY, ledger)["dx"].public
    assert not schema.trusting(NOBODY, book(tmp_path, "b.ledger"))["dx"].public
    assert not schema.trusting(NOBODY, Ledger.look(old / "a.ledger"))["dx"].public, "it lacks the debit"
    assert not schema.trusting(NOBODY, Ledger.in_memory(5.0))["dx"].public


def test_a_ledger_in_memory_seals_nothing() -> None:
    said = found(Ledger.in_memory(Budget(epsilon=9.0, delta=1e-6)), "dx").schema["dx"].provenance
    assert said is not None and said.seal == "" and said.checked is Checked.DRAWN


def test_a_signature_counts_where_its_key_is_trusted(tmp_path: Path) -> None:
    for ledger in (None, book(tmp_path)):
        schema = reread(found(ledger, "dx").signed("R. Weiss", KEY).schema)
        assert not schema.trusting(NOBODY)["dx"].public, "anybody can sign"
        assert schema.trusting(TRUST)["dx"].public
        said = schema.trusting(TRUST)["dx"].provenance
        assert said is not None and said.checked is Checked.SIGNED
        stranger = reread(found(ledger, "dx").signed("R. Weiss", OTHER).schema)
        assert not stranger.trusting(TRUST)["dx"].public
        released = Trust((TrustedKey(KEY.public, "R. Weiss", (Purpose.RELEASE,)),))
        assert not schema.trusting(released)["dx"].public
        for column, change in EDITS.values():
            if column == "dx" and not {"line", "seal", "max_rows_per_person"} & set(change):
                if change.get("ledger") and ledger is None:
                    continue
                assert not edited(schema, "dx", **change).trusting(TRUST)["dx"].public, change


def test_declaring_what_only_says_that_it_was_found_takes_a_name_and_a_signature(tmp_path: Path) -> None:
    """Else the way around would be: levels read off, "found" by a text edit, declared in passing."""
    schema = reread(found(None, "dx").schema)
    assert not schema.declare("R. Weiss", "form F12")["dx"].public
    with pytest.raises(SchemaError, match="nobody signed for it"):
        schema.declare("R. Weiss", "form F12", ["dx"])
    assert schema.declare("R. Weiss", "form F12", ["dx"], key=KEY)["dx"].public


def test_found_domains_leave_with_a_release_and_no_promise_rests_on_that(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    made = found(ledger)
    model = sf.PrivateSynthesizer(epsilon=1.0, delta=0.0).fit(made.table, ledger=ledger)
    release = model.sample(50)
    model.save(tmp_path / "m.model")
    for made_by in (model, sf.PrivateModel.load(tmp_path / "m.model")):  # a file of a model is anybody's, too
        assert not any(c.public for c in made_by.sample(5).data.schema)
    out = release.save(tmp_path / "out")
    loaded = sf.Release.load(out)
    assert loaded.data.schema["age"].edges == made.schema["age"].edges
    again = sf.Release.load(loaded.save(tmp_path / "again"))
    assert again.data.schema == loaded.data.schema, "saved a second time it loses nothing"
    assert not any(c.public for c in loaded.data.schema)
    checks = {c.subject: c for c in sf.verify(out, trusted=[]).data}
    assert "only its ledger knows" in checks["domain of 'dx'"].detail
    forged = sf.Release(sf.scan(ROWS, reread(made.schema)), release.guarantee)
    forged.save(tmp_path / "forged")
    public = Schema.read(tmp_path / "forged" / "public" / "schema.toml")
    assert public["age"].edges is None, "bounds that nobody answers for do not leave"
