"""Pages to render in tests: one as an assessment makes it, one as hostile as a file can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.privacy import Guarantee
from sfumato.privacy.claims import KAnonymity
from sfumato.privacy.differential import PureDP
from sfumato.report import DataTable, Page, Promises, ScoreTable, Section, Verdict, figures
from sfumato.report.figures import MapPoint
from sfumato.score import Score

PAYLOADS = (
    "<script>alert(1)</script>",
    "</style><script>fetch('https://example.org')</script>",
    '"><img src="https://example.org/x.png" onerror="alert(2)">',
    "'; DROP TABLE--",
    "&lt;b&gt; & <!-- --> ]]>",
    "javascript:alert(3)",
    "a\x00b\x0b\ud800c",
    "line\nbreak\ttab",
    "${1+1} {{x}} `code` | pipe \\",
)


def scores() -> list[Score]:
    found = [
        Score("total variation, single columns", "utility", 0.018, (0, 1), "lower",
              "On average 1.8% of the rows would have to change for a column to have its old shares.",
              low=0.015, high=0.022, confidence=0.95),
        Score("total variation, pairs", "utility", 0.0412, (0, 1), "lower",
              "On average 4.1% of the rows would have to change for a pair of columns to agree.",
              low=0.038, high=0.0451, confidence=0.95),
        Score("rank correlation kept", "utility", 0.93, (-1, 1), "higher",
              "How well the order of the columns' ties is kept: 1 is the same order, -1 the reverse."),
        Score("propensity score", "utility", 0.0031, (0, 0.25), "lower",
              "How well a model tells released rows from original ones: 0 is not at all."),
    ]  # fmt: skip
    columns = ("sex", "age", "region", "diagnosis", "length of stay", "charge")
    for i, a in enumerate(columns):
        found.append(
            Score(f"total variation: {a}", "utility", 0.004 * (i + 1), (0, 1), "lower",
                  "The share of rows that would have to change.", columns=(a,))
        )  # fmt: skip
        for j, b in enumerate(columns[i + 1 :]):
            found.append(
                Score(f"total variation: {a} × {b}", "utility", 0.011 * (i + j + 1), (0, 1), "lower",
                      "The share of rows that would have to change.", columns=(a, b))
            )  # fmt: skip
    return found


def risks() -> list[Score]:
    records = [
        {"record": i, "size of its class": 5, "why": "rare region with a rare diagnosis"} for i in range(20)
    ]
    return [
        Score("smallest class", "risk", 5, (1, np.inf), "higher",
              "Every combination of sex, age and region in the release is shared by at least five rows."),
        Score("sample uniqueness", "risk", 0.0, (0, 1), "lower", "No row of the release is unique.",
              low=0.0, high=0.0004, confidence=0.95, details={"riskiest records": records, "rows": 8_210}),
        Score("population uniqueness (Pitman)", "risk", 0.0012, (0, 1), "lower",
              "An estimated 0.12% of the people behind the rows are unique in the population.",
              low=0.0003, high=0.0031, confidence=0.95),
    ]  # fmt: skip


def attacks() -> list[Score]:
    knows = "sex, age in years and region of everybody"
    return [
        Score("linking, deterministic", "attack", 0.021, (0, 1), "lower", "About 2 of 100 links are right.",
              low=0.016, high=0.028, confidence=0.95, knowledge=knows, baseline=0.004, control=0.006),
        Score("linking, nearest record", "attack", 0.034, (0, 1), "lower", "About 3 of 100 links are right.",
              low=0.027, high=0.043, confidence=0.95, knowledge=knows, baseline=0.004, control=0.031),
        Score("attribute inference: diagnosis", "attack", 0.412, (0, 1), "lower",
              "The guess is right for 41 of 100 people.", low=0.391, high=0.434, confidence=0.95,
              knowledge=f"{knows}, length of stay", baseline=0.36, control=0.405, columns=("diagnosis",)),
        Score("membership, density", "attack", 0.508, (0, 1), "lower",
              "Who is in the data is told nearly as by a coin.", low=0.489, high=0.527, confidence=0.95,
              knowledge="all columns of a person", baseline=0.5, control=0.5),
    ]  # fmt: skip


def pictures() -> list[Any]:
    rng = np.random.default_rng(7)
    age = np.array([310, 420, 800, 1200, 1400, 1900, 1500, 700.0])
    sex, region = np.array([4300, 3930.0]), np.array([2400, 1900, 1500, 1210, 820, 400.0])
    ages = [f"{10 * i}–{10 * i + 9}" for i in range(1, 9)]
    regions = ["north", "north-east", "south", "south-west with islands", "centre", "abroad"]
    stay = np.array([900, 2100, 1800, 1200, 800, 500, 300, 200, 120, 80.0])
    drift = lambda c, s: np.maximum(0, c * (1 + s * rng.normal(size=c.shape)))  # noqa: E731
    tables = {
        "sex": (["female", "male"], sex, drift(sex, 0.02)),
        "age": (ages, age, drift(age, 0.1)),
        "region": (regions, region, drift(region, 0.15)),
        "length of stay (days)": ([str(i) for i in range(10)], stay, drift(stay, 0.12)),
    }
    joint = np.outer(region[:5], age) / age.sum() * rng.uniform(0.6, 1.5, size=(5, 8))
    names = ["sex", "age", "region", "diagnosis", "stay", "charge", "payer", "outcome"]
    before = rng.uniform(0, 1, size=(8, 8)) ** 2.2
    before = (before + before.T) / 2
    after = np.clip(before * rng.uniform(0.6, 1.08, size=(8, 8)), 0, 1)
    after = (after + after.T) / 2
    sizes = rng.geometric(0.12, size=900)
    return [
        figures.marginals(tables),
        figures.mosaic(["region", "age"], [regions[:5], ages], joint,
                       joint * rng.uniform(0.8, 1.2, joint.shape)),
        figures.mosaic(["region", "sex", "payer"], [regions[:5], ["f", "m"], ["public", "private"]],
                       rng.uniform(5, 100, (5, 2, 2)), rng.uniform(5, 100, (5, 2, 2))),
        figures.associations(names, before, after, measure="normalized mutual information"),
        figures.class_sizes(sizes, np.maximum(5, sizes) + 3, k=5),
        figures.attacks(attacks()),
        figures.frontier(points(), risk="linking", utility="utility kept", max_risk=0.05),
    ]  # fmt: skip


def points() -> list[MapPoint]:
    rng = np.random.default_rng(3)
    found = []
    for method, shift, name in (
        ("partition", 0.0, "k"),
        ("local recoding", 0.03, "k"),
        ("resample within groups", -0.04, "k"),
        ("PrivateSynthesizer", -0.07, "epsilon"),
    ):
        for i, setting in enumerate((2, 3, 5, 10, 20, 50)):
            r = 0.16 / (i + 1) + rng.uniform(0, 0.02) + 0.2 * max(0, shift)
            u = 0.98 - 0.05 * i + shift + rng.uniform(-0.02, 0.02)
            u = min(u, 1.0)
            found.append(MapPoint(method, r, u, (0.85 * r, 1.17 * r), (u - 0.015, min(1, u + 0.012)),
                                  {name: setting, "repeats": 5}))  # fmt: skip
    return found


def promised() -> Guarantee:
    return Guarantee.of(
        KAnonymity(5, ("sex", "age", "region"), assumptions=("Nobody knows more columns than these",)),
        PureDP(1.0, assumptions=("The schema's categories are public",)),
    )


def assessment() -> Page:
    """A page with every kind of block."""
    return Page(
        "Discharges 2024, release of March",
        "discharges.parquet (8,230 rows) against release/public/data.parquet (8,210 rows); sfumato 0.1.0",
        [
            Section("At a glance", "The limits were set by the board.", [Verdict(
                ["linking at most 0.05: 0.021 (0.016 to 0.028)", "smallest class at least 5: 5"],
                ["attribute inference of diagnosis at most 0.40: 0.412 (0.391 to 0.434)"],
                ["linking with other registers", "people with several stays", "free text"],
                undecided=["membership at most 0.52: 0.508 (0.489 to 0.527)"],
                because="Four of ten diagnoses are guessed right.",
                advice=["Leave out the diagnosis, or make it more general."])]),
            Section("What is promised", "The promises came with the release; they were not made here.",
                    [Promises(promised())]),
            Section("What it keeps", "How far the release answers questions as the original does.",
                    [ScoreTable(scores(), "Utility"), *pictures()[:4]]),
            Section("What it gives away", ("Measured on the files as they are.", "Attacks were carried out."),
                    [ScoreTable(risks(), "Risk"), pictures()[4], ScoreTable(attacks(), "Attacks"),
                     pictures()[5]]),
            Section("The map", "Choosing settings on the confidential file is outside epsilon.",
                    [pictures()[6]]),
            Section("How it was done", "", [DataTable(
                ("column", "treated as", "note", "levels"),
                [("age", "numeric", "20 bins of the original's quantiles", 20), ("sex", "nominal", None, 2)],
                "Columns and what was assumed about them")]),
        ],
    )  # fmt: skip


def hostile() -> Page:
    """Every text of the page is a payload."""
    evil = "".join(PAYLOADS)
    score = Score(evil, "attack", 0.5, (0, 1), "lower", evil, knowledge=evil, columns=PAYLOADS, baseline=0.1,
                  details={evil: [{evil: evil}], "x": [evil], "y": {evil: evil}})  # fmt: skip
    table = DataTable(PAYLOADS, [PAYLOADS, PAYLOADS], evil)
    eights = np.arange(1, 1 + len(PAYLOADS), dtype=float)
    square = np.full((len(PAYLOADS), len(PAYLOADS)), 0.4)
    drawn = [
        figures.marginals({evil: (PAYLOADS, eights, eights)}),
        figures.mosaic(PAYLOADS[:2], [PAYLOADS, PAYLOADS], square, square),
        figures.associations(PAYLOADS, square, square, measure=evil),
        figures.attacks([score]),
        figures.frontier([MapPoint(p, 0.1, 0.2, settings={p: p}) for p in PAYLOADS], risk=evil, utility=evil),
    ]
    promises = Promises(Guarantee.of(KAnonymity(2, (evil,), assumptions=(evil,))))
    blocks = [Verdict([evil], [evil], [evil]), promises, ScoreTable([score] * 1, evil), table, *drawn]
    return Page(evil, evil, [Section(evil, [evil], blocks), Section(evil), Section(evil)])


def largest() -> Page:
    """As much as a page draws: every figure at its limit, hundreds of scores, long names."""
    rng = np.random.default_rng(0)
    names = [f"a rather long column name {i}" for i in range(60)]
    levels = [f"level {j} of the column" for j in range(200)]
    tables = {c: (levels, rng.integers(0, 1000, 200), rng.integers(0, 1000, 200)) for c in names}
    square = rng.uniform(0, 1, (60, 60))
    cube = [levels[:30]] * 3
    triples = [
        Score(f"total variation: {a} × {b} × {c}", "utility", 0.3, (0, 1), "lower", "A share of rows.",
              columns=(a, b, c), low=0.2, high=0.4, confidence=0.95)
        for i, a in enumerate(names[:13]) for j, b in enumerate(names[:i]) for c in names[:j]
    ]  # fmt: skip
    drawn = [
        figures.marginals(tables),
        figures.mosaic(names[:3], cube, rng.uniform(0, 9, (30, 30, 30)), rng.uniform(0, 9, (30, 30, 30))),
        figures.associations(names, square, square.T),
        figures.attacks([*attacks()] * 8),
        figures.frontier([
            MapPoint(f"method {i % 9}", rng.uniform(), rng.uniform(), (0, 1), (0, 1), {"k": i, "loss": "x"})
            for i in range(500)
        ]),
    ]  # fmt: skip
    return Page("Largest", "", [Section("All", "", [ScoreTable(triples, "Utility"), *drawn])])
