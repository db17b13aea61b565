"""Paid for once and never lost: killed before every step to disk, and on a disk that is full."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from claiming import CLAIMING, TARGET, budget, does, linked, settings, table_for
from claiming import asked as beside
from cli_support import PATIENCE, environment
from planned import with_steps, written
from private_tables import chain, table_of
from score_tables import mixed

import sfumato as sf
from sfumato.errors import BudgetError, OutputError
from sfumato.io import atomic
from sfumato.methods.declaration import Does
from sfumato.plan.command import learnt, paid_for, searched
from sfumato.plan.people import people_paid_for
from sfumato.plan.step import Step
from sfumato.prediction.artefact import load
from sfumato.privacy import Accounted, Budget, Guarantee, Ledger, PureDP
from sfumato.privacy.signatures import SigningKey
from sfumato.release.kept import kept
from sfumato.schema import Schema

# One process that has all in memory; each attempt is a fork of it that kills itself before a step to disk: a
# write that is synchronized, a rename, a link, the commit of a debit.
_ZYGOTE = """
import os, signal, sys, json
import test_paid_once as paid
warm = set()
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    kind, folder, at, again = json.loads(line)
    if kind not in warm:
        paid.attempt(kind, paid.Path("warm") / kind)
        warm.add(kind)
    pid = os.fork()
    if not pid:
        code = paid.attempt_until(kind, paid.Path(folder), at, again)
        os._exit(code)
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(f"{status}\\n"); sys.stdout.flush()
"""
# Every declared method that claims an epsilon, a plan, and a search for domains.
KINDS = (*CLAIMING, "plan", "find")

COST = 0.5
_BEGUN, _OTHER = 3, 4


def attempt(kind: str, folder: Path, again: bool = False) -> Any:
    """Do it once, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    out = result(kind, folder)
    if kind == "plan":
        text = with_steps('method = "marginals"\nrows = 40\nepsilon = 0.5').replace(
            "[[steps]]", '[budget]\nledger = "a.ledger"\nepsilon = 5.0\n\n[[steps]]'
        )
        return sf.Plan.read(written(folder, text)).run(out, spend_again=again, other_people=True)
    ledger = Ledger.open(folder / "a.ledger", allowance(kind))
    if kind == "find":
        return find(folder, ledger, again)
    asked = settings(kind, COST)
    if does(kind) is Does.PEOPLE:
        step = Step(kind, {**beside(kind), **asked})
        return people_paid_for(step, linked(TABLE), out, ledger, again=again)
    if does(kind) is Does.FIT:
        if not (folder / "key").exists():
            SigningKey.fresh().save(folder / "key")
        step = Step(kind, {"target": TARGET, **asked})
        return learnt(step, table_for(kind), out, ledger, SigningKey.load(folder / "key"), again=again)
    return paid_for(Step(kind, {**beside(kind), **asked}), TABLE, out, ledger, again=again)


def allowance(kind: str) -> Budget:
    """What its ledger has at first."""
    return budget(kind, 5.0) if kind in CLAIMING else Budget(epsilon=5.0)


def is_fit(kind: str) -> bool:
    return kind in CLAIMING and does(kind) is Does.FIT


def result(kind: str, folder: Path) -> Path:
    """Where it is in the end."""
    return folder / ("out.sfm" if is_fit(kind) else "out")


def find(folder: Path, ledger: Ledger, again: bool) -> Any:
    """Bounds that are found for a schema file; what the command says is written beside it."""
    schema = folder / "out.toml"
    if not schema.exists():
        schema.write_text('[columns.age]\nkind = "numeric"\n', encoding="utf-8")
    rows = sf.scan(pa.table({"age": [float(i % 90) for i in range(300)]}), Schema.read(schema))

    def write(path: Path, found: Schema) -> None:
        atomic.write_text(path, found.to_toml(), overwrite=True)

    done = searched(sf.DomainSearch(COST), rows, ["age"], schema, ledger, write, again=again)
    (folder / "told.json").write_text(done.guarantee.to_json(), encoding="utf-8")
    return done


TABLE = table_of(chain(60), (2, 2, 2, 3))


