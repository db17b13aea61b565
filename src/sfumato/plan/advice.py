"""What to change where a release misses its limit of risk, as a plan that can be run: nothing is to be typed.

The plan that was run stays as it is. Beside it lies one in which the columns by which an attack succeeds are
in bands, or left out where they have no bands; the rest is the same, line by line. If that misses the limit
too, the next plan lies beside it, until nothing is left that could be changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.assessment.judgement import Assessment
from sfumato.assessment.thresholds import RISK, Threshold, counts_as_risk, excess
from sfumato.io.output import write_text
from sfumato.plan.outcome import Run
from sfumato.schema import Kind, Role, Schema

_BY_CODES, _INFERENCE, _SURVIVES = "linking by", "inference", "identifiers that survive"
_LARGEST = 50  # k, that is doubled once more


@dataclass(frozen=True)
class Advice:
    """A plan that changes what made an attack succeed. words: which columns, and what becomes of them."""

    plan: Path
    words: str


def misses_risk(run: Run) -> bool:
    """Whether a release was made that misses its limit of risk."""
    judged = (t for a in run.assessments.values() for t in a.thresholds)
    return bool(run.releases) and any(t.name == RISK and t.outcome != "met" for t in judged)


def advice(run: Run, plan: Path, bands: Mapping[str, str]) -> Advice | None:
    """The plan to run next, if the limit of risk is missed and a column can be changed for it.

    bands: of numbers that are released as they are the line that has them in bands.
    """
    missed = [
        (a, t)
        for a in run.assessments.values()
        for t in a.thresholds
        if t.name == RISK and t.outcome != "met"
    ]
    if not misses_risk(run):
        return None
    schema, lines = run.load().schema, dict[str, str]()
    for found, threshold in missed:
        for name in _causes(found, threshold.limit, schema):
            lines |= {name: bands[name]} if name in bands else dropped(name, plan)
    if not lines and not _undecided(missed):
        lines = dict(bands)
    target = advised(plan, lines) if lines else None
    if target is None:
        return _larger_classes(plan)
    banded = [n for n in lines if n in bands]
    gone = [n for n in lines if n not in bands]
    done = [f"has {_listed(banded)} in bands"] * bool(banded) + [f"leaves {_listed(gone)} out"] * bool(gone)
    return Advice(target, f"{target} {' and '.join(done)}, and is otherwise the same.")


def _undecided(missed: Sequence[tuple[Assessment, Threshold]]) -> bool:
    """Whether what was seen fits both sides of every limit that is missed."""
    return all(threshold.outcome == "undecided" for _, threshold in missed)


def _larger_classes(plan: Path) -> Advice | None:
    """The plan with twice the k, where no column but the quasi-identifiers is to blame."""
    text = plan.read_text("utf-8")
    hit = re.search(r"(?m)^k = (\d+)", text)
    if hit is None or int(hit[1]) > _LARGEST:
        return None
    k = 2 * int(hit[1])
    target = plan.with_name(_next(plan.name))
    write_text(target, f"{text[: hit.start()]}k = {k}{text[hit.end() :]}", overwrite=True)
    return Advice(target, f"{target} asks for k = {k}, and is otherwise the same.")


def _causes(found: Assessment, limit: float, schema: Schema) -> list[str]:
    """The columns, quasi-identifiers aside, by which attacks gain more than the limit."""
    known = set(schema.of_role(Role.QUASI_IDENTIFIER))
    codes = [c.name for c in schema if c.kind is Kind.CODES]
    out: dict[str, None] = {}
    for score in found.scores:
        if score.name == _SURVIVES and score.value > 0:
            out |= dict.fromkeys(c["released"] for c in score.details["columns"] if c["released"] in schema)
        if not counts_as_risk(score) or excess(score) <= limit:
            continue
        told = score.name.rpartition(", ")[2]
        if score.name.startswith(_BY_CODES) and score.name.endswith((" code", " codes")):
            out |= dict.fromkeys(codes)
        elif _INFERENCE in score.name and told in schema:
            out[told] = None
        else:
            out |= dict.fromkeys(c for c in score.columns if c in schema)
    return [name for name in out if name not in known]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def advised(plan: Path, lines: Mapping[str, str]) -> Path | None:
    """Write the plan with other lines for some columns beside it, and say where; None if it is the same.

    lines: of each column the line that stands in its place. `l`, about sensitive columns, loses them.
    """
    text = before = plan.read_text("utf-8")
    for name, line in lines.items():
        own = re.compile(rf"(?m)^{re.escape(_key(line))} = \{{.*\}}$")
        text = own.sub(line.replace("\\", r"\\"), text)
        hit = re.search(r"(?m)^l = (\{.*\})(.*)\n", text)
        if hit is not None:
            text = text[: hit.start()] + _without(hit, name) + text[hit.end() :]
    if text == before:
        return None
    target = plan.with_name(_next(plan.name))
    write_text(target, text, overwrite=True)
    return target


def _next(name: str) -> str:
    """plan-advised.toml, then plan-advised-2.toml."""
    stem = name.removesuffix(".toml")
    hit = re.fullmatch(r"(.*-advised)(?:-(\d+))?", stem)
    return f"{hit[1]}-{int(hit[2] or 1) + 1}.toml" if hit else f"{stem}-advised.toml"


def dropped(name: str, plan: Path) -> dict[str, str]:
    """The line that leaves a column out, with its name as the plan writes it."""
    columns = tomllib.loads(plan.read_text("utf-8")).get("columns", {})
    if name not in columns:
        return {}
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
    return {name: f"{key} = {{ drop = true, reviewed = false }}"}


def _key(line: str) -> str:
    """What stands before the equals sign; a name in quotes may hold one too."""
    hit = re.match(r'"(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+', line)
    return hit.group() if hit else line


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without(hit: re.Match[str], name: str) -> str:
    """The line of `l` without a column; nothing if it was the last."""
    kept = {k: v for k, v in tomllib.loads(f"l = {hit.group(1)}")["l"].items() if k != name}
    if not kept:
        return ""
    inside = ", ".join(
        f"{k if re.fullmatch(r'[A-Za-z0-9_-]+', k) else _quoted(k)} = {v}" for k, v in kept.items()
    )
    return f"l = {{ {inside} }}{hit.group(2)}\n"
