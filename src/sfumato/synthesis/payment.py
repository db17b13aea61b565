"""Synthetic rows that a ledger pays for: the whole total is debited before anything is drawn.

Guarantee: what the release claims was debited from the ledger, whatever becomes of the run afterwards.
Because:   each way below debits the total, and has it written, before the first draw that the claim is about;
           what is wrong with parameters, schema or values is said before that, and costs nothing.
Assumes:   nothing else is drawn from these data outside the ledger.
Tested by: tests/synthesis/test_paying.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.methods.declaration import spending_of
from sfumato.privacy import Budget, Neighbours
from sfumato.privacy.debits import require_same
from sfumato.privacy.ledger import Payer
from sfumato.release import Release
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis.synthesize import SynthesisMethod


def paid(
    table: Table,
    method: SynthesisMethod,
    rows: int | None,
    ledger: Payer,
    *,
    key: Key | None,
    seed: int | None,
) -> Release:
    """So many rows, debited from the ledger; methods that promise no epsilon are refused."""
    from sfumato.synthesis.baselines import ContingencyTable, MarginalBootstrap
    from sfumato.synthesis.imputation.pmi import PMI
    from sfumato.synthesis.pegs import PeGS
    from sfumato.synthesis.private import PrivateSynthesizer

    if isinstance(method, PrivateSynthesizer):
        return method.fit(table, ledger=ledger).sample(rows, key=key, seed=seed)
    ours = isinstance(method, (MarginalBootstrap, ContingencyTable, PeGS, PMI))
    if rows is None and ours:
        raise ParameterError("how many rows?", hint="rows=1_000")
    if isinstance(method, (MarginalBootstrap, ContingencyTable)) and method.epsilon is not None:
        assert rows is not None
        return method.fit(table, ledger=ledger).sample(rows, key=key, seed=seed)
    if not spending_of(method, rows).claimed:
        raise ParameterError(
            "this method promises no epsilon: there is nothing to debit.", hint="leave the ledger out"
        )
    if seed is not None or (key is not None and key.seeded):
        raise ParameterError(
            "a seeded draw of this method promises nothing: there is nothing to debit.",
            hint="leave the seed out, or the ledger",
        )
    if not ours:
        return _of_a_guest(table, method, rows, ledger, key)
    assert rows is not None
    return _by_the_row(table, method, rows, ledger, key)


def _of_a_guest(
    table: Table, method: SynthesisMethod, rows: int | None, ledger: Payer, key: Key | None
) -> Release:
    """A method of another package draws by itself: what it says that it spends is debited before it looks."""
    amounts = spending_of(method, rows).amounts()
    if not amounts:
        raise ParameterError("what this method spends is not known beforehand.", hint="leave the ledger out")
    epsilon, rho = amounts.get("epsilon"), amounts.get("rho")
    grant = ledger.grant(epsilon=epsilon, rho=rho, purpose=type(method).__name__)
    grant.burn()
    release: Release = method.fit(table).sample(rows, key=key)
    return replace(release, guarantee=release.guarantee.accounted(grant.account))


def _by_the_row(table: Table, method: Any, rows: int, ledger: Payer, key: Key | None) -> Release:
    """PeGS, PMI, a table with a prior: the draw of a row is the noise. PeGS may have to pay for parents or
    marginals before."""
    from sfumato.synthesis.baselines import ContingencyTable
    from sfumato.synthesis.pegs import PeGS

    fitted = None
    if isinstance(method, PeGS) and method.before:
        spent = method.total(rows)
        domain, _ = method.settled(table)
        weight = domain.weight.name if domain.weight is not None else None
        domain.prepared(table)[0].tabulate(
            [(n,) for n in domain.names], weight=weight
        )  # values that do not fit
    else:
        fitted = method.fit(table)
        spent = method.spends(rows).epsilon if isinstance(method, ContingencyTable) else fitted.spends(rows)
    if spent is None:
        raise ParameterError(
            "what these rows cost is not known before they are paid for.",
            hint="give epsilon or epsilon_per_row",
        )
    neighbours = getattr(method, "neighbours", Neighbours.ADD_REMOVE)
    require_same(ledger, Budget(epsilon=spent, neighbours=neighbours))
    grant = ledger.grant(epsilon=spent, purpose=f"{type(method).__name__}, {rows:,} rows")
    fitted = method.fit(table) if fitted is None else fitted
    release: Release = fitted.sample(rows, key=key, grant=grant)
    return release
