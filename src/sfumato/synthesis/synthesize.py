"""Synthetic rows in one call: fit a method to a table, and sample from what it learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from sfumato.errors import ParameterError
from sfumato.io.spark import is_spark, spread
from sfumato.privacy.ledger import Payer
from sfumato.release import Release
from sfumato.seeds import Key
from sfumato.synthesis.checks import whole
from sfumato.synthesis.payment import paid
from sfumato.table import Table


class FittedSynthesis(Protocol):
    """What a method learnt, ready to be sampled from."""

    def sample(self, rows: Any, *, key: Key | None = None, seed: int | None = None) -> Release:
        """So many rows as a release."""
        ...


class SynthesisMethod(Protocol):
    """A way to synthesize: parameters that check themselves."""

    def fit(self, table: Table) -> FittedSynthesis:
        """Learn from a table."""
        ...


def synthesize(
    table: Table,
    method: SynthesisMethod | None = None,
    rows: int | None = None,
    *,
    key: Key | None = None,
    seed: int | None = None,
    ledger: Payer | None = None,
) -> Release:
    """So many synthetic rows of a table, with the promise that the method gives.

    method: by default `PrivateSynthesizer()`: noise once, one promise for the whole data set.
    rows: how many; where the method has a number of its own (private, partial, missing) it may be left out.
    key: a secret one is drawn if none is given; it is kept in the internal record. seed: for tests and
        teaching only, a promise that rests on the draw is then void.
    ledger: debited with the whole total before anything is drawn; for methods that promise an epsilon.

    >>> people = sf.samples.members(300).select(["sex", "region", "diabetes"])
    >>> release = sf.synthesize(people, sf.MarginalBootstrap(epsilon=1.0), rows=100)
    >>> release.data.rows()
    100
    >>> release.guarantee.claims[0].title
    'differential privacy with epsilon = 1'
    """
    if not isinstance(table, Table):
        raise ParameterError("synthesize takes a table.", hint="sf.scan(...) makes one")
    if method is None:
        from sfumato.synthesis.private import PrivateSynthesizer

        method = PrivateSynthesizer()
    rows = None if rows is None else whole("rows", rows)
    if key is not None and seed is not None:
        raise ParameterError("a key and a seed were given.", hint="give one of them")
    if ledger is not None:
        return where_it_lives(paid(table, method, rows, ledger, key=key, seed=seed), table)
    return where_it_lives(method.fit(table).sample(rows, key=key, seed=seed), table)


def where_it_lives(release: Release, table: Table) -> Release:
    """Rows made of a Spark table are drawn by its executors, where the method can be drawn in pieces."""
    if not is_spark(table.source):
        return release
    return replace(release, data=spread(release.data, table.source))
