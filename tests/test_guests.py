"""Each kind of guest through the doors it comes by: the example, by pip, and some that misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from architecture import SOURCE
from guests import install_example, installed

import sfumato as sf
from sfumato import plugins, testing
from sfumato.anonymization.loss import measure_of
from sfumato.criteria import read_criteria
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.methods.names import find
from sfumato.methods.settings import build
from sfumato.plugins import Group
from sfumato.privacy import ForeignClaim, Guarantee, KAnonymity, NoGuarantee, PureDP
from sfumato.release import Outcome, Release, verify

CANARY = "zebra7319"
SEX = {"sex": sf.Hierarchy.of_rows([["female", "*"], ["male", "*"]])}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_example(tmp_path_factory.mktemp("site"))


@pytest.fixture
def example(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    yield site
    _forget()


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    def add(code: str, **entries: dict[str, str]) -> Path:
        groups = {f"sfumato.{kind}": names for kind, names in entries.items()}
        folder = installed(tmp_path / "guests", "guest-odd", code, groups)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield add
    _forget()


def _forget() -> None:
    plugins.forget()
    for name in list(sys.modules):
        if name.startswith(("sfumato_rounding", "guest_odd")):
            del sys.modules[name]


def rounded(folder: Path, base: int = 10) -> Path:
    return find("rounding")(base=base).release(testing.example_table()).save(folder)


# -- claims --------------------------------------------------------------------------------------------


def test_a_claim_of_a_guest_is_not_ours_everywhere(example: Path, tmp_path: Path) -> None:
    folder = rounded(tmp_path / "release")
    guarantee = Release.load(folder).guarantee
    (claim,) = guarantee.claims
    assert isinstance(claim, ForeignClaim) and claim.package == "sfumato-rounding"
    assert claim.title == "not ours (sfumato-rounding): numbers rounded to multiples of 10"
    assert guarantee.text().startswith("Not ours (sfumato-rounding): ")
    assert "Not ours (sfumato-rounding)" in (folder / "public" / "card.md").read_text(encoding="utf-8")
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    assert not claim.differential and isinstance(guarantee.post_processed().claims[0], NoGuarantee)
    assert "not ours" in guarantee.compose(guarantee).claims[-1].text()


def test_verify_asks_guests_only_if_told_to(example: Path, tmp_path: Path) -> None:
    folder = rounded(tmp_path / "release")
    _forget()
    for at, outcome in ((folder, Outcome.RECORDED), (folder / "public", Outcome.UNSEEN)):
        (check,) = verify(at).claims
        assert check.outcome is outcome and "is a claim of sfumato-rounding" in check.detail
        assert verify(at).ok and "1 of them is not ours" in verify(at).verdict
    assert "sfumato_rounding" not in sys.modules
    (check,) = verify(folder, guests=True).claims
    assert check.outcome is Outcome.PASSED and "recounted by sfumato-rounding" in check.how
    assert "by the package that made them" in verify(folder, guests=True).verdict
    with plugins.disabled():
        (check,) = verify(folder / "public", guests=True).claims
        assert check.outcome is Outcome.UNSEEN and "is not installed here" in check.detail


def test_a_release_can_be_read_without_the_guest(example: Path, tmp_path: Path) -> None:
    folder = rounded(tmp_path / "release")
    ask = f"import sfumato as sf; at = {str(folder)!r}; print(sf.Release.load(at).guarantee, sf.verify(at))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout.startswith("Not ours (sfumato-rounding)"), done.stderr
    assert "recorded: not ours (sfumato-rounding)" in done.stdout


def test_a_file_that_breaks_the_claim_of_a_guest_is_told(example: Path, tmp_path: Path) -> None:
    table = testing.example_table().drop(["id", "note"])
    honest = find("rounding")(base=10).release(testing.example_table())
    Release(table, honest.guarantee).save(tmp_path / "lie")
    (check,) = verify(tmp_path / "lie", guests=True).claims
    assert check.outcome is Outcome.FAILED and "no multiples of 10" in check.detail
    assert verify(tmp_path / "lie").ok  # nobody was asked


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"base": 5}, "words this claim otherwise"),
        ({"base": "five"}, "Rounded: base must be 2 or more"),
        ({"further": 5}, "its settings are not those of"),
        ({"guest": {"title": "k-anonymity with k = 100"}}, "words this claim otherwise"),
    ],
)
def test_a_claim_that_was_altered_is_told(
    example: Path, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    honest = find("rounding")(base=10).release(testing.example_table())
    entry = json.loads(honest.guarantee.to_json())
    own = entry["claims"][0]
    own |= {**change, "guest": {**own["guest"], **change.get("guest", {})}}
    altered = Guarantee.from_json(json.dumps(entry))
    Release(honest.data, altered).save(tmp_path / "altered")
    (check,) = verify(tmp_path / "altered", guests=True).claims
    assert check.outcome is Outcome.FAILED and words in check.detail
    assert check.subject.startswith("not ours")


_SAYS = {"package": "guest-odd", "title": "t", "promise": "p", "limits": "l", "secret": True}


@pytest.mark.parametrize(
    "entry",
    [
        {"claim": "os.system", "guest": _SAYS},
        {"claim": "guest_odd:Method", "guest": _SAYS},
        {"claim": "Odd", "guest": "guest_odd"},
        {"claim": "Odd", "guest": {**_SAYS, "module": "guest_odd"}},
        {"claim": "Odd", "guest": {**_SAYS, "title": "x" * 201}},
        {"claim": "Odd", "guest": {**_SAYS, "title": " "}},
        {"claim": "Odd", "guest": {**_SAYS, "promise": 3}},
        {"claim": "Odd", "guest": {**_SAYS, "package": "../x"}},
        {"claim": "Odd", "guest": {**_SAYS, "secret": "no"}},
        {"claim": "Odd", "guest": _SAYS, "unit": "row"},
        {"claim": "Odd", "guest": _SAYS, "amount": float("nan")},
        {"claim": "KAnonymity", "k": 5, "columns": ["age"], "guest": _SAYS},
        {"claim": "Odd"},
    ],
)
def test_a_hostile_claim_is_refused_and_loads_nothing(guest: Callable[..., Path], entry: Any) -> None:
    guest("raise SystemExit", claims={"Odd": "Odd"})
    with pytest.raises(DataError, match="claim 1"):
        Guarantee.from_json(json.dumps({"sfumato_guarantee": 1, "claims": [entry]}))
    assert "guest_odd" not in sys.modules


CLAIM = f"""
from dataclasses import dataclass
from sfumato.privacy import Claim

