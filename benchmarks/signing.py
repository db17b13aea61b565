"""What a signature costs beside saving a release, and what it takes to verify a large one.

    python benchmarks/signing.py [rows to save] [rows to verify]

Fails if signing and checking the signature together cost more than 2% of saving, in processor seconds, or if
verifying decodes the rows more than once.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import sfumato as sf
from sfumato.privacy import KAnonymity
from sfumato.privacy.signatures import SigningKey, Trust
from sfumato.release import InternalRecord, Release, manifest, sign, verification, verify
from sfumato.release.core import read_data
from sfumato.release.signature import check_signatures, hashes
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

MOST = 0.02
LEVELS = (2, 9, 5, 12, 7, 25, 60, 100)


def made(rows: int) -> Release:
    """Eight columns of codes and three of numbers, drawn as they are read."""
    names = [f"q{i}" for i in range(len(LEVELS))]
    columns = [
        Column(n, Kind.NOMINAL, Role.QUASI_IDENTIFIER if i < 4 else Role.OTHER, type="integer",
               levels=tuple(range(k)), confirmed=True)
        for i, (n, k) in enumerate(zip(names, LEVELS, strict=True))
    ]  # fmt: skip
    columns += [Column(f"x{i}", Kind.NUMERIC, Role.SENSITIVE, "real") for i in range(3)]
    fields = pa.schema([*((n, pa.int64()) for n in names), *((f"x{i}", pa.float64()) for i in range(3))])
    step = 131_072

    def open_(wanted: list[str]) -> object:
        for start in range(0, rows, step):
            n = min(step, rows - start)
            rng = Key.from_seed(start).generator("benchmark")
            found = {f"q{i}": rng.integers(0, k, n) for i, k in enumerate(LEVELS)}
            found |= {f"x{i}": rng.normal(size=n).round(3) for i in range(3)}
            yield pa.RecordBatch.from_arrays([pa.array(found[c]) for c in wanted], names=list(wanted))

    table = Table(BatchSource(fields, open_, "file", rows), Schema(tuple(columns)))  # type: ignore[arg-type]
    claim = KAnonymity(2, tuple(names[:4]))
    return Release(table, sf.Guarantee.of(claim), InternalRecord())


def cpu(action: object) -> float:
    before = time.process_time()
    action()  # type: ignore[operator]
    return time.process_time() - before


def cost(rows: int, folder: Path) -> None:
    """Signing and checking against saving."""
    key = SigningKey.fresh()
    release = made(rows)
    release.save(folder / "warm")  # what is compiled and loaded once is no part of it
    sign(folder / "warm", key, "A. Miller")
    verify(folder / "warm", trusted=key.public)
    saving = min(cpu(lambda i=i: release.save(folder / f"release-{i}")) for i in range(3))
    public = folder / "release-0" / "public"
    signing = min(cpu(lambda: sign(folder / "release-0", key, "A. Miller")) for _ in range(3))
    trust = Trust.of(key.public)
    _, listing = manifest.read_manifest(public / manifest.MANIFEST)
    found = hashes(public, listing, lambda path: manifest.measure(path).sha256)
    stated = {"guarantee": manifest.read_json(public / "guarantee.json")}
    lines = public / manifest.SIGNATURES
    checking = min(cpu(lambda: check_signatures(lines, found, stated, trust)) for _ in range(3))
    assert check_signatures(lines, found, stated, trust).by
    share = (signing + checking) / saving
    size = (public / "data.parquet").stat().st_size / 1e6
    print(f"saving {rows:,} rows ({size:.0f} MB): {saving:.2f} s; signing {signing * 1e3:.1f} ms; "
          f"checking the signature {checking * 1e3:.1f} ms")  # fmt: skip
    print(f"signing and checking: {share:.2%} of saving (limit {MOST:.0%})")
    whole = cpu(lambda: verify(folder / "release-0", trusted=trust))
    print(f"all of verify, with the recount: {whole:.2f} s, {whole / saving:.0%} of saving")
    assert share < MOST


def one_pass(rows: int, folder: Path) -> None:
    """How often a large release is decoded to verify it."""
    key = SigningKey.fresh()
    made(rows).save(folder / "large")
    sign(folder / "large", key, "A. Miller")
    decoded = {"rows": 0}

    def counted(public: Path) -> Table:
        table = read_data(public)
        source = table.source
        assert isinstance(source, BatchSource)

        def open_(columns: object) -> object:
            for batch in source.batches(columns):  # type: ignore[arg-type]
                decoded["rows"] += batch.num_rows
                yield batch

        return table.with_source(BatchSource(source.arrow_schema, open_, "file", source.rows))  # type: ignore[arg-type]

    verification.read_data = counted
    start, wall = time.process_time(), time.perf_counter()
    found = verify(folder / "large", trusted=key.public)
    spent, waited = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = (folder / "large" / "public" / "data.parquet").stat().st_size / 1e6
    print(f"verifying {rows:,} rows ({size:.0f} MB): {spent:.1f} processor seconds, {waited:.1f} s, "
          f"{decoded['rows'] / rows:.2f} readings, at most {peak:.0f} MB; {found.standing}")  # fmt: skip
    assert found.ok and decoded["rows"] == rows


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as place:
        cost(given[0] if given else 1_000_000, Path(place))
        one_pass(given[1] if len(given) > 1 else 10_000_000, Path(place))
