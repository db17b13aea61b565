"""Other people's judges, asked about the same files. Each runs in an environment of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import samples, scan, write
from sfumato.assessment import attacks, risk
from sfumato.assessment.attacks.frames import frames, linked

Ask = Callable[..., dict[str, Any]]
QUASI = ["age", "sex", "race", "marital-status", "education"]


@pytest.fixture(scope="module")
def made_elsewhere(peer: Ask, data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Adult made 5-anonymous by anjana with its own hierarchies."""
    folder = tmp_path_factory.mktemp("anjana")
    rows = pq.read_table(data_dir / "adult" / "adult_arx_30162.parquet")
    write(rows.select([*QUASI, "salary-class", "occupation"]), folder / "adult.csv")
    levels = data_dir / "adult" / "hierarchies_anjana"
    hierarchies = {q: str(levels / f"{q.removesuffix('-status')}.csv") for q in QUASI}
    out = folder / "released.csv"
    made = peer("anjana", file=str(folder / "adult.csv"), quasi=QUASI, k=5, suppressed=5,
                hierarchies=hierarchies, out=str(out))  # fmt: skip
    assert made["rows"] > 25_000
    return out


def named(scores: list[Any], name: str) -> float:
    found = [s.value for s in scores if s.name == name]
    assert len(found) == 1, [s.name for s in scores]
    return float(found[0])


def test_k_l_t_and_classes_agree_with_pycanon(peer: Ask, made_elsewhere: Path) -> None:
    theirs = peer("pycanon", file=str(made_elsewhere), quasi=QUASI, sensitive=["occupation"])
    table = scan(made_elsewhere)
    found = risk.classes(table, QUASI)
    sizes = risk.class_sizes(found)
    ours = risk.diversity(table, QUASI, ["occupation"])
    assert theirs["k"] >= 5
    assert named(sizes, "k, the smallest class") == theirs["k"]
    assert len(found.sizes) == theirs["classes"]
    assert named(ours, "distinct l, occupation") == theirs["l"]
    # pycanon rounds the entropy's l down to a whole number, and t to few digits.
    assert math.floor(named(ours, "entropy l, occupation")) == math.floor(theirs["entropy_l"])
    assert named(ours, "t, equal distance, occupation") == pytest.approx(theirs["t"], abs=2e-3)
    ratios_agree(ours, theirs, "occupation")


def ratios_agree(ours: list[Any], theirs: dict[str, Any], column: str) -> None:
    assert named(ours, f"alpha, {column}") == pytest.approx(theirs["alpha"])
    assert named(ours, f"beta, basic, {column}") == pytest.approx(theirs["beta"])
    assert named(ours, f"beta, enhanced, {column}") == pytest.approx(theirs["enhanced_beta"])
    assert named(ours, f"delta disclosure, {column}") == pytest.approx(theirs["delta"])


@pytest.mark.parametrize(
    ("quasi", "sensitive"),
    [(["sex", "race"], "pay"), (["sex"], "disp"), (["sex", "race", "mdc"], "disp"), (["zip"], "mdc")],
)
def test_alpha_beta_delta_agree_with_pycanon(
    peer: Ask, files: dict[str, Path], quasi: list[str], sensitive: str
) -> None:
    theirs = peer("pycanon", file=str(files["original"]), quasi=quasi, sensitive=[sensitive])
    ours = risk.diversity(scan(files["original"]), quasi, [sensitive])
    assert named(ours, f"distinct l, {sensitive}") == theirs["l"]
    ratios_agree(ours, theirs, sensitive)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release that keeps half of the people as they are, and a control of people not in the data."""
    folder = tmp_path_factory.mktemp("files")
    columns = ["age_years", "sex", "race", "zip", "pay", "los_days", "mdc", "disp"]
    everyone = samples.discharges(6_000, seed=7).select(columns)
    rows = everyone.to_arrow().drop_null()
    parts = {
        "original": rows.slice(0, 2_000),
        "released": pa.concat_tables([rows.slice(0, 1_000), rows.slice(2_000, 1_000)]),
        "control": rows.slice(3_000, 2_000),
    }
    return {name: write(part, folder / f"{name}.csv") for name, part in parts.items()}


@pytest.mark.soak
def test_the_three_risks_agree_with_anonymeter(peer: Ask, files: dict[str, Path]) -> None:
    """Both draw the people they attack: rates of n attacks each differ by less than five standard errors."""
    known, secret = ["age_years", "sex", "race", "zip", "los_days"], "pay"
    halves = (["age_years", "sex", "race"], ["zip", "pay", "los_days", "mdc", "disp"])
    paths = {name: str(path) for name, path in files.items()}
    theirs = peer("anonymeter", **paths, attacks=1_000, linkability=halves,
                  inference={"known": known, "secret": secret},
                  singling_out="multivariate", singling_attacks=300)  # fmt: skip
    original, released, control = (scan(files[n]) for n in ("original", "released", "control"))
    ours = {
        "linkability": attacks.linkability(original, released, halves, control=control, attacks=1_000),
        "inference": attacks.inference(original, released, known, secret, control=control, attacks=1_000),
        "singling_out": attacks.singling_out(original, released, control=control, attacks=300),
    }
    for attack, scores in ours.items():
        rate = next(s.value for s in scores if not s.name.endswith("risk"))
        outside = next(s.details["control"] for s in scores if s.name.endswith("risk"))
        within = 5 * math.sqrt(2 * 0.25 / (300 if attack == "singling_out" else 1_000))
        for mine, name in ((rate, "attack"), (outside, "control")):
            assert abs(mine - theirs[attack][name]["value"]) < within, (attack, name)


HALVES = {
    "few ties": (["age_years", "sex", "race"], ["zip", "pay", "los_days", "mdc", "disp"]),
    "mostly ties": (["sex", "race"], ["pay", "disp"]),
    "many ties": (["sex", "age_years"], ["pay", "mdc"]),
}


@pytest.fixture(scope="module")
def links(peer: Ask, files: dict[str, Path]) -> dict[str, Any]:
    """Anonymeter's answers for all halves, in one run of it."""
    paths = {name: str(path) for name, path in files.items()}
    answer: dict[str, Any] = peer("anonymeter", **paths, attacks=2_000, links=HALVES)["links"]
    return answer


@pytest.mark.xdist_group("anonymeter")
@pytest.mark.parametrize("case", HALVES)
def test_links_agree_with_anonymeter_where_records_tie(
    links: dict[str, Any], files: dict[str, Path], case: str
) -> None:
    """Everybody is attacked, so that nothing differs but which of equally near records it happens to take.

    Ours is the sum of chances; theirs one draw, which strays by six standard deviations and five links at
    most (people who share their values share its choice).
    """
    halves, theirs = HALVES[case], links[case]
    data = frames([scan(files[n]) for n in ("original", "released", "control")], [*halves[0], *halves[1]])
    z = 1.959964  # theirs is Wilson's rate: back to the number of links
    for name, people in (("attack", data.cells[0]), ("control", data.cells[2])):
        chances = linked(data, halves, people, data.cells[1], 1)
        n = len(chances)
        links = theirs[name]["value"] * (n + z * z) - z * z / 2
        assert abs(chances.sum() - links) < 6 * math.sqrt((chances * (1 - chances)).sum()) + 5, name
