"""A verdict in words, for every rendering: what came out, what decides, each limit, what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from sfumato.languages import say
from sfumato.report.contents import Verdict
from sfumato.report.words import clean

NO_THRESHOLD = "no threshold was set"
NOT_EXAMINED = "not examined"
NOTHING_NAMED = "nothing was named here; that does not mean that all was"
NEXT = "What to do next"
# "risk at most 0.1: 0.3 (linking)": what was asked, and what was found. A name may hold a colon itself.
_LIMIT = re.compile(r"(.+?(?:at most|at least|limit) [^\s:]+): (.+)", re.DOTALL)
_VALUE = re.compile(r"(\S+) (\(.+\))", re.DOTALL)
_SIGNS = {"met": "✓", "not met": "✗", "undecided": "?"}
_KINDS = {"met": "good", "not met": "bad", "undecided": "open"}
_FEW = 6  # of a list that need no folding


def outcome(verdict: Verdict) -> str:
    """The first words on a page: "met", "not met", "undecided", or that nothing was asked."""
    if verdict.not_met:
        return "not met"
    if verdict.undecided:
        return "undecided"
    return "met" if verdict.met else NO_THRESHOLD


def count(verdict: Verdict) -> str:
    """How many of the thresholds are not met, in a sentence; what is undecided counts as not met."""
    failed, open_ = len(verdict.not_met), len(verdict.undecided)
    total = failed + open_ + len(verdict.met)
    if not total:
        return ""
    if not failed + open_:
        return "The threshold is met." if total == 1 else f"All {total} thresholds are met."
    parts = [f"{failed} {_is(failed)} not met"] if failed else []
    parts += [f"{open_} {_is(open_)} undecided, which counts as not met"] if open_ else []
    return f"Of {total} threshold{'s' * (total > 1)}, {' and '.join(parts)}."


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def limits(verdict: Verdict) -> list[tuple[str, str, str]]:
    """Every threshold, the worst first: its outcome, what was asked, what was found."""
    lines = (("not met", verdict.not_met), ("undecided", verdict.undecided), ("met", verdict.met))
    return [(name, *_parted(clean(line))) for name, entries in lines for line in entries]


def _parted(line: str) -> tuple[str, str]:
    match = _LIMIT.fullmatch(line)
    if match:
        return match[1], match[2]
    asked, _, found = line.partition(": ")
    return asked, found


def sentence(verdict: Verdict) -> str:
    """The verdict in one line, for lists and programs."""
    parts = [verdict.because.strip().rstrip(".")] if verdict.because.strip() else []
    lines = (("not met", verdict.not_met), ("undecided", verdict.undecided), ("met", verdict.met))
    parts += [f"{name}: {'; '.join(entries)}" for name, entries in lines if entries]
    if not (verdict.not_met or verdict.undecided or verdict.met):
        parts.append(NO_THRESHOLD)
    parts.append(f"{NOT_EXAMINED}: {'; '.join(verdict.not_examined) or 'nothing was named'}")
    return clean(". ".join(part[0].upper() + part[1:] for part in parts)) + "."


# -- HTML ----------------------------------------------------------------------------------------------


def verdict_html(verdict: Verdict) -> Iterator[str]:
    """The first screen: the word, the sentence that matters, every limit, what to do next."""
    word = outcome(verdict)
    yield f'<div class="block verdict {_KINDS.get(word, "open")}">'
    sign = f'<span class="sign" aria-hidden="true">{_SIGNS[word]}</span>' if word in _SIGNS else ""
    yield f'<p class="verdict-title">{sign}{_(word.capitalize())}</p>'
    if verdict.because.strip():
        yield f'<p class="because">{_(verdict.because)}</p>'
    if count(verdict):
        yield f'<p class="small">{_(count(verdict))}</p>'
    yield from _limits(verdict)
    if verdict.advice:
        yield f'<div class="next"><p class="label">{_(NEXT)}</p>\n<ol>'
        yield from (f"<li>{_(line)}</li>" for line in verdict.advice)
        yield "</ol></div>"
    yield from _unseen(verdict)
    yield "</div>"


def _(text: str) -> str:
    return escape(clean(say(text)))


def _limits(verdict: Verdict) -> Iterator[str]:
    """One row each. What is met may fold where it is much; a limit that is not met never does."""
    rows = limits(verdict)
    if not rows:
        return
    met = len(verdict.met)
    folds = len(rows) > _FEW + 2 and met > 2
    yield from _table(rows[: len(rows) - met] if folds else rows, "Thresholds")
    if folds:
        yield f"<details><summary>{_(f'{met} thresholds that are met')}</summary>"
        yield from _table(rows[len(rows) - met :], "Thresholds that are met")
        yield "</details>"


def _table(rows: list[tuple[str, str, str]], caption: str) -> Iterator[str]:
    if not rows:
        return
    # On narrow screens rows are laid out as blocks; the roles keep it a table for screen readers.
    yield f'<table class="limits" role="table">\n<caption class="hidden">{_(caption)}</caption>'
    heads = "".join(f'<th scope="col" role="columnheader">{_(h)}</th>' for h in ("outcome", "asked", "found"))
    yield f'<thead class="hidden" role="rowgroup"><tr role="row">{heads}</tr></thead>'
    yield '<tbody role="rowgroup">'
    for name, asked, found in rows:
        sign = f'<span class="sign" aria-hidden="true">{_SIGNS[name]}</span>'
        match = _VALUE.fullmatch(found)
        value = f"<strong>{_(match[1])}</strong> {_(match[2])}" if match else f"<strong>{_(found)}</strong>"
        yield f'<tr class="{_KINDS[name]}" role="row"><td class="outcome" role="cell">{sign}{_(name)}</td>'
        yield f'<th scope="row" role="rowheader">{_(asked)}</th><td role="cell">{value}</td></tr>'
    yield "</tbody>\n</table>"


def _unseen(verdict: Verdict) -> Iterator[str]:
    """What nobody looked at: it is counted where it would fill the first screen."""
    entries = verdict.not_examined
    listed = "".join(f"<li>{_(entry)}</li>" for entry in entries)
    if len(entries) > _FEW:
        title = _(f"Not examined: {len(entries)} parts, and why")
        yield f'<details class="unseen"><summary>{title}</summary>'
        yield f"<ul>{listed}</ul></details>"
        return
    yield f'<div class="unseen"><p class="label">{_("Not examined")}</p>'
    yield f"<ul>{listed}</ul>" if entries else f'<p class="small">{_(NOTHING_NAMED)}</p>'
    yield "</div>"
