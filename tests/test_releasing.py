"""What is uploaded: the same bytes twice, a bill of its parts, licences that allow it, and a signature."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from architecture import ROOT

import peers
from releasing import bom, licences, rehearsal
from releasing.lock import pinned, project
from sfumato.privacy.signatures import SigningKey
from sfumato.release.document import sign_document, verify_document

# --- licences -------------------------------------------------------------------------------------


def test_no_dependency_forbids_our_use() -> None:
    found = {p.name: licences.licence(p.name) for p in pinned()}
    assert len(found) > 100
    assert {n: said for n, said in found.items() if licences.verdict(said) == "refused"} == {}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("MIT", "free"),
        ("Apache-2.0 OR GPL-3.0-only", "free"),
        ("Apache-2.0 AND MPL-2.0", "weak"),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", "free"),
        ("MIT AND GPL-3.0-only", "refused"),
        ("AGPL-3.0-or-later", "refused"),
        ("LicenseRef-Proprietary", "refused"),
        ("(MIT OR GPL-2.0-only) AND Zlib", "refused"),
        ("", "refused"),
    ],
)
def test_a_licence_that_forbids_it_would_be_found(said: str, verdict: str) -> None:
    assert licences.verdict(said) == verdict


def test_the_page_of_licences_is_that_of_the_lock() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert page == licences.page(), "python -m releasing.licences > docs/licences.md"


def test_what_the_core_needs_is_free() -> None:
    core = [name for name, use in licences.used_for().items() if use == "core"]
    assert {"numpy", "pyarrow"} <= set(core)
    assert {licences.verdict(licences.licence(name)) for name in core} == {"free"}


# --- bill of materials ----------------------------------------------------------------------------


def test_the_bill_lists_what_the_lock_pins() -> None:
    found = bom.bill(1_700_000_000)
    assert [(c["name"], c["version"]) for c in found["components"]] == [(p.name, p.version) for p in pinned()]
    assert found == bom.bill(1_700_000_000) and found["serialNumber"] != bom.bill(1)["serialNumber"]
    scopes = {c["name"]: c["scope"] for c in found["components"]}
    assert (scopes["numpy"], scopes["starlette"], scopes["pytest"]) == ("required", "optional", "excluded")
    known = {"sfumato", *(c["bom-ref"] for c in found["components"])}
    assert {d["ref"] for d in found["dependencies"]} == known
    assert {u for d in found["dependencies"] for u in d["dependsOn"]} <= known
    first = found["dependencies"][0]
    assert first["ref"] == "sfumato" and any("numpy" in u for u in first["dependsOn"])


@pytest.mark.soak
def test_the_makers_of_cyclonedx_accept_the_bill() -> None:
    if peers.python_of("cyclonedx") is None:
        pytest.skip("the environment of cyclonedx was not built: make peers PEERS=cyclonedx")
    found = bom.bill(1_700_000_000)
    assert peers.ask("cyclonedx", {"bill": json.dumps(found)})["fault"] is None
    found["components"][0]["scope"] = "wanted"
    assert "wanted" in peers.ask("cyclonedx", {"bill": json.dumps(found)})["fault"]


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.soak
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    inside = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if inside.returncode:
        pytest.skip("what is released is a commit, and there is none here")
    files = rehearsal.build_twice("HEAD", tmp_path)
    assert [f.suffix for f in files] == [".whl", ".gz"]


def test_builds_that_differ_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "build", lambda commit, out, umask: (out / "a.whl").write_text(str(umask)))
    with pytest.raises(rehearsal.Stop, match=r"two builds differ: a\.whl"):
        rehearsal.build_twice("HEAD", tmp_path)


def test_a_file_is_signed_as_a_package_and_as_nothing_else(tmp_path: Path) -> None:
    wheel = tmp_path / "sfumato.whl"
    wheel.write_bytes(b"content")
    rehearsal.sign([wheel], None)
    assert (tmp_path / "sfumato.whl.intoto.jsonl").exists()
    key = SigningKey.fresh()
    key.save(tmp_path / "releases.key")
    rehearsal.sign([wheel], tmp_path / "releases.key")
    assert verify_document(wheel, trusted=key.public, purpose="package").standing == "authentic"
    assert verify_document(wheel, trusted=key.public, purpose="claim").standing != "authentic"
    wheel.write_bytes(b"other content")
    assert verify_document(wheel, trusted=key.public, purpose="package").standing == "altered"
    other = tmp_path / "determination.txt"
    other.write_text("a determination")
    sign_document(other, key, "A. Miller")
    assert verify_document(other, trusted=key.public, purpose="package").standing != "authentic"


def test_the_version_is_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    version = rehearsal.check_versions(strict=False)
    assert version == project()["version"]
    monkeypatch.setattr(rehearsal, "project", lambda: {"version": "9.9.9"})
    with pytest.raises(rehearsal.Stop, match="CITATION"):
        rehearsal.check_versions(strict=False)


def test_a_python_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clean environment lies elsewhere; make names the Python of this folder by a path of this folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert rehearsal.interpreter("bin/python") == str(tmp_path / "bin" / "python")
    with pytest.raises(rehearsal.Stop, match="no Python called bin/python4"):
        rehearsal.interpreter("bin/python4")


# --- what a newcomer looks for --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("SECURITY.md", "Supported versions"),
        ("CONTRIBUTING.md", "The first hour"),
        ("GOVERNANCE.md", "Who may sign"),
        ("CODE_OF_CONDUCT.md", "no real records"),
        ("ROADMAP.md", "Not planned"),
    ],
)
def test_the_pages_of_the_project_are_there_and_lead_somewhere(page: str, says: str) -> None:
    import re

    text = (ROOT / page).read_text(encoding="utf-8")
    assert says in text
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), f"{page}: {target}"


def test_the_version_in_hand_is_a_supported_one() -> None:
    short = ".".join(str(project()["version"]).split(".")[:2])
    assert f"| {short} | yes |" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
