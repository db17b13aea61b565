"""All that is done to release this package, up to the upload, which a person does (docs/releasing.md).

    python -m releasing.rehearsal --out dist                       what is uploaded, and the checks
    python -m releasing.rehearsal --out dist --key releases.key    signed with the project's key
    python -m releasing.rehearsal --only-build --out dist          without the clean environment

Everything is made from the commit, not from the folder: what is not committed is not in it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from releasing.bom import bill
from releasing.licences import licence, verdict
from releasing.lock import ROOT, pinned, project

# A part of the tests that needs no source tree: what is installed is what is tried.
TESTS = (
    "tests/test_seeds.py",
    "tests/test_score.py",
    "tests/test_schema.py",
    "tests/test_formats.py",
    "tests/privacy/test_signatures.py",
    "tests/privacy/test_noise.py",
)


class Stop(Exception):
    """What keeps this commit from being released."""


def run(*command: str | Path, at: Path, **environment: str) -> str:
    """What a command prints; the end of its words if it fails."""
    words = [str(c) for c in command]
    done = subprocess.run(words, cwd=at, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise Stop(f"{' '.join(words[:4])} ... failed:\n{(done.stdout + done.stderr)[-2_000:]}")
    return done.stdout


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def say(text: str) -> None:
    """One line of the rehearsal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# -- the steps ---------------------------------------------------------------------------------------


def check_versions(strict: bool) -> str:
    """The version, the same wherever it is written; strict: with a section of its own in the changelog."""
    version = str(project()["version"])
    cited = re.search(r"^version: \"?([^\"\n]+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    if cited is None or cited[1].strip() != version:
        raise Stop(f"CITATION.cff does not name version {version}: write it there first.")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\]", changes, re.M):
        missing = f"CHANGELOG.md has no section [{version}]"
        if strict:
            raise Stop(f"{missing}: give [Unreleased] its number and day first.")
        say(f"{missing} yet: a release would stop here.")
    return version


def build(commit: str, out: Path, umask: int) -> None:
    """Wheel and sdist of a commit, in a folder of its own; the wheel is made from the sdist."""
    epoch = run("git", "log", "-1", "--format=%ct", commit, at=ROOT).strip()
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place, "tree")
        tree.mkdir()
        run("git", "archive", "-o", Path(place, "tree.tar"), commit, at=ROOT)
        before = os.umask(umask)
        try:
            with tarfile.open(Path(place, "tree.tar")) as archive:
                archive.extractall(tree, filter="data")
            made = (sys.executable, "-m", "hatchling", "build", "-d", out)
            run(*made, "-t", "sdist", at=tree, SOURCE_DATE_EPOCH=epoch)
            (sdist,) = out.glob("*.tar.gz")
            with tarfile.open(sdist) as archive:
                archive.extractall(place, filter="data")
            (unpacked,) = (p for p in Path(place).iterdir() if p.is_dir() and p != tree)
            run(*made, "-t", "wheel", at=unpacked, SOURCE_DATE_EPOCH=epoch)
        finally:
            os.umask(before)


def build_twice(commit: str, out: Path) -> list[Path]:
    """The same bytes twice, in other folders, with other rights on the files."""
    with tempfile.TemporaryDirectory() as again:
        build(commit, out, 0o022)
        build(commit, Path(again), 0o077)
        names = sorted(p.name for p in out.iterdir())
        differ = [n for n in names if sha256(out / n) != sha256(Path(again, n))]
    if differ:
        raise Stop(f"two builds differ: {', '.join(differ)}.")
    return [out / n for n in names]


def materials(commit: str, out: Path) -> Path:
    """The bill of materials; refused if a licence is."""
    refused = sorted({p.name for p in pinned() if verdict(licence(p.name)) == "refused"})
    if refused:
        raise Stop(f"licences that forbid our use, or are not understood: {', '.join(refused)}.")
    epoch = int(run("git", "log", "-1", "--format=%ct", commit, at=ROOT))
    path = out / f"sfumato-{project()['version']}.cdx.json"
    path.write_text(json.dumps(bill(epoch), indent=2, sort_keys=True) + "\n", "utf-8")
    return path


