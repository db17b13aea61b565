"""The world of the market experiments: adults of MEPS 2004, split in two markets, with enrolment by age.

Section 4.2 of Wei, Ramamurthy and Varshney (2017) in shape. The areas of the paper come from a census that
is not at hand; six areas are simulated here instead, by tilting the national law of age, education and
income. Enrolment follows the age pattern of the first enrolment period of the marketplaces (shares by age,
rounded, as the press releases gave them).
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.anonymization.shape.cluster import Clustering, RowClusters, k_member
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.gaussian import GaussianDither
from sfumato.anonymization.shape.rosenblatt import OrderedCode, donors
from sfumato.seeds import Key

NAMES = ("gender", "age", "education", "income")
EDUCATION = ("less-than-hs", "high-school", "some-college", "college", "post-college")
AGE_EDGES = (25, 35, 45, 55, 65, 75, 85)
# Shares of enrolment by age group, and almost none beyond 65, where Medicare begins.
ENROLMENT = np.array([0.11, 0.17, 0.17, 0.23, 0.30, 0.01, 0.005, 0.005])
# Areas: how the log of the law is tilted per standard deviation of age, education and income.
AREAS = {
    "young": (-0.5, 0.1, 0.0), "old": (0.5, 0.0, 0.0), "schooled": (0.0, 0.6, 0.4),
    "poor": (0.0, -0.4, -0.6), "rich and old": (0.4, 0.2, 0.5), "mixed": (0.2, -0.3, 0.2),
}  # fmt: skip


@dataclass(frozen=True)
class People:
    """codes: (rows, 4); cost: (rows,); weight: (rows,), survey weights."""

    codes: np.ndarray
    cost: np.ndarray
    weight: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> People:
        return People(self.codes[rows], self.cost[rows], self.weight[rows])

    def __len__(self) -> int:
        return len(self.cost)

    def weighted(self, factor: np.ndarray) -> People:
        weight = self.weight * factor
        return People(self.codes, self.cost, weight / weight.mean())


def load() -> People:
    """MEPS 2004 adults from the folder named by SFUMATO_DATA."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        sys.exit("set SFUMATO_DATA to the folder that holds meps/meps2004_adults.parquet")
    table = pq.read_table(Path(folder) / "meps" / "meps2004_adults.parquet")
    column = {n: table.column(n).to_numpy(zero_copy_only=False) for n in table.column_names}
    incomes = {c: i for i, c in enumerate(sorted(set(column["income_category"])))}
    schools = {c: i for i, c in enumerate(_ordered(set(column["education"])))}
    codes = np.stack(
        [
            column["sex"] == "female",
            np.searchsorted(AGE_EDGES, column["age"], side="right"),
            [schools[c] for c in column["education"]],
            [incomes[c] for c in column["income_category"]],
        ],
        axis=1,
    ).astype(np.int64)
    weight = column["weight"].astype(float)
    kept = weight > 0
    return People(codes[kept], column["exp_tot"].astype(float)[kept], weight[kept] / weight[kept].mean())


def _ordered(found: set[str]) -> list[str]:
    known = [c for c in EDUCATION if c in found]
    return known + sorted(found - set(known))


def enrolled(market: People, national: People) -> People:
    """Members of the plan: the market's people weighted by their chance to enrol, which age decides."""
    share = np.bincount(national.codes[:, 1], national.weight, len(ENROLMENT)) / national.weight.sum()
    chance = np.divide(ENROLMENT, share, out=np.zeros(len(share)), where=share > 0)
    return market.weighted(chance[market.codes[:, 1]])


def area(people: People, tilt: tuple[float, float, float]) -> People:
    """The people of an area: the national ones, tilted."""
    scaled = (people.codes[:, 1:] - people.codes[:, 1:].mean(0)) / people.codes[:, 1:].std(0)
    return people.weighted(np.exp(scaled @ np.array(tilt)))


def standardized(people: People) -> np.ndarray:
    """(rows, 5): the quasi-identifiers and the cost, each with mean 0 and variance 1."""
    values = np.column_stack([people.codes, people.cost]).astype(float)
    centred = values - np.average(values, axis=0, weights=people.weight)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=people.weight))


def clustered(people: People, k: int) -> RowClusters:
    """k-member clusters with w = 1, survey weights in the distortion."""
    return k_member(standardized(people), k, Clustering(), weights=people.weight)


def released(people: People, clusters: RowClusters, method: str, key: Key) -> np.ndarray:
    """(rows, 4): the quasi-identifiers as released, as numbers; centroids are not whole numbers."""
    label, draws = clusters.label, Draws(key)
    if method == "centroid":
        mass = np.bincount(label, people.weight)
        mean = [np.bincount(label, people.weight * c) / mass for c in people.codes.T]
        return np.stack(mean, axis=1)[label]
    if method == "resample":
        return people.codes[draws.drawn_within("exchange", label, people.weight)].astype(float)
    points = standardized(people)[:, :4]
    law = GaussianDither().fit(points, label, people.weight)
    variables = [
        OrderedCode(n, people.codes[:, j], np.arange(people.codes[:, j].max() + 1.0))
        for j, n in enumerate(NAMES)
    ]
    uniforms = law.uniforms(law.draw(label, draws))
    return people.codes[donors(uniforms, variables, people.weight, draws)].astype(float)