@dataclass(frozen=True)
class Odd(Claim):
    @property
    def title(self): return "odd"
    def promise(self): return "It is odd."
    def limits(self): return "It may be even."
    def recount(self, table): raise ValueError("{CANARY}")

@dataclass(frozen=True)
class Silent(Odd):
    recount = None
"""


def test_a_recount_that_breaks_is_no_good_news(guest: Callable[..., Path], tmp_path: Path) -> None:
    guest(CLAIM, claims={"Odd": "Odd", "Silent": "Silent"})
    import guest_odd  # type: ignore[import-not-found]

    table = testing.example_table().drop(["id", "note"])
    Release(table, Guarantee.of(guest_odd.Odd(), guest_odd.Silent())).save(tmp_path / "r")
    odd, silent = verify(tmp_path / "r", guests=True).claims
    assert odd.outcome is Outcome.FAILED and odd.detail == "the recount of guest-odd failed (ValueError)"
    assert silent.outcome is Outcome.UNSEEN and "has no way to count it" in silent.detail
    assert CANARY not in str(verify(tmp_path / "r", guests=True))


def test_no_claim_poses_as_one_of_ours() -> None:
    class Stronger(PureDP):
        pass

    with pytest.raises(ParameterError, match="cannot be a kind of ours"):
        Guarantee.of(Stronger(0.1))
    space: dict[str, Any] = {"__name__": __name__}
    exec(CLAIM.replace("class Odd", "class KAnonymity").replace("(Odd)", "(KAnonymity)"), space)
    with pytest.raises(ParameterError, match="called KAnonymity, as one of ours is"):
        Guarantee.of(space["KAnonymity"]())
    exec(CLAIM.replace("class Odd(Claim):", "class Odd(Claim):\n    what: object = object()"), space)
    with pytest.raises(ParameterError, match="cannot be written as JSON"):
        Guarantee.of(space["Odd"]())


def test_a_claim_of_a_guest_may_be_none_of_that_name(guest: Callable[..., Path], tmp_path: Path) -> None:
    guest("Odd = dict", claims={"Odd": "Odd"})
    entry = {"claim": "Odd", "guest": _SAYS}
    guarantee = Guarantee.from_json(json.dumps({"sfumato_guarantee": 1, "claims": [entry]}))
    Release(testing.example_table().drop(["id", "note"]), guarantee).save(tmp_path / "r")
    with pytest.warns(SfumatoWarning, match="Odd of guest-odd .* it is not a claim of that name"):
        (check,) = verify(tmp_path / "r", guests=True).claims
    assert check.outcome is Outcome.UNSEEN


# -- measures, criteria, checks, sources ---------------------------------------------------------------


def test_a_measure_of_a_guest_guides_a_search(example: Path) -> None:
    assert measure_of("worst-cell").name == "worst cell"
    method = build(sf.OptimalRecoding, {"loss": "worst-cell"})
    assert build(sf.OptimalRecoding, {"loss": {"measure": "worst-cell"}}).loss == method.loss
    table = testing.example_table().drop(["age", "region"])
    release = sf.anonymize(
        table, sf.KAnonymity(5), method=method, hierarchies=SEX,
        quasi_identifiers=["sex"],
    )  # fmt: skip
    assert release.data.rows() == 240
    with pytest.raises(ParameterError, match="must be one of"):  # it is no sum over cells
        build(sf.Greedy, {"loss": "worst-cell"})
    with pytest.raises(ParameterError, match="is not known here"):
        build(sf.OptimalRecoding, {"loss": {"measure": "worst-cell", "far": 3}})
    with plugins.disabled(), pytest.raises(ParameterError, match="not known"):
        measure_of("worst-cell")


def test_a_measure_that_is_none_is_left_out(guest: Callable[..., Path]) -> None:
    guest("class Odd:\n    name = 'odd'", measures={"odd": "Odd"})
    told = pytest.warns(SfumatoWarning, match="odd of guest-odd .* a measure of loss lacks monotone")
    with told, pytest.raises(ParameterError, match="not known"):
        measure_of("odd")


def test_a_criterion_of_a_guest_is_written_as_ours_are(example: Path) -> None:
    (spec,) = read_criteria(["at-least-share(0.2)"])
    assert spec.make().describe() == "at least 0.2 of all rows in every class"
    table, method = testing.example_table().drop(["age", "region"]), sf.Datafly(max_suppressed=0.0)
    release = sf.anonymize(table, spec.make(), method=method, hierarchies=SEX, quasi_identifiers=["sex"])
    assert release.guarantee.claims == (KAnonymity(120, ("sex",)),)
    with pytest.raises(ParameterError, match="share must be above 0"):
        read_criteria(["at-least-share(0)"])
    with pytest.raises(ParameterError, match="did you mean at-least-share"):
        read_criteria(["at-least-shar(0.2)"])


def test_a_criterion_that_is_none_is_left_out(guest: Callable[..., Path]) -> None:
    guest("odd = print", criteria={"odd-one": "odd"})
    told = pytest.warns(SfumatoWarning, match="odd-one of guest-odd .* it is no CriterionForm")
    with told, pytest.raises(ParameterError, match="is not known"):
        read_criteria(["odd-one(3)"])


def test_a_check_of_a_guest_is_run(example: Path) -> None:
    table = testing.example_table().drop(["id", "note"])
    found = sf.assess(table, find("rounding")(base=5).release(table).data, effort="quick")
    (score,) = [s for s in found.scores if s.name == "round numbers"]
    assert score.value == 1.0


CHECK = """
from sfumato.assessment.checks import AssessmentCheck
from sfumato.score import Score

