"""What a score says, and what it costs.

A released model's score is post-processing: free. A noisy model's is paid for first, in this order: look
whether the same was answered before; debit the ledger (on disk); draw; keep the answer (on disk); send it.
Of several rows all that are new are debited in one transaction, or none, and kept in one.
A process that dies in between has at worst spent more than it said.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.errors import BudgetError, SfumatoError
from sfumato.privacy import Ledger
from sfumato.privacy.grants import UNIT, debit
from sfumato.privacy.noise import laplace
from sfumato.privacy.rounding import down
from sfumato.service.answers import Answers, Kept
from sfumato.service.certainty import ALWAYS, Certainty, has_intervals, outwards
from sfumato.service.keys import ApiKey
from sfumato.service.registry import Served
from sfumato.service.replies import MOST_FAULTS, Fault, Refusal, dumps
from sfumato.service.request_parts import Row

if TYPE_CHECKING:
    from sfumato.prediction.models import ReleasedModel

Outcomes = dict[str, int]  # how many scores were released, drawn, repeated


class Question(NamedTuple):
    """One call, read and found well-formed."""

    served: Served
    rows: list[Row]
    many: bool
    explain: bool
    key: ApiKey
    idempotency: str | None = None
    decimals: int | None = None
    told: bytes = b""  # what an idempotency key stands for: address, parameters and body as they came
    pseudonym: bytes = b""  # who is asked about, for the histograms of drift; opaque, and not kept
    certainty: Certainty = ALWAYS


def released(question: Question) -> bytes:
    """The answer of a released model."""
    served = question.served
    try:
        scored = served.model.score(question.rows)
    except SfumatoError as error:
        raise refused(error) from None
    parts = []
    sure = has_intervals(served.model)
    for row, score in zip(question.rows, scored, strict=True):
        risk = coarse(score.probability, question.decimals)
        part = _sure(question, row, risk) if sure else f'"risk_score":{risk!r}'
        part += f',"clamped":{json.dumps(score.clamped) if score.clamped else "[]"}'
        if question.explain and not (sure and part.startswith('"risk_score":null')):
            why = explanation(served.model, row, question)
            part += f',"explanation":{json.dumps(why, allow_nan=False)}'
        parts.append(part)
    if question.many:
        return b"%b,%b" % (served.opening, ('"scores":[{' + "},{".join(parts) + "}]}").encode())
    return b"%b,%b}" % (served.opening, parts[0].encode())


def _sure(question: Question, row: Row, risk: float) -> str:
    """A score with its interval; null where the service was told to abstain."""
    told, interval = question.certainty.told(question.served.model, row, risk)
    low, high = outwards(interval, question.decimals)
    return f'"risk_score":{"null" if told is None else repr(told)},"interval":[{low!r},{high!r}]'


def refused(error: SfumatoError) -> Refusal:
    """A model's complaint about rows as a refusal; anything else is our fault."""
    faults = getattr(error, "faults", None)
    if faults is None:
        raise error
    return Refusal("invalid", [Fault(int(r), str(f), str(rule)) for r, f, rule in list(faults)[:MOST_FAULTS]])


def coarse(number: float, decimals: int | None) -> float:
    """A number with no more decimals than wanted."""
    return number if decimals is None else round(number, decimals)


def explanation(model: ReleasedModel, row: Row, question: Question) -> dict[str, Any]:
    """What each feature contributed to a score, with intervals where the model has them; free."""
    explained, decimals = model.explain(row), question.decimals
    parts: list[dict[str, Any]] = [
        {"feature": f, "contribution": coarse(c, decimals)} for f, c in explained.contributions
    ]
    if has_intervals(model):
        found = model.contribution_intervals(row, question.certainty.level)  # type: ignore[attr-defined]
        parts = [p | {"interval": outwards(i, decimals)} for p, i in zip(parts, found, strict=True)]
    return {"scale": "log-odds", "base": coarse(explained.base, decimals), "contributions": parts}