def attempt_until(kind: str, folder: Path, at: int, again: bool) -> int:
    """The same, killed before step number `at`; below 0 nothing is killed, and the steps are counted."""
    import signal

    from sfumato.privacy.ledger.files import FileStore

    steps = [0]

    def counted(genuine: Any) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            if steps[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            steps[0] += 1
            return genuine(*given, **options)

        return call

    for name in ("fsync", "replace", "rename", "link"):
        setattr(os, name, counted(getattr(os, name)))
    FileStore.transaction = counted(FileStore.transaction)  # type: ignore[method-assign]
    try:
        attempt(kind, folder, again)
    except BudgetError as error:
        return _BEGUN if "had begun to draw" in error.message else _OTHER
    except BaseException as error:
        sys.stderr.write(repr(error))
        return _OTHER
    if at < 0:
        (folder / "steps").write_text(str(steps[0]))
    return 0


class Zygote:
    """Makes attempts, and says how they ended."""

    def __init__(self, folder: Path) -> None:
        tests = Path(__file__).parent
        env = environment()
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], str(tests), str(tests.parent)])
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ZYGOTE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=env, cwd=folder,
        )  # fmt: skip
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n"

    def attempt(self, kind: str, folder: Path, at: int = -1, again: bool = False) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, str(folder), at, again]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    made = Zygote(tmp_path_factory.mktemp("zygote"))
    yield made
    made.end()


def spent(folder: Path) -> float:
    path = folder / "a.ledger"
    return round(Ledger.look(path).spent, 9) if path.exists() else 0.0


def promised(kind: str, folder: Path) -> tuple[float, float]:
    """What the result claims, and what it says was spent in all."""
    if is_fit(kind):
        guarantee = load(folder / "out.sfm").guarantee
    elif kind == "find":
        guarantee = Guarantee.from_json((folder / "told.json").read_text(encoding="utf-8"))
        said = Schema.read(folder / "out.toml")["age"].provenance
        assert said is not None and said.epsilon == sum(c.epsilon for c in guarantee if isinstance(c, PureDP))
    else:
        assert sf.verify(folder / "out").ok
        of_people = kind in CLAIMING and does(kind) is Does.PEOPLE
        guarantee = (sf.DatabaseRelease if of_people else sf.Release).load(folder / "out").guarantee
    (claim,) = (c for c in guarantee if isinstance(c, PureDP))
    (account,) = (c for c in guarantee if isinstance(c, Accounted))
    return round(claim.epsilon, 9), round(account.total, 9)


def killed_everywhere(zygote: Zygote, kind: str, folder: Path, every: int) -> list[int]:
    """Kill before each step, or each so many; the steps at which what was drawn was lost."""
    whole = folder / "whole"
    assert zygote.attempt(kind, whole) == 0 and promised(kind, whole) == (COST, COST)
    lost = []
    steps = int((whole / "steps").read_text())
    assert steps > 20
    for at in range(steps % every, steps, every):
        here = folder / str(at)
        status = zygote.attempt(kind, here, at)
        assert os.WIFSIGNALED(status), "it was killed"
        assert spent(here) in (0.0, COST)
        status = zygote.attempt(kind, here)
        if os.waitstatus_to_exitcode(status) == _BEGUN:
            lost.append(at)
            assert spent(here) == COST, "nothing more was debited for what was refused"
            assert zygote.attempt(kind, here, again=True) == 0
            assert promised(kind, here) == (2 * COST, 2 * COST)
        else:
            assert status == 0 and promised(kind, here) == (COST, COST)
        assert spent(here) == (2 * COST if at in lost else COST)
        assert not list(here.glob(".out*")), "nothing hidden is left"
    return lost


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k in ("private", "plan") else pytest.mark.soak) for k in KINDS]
)
def test_killed_before_many_steps_it_is_debited_once_and_nothing_that_is_finished_is_lost(
    zygote: Zygote, tmp_path: Path, kind: str
) -> None:
    """What is lost, and said to be, is a draw whose result is not yet written: one stretch of steps."""
    each = {"marginals": 5, "private": 7, "additive": 7, "plan": 19, "find": 7}
    tried_at(zygote, tmp_path, kind, each.get(kind, 17))


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_killed_before_each_single_step(zygote: Zygote, tmp_path: Path, kind: str) -> None:
    tried_at(zygote, tmp_path, kind, 1)


def tried_at(zygote: Zygote, folder: Path, kind: str, every: int) -> None:
    lost = killed_everywhere(zygote, kind, folder, every)
    assert not lost or lost == list(range(lost[0], lost[-1] + 1, every))