def score(name):
    return Score(name, "attack", 0.5, (0, 1), "lower", "Odd.", knowledge="all")

def breaks(case):
    raise ValueError("zebra7319")

BREAKS = AssessmentCheck("breaks", ("odd",), breaks, limit="risk")
STRAYS = AssessmentCheck("strays", ("even",), lambda case: [score("linking")])
TAKES = AssessmentCheck("takes", ("linking",), lambda case: [score("linking")])
NEEDS = AssessmentCheck("needs", ("never",), lambda case: [], (breaks,))
LIMIT = AssessmentCheck("limit", ("ever",), lambda case: [], limit="all")
"""


def _other_people(table: sf.Table) -> sf.Table:
    """The same columns, each in an order of its own: copies of nobody."""
    rows = table.to_arrow()
    mixed = {n: rows.column(n).take(pa.array(np.random.default_rng(i).permutation(rows.num_rows)))
             for i, n in enumerate(rows.column_names)}  # fmt: skip
    return sf.Table.from_arrow(pa.table(mixed), table.schema)


def test_a_check_that_misbehaves_takes_nothing_with_it(guest: Callable[..., Path]) -> None:
    names = ("breaks", "strays", "takes", "needs", "limit")
    guest(CHECK, checks={name: name.upper() for name in names})
    table = testing.example_table().drop(["id", "note"])
    with pytest.warns(SfumatoWarning) as warned:
        found = sf.assess(table, _other_people(table), effort="quick", thresholds={"risk": 1.0})
    words = [str(w.message) for w in warned if "guest-odd" in str(w.message)]
    assert len(words) == 2 and any("'linking' is a score of ours" in w for w in words)
    assert any("its limit must be empty, risk or utility" in w for w in words)
    skipped = {s.part: s.reason for s in found.skipped}
    assert skipped["breaks"] == "it failed (ValueError), which is a fault of guest-odd; please report it"
    assert skipped["needs"] == skipped["breaks"]
    assert skipped["strays"] == "it gave scores that guest-odd did not declare"
    assert any(s.name.startswith("linking") and s.value != 0.5 for s in found.scores)
    assert found.thresholds[0].outcome == "not examined"  # an attack that broke proves nothing
    assert CANARY not in str(skipped)


def test_an_address_of_a_guest_is_read(example: Path) -> None:
    assert sf.scan("made-up://30").rows() == 30
    with pytest.raises(DataError, match="names how many rows"):
        sf.scan("made-up://many")
    with plugins.disabled(), pytest.raises(DataError, match="'made-up' addresses are not read"):
        sf.scan("made-up://30")


SOURCES = """
def opens(address, table):
    raise ValueError(address)