def sign(files: Sequence[Path], key: Path | None) -> None:
    """A signature beside each file, under the scheme of data releases, and checked at once."""
    from sfumato.privacy.signatures import SigningKey
    from sfumato.release.document import sign_document, verify_document

    secret = SigningKey.fresh() if key is None else SigningKey.load(key)
    for file in files:
        sign_document(file, secret, "The Sfumato developers", purpose="package")
        found = verify_document(file, trusted=secret.public, purpose="package")
        if not (found.ok and found.standing == "authentic"):
            raise Stop(f"the signature of {file.name} does not hold.")


def interpreter(python: str) -> str:
    """A Python by name or path, as it is called from any folder: a path is of the folder one stands in."""
    found = shutil.which(python)
    if found is None:
        raise Stop(f"there is no Python called {python} here.")
    return str(Path(found).absolute())  # not resolved: an environment's Python is a link to another


def install(wheel: Path, sdist: Path, python: str, resolution: str, demo: bool) -> None:
    """An empty environment, the wheel, and a part of the tests from the sdist on what is installed."""
    uv = Path(sys.executable).with_name("uv")
    tools = ("pytest>=8.4", "hypothesis>=6.140", "pytest-xdist>=3.8", "pytest-benchmark>=5.1", "polars>=1.30")
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        run(uv, "venv", "--quiet", "--python", interpreter(python), "venv", at=place)
        there = place / "venv" / "bin" / "python"
        asked = f"{wheel}[stats,excel,service,tables]"
        run(
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            there,
            "--resolution",
            resolution,
            asked,
            *tools,
            at=place,
        )
        say(f"  {run(there.with_name('sfumato'), '--version', at=place, PYTHONPATH='').strip()} on {python}")
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (unpacked,) = place.glob("sfumato-*")
        shutil.rmtree(unpacked / "src")  # what is installed, and nothing else, is imported
        environment = {"PYTHONPATH": "", "SFUMATO_STATE": str(place / "state")}
        said = run(there, "-m", "pytest", "-n", "0", *TESTS, at=unpacked, **environment)
        say(f"  {said.strip().splitlines()[-1]}")
        if demo:
            run(there.with_name("sfumato"), "demo", "--out", place / "demo", at=place, **environment)
            say("  the demo ran to its end")


def main(arguments: Sequence[str] | None = None) -> int:
    """Every step, in order; the first that fails ends it."""
    parser = argparse.ArgumentParser(prog="python -m releasing.rehearsal", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that does not exist yet")
    parser.add_argument("--commit", default="HEAD", help="what is released: a tag")
    parser.add_argument("--key", type=Path, help="the project's signing key; without it a throw-away key")
    parser.add_argument("--only-build", action="store_true", help="no clean environment")
    parser.add_argument("--python", default=sys.executable, help="for the clean environment")
    parser.add_argument("--resolution", default="highest", choices=["highest", "lowest-direct"])
    parser.add_argument("--demo", action="store_true", help="run the demo there as well")
    given = parser.parse_args(arguments)
    try:
        version = check_versions(strict=given.key is not None)
        given.out.mkdir(parents=True)
        out = given.out.resolve()
        files = build_twice(given.commit, out)
        say(f"Version {version}: two builds, the same bytes.")
        files.append(materials(given.commit, out))
        say(f"Bill of materials: {len(pinned())} packages, no licence forbids our use.")
        sums = out / "SHA256SUMS"
        sums.write_text("".join(f"{sha256(f)}  {f.name}\n" for f in files), "utf-8")
        sign([*files, sums], given.key)
        say("Signed." if given.key else "Signed with a throw-away key: not for upload.")
        if not given.only_build:
            (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
            install(wheel, sdist, given.python, given.resolution, given.demo)
        say(f"What is left is a person's: docs/releasing.md, 'The upload'. The files are in {given.out}.")
    except (Stop, FileExistsError) as fault:
        sys.stderr.write(f"Not ready: {fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
