"""One step: a table in, a release out. What it costs is written down before anything is drawn."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sfumato.anonymization.register import Register
from sfumato.errors import BudgetError
from sfumato.io.addresses import is_url, require_consent
from sfumato.plan.checks import hierarchies
from sfumato.plan.document import INPUT, PlanDocument
from sfumato.plan.payment import PaidOnce, noised_once, of_attempts
from sfumato.plan.preparation import as_read, cut_off
from sfumato.plan.production import Surroundings, produce
from sfumato.plan.step import Step
from sfumato.plan.tables import is_tables
from sfumato.plan.witnesses import require_held
from sfumato.plan.workplace import Workplace
from sfumato.privacy import Budget, Guarantee, Ledger, Neighbours, NoGuarantee, Unit
from sfumato.privacy.account import Account
from sfumato.privacy.base import ROW
from sfumato.privacy.ledger.debit import store_at
from sfumato.privacy.rounding import shown
from sfumato.privacy.signatures import Trust
from sfumato.release import Release
from sfumato.release.kept import kept, take_back
from sfumato.release.people import known_people, people_of
from sfumato.schema import Role, Schema
from sfumato.schema.provenance import Checked
from sfumato.schema.search_record import known_as
from sfumato.table import Table

_UNKNOWN = 1.0  # an amount that is known when the data were counted: only its kind, unit and neighbours count


@dataclass(frozen=True)
class Workbench:
    """What all steps of a run share. data: names the input within the workplace, as nobody else can.

    source: where the input was read from, which one ledger pays for; other_people: for these none has yet.
    published: what was paid from the plan's ledger before, which must still have it.
    """

    plan: PlanDocument
    place: Workplace
    data: str
    spend_again: bool = False
    source: str | None = None
    other_people: bool = False
    published: tuple[Path, ...] = ()

    def name(self, step: Step) -> str:
        """What a step's result is called: the same for the same step of the same data."""
        whole = f"{self.plan.made_by(step)} {self.data}"
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()

    def folder(self, step: Step) -> Path:
        """Where the result of a step lies."""
        return self.place.steps / self.name(step)

    def done(self, step: Step) -> bool:
        """Whether a step was finished before; one that found no room here is taken from where it is kept."""
        name = self.name(step)
        return self.place.finished(name) or take_back(self.folder(step), name)


def work(bench: Workbench, step: Step, table: Table) -> None:
    """Do a step and keep its result in the workplace, whole or not at all."""
    name = bench.name(step)
    key = bench.place.key.derive("plan", name)
    payer = _payer(bench, step, table)
    from sfumato.synthesis.private import PrivateSynthesizer

    method = step.build(bench.plan.folder)
    if isinstance(method, PrivateSynthesizer):
        release = noised_once(_model(bench, step), step, table, method, payer, key=key)
    else:
        release = produce(step, table, _around(bench, step, table), key=key, ledger=payer)
    own = of_attempts(release.guarantee, bench.place.attempts(name))
    release = replace(release, guarantee=_promise(bench, step, own))
    kept(release.save, bench.folder(step))


def result(bench: Workbench, step: Step) -> Release:
    """The finished step as a release."""
    return Release.load(bench.folder(step))


def rows_of(bench: Workbench, step: Step) -> Table:
    """The rows of a finished step, for a later one: domains that were found for it were found by this run."""
    table = result(bench, step).data
    return table.with_schema(Schema(tuple(known_as(c, Checked.DRAWN) for c in table.schema)))


# -- what it costs -----------------------------------------------------------------------------------


def _payer(bench: Workbench, step: Step, table: Table) -> PaidOnce | None:
    """What pays for a step when it is about to draw; None where nothing is claimed of the data themselves."""
    spending = step.spends(bench.plan.folder)
    if not spending.claimed or step.of != INPUT or _model(bench, step).exists():
        return None  # a model that a stopped run has fitted: what was drawn is still there
    cost = spending.amounts()
    words = ", ".join(f"{kind} = {shown(amount)}" for kind, amount in cost.items()) or "its epsilon"
    bench.place.require_undrawn(bench.name(step), words, bench.spend_again)
    method = step.build(bench.plan.folder)
    unit = method.unit(bench.plan.schema) if hasattr(method, "unit") else None
    wanted = Budget(
        **(cost or {"epsilon": _UNKNOWN}), unit=unit or ROW,
        neighbours=getattr(method, "neighbours", Neighbours.ADD_REMOVE),
    )  # fmt: skip
    what = f"{bench.plan.name}: {step.name} ({step.method})"
    return PaidOnce(
        bench.place, bench.name(step), what, wanted, plan_ledger(bench, unit, table), bench.spend_again
    )


def ledger_place(plan: PlanDocument) -> str | Path | None:
    """Where the plan's ledger is, if it has one."""
    named = plan.table("budget").get("ledger")
    return named if named is None or is_url(named) else plan.path(named)


def known_ledger(plan: PlanDocument) -> Ledger | None:
    """The plan's ledger to look at, if it has one that was started."""
    where = ledger_place(plan)
    if where is None:
        return None
    require_consent(plan.table("budget")["ledger"], f"the ledger of {plan.name}")
    return Ledger.look(where) if store_at(where).exists() else None


