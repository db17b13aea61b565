"""The record of an analysis: every output that is to leave, checked, with reasons, judged together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.checked.frames import column_of, require_pandas
from sfumato.checked.histograms import binned
from sfumato.checked.judge import entangled_columns, judge, withhold
from sfumato.checked.limits import OutputLimits
from sfumato.checked.models import Fit, FittedModel, judge_model
from sfumato.checked.outputs import CheckedOutput, Decision, GivenBlock
from sfumato.checked.rows import RowBook
from sfumato.checked.survival import survival_steps
from sfumato.checked.tables import DraftTable, cross_table, pivoted_table
from sfumato.errors import DataError, ParameterError, listed

if TYPE_CHECKING:
    import pandas as pd

Small = Literal["withhold", "round", "show"]
_WAYS = ("withhold", "round", "show")


class Analysis:
    """Outputs of one analysis on one set of people, checked as they are made and judged together.

    limits: the rules of the house.  small: what is done about small cells: "withhold" (and others, so that
    nobody reckons them back), "round" (all counts of a table, to multiples of a base), or "show" (nothing:
    a table that needs it is refused).  persons: whose row each is, by index, where people have several.

    Rows are the same people where their index labels are the same; keep the index when you filter.

    >>> import pandas as pd
    >>> data = pd.DataFrame({"ward": ["a"] * 30 + ["b"] * 24, "sex": (["f"] * 9 + ["m"] * 6) * 3 + ["f"] * 9})
    >>> analysis = sf.checked.Analysis()
    >>> by_ward = analysis.crosstab(data["ward"], data["sex"])
    >>> analysis["output_0"].decision
    'pass'
    """

    def __init__(
        self,
        limits: OutputLimits | None = None,
        *,
        small: Small = "withhold",
        persons: pd.Series | None = None,
    ) -> None:
        require_pandas()
        if limits is not None and not isinstance(limits, OutputLimits):
            raise ParameterError("limits are OutputLimits.", hint="sf.checked.OutputLimits(threshold=10)")
        self.limits = limits or OutputLimits()
        self.small: Small = small
        self.book = RowBook()
        self.outputs: dict[str, CheckedOutput] = {}
        self._made = 0
        self._way()
        if persons is not None:
            who = column_of(persons, "person")
            if not who.index.is_unique:
                raise DataError(
                    "persons: the index repeats.", hint="one row each, with the index of the data"
                )
            self.book.set_persons(who)

    def __getitem__(self, name: str) -> CheckedOutput:
        if name not in self.outputs:
            raise ParameterError(
                f"there is no output {name!r}.", hint=f"there are {listed(list(self.outputs)) or 'none yet'}"
            )
        return self.outputs[name]

    def _way(self) -> Small:
        if self.small not in _WAYS:
            raise ParameterError("small cells are withheld, rounded or shown.", hint="small='withhold'")
        return self.small

    # -- tables ----------------------------------------------------------------------------------

    def crosstab(
        self,
        index: object,
        columns: object,
        values: object = None,
        rownames: Sequence[str] | None = None,
        colnames: Sequence[str] | None = None,
        aggfunc: object = None,
        margins: bool = False,
        margins_name: str = "All",
        dropna: bool = True,
        normalize: bool | str | int = False,
    ) -> pd.DataFrame:
        """As `pandas.crosstab`; withheld cells are missing."""
        draft = cross_table(
            self.book, index, columns, values, rownames, colnames, aggfunc, margins, margins_name, dropna,
            normalize,
        )  # fmt: skip
        return self._table(
            "crosstab", draft, {"margins": margins, "aggfunc": aggfunc, "normalize": normalize}
        )

    def pivot_table(
        self,
        data: object,
        values: object = None,
        index: object = None,
        columns: object = None,
        aggfunc: object = "mean",
        fill_value: object = None,
        margins: bool = False,
        dropna: bool = True,
        margins_name: str = "All",
        observed: bool = True,
        sort: bool = True,
    ) -> pd.DataFrame:
        """As `pandas.pivot_table`: counts, sums, means, standard deviations, variances, medians."""
        draft = pivoted_table(
            self.book, data, values, index, columns, aggfunc, fill_value, margins, dropna, margins_name,
            observed, sort,
        )  # fmt: skip
        return self._table("pivot_table", draft, {"margins": margins, "aggfunc": aggfunc})

    def hist(
        self, data: object, column: str | None = None, bins: int | Sequence[float] = 10, by: str | None = None
    ) -> pd.DataFrame:
        """How many people are in each bin, which is what a histogram draws: of a column of a frame, or of a
        column.

        With a number of bins the edges are round numbers, as the first and the last would else be the
        smallest and the largest person's value.
        """
        return self._table("hist", binned(self.book, data, column, bins, by), {"bins": bins, "by": by})

    def surv_func(self, time: object, status: object, by: object = None) -> pd.DataFrame:
        """Kaplan and Meier's curve at times between which enough people had the event.

        status: 1 where the event was seen, 0 where it was not seen until then.
        """
        draft = survival_steps(self.book, time, status, by, self.limits.threshold)
        return self._table("surv_func", draft, {})

    def _table(self, kind: str, draft: DraftTable, facts: dict[str, Any]) -> pd.DataFrame:
        way = self._way()
        frame, reasons = draft.frame, [f"{n}." for n in draft.notes]
        decision: Decision = "pass"
        shapes = [b.shape for b in draft.blocks]
        flags = [np.zeros(len(s.shown), bool) for s in shapes]
        base = self.limits.base if way == "round" and draft.rounds else None
        if way == "withhold" or (way == "round" and not draft.rounds):
            try:
                flags, told = withhold(self.book, self.limits, self._given(), draft.blocks)
                if told:
                    decision = "review"
                    reasons.append(f"{told} small cells of this kind follow from earlier outputs already.")
            except DataError as error:
                flags, decision = [np.ones(len(s.shown), bool) for s in shapes], "refused"
                reasons.append(f"{error.message} It is withheld as a whole; {error.hint}.")
        if draft.together and any(f.any() for f in flags):
            flags, decision = [np.ones(len(s.shown), bool) for s in shapes], "refused"
            reasons.append(
                f"Steps of fewer than {self.limits.threshold} people would be told; it is withheld."
            )
        given = tuple(GivenBlock(b, f, base) for b, f in zip(draft.blocks, flags, strict=True))
        for column in entangled_columns(self.book, [g for o in self._given() for g in o.blocks], given):
            decision = "review" if decision == "pass" else decision
            reasons.append(
                f"Counts by the same values are shown beside {column}: together they may tell small counts, "
                "or the few whom one of them is not about."
            )
        frame, gone = _masked(frame, given, base, draft.together)
        bare = int(frame.isna().all(axis=1).sum() + frame.isna().all(axis=0).sum())
        if (
            bare > max(sum(frame.shape) / 2, self.limits.threshold)
            and decision == "pass"
            and not draft.together
        ):
            decision = "review"
            reasons.append(
                f"{bare} labels leave of which every number is withheld: they may be people's values."
            )
        if draft.together and decision == "refused":
            frame, gone = frame.mask(np.ones(frame.shape, bool)), frame.size
        facts = {
            **facts,
            "small cells": way,
            "withheld": gone,
            "numbers": sum(len(g.block.places) for g in given),
        }
        output = self._noted(kind, decision, reasons, [frame], given, facts)
        if decision != "refused":
            self._explain(output, gone, base)
        if draft.notes and output.decision == "pass":
            output.decision = "review"
        frame.attrs["decision"], frame.attrs["reasons"] = output.decision, list(output.reasons)
        return frame

    def _explain(self, output: CheckedOutput, gone: int, base: int | None) -> None:
        m = self.limits.threshold
        if gone:
            output.reasons.append(
                f"{gone} numbers are withheld: of fewer than {m} people, of a few who make up most of them, "
                "or so that such numbers do not follow from others."
            )
        opened = (
            {} if self.small == "withhold" else judge(self.book, self.limits, [*self._given(output), output])
        )
        if opened.get(output.name):
            n = opened[output.name]
            output.decision = "refused" if base is None else "review"
            output.reasons.append(
                f"{n} numbers are about fewer than {m} people, or a few make up most of them."
                if base is None
                else f"{n} small counts can be told more closely than rounding means to."
            )
        elif base is not None:
            output.reasons.append(f"Counts are rounded to multiples of {base}.")
        elif not gone:
            output.reasons.append(f"Every number is about {m} people or more, and none dominates.")

    def _given(self, but: CheckedOutput | None = None) -> list[CheckedOutput]:
        """What counts as given out: all but refused outputs, and those that an exception is asked for."""
        return [o for o in self.outputs.values() if o is not but and (o.leaves or o.exception)]

    def _noted(
        self, kind: str, decision: Decision, reasons: list[str], frames: list[pd.DataFrame],
        blocks: tuple[GivenBlock, ...], facts: dict[str, Any],
    ) -> CheckedOutput:  # fmt: skip
        name = f"output_{self._made}"
        while name in self.outputs:  # somebody renamed another one so
            self._made += 1
            name = f"output_{self._made}"
        self._made += 1
        when = datetime.now(UTC).isoformat(timespec="seconds")
        command = ", ".join(f"{k}={v!r}" for k, v in facts.items() if v not in (None, False))
        output = CheckedOutput(name, kind, f"{kind}({command})", decision, reasons, frames, when, blocks)
        output.facts = facts
        self.outputs[name] = output
        return output

    # -- models ----------------------------------------------------------------------------------

    def ols(self, endog: object, exog: object = None, **options: object) -> FittedModel:
        """Ordinary least squares, by statsmodels."""
        return self._fitted(Fit("OLS", endog, exog), options)

    def logit(self, endog: object, exog: object, **options: object) -> FittedModel:
        """Logistic regression, by statsmodels."""
        return self._fitted(Fit("Logit", endog, exog), options)

    def probit(self, endog: object, exog: object, **options: object) -> FittedModel:
        """Probit regression, by statsmodels."""
        return self._fitted(Fit("Probit", endog, exog), options)

    def poisson(self, endog: object, exog: object, **options: object) -> FittedModel:
        """Poisson regression, by statsmodels."""
        return self._fitted(Fit("Poisson", endog, exog), options)

    def regression(self, kind: str, formula: str, data: object, **options: object) -> FittedModel:
        """One of "ols", "logit", "probit", "poisson" by a formula: "cost ~ age + sex"."""
        kinds = {"ols": "OLS", "logit": "Logit", "probit": "Probit", "poisson": "Poisson"}
        if kind not in kinds:
            raise ParameterError(f"a regression is one of {', '.join(kinds)}.", hint="regression('ols', ...)")
        return self._fitted(Fit(kinds[kind], formula=formula, data=data), options)

    def _fitted(self, fit: Fit, options: dict[str, Any]) -> FittedModel:
        fitted = fit.run(options)
        self.model(fitted, kind=fit.kind.lower())
        return fitted

    def model(self, fitted: FittedModel, *, kind: str = "model") -> CheckedOutput:
        """Check a model that is fitted already: a result of statsmodels, or what has the same `params`,
        `df_resid` and `model.exog`.
        """
        verdict = judge_model(fitted, self.book, self.limits, [o for o in self.outputs.values() if o.leaves])
        output = self._noted(kind, verdict.decision, verdict.reasons, verdict.frames, (), verdict.facts)
        output.facts["rows"] = verdict.rows
        return output

    # -- the record ------------------------------------------------------------------------------

    def file(self, path: str | Path, comment: str = "") -> CheckedOutput:
        """Add a file of another making: a person must look at it."""
        if not Path(path).is_file():
            raise ParameterError(f"there is no file {Path(path).name!r}.", hint="name a file")
        reasons = ["This file was made elsewhere, and nothing is known of it."]
        output = self._noted("file", "review", reasons, [], (), {"file": Path(path).name})
        output.files.append(str(path))
        if comment:
            output.comments.append(comment)
        return output

    def comment(self, name: str, text: str) -> None:
        """Say something about an output to whoever checks it."""
        self[name].comments.append(str(text))

    def request(self, name: str, reason: str) -> None:
        """Ask to let an output go although it is refused or withheld, and say why."""
        if not str(reason).strip():
            raise ParameterError("an exception needs a reason.", hint="why the output is safe, or needed")
        self[name].exception = str(reason)

    def rename(self, name: str, new: str) -> None:
        """Give an output another name."""
        output = self[name]
        if new in self.outputs or not new or not new.replace("_", "").replace("-", "").isalnum():
            raise ParameterError(
                "a name is new, of letters, digits, - and _.", hint="such as 'stays_by_ward'"
            )
        output.name = new
        self.outputs = {o.name: o for o in self.outputs.values()}

    def remove(self, name: str) -> None:
        """Take an output out: it does not leave."""
        del self.outputs[self[name].name]

    def judge(self) -> dict[str, str]:
        """Judge all outputs together, as a reader of all of them would: the verdict of each."""
        for output in self.outputs.values():
            output.found = []
        tables = [o for o in self.outputs.values() if o.blocks and (o.leaves or o.exception)]
        if tables:
            for name, n in judge(self.book, self.limits, tables).items():
                if self.outputs[name].decision == "pass":
                    self.outputs[name].found.append(f"{n} small cells can be told from all outputs together.")
        return {name: output.verdict for name, output in self.outputs.items()}

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Judge all outputs together and write them with a page for the output checker.

        `outputs/`: what may leave.  `to-review/`: what a person must look at first.  `held/`: refused outputs
        for which an exception is asked for.  `review.html`, `analysis.json`: the record.
        overwrite: replace an earlier record of an analysis, and nothing else.
        """
        from sfumato.checked.page import require_record_place, write_record

        if not self.outputs:
            raise DataError("there is no output to check.", hint="make a table first")
        require_record_place(Path(folder), overwrite=overwrite)  # before the work
        self.judge()
        return write_record(self, Path(folder), overwrite=overwrite)


def _masked(
    frame: pd.DataFrame, given: Sequence[GivenBlock], base: int | None, together: bool
) -> tuple[pd.DataFrame, int]:
    """The frame without what is withheld, rounded if asked; and how many numbers are gone."""
    gone = np.full(frame.shape, not together)  # what is in no cell was not checked
    for part in given:
        block = part.block
        for k, place in enumerate(block.places):
            gone[place] = part.withheld[k] or (bool(block.bases) and part.withheld[block.bases[k]])
    gone &= frame.notna().to_numpy()
    if base is not None:
        frame = (frame / base).round() * base
        frame = frame.astype(int) if not frame.isna().any(axis=None) else frame
    return (frame.mask(gone) if gone.any() else frame.copy()), int(gone.sum())
