"""Nothing of the original leaves with the public part of a release."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from declared import PUBLIC
from releases import public_bytes, released

from sfumato.errors import OutputError
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import InternalRecord, Release, fingerprint
from sfumato.schema import Column, Draw, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

NOTHING = Guarantee.of(NoGuarantee("a test"))


ORIGINAL_ROWS = 90_731


CLASS_SIZES = [41_977, 48_754]


SEED = 734_519_662_308


def _spellings(secret: bytes) -> list[bytes]:
    texts = [
        secret.hex(),
        base64.b64encode(secret),
        base64.urlsafe_b64encode(secret),
        base64.b32encode(secret),
    ]
    texts += [
        base64.b85encode(secret),
        str(int.from_bytes(secret, "big")),
        str(int.from_bytes(secret, "little")),
    ]
    plain = [t.encode() if isinstance(t, str) else t for t in texts]
    return [secret, secret[::-1], *plain, *(t.upper() for t in plain), *(t.rstrip(b"=") for t in plain)]


def _whole_record(input_: Table, key: Key) -> InternalRecord:
    return InternalRecord(
        key=key,
        seed=SEED,
        keys={"pseudonym": Key.fresh()},
        fingerprint=fingerprint(input_, key),
        plan={"method": "test", "seed": SEED},
        tables={"class sizes": pa.table({"n": CLASS_SIZES})},
        extra={"rows": ORIGINAL_ROWS},
    )


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("seeded", [False, True])
def test_public_holds_no_seed_key_input_hash_or_count_of_the_original(
    tmp_path: Path, seeded: bool, format: str
) -> None:
    key = Key.from_seed(SEED) if seeded else Key.fresh()
    original = pa.table({"sex": ["f", "m", "x"], "age": [30, 40, 87], "stay": [1, 2, 3]})
    sample = released()
    reason = f"{ORIGINAL_ROWS} rows, {CLASS_SIZES[0]} of them with a rare value"
    schema = Schema(tuple(replace(c, reason=reason) for c in sample.schema))
    schema = schema.with_("stay", edges=(0, ORIGINAL_ROWS), missing_codes=(CLASS_SIZES[1],))
    record = _whole_record(Table.from_arrow(original), key)
    target = replace(sample, data=sample.data.with_schema(schema), internal=record).save(
        tmp_path / "out", format=format
    )

    raw = pa.BufferOutputStream()
    with pa.ipc.new_stream(raw, original.schema) as writer:
        writer.write_table(original)
    csv = original.to_pandas().to_csv(index=False).encode()
    inputs = [raw.getvalue().to_pybytes(), csv, json.dumps(original.to_pylist()).encode()]
    needles = [s for k in (key, record.keys["pseudonym"]) for s in _spellings(k.to_bytes()[1:])]
    needles += [
        s for k in ("manifest", "fingerprint") for s in _spellings(key.derive("release", k).to_bytes()[1:])
    ]
    hashes = (hashlib.sha256, hashlib.md5, hashlib.sha1, hashlib.blake2b, hashlib.blake2s, hashlib.sha512)
    needles += [s for data in inputs for h in hashes for s in _spellings(h(data).digest())]
    needles += _spellings(bytes.fromhex(record.fingerprint or ""))
    for number in (SEED, ORIGINAL_ROWS, *CLASS_SIZES):
        needles += [str(number).encode(), f"{number:,}".encode(), number.to_bytes(8, "little")]
        needles += [
            number.to_bytes(8, "big"),
            f"{number:x}".encode() if number == SEED else str(number).encode(),
        ]
    found = [name for name, content in public_bytes(target).items() for n in needles if n in content]
    assert found == []
    # The search itself finds what is there: the same needles, in the internal part.
    internal = b"".join(p.read_bytes() for p in (target / "internal").rglob("*") if p.is_file())
    assert str(ORIGINAL_ROWS).encode() in internal and str(SEED).encode() in internal
    assert key.to_bytes().hex().encode() in internal


def test_public_parquet_carries_no_notes_of_other_libraries(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="i"))
    table = pa.Table.from_pandas(frame).replace_schema_metadata({b"pandas": b"x", b"path": b"jdoe42"})
    data = Table.from_arrow(table, Schema((Column("a", Kind.NUMERIC, type="integer"),)))
    target = Release(data, NOTHING).save(tmp_path / "out")
    found = public_bytes(target)
    assert not [name for name, content in found.items() if b"pandas" in content or b"jdoe42" in content]
    assert found["parquet notes"].startswith(b"None")


def test_the_public_schema_keeps_only_what_is_public_or_visible(tmp_path: Path) -> None:
    guessed = Column(
        "seen", Kind.ORDINAL, levels=("c", "b", "a"), labels={"a": "A", "z": "Z"}, description="kept"
    )
    schema = Schema(
        (
            replace(guessed, reason="12 levels", missing=False, missing_codes=("?",)),
            Column(
                "public",
                Kind.NOMINAL,
                levels=("x", "y"),
                labels={"y": "Y"},
                missing=False,
                provenance=PUBLIC,
            ),
            Column(
                "size", Kind.NUMERIC, type="integer", edges=(3, 977), clamp=True, unit="cm", draw=Draw.LOWER
            ),
            Column("dx", Kind.CODES, levels=("A", "B", "RARE"), labels={"RARE": "very"}, separator="+"),
            Column("none", Kind.FLAG, levels=("p",)),
        )
    )
    cells = {
        "seen": ["a", "c"],
        "public": ["x", "x"],
        "size": [4, 5],
        "dx": ["A", "B+A"],
        "none": [None, None],
    }
    table = pa.table({**cells, "none": pa.array([None, None], pa.string())})
    Release(Table.from_arrow(table, schema), NOTHING).save(tmp_path / "out")
    seen, public, size, dx, none = Schema.read(tmp_path / "out" / "public" / "schema.toml")
    assert seen == Column("seen", Kind.ORDINAL, levels=("c", "a"), labels={"a": "A"}, description="kept")
    assert public == schema["public"]
    assert size == Column("size", Kind.NUMERIC, type="integer", unit="cm")
    assert dx == Column("dx", Kind.CODES, levels=("A", "B"), separator="+")
    assert none == Column("none", Kind.FLAG)


def test_an_identifier_never_leaves_as_it_is(tmp_path: Path) -> None:
    schema = Schema((Column("ssn", Kind.NOMINAL, Role.IDENTIFIER),))
    with pytest.raises(OutputError, match="1 identifier column would be released: 'ssn'"):
        Release(Table.from_arrow(pa.table({"ssn": ["1"]}), schema), NOTHING).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