class Scorer:
    """Answers that have to be kept: under an idempotency key, and of noisy models."""

    def __init__(self, answers: Answers, ledger: Ledger | None, *, share: bool) -> None:
        self._answers, self._ledger, self._share = answers, ledger, share
        self._debit = threading.Lock()  # threads that wait here do not wake each other up in vain in SQLite
        if ledger is not None:
            _warm_up()

    def answer(self, question: Question) -> tuple[bytes, Outcomes]:
        """The answer's bytes, and how its scores came about; blocks, so it is called on a thread."""
        make = self._noisy if question.served.noisy else self._free
        if question.idempotency is None:
            return make(question, {})
        under = self._answers.hash(
            b"idempotency", question.key.client.encode(), question.idempotency.encode()
        )
        told = self._answers.hash(b"told", question.told)
        with self._answers.alone(under):
            kept = self._answers.find(under)
            if kept is None:
                return make(question, {under: told})
            if kept.body != told:
                raise Refusal("another_body")
            return kept.answer, {"repeated": len(question.rows)}

    def _free(self, question: Question, also: dict[bytes, bytes]) -> tuple[bytes, Outcomes]:
        self._answers.require_room(paid=False)
        answer = released(question)
        self._answers.keep(_under(also, answer))
        return answer, {"released": len(question.rows)}

    def _noisy(self, question: Question, also: dict[bytes, bytes]) -> tuple[bytes, Outcomes]:
        rows = _noisy_rows(question)
        marks = [self._mark(question, asked) for asked, _ in rows]
        with ExitStack() as alone:
            for mark in sorted(set(marks)):  # in one order everywhere, so that no two wait for each other
                alone.enter_context(self._answers.alone(mark))
            scores = {mark: kept.answer for mark in set(marks) if (kept := self._answers.find(mark))}
            new = {mark: asked for mark, (asked, _) in zip(marks, rows, strict=True) if mark not in scores}
            if new or also:
                self._answers.require_room(paid=bool(new))
            drawn = self._drawn(question, new) if new else {}
            scores |= drawn
            answer = _noisy_answer(question, [scores[mark] for mark in marks], [c for _, c in rows])
            if drawn or also:
                kept_now = {mark: Kept(b"", score) for mark, score in drawn.items()}
                self._answers.keep({**kept_now, **_under(also, answer)})
        return answer, {"drawn": len(drawn), "repeated": len(rows) - len(drawn)}

    def _mark(self, question: Question, asked: Row) -> bytes:
        """What stands for a question, so that the same one is known again."""
        whose = b"" if self._share else question.key.client.encode()
        served = question.served
        return self._answers.hash(
            b"score",
            served.name.encode(),
            served.version.encode(),
            whose,
            json.dumps(asked, sort_keys=True).encode(),
        )

    def _drawn(self, question: Question, new: dict[bytes, Row]) -> dict[bytes, bytes]:
        """Debit all in one transaction, then draw. What fails after the debit stays debited."""
        model = question.served.model
        assert self._ledger is not None
        try:
            with self._debit:
                grants = self._ledger.grants(
                    len(new),
                    epsilon=model.claimed_epsilon,
                    purpose=f"a score by {question.served.name} {question.served.version}",
                    client=question.key.client,
                )
        except BudgetError:
            # Nothing was debited: too little is left, or (seldom) others kept the ledger busy for too long.
            if _covered(self._ledger, question.key.client, model.claimed_epsilon, len(new)):
                raise Refusal("unavailable", headers={"retry-after": "1"}) from None
            raise Refusal("budget_spent") from None
        drawn = {}
        for (mark, asked), grant in zip(new.items(), grants, strict=True):
            # The noise may carry it beyond a probability; bringing it back looks at nothing but the answer.
            score = min(1.0, max(0.0, float(model.score_noisy(asked, grant))))
            drawn[mark] = dumps(coarse(score, question.decimals))
        return drawn


def _under(marks: dict[bytes, bytes], answer: bytes) -> dict[bytes, Kept]:
    """An answer under each idempotency key, with the hash of what the key stands for."""
    return {under: Kept(told, answer) for under, told in marks.items()}


def _noisy_answer(question: Question, scores: Sequence[bytes], clamped: Sequence[Sequence[str]]) -> bytes:
    """Scores that callers may share, and beside each what was clamped in this caller's own row."""
    parts = [
        b'"risk_score":%b,"clamped":%b' % (score, dumps(list(names)))
        for score, names in zip(scores, clamped, strict=True)
    ]
    if question.many:
        return b'%b,"scores":[{%b}]}' % (question.served.opening, b"},{".join(parts))
    return b"%b,%b}" % (question.served.opening, parts[0])


def _warm_up() -> None:
    """Load the samplers before the first question, with a draw that has to do with nobody."""
    laplace([0], 1, Ledger.in_memory(1.0).grant(epsilon=1.0, purpose="warming up"))


def left(ledger: Ledger, client: str) -> float:
    """What is left of a client's own budget; nothing, if it was given none.

    How much the data set has left is not looked at: it would tell what all others spend.
    """
    return next((c.left for c in ledger.clients() if c.name == client), 0.0)


def _covered(ledger: Ledger, client: str, epsilon: float, number: int) -> bool:
    """Whether client and data set have enough for so many answers, in the budget's kind as it is debited."""
    units, _ = debit(ledger.budget, epsilon, None, 0.0)
    return min(left(ledger, client), ledger.left) >= down(Fraction(number * units, UNIT))


def _noisy_rows(question: Question) -> list[tuple[Row, tuple[str, ...]]]:
    """The rows as a noisy model takes them: clamped, every number a float; all faults at once."""
    if question.explain:
        raise Refusal("invalid", [Fault(0, "explain", "a noisy model gives no explanation")])
    check: Callable[[Row], tuple[Row, tuple[str, ...]]] = question.served.model.checked
    checked, faults = [], []
    for place, row in enumerate(question.rows):
        try:
            checked.append(check(row))
        except SfumatoError as error:
            faults += [fault._replace(row=place) for fault in refused(error).faults]
    if faults:
        raise Refusal("invalid", faults[:MOST_FAULTS])
    return checked