def empty(address, table):
    return 3

odd = 3
"""


def test_an_address_that_a_guest_cannot_read_is_told(guest: Callable[..., Path], tmp_path: Path) -> None:
    guest(SOURCES, sources={"breaks": "opens", "empty": "empty", "odd": "odd", "sqlite": "opens"})
    told = pytest.warns(SfumatoWarning, match="sqlite of guest-odd .* the name is one of ours")
    with told, pytest.raises(DataError, match="guest-odd could not read this breaks address") as refused:
        sf.scan(f"breaks://ann:{CANARY}@host")
    assert CANARY not in str(refused.value) and "(ValueError)" in str(refused.value)
    with pytest.raises(DataError, match="gave back nothing that can be read"):
        sf.scan("empty://x")
    with pytest.raises(DataError, match="are not read"), pytest.warns(SfumatoWarning, match="a function"):
        sf.scan("odd://x")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    plugins.register(Group.SOURCES, "here", lambda address, table: tmp_path / "x.csv")
    assert sf.scan("here://x").columns == ("a", "b")


# -- the map -------------------------------------------------------------------------------------------


def test_the_example_on_the_map(example: Path) -> None:
    from sfumato_rounding.method import Rounding

    table = sf.samples.discharges(200, seed=1).select(["age_years", "sex"])
    found = sf.frontier(
        table, [Rounding(10), sf.ClusterResample()], quasi_identifiers=["age_years", "sex"], repeats=1
    )
    assert [p.name for p in found.points] == ["rounding", "resample"]
    assert all("not ours" in words for words in found.points[0].promises)
