"""Others' tools read and check what is signed: securesystemslib and in-toto-attestation in an environment of
their own (`make peers PEERS=intoto`), sigstore's verifier where node has it, and openssl."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from releases import released

import peers
from sfumato.privacy.signatures import SigningKey, canonical, pae
from sfumato.privacy.signatures.envelope import PAYLOAD_TYPE
from sfumato.release import manifest, sign

KEY, OTHER = SigningKey.fresh(), SigningKey.fresh()
_SIGSTORE = Path(peers.__file__).parent.parent / ".peers" / "sigstore" / "node_modules" / "@sigstore"


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = released(3).save(tmp_path_factory.mktemp("signed") / "release")
    sign(folder, KEY, "A. Miller")
    return folder / "public"


def forged(line: str) -> str:
    document = json.loads(line)
    payload = base64.b64decode(document["payload"]).replace(b"A. Miller", b"B. Miller")
    document["payload"] = base64.b64encode(payload).decode()
    return canonical(document).decode()


def test_in_toto_reads_and_checks_it(public: Path) -> None:
    if peers.python_of("intoto") is None:
        pytest.skip("the environment of intoto was not built: make peers PEERS=intoto")
    line = (public / manifest.SIGNATURES).read_text()
    found = peers.ask("intoto", {"line": line, "key": KEY.public_pem()})
    assert found["accepted"] == [KEY.public] and found["predicate"] == "urn:sfumato:release:1"
    names = {p.name for p in public.iterdir()} - {manifest.SIGNATURES}
    assert found["subjects"] == {n: manifest.measure(public / n).sha256 for n in names}
    for lie, key in ((forged(line), KEY), (line, OTHER)):
        assert peers.ask("intoto", {"line": lie, "key": key.public_pem()})["accepted"] == []


def test_sigstore_checks_it(public: Path) -> None:
    if shutil.which("node") is None or not _SIGSTORE.is_dir():
        pytest.skip("sigstore's verifier is not here: see peers/ask_sigstore.js")
    line = (public / manifest.SIGNATURES).read_text()

    def ask(line: str, key: SigningKey) -> bool:
        question = json.dumps({"line": line, "key": key.public_pem()})
        script = Path(peers.__file__).parent / "ask_sigstore.js"
        done = subprocess.run(["node", script], input=question, capture_output=True, text=True, check=True)
        answer: bool = json.loads(done.stdout)["accepted"]
        return answer

    assert ask(line, KEY) and not ask(forged(line), KEY) and not ask(line, OTHER)


def test_openssl_checks_it(public: Path, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    document = json.loads((public / manifest.SIGNATURES).read_text())
    payload = base64.b64decode(document["payload"])
    (tmp_path / "sig").write_bytes(base64.b64decode(document["signatures"][0]["sig"]))
    KEY.save_public(tmp_path / "officer.pub")
    ask = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "officer.pub", "-rawin", "-in", "message"]
    for content, fits in ((payload, True), (payload.replace(b"A. Miller", b"B. Miller"), False)):
        (tmp_path / "message").write_bytes(pae(PAYLOAD_TYPE, content))
        done = subprocess.run([*ask, "-sigfile", "sig"], cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode == 0) == fits
