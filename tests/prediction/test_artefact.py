"""The signed file: what was published comes back, and nothing else is taken for it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_tables import mixed

from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.artefact import ArtefactError, FeatureError, load, sign_again, write
from sfumato.prediction.estimator import PrivateClassifier
from sfumato.prediction.forest import AlphaForest
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey, canonical

KEY = SigningKey(bytes(range(32)))


@pytest.fixture(scope="module", params=["logistic", "additive", "forest"])
def fitted(request: pytest.FixtureRequest) -> PrivateClassifier:
    made = {
        "logistic": PrivateLogistic(5.0, intervals=True),
        "additive": AdditiveScore(5.0),
        "forest": AlphaForest(5.0, trees=4, depth=3, anyway=True),
    }
    return made[request.param].fit(mixed(600), "sick")


@pytest.fixture
def file(fitted: PrivateClassifier, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "risk.sfm", KEY, name="risk-of-being-sick")
    return tmp_path / "risk.sfm"


def resigned(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """The file as someone with a key of their own would forge it: valid but for what `change` did."""
    import hashlib

    content = json.loads(file.read_bytes())["content"]
    change(content)
    spelled = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    document = {
        "sfumato_model": 1,
        "content": content,
        "checksum": f"sha256:{hashlib.sha256(spelled).hexdigest()}",
        "signature": {
            "algorithm": "ed25519", "key": KEY.public, "value": KEY.sign(b"sfumato model 1\n" + spelled),
        },
    }  # fmt: skip
    file.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n")


def test_it_comes_back_as_it_was(fitted: PrivateClassifier, file: Path) -> None:
    model = load(file, trusted=[KEY.public])
    assert (model.name, model.target, model.kind) == ("risk-of-being-sick", "sick", fitted.model_.kind)
    assert model.signer == KEY.public and not model.noisy and len(model.version) == 16
    assert model.guarantee == fitted.guarantee_
    rows = [{k: v for k, v in r.items() if k != "sick"} for r in mixed(200, 9).to_arrow().to_pylist()]
    scored = model.score(rows)
    expected = fitted.predict_proba(mixed(200, 9))[:, 1]
    assert np.allclose([s.probability for s in scored], expected, rtol=0, atol=1e-12)
    outside = [r["dose"] is not None and not 0 <= r["dose"] <= 10 for r in rows]
    assert [s.clamped == ("dose",) for s in scored] == outside and any(outside)
    for row, one in zip(rows[:20], scored, strict=False):
        told = model.explain(row)
        assert 1 / (1 + np.exp(-told.log_odds)) == pytest.approx(one.probability, abs=1e-12)
        assert [name for name, _ in told.contributions] == ["dose", "ward", "grade", "smoker"]


def test_writing_again_gives_the_same_version(file: Path, tmp_path: Path) -> None:
    first = load(file)
    again = write(first, tmp_path / "again.sfm", KEY)
    assert (tmp_path / "again.sfm").read_bytes() == file.read_bytes()
    assert again.version == first.version
    with pytest.raises(OutputError):
        write(first, file, KEY)
    with pytest.raises(ParameterError):
        write(first, tmp_path / "unsigned.sfm", None)  # type: ignore[arg-type]


def test_no_byte_can_change(file: Path) -> None:
    raw = file.read_bytes()
    for place in {*range(0, len(raw), max(1, len(raw) // 60)), *range(len(raw) - 220, len(raw), 7)}:
        for other in (raw[place] ^ 1, ord("0")):
            if other == raw[place]:
                continue
            file.write_bytes(raw[:place] + bytes([other]) + raw[place + 1 :])
            with pytest.raises(ArtefactError):
                load(file)
    for changed in (raw[:-1], raw + b"\n", raw + b" ", b"\xef\xbb\xbf" + raw, raw[: len(raw) // 2], b""):
        file.write_bytes(changed)
        with pytest.raises(ArtefactError):
            load(file)


def test_somebody_else_s_signature_is_refused(file: Path) -> None:
    assert load(file).signer == KEY.public
    with pytest.raises(ArtefactError, match="not among the trusted"):
        load(file, trusted=[SigningKey.fresh().public])
    with pytest.raises(ArtefactError, match="not among the trusted"):
        load(file, trusted=[])
    document = json.loads(file.read_bytes())
    document["signature"]["key"] = SigningKey.fresh().public
    file.write_bytes(canonical(document) + b"\n")
    with pytest.raises(ArtefactError, match="signature does not fit"):
        load(file)
    document["signature"] = None
    file.write_bytes(canonical(document) + b"\n")
    with pytest.raises(ArtefactError, match="not signed"):
        load(file)


def test_the_trust_file_of_releases_counts_for_models(file: Path, tmp_path: Path) -> None:
    def found(**entries: Any) -> str:
        (tmp_path / "trust.toml").write_text(Trust((TrustedKey(KEY.public, "A", **entries),)).to_toml())
        try:
            return load(file, trusted=tmp_path / "trust.toml").signer
        except ArtefactError as error:
            return error.message

    assert found() == found(signs=(Purpose.MODEL,)) == found(start=date(2020, 1, 1)) == KEY.public
    assert "for release only" in found(signs=(Purpose.RELEASE,))
    assert "retired on 2020-01-01" in found(end=date(2020, 1, 1))  # it bears no day of its own
    assert "revoked on 2026-01-01" in found(revoked=date(2026, 1, 1))
    KEY.save_public(tmp_path / "k.pub")
    assert load(file, trusted=tmp_path / "k.pub").signer == KEY.public


def nested(depth: int) -> Any:
    card: Any = "end"
    for _ in range(depth):
        card = [card]
    return card


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no features": lambda c: c.update(features=[]),
    "features twice": lambda c: c.update(features=c["features"] * 2),
    "a feature without a name": lambda c: c["features"][0].update(name=""),
    "bounds the wrong way round": lambda c: c["features"][0].update(low=99.0),
    "thresholds that fall": lambda c: c["features"][0]["thresholds"].reverse(),
    "thresholds of text": lambda c: c["features"][0].update(thresholds=["5"]),
    "a level twice": lambda c: c["features"][1].update(levels=["a", "a", "b"]),
    "an unknown kind": lambda c: c.update(kind="oracle"),
    "a kind that is a list": lambda c: c.update(kind=["additive score"]),
    "a base of text": lambda c: c["parameters"].update(base="0"),
    "an infinite base": lambda c: c["parameters"].update(base=1e999),
    "a base of many digits": lambda c: c["parameters"].update(base=10**400),
    "more parameters": lambda c: c["parameters"].update(code="import os"),
    "no guarantee": lambda c: c["guarantee"].update(claims=[]),
    "a guarantee of nothing": lambda c: c["guarantee"].update(
        claims=[{"claim": "NoGuarantee", "reason": "x", "detail": "", "unit": {"of": "row"}}]
    ),
    "a guarantee of text": lambda c: c.update(guarantee="epsilon 1"),
    "a deep card": lambda c: c["card"].update(deep=nested(60)),
    "a card of text": lambda c: c.update(card="good"),
    "a very long name": lambda c: c.update(name="x" * 1000),
    "versions that are numbers": lambda c: c.update(versions={"sfumato": 1}),
    "another part": lambda c: c.update(more=1),
}


@pytest.mark.parametrize("change", HOSTILE)
def test_well_signed_nonsense_is_refused(file: Path, change: str) -> None:
    resigned(file, lambda content: None)
    load(file)
    resigned(file, HOSTILE[change])
    with pytest.raises(ArtefactError) as error:
        load(file)
    assert error.value.faults and len(str(error.value)) < 2000


def spoil(content: dict[str, Any], how: str) -> None:
    """Parameters of the wrong shape, in either kind."""
    own = content["parameters"]
    if "weights" in own:
        first = own["weights"][0]
        ways = {
            "short": first.pop,
            "text": lambda: first.__setitem__(0, "1"),
            "list": lambda: own.update(weights={}),
            "loop": lambda: own["weights"].pop(),
            "far": lambda: first.append(1.0),
        }
    else:
        tree = own["trees"][0]
        ways = {
            "short": lambda: tree["nodes"][0]["next"].pop(),
            "text": lambda: tree["values"].__setitem__(0, "1"),
            "list": lambda: own.update(trees={}),
            "loop": lambda: tree["nodes"][1]["next"].__setitem__(0, 0),
            "far": lambda: tree["nodes"][0].update(feature=99),
        }
    ways[how]()


@pytest.mark.parametrize("how", ["short", "text", "list", "loop", "far"])
def test_parameters_of_another_shape_are_refused(file: Path, how: str) -> None:
    resigned(file, lambda content: spoil(content, how))
    with pytest.raises(ArtefactError):
        load(file)


def test_all_faults_are_listed_at_once(file: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content.update(name="", card=3, guarantee=None)

    resigned(file, change)
    raw = file.read_bytes().replace(b'"card":3', b'"card":4')
    file.write_bytes(raw)
    with pytest.raises(ArtefactError) as error:
        load(file, trusted=[])
    assert len(error.value.faults) >= 6


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b"{" * 50_000, b"NaN", b'{"sfumato_model":NaN}', b"9" * 10_000, b"\xff\xfe",
            b"null", b'{"sfumato_model":2}', b'{"sfumato_model":true}', b'{"sfumato_model":1}'],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_model_at_all_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x.sfm").write_bytes(raw)
    with pytest.raises(ArtefactError):
        load(tmp_path / "x.sfm")


@pytest.mark.usefixtures("uncollected")
def test_huge_files_devices_and_missing_files_are_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "huge.sfm").open("wb") as sink:
        sink.truncate(2**40)  # a sparse terabyte
    started = time.process_time()
    for path in (tmp_path / "huge.sfm", Path("/dev/zero"), tmp_path, tmp_path / "none.sfm", Path("a\0b")):
        with pytest.raises(ArtefactError):
            load(path)
    assert time.process_time() - started < 1


def test_rows_that_break_a_rule_are_named_without_their_values(file: Path) -> None:
    model = load(file)
    good = {"dose": 1, "ward": "a", "grade": 1, "smoker": None}
    bad = [
        ({**good, "dose": "much"}, "dose", "must be a number"),
        ({**good, "dose": True}, "dose", "must be a number"),
        ({**good, "dose": float("nan")}, "dose", "must be a finite number"),
        ({**good, "dose": float("inf")}, "dose", "must be a finite number"),
        ({**good, "ward": "secret"}, "ward", "must be one of 3 declared levels"),
        ({**good, "ward": 1}, "ward", "must be text"),
        ({**good, "ward": ["a"]}, "ward", "must be text"),
        ({**good, "grade": None}, "grade", "a value is required"),
        ({**good, "grade": 9}, "grade", "must be one of 4 declared levels"),
        ({**good, "smoker": 1}, "smoker", "must be true or false"),
        ({**good, "name": "Dave"}, "name", "the model has no such feature"),
    ]
    rows = [good, *(row for row, _, _ in bad), {}, "text"]
    with pytest.raises(FeatureError) as error:
        model.score(rows)  # type: ignore[arg-type]
    faults = error.value.faults
    assert [f for f in faults if f[0] <= len(bad)] == [(i, n, r) for i, (_, n, r) in enumerate(bad, 1)]
    assert (len(bad) + 1, "grade", "a value is required") in faults
    assert (len(bad) + 2, "", "a row is a table of fields and values") in faults
    assert not any(word in str(error.value) for word in ("secret", "much", "Dave"))
    assert model.score([{**good, "dose": 10**400}])[0].clamped == ("dose",)
    assert model.score([{"grade": 2}]) == model.score([{"grade": 2, "dose": None, "ward": None}])


def test_scoring_takes_less_than_50_microseconds_a_row(fitted: PrivateClassifier) -> None:
    wide = AdditiveScore(5.0, (0.0, 1.0), anyway=True).fit(
        np.random.default_rng(0).random((50, 30)), [0, 1] * 25
    )
    row = {f"x{j}": 0.3 for j in range(30)}
    own = {"dose": 5.0, "ward": "a", "grade": 1, "smoker": True}
    for model, asked in ((wide.released(), row), (fitted.released(), own)):
        model.score([asked] * 100)
        best = min(_seconds(lambda m=model, a=asked: m.score([a] * 500)) for _ in range(7)) / 500
        assert best < 50e-6


def _seconds(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


def test_a_service_needs_no_data_frames_to_score(file: Path) -> None:
    code = (
        "import sys; from sfumato.prediction.artefact import load; m = load(sys.argv[1]); "
        "m.score([{'grade': 1}]); m.explain({'grade': 1}); "
        "heavy = {'sklearn', 'pandas', 'polars', 'numba', 'scipy', 'duckdb', 'opendp'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- keys ---------------------------------------------------------------------------------------------------


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = SigningKey.fresh()
    path = key.save(tmp_path / "hospital.key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.load(path).public == key.public
    assert key.public in repr(key) and json.loads(path.read_text())["secret"] not in repr(key)
    with pytest.raises(OutputError):
        SigningKey.fresh().save(path)
    os.chmod(path, 0o644)
    with pytest.raises(DataError, match="read by others"):
        SigningKey.load(path)
    with pytest.raises(ParameterError):
        import pickle

        pickle.dumps(key)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"sfumato_signing_key":1,"secret":"zz"}', "[" * 9999]
)
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(DataError, match=r"not a signing key|cannot be read"):
        SigningKey.load(path)
    with pytest.raises(DataError):
        SigningKey.load(tmp_path / "none.key")


def test_a_model_is_signed_again_after_its_key_was_rotated(file: Path) -> None:
    old, new, stranger, path = KEY, SigningKey.fresh(), SigningKey.fresh(), file
    model, before = load(path), path.read_bytes()
    retired = Trust((TrustedKey(old.public, "old", end=date(2020, 1, 1)), TrustedKey(new.public, "new")))
    with pytest.raises(ArtefactError, match="retired on 2020-01-01"):
        load(path, trusted=retired)
    for trust in (Trust(), Trust((TrustedKey(old.public, revoked=date(2020, 1, 1)),)), [stranger.public]):
        with pytest.raises(ParameterError, match="signed with a key that"):
            sign_again(path, new, trust)
    with pytest.raises(ParameterError, match="signed with a key that does not count"):
        sign_again(path, new, Trust((TrustedKey(old.public, signs=(Purpose.RELEASE,)),)))
    assert path.read_bytes() == before
    again = sign_again(path, new, retired)
    assert load(path, trusted=retired).signer == again.signer == new.public
    assert again.version == model.version and again.parameters() == model.parameters()
    path.write_bytes(before[:-9])
    with pytest.raises(ArtefactError):
        sign_again(path, new, retired)