# -- a full disk ---------------------------------------------------------------------------------------


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A disk without room below the folder that is named."""
    where: dict[str, str] = {}
    genuine = atomic.to_disk

    def to_disk(path: Path) -> None:
        if where and str(path).startswith(where["folder"]):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        genuine(path)

    monkeypatch.setattr(atomic, "to_disk", to_disk)
    return where


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_costs_no_budget(tmp_path: Path, full: dict[str, str], kind: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    Ledger.open(folder / "a.ledger", allowance(kind))
    if is_fit(kind):
        SigningKey.fresh().save(folder / "key")
    if kind == "find":
        (folder / "out.toml").write_text('[columns.age]\nkind = "numeric"\n', encoding="utf-8")
    if kind == "plan":  # its own files are there already
        full["folder"] = str(folder / ".out.sfumato")
    else:
        full["folder"] = str(folder)
    with pytest.raises(OutputError, match=r"the disk is full.*is kept, whole, in") as refused:
        attempt(kind, folder)
    place = Path(refused.value.message.rpartition("whole, in ")[2].rstrip("."))
    assert place.exists() and str(place).startswith(os.environ["SFUMATO_STATE"])
    if is_fit(kind):
        assert load(place).guarantee
    elif kind == "find":
        assert '"guarantee"' in place.read_text(encoding="utf-8")
    elif kind != "private":  # of that the model is kept, and rows of it are free
        assert sf.verify(place).ok
    assert spent(folder) == COST
    full.clear()
    attempt(kind, folder)
    assert promised(kind, folder) == (COST, COST) and spent(folder) == COST and not place.exists()


def test_a_real_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(disk)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        ledger = Ledger.open(tmp_path / "a.ledger", Budget(epsilon=5.0))
        big = Step("marginals", {"epsilon": COST, "rows": 400_000})
        with pytest.raises(OutputError, match=r"the disk is full.*is kept, whole, in") as refused:
            paid_for(big, TABLE, disk / "out", ledger)
        place = Path(refused.value.message.rpartition("whole, in ")[2].rstrip("."))
        assert sf.verify(place).ok and ledger.spent == COST and not (disk / "out").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_nowhere_to_keep_it_is_said_plainly(
    tmp_path: Path, full: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full["folder"] = os.sep
    with pytest.raises(OutputError, match="the disk is full") as refused:
        kept(sf.synthesize(TABLE, sf.MarginalBootstrap(epsilon=1.0), 10).save, tmp_path / "out")
    assert "kept" not in refused.value.message


@pytest.mark.parametrize("kind", ["find", "marginals", "additive"])
def test_another_command_does_not_throw_away_what_was_paid_for(
    zygote: Zygote, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between the result and its place, and then asked for something else: said, and nothing lost."""
    whole = tmp_path / "whole"
    assert zygote.attempt(kind, whole) == 0
    last = int((whole / "steps").read_text()) - 2
    here = next(
        h for at in range(last, 0, -1)
        if zygote.attempt(kind, h := tmp_path / str(at), at) and list(h.glob(".out*/steps/*[0-9a-f]"))
        + list(h.glob(".out*/steps/*.sfm")) + list(h.glob(".out*/steps/*.json"))
    )  # fmt: skip
    monkeypatch.setattr(sys.modules[__name__], "COST", 0.25)
    with pytest.raises(OutputError, match="has paid for another"):
        attempt(kind, here)
    assert spent(here) == 0.5
    monkeypatch.undo()
    attempt(kind, here)
    assert promised(kind, here) == (0.5, 0.5) and spent(here) == 0.5


# -- what can be known is said first -----------------------------------------------------------------------


def test_a_plan_says_what_is_wrong_with_the_data_before_it_pays(tmp_path: Path) -> None:
    text = with_steps('method = "marginals"\nrows = 40\nepsilon = 0.5').replace(
        "[[steps]]", '[budget]\nledger = "a.ledger"\nepsilon = 5.0\n\n[[steps]]'
    )
    path = written(tmp_path, text)
    rows = (tmp_path / "data.csv").read_text().splitlines()
    first = rows[1].split(",")
    place = rows[0].split(",").index("sex")
    first[place] = "unheard-of"
    (tmp_path / "data.csv").write_text("\n".join([rows[0], ",".join(first), *rows[2:]]))
    with pytest.raises(sf.SfumatoError):
        sf.Plan.read(path).run(tmp_path / "out")
    assert spent(tmp_path) == 0 and not list(tmp_path.glob(".out*"))


def test_answers_are_one_debit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others who spend meanwhile cannot make a later answer fail that earlier ones were paid with."""
    from sfumato.prediction import dpat

    people = mixed(60, 0)
    model = sf.DPaT(epsilon_per_call=0.1).fit(people, "sick")
    ledger = Ledger.in_memory(7.0)
    genuine = dpat.noised

    def meanwhile(*given: Any) -> Any:
        if ledger.left:
            ledger.grant(epsilon=ledger.left, purpose="another client")
        return genuine(*given)

    monkeypatch.setattr(dpat, "noised", meanwhile)
    answers = model.answer(people, ledger)
    assert len(answers) == 60
    assert [e.amount for e in ledger.entries()] == [6.0, 1.0]
