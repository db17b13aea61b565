"""Kept columns that follow from the quasi-identifiers: found by a test, and exchanged with them or alone."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymization.shape.dependence import following
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.exchange import group
from sfumato.errors import ParameterError

N, K = 600, 6


def world(seed: int = 1) -> sf.Table:
    """Mostly one work for each age; the coin and the number say nothing of it."""
    g = np.random.default_rng(seed)
    age, sex = g.integers(20, 80, N), g.integers(0, 2, N)
    work = np.where(g.random(N) < 0.9, age // 5, g.integers(4, 16, N))
    data = {"age": age, "sex": sex.astype(str), "work": np.char.add("w", work.astype(str)),
            "dx": np.char.add("d", (work % 3).astype(str)), "coin": g.integers(0, 2, N).astype(str),
            "number": np.arange(N)}  # fmt: skip
    roles = {"age": sf.Role.QUASI_IDENTIFIER, "sex": sf.Role.QUASI_IDENTIFIER, "dx": sf.Role.SENSITIVE}
    kinds = dict.fromkeys(("age", "number"), (sf.Kind.NUMERIC, "integer"))
    columns = []
    for name in data:
        kind, type_ = kinds.get(name, (sf.Kind.NOMINAL, "text"))
        columns.append(sf.Column(name, kind, roles.get(name, sf.Role.OTHER), type_))
    return sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))


def released(predicted: str, method: type = sf.ClusterResample, seed: int = 5) -> sf.Release:
    asked = {"replacement": False} if method is sf.ClusterResample else {}
    return sf.anonymize(
        world(), sf.KAnonymity(K), method=method(predicted=predicted, **asked), key=sf.Key.from_seed(seed)
    )


def by_number(release: sf.Release) -> pa.Table:
    return release.data.to_arrow().sort_by("number")


def test_joined_columns_travel_with_the_quasi_identifiers_and_sensitive_ones_alone() -> None:
    original, release = world().to_arrow(), released("join")
    assert release.internal is not None
    assert set(release.internal.plan["columns"]) == {"age", "sex", "work"}
    assert tuple(release.internal.plan["apart"]) == ("dx",)
    found, together = by_number(release), ["age", "sex", "work"]
    for columns in (together, ["dx"]):
        rows = [sorted(map(str, t.select(columns).to_pylist())) for t in (found, original)]
        assert rows[0] == rows[1]
    assert found["coin"].to_pylist() == original["coin"].to_pylist()
    assert np.mean(np.array(found["dx"]) != np.array(original["dx"])) > 0.05
    assert "seeded" in release.guarantee.claims[0].title  # a test key promises nothing


def test_the_guarantee_says_what_was_done() -> None:
    release = sf.anonymize(
        world(), sf.KAnonymity(K), method=sf.ClusterResample(predicted="join"), key=sf.Key.fresh()
    )
    (claim,) = release.guarantee.claims
    assert {"age", "sex", "work"} <= set(claim.columns)  # type: ignore[attr-defined]
    said = " ".join(claim.assumptions)
    # One key in a hundred finds a column more, which has nothing to do with the others: it is then named too.
    assert re.search(r"'work'[^.:;]* exchanged with the quasi-identifiers", said)
    assert re.search(r"'dx'[^.:;]* exchanged each by itself", said) and "can still tell a row" in said
    kept = sf.anonymize(world(), sf.KAnonymity(K), method=sf.ClusterResample())
    assert "tested" not in " ".join(kept.guarantee.claims[0].assumptions)


def test_apart_leaves_the_quasi_identifiers_as_they_were_asked_for() -> None:
    release = released("apart")
    assert release.internal is not None
    assert tuple(release.internal.plan["columns"]) == ("age", "sex")
    assert set(release.internal.plan["apart"]) == {"work", "dx"}


@pytest.mark.parametrize("method", [sf.ClusterDither, sf.Centroid])
def test_the_other_methods_take_the_mend_too(method: type) -> None:
    release = released("join", method)
    assert release.internal is not None and "work" in release.internal.plan["columns"]


def test_what_does_not_follow_is_rarely_found() -> None:
    """Level 1% for all columns: in 60 tables at most 6 alarms (chance of more: below 1e-6)."""
    alarms = 0
    for seed in range(60):
        g = np.random.default_rng(seed)
        label = np.repeat(np.arange(30), 5)
        x = {"x": g.integers(0, 4, 150) + label}  # follows from the cluster, and so does y
        y = {"y": g.integers(0, 3, 150) + label, "z": g.integers(0, 2, 150)}
        alarms += bool(following(y, x, label, Draws(sf.Key.from_seed(seed))))
    assert alarms <= 6


def test_what_follows_is_found() -> None:
    g = np.random.default_rng(3)
    label = np.repeat(np.arange(60), 5)
    x = g.integers(0, 4, 300)
    y = np.where(g.random(300) < 0.7, x, g.integers(0, 4, 300))
    kept = {"y": y, "coin": g.integers(0, 2, 300), "flat": np.zeros(300, np.int64)}
    assert following(kept, {"x": x}, label, Draws(sf.Key.from_seed(1))) == ("y",)
    assert following({}, {"x": x}, label, Draws(sf.Key.from_seed(1))) == ()


def test_the_mend_takes_the_intruders_advantage_away() -> None:
    """Who knows a person's age expects the usual work. Does the person's row show it more often than the
    others of the cluster? By five standard errors it does where it is kept, and not where it is mended."""
    table = world()
    age = np.array(table.to_arrow()["age"])

    def advantage(predicted: str) -> float:
        gains = []
        for seed in range(4):
            method = sf.ClusterResample(predicted=predicted, replacement=False)
            grouped = group(
                table, sf.KAnonymity(K), method.clustering, columns=None, response=None, weight=None,
                hierarchies={}, key=sf.Key.from_seed(seed), predicted=predicted,
            )  # fmt: skip
            shown = np.array(by_number(method._made(grouped, {}))["work"])
            for cluster in range(len(grouped.clusters.sizes)):
                members = np.flatnonzero(grouped.clusters.label == cluster)
                fits = shown[members][None, :] == np.char.add("w", (age[members] // 5).astype(str))[:, None]
                gains.append((np.diag(fits) - fits.mean(axis=1)).sum())
        return float(np.mean(gains) / (np.std(gains) / np.sqrt(len(gains))))

    assert advantage("keep") > 5
    assert abs(advantage("join")) < 5 and abs(advantage("apart")) < 5


def test_only_three_things_can_be_done() -> None:
    with pytest.raises(ParameterError, match="keep, join or apart"):
        sf.ClusterResample(predicted="drop")