def plan_ledger(bench: Workbench, unit: Unit | None, table: Table) -> Ledger | None:
    """The plan's ledger, if it has one."""
    plan = bench.plan
    wanted = plan.table("budget")
    if not wanted:
        payer = "" if bench.other_people else Ledger.payer_of(bench.source, known_people(table))
        if payer:
            raise BudgetError(
                f"what was learnt from this data was paid from ledger {payer}; without it this would not be "
                "counted. Nothing was spent.",
                hint="[budget] ledger; if other people are in it now: --other-people",
            )
        return None
    require_consent(wanted["ledger"], f"the ledger of {plan.name}")
    where = ledger_place(plan)
    assert where is not None
    budget = None
    if not store_at(where).exists():
        amounts = {k: wanted[k] for k in ("epsilon", "rho", "delta") if k in wanted}
        if not {"epsilon", "rho"} & set(amounts):
            raise BudgetError("there is no ledger yet.", hint="[budget] needs epsilon or rho to start one")
        budget = Budget(**amounts, unit=unit or ROW)
    ledger = Ledger.open(where, budget)
    require_held(ledger, bench.published, Trust.default())
    if unit is not None and ledger.budget.unit != unit:
        raise BudgetError(
            f"the ledger is for {ledger.budget.unit}, and this step promises to {unit}.",
            hint="a ledger is for one kind of promise",
        )
    ledger.pay_for(bench.source, people_of(table), other_people=bench.other_people)
    return ledger


def _promise(bench: Workbench, step: Step, own: Guarantee) -> Guarantee:
    """What the result promises about the input.

    Because: a step on top of another looks at the other's result only. What was differentially private stays
    so (post-processing). An epsilon of the later step is about rows of the earlier result, and one person may
    have moved many of those: it promises nothing about persons, and is not claimed.
    Tested by: tests/plan/test_run_steps.py::test_a_chain_promises_what_holds_of_the_input
    """
    before = bench.plan.before(step)
    if not before:
        return own
    first = result(bench, before[-1]).guarantee.post_processed()
    kept = tuple(c for c in own.claims if not c.differential and not isinstance(c, Account))
    lost = [c for c in own.claims if c.differential]
    if lost and not any(c.differential for c in first.claims):
        titles = ", ".join(c.title for c in lost)
        kept += (
            NoGuarantee(
                "chained",
                f"The last step alone would give {titles}, for rows of the file it was made from. That file "
                f"was made from the data by a step that looks at all rows, so nothing follows for a person.",
            ),
        )
    return Guarantee((*first.claims, *kept))


# -- doing -------------------------------------------------------------------------------------------


def _around(bench: Workbench, step: Step, table: Table) -> Surroundings:
    """What the plan says that every step finds around it."""
    plan = bench.plan
    columns = step.settings.get("quasi_identifiers") or table.schema.of_role(Role.QUASI_IDENTIFIER)
    entries = {n: plan.table("columns").get(n, {}) for n in columns}
    return Surroundings(
        beside=tuple(result(bench, s) for s in plan.beside(step) if s.method == step.method == "suppress"),
        hierarchies={n: h for n, h in hierarchies(plan).items() if n in table.schema},
        folder=plan.folder,
        keep_text=bool(plan.table("prepare").get("keep_text", False)),
        register=_register(bench, step),
        weights={n: e["weight"] for n, e in entries.items() if "weight" in e},
        max_level={n: e["max_level"] for n, e in entries.items() if "max_level" in e},
        read_as=as_read(plan.schema),
        prepared=partial(cut_off, plan),
    )


def _model(bench: Workbench, step: Step) -> Path:
    return bench.place.steps / f"{bench.name(step)}.model"


# -- earlier releases ----------------------------------------------------------------------------------


def _register(bench: Workbench, step: Step) -> Register | None:
    """A copy of the register: the entry goes into the register itself when the release is about to leave."""
    wanted = bench.plan.table("register")
    if not wanted or step not in bench.plan.released or is_tables(step):
        return None
    return Register(bench.plan.path(wanted["folder"])).copied(_copy(bench, step))


def enter(bench: Workbench, steps: Sequence[Step]) -> None:
    """Enter the releases into the register; a second time changes nothing."""
    wanted = bench.plan.table("register")
    for step in steps if wanted else ():
        if _copy(bench, step).is_dir():
            Register(bench.plan.path(wanted["folder"])).adopt(Register(_copy(bench, step)))


def outdated(bench: Workbench, step: Step) -> bool:
    """Whether a finished step was held against a register that has grown since."""
    wanted = bench.plan.table("register")
    copy = _copy(bench, step)
    return (
        bool(wanted) and copy.is_dir() and Register(bench.plan.path(wanted["folder"])).grown(Register(copy))
    )


def undo(bench: Workbench, step: Step) -> None:
    """Forget a finished step, so that it is done again; what it drew from its key it draws the same."""
    shutil.rmtree(bench.folder(step), ignore_errors=True)
    shutil.rmtree(_copy(bench, step), ignore_errors=True)


def _copy(bench: Workbench, step: Step) -> Path:
    return bench.place.steps / f"{bench.name(step)}.register"
