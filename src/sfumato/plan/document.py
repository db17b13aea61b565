"""What a plan says: its tables, steps, schema and signature, and the digests they are known by.

Whoever checks a plan or does a part of it takes this, and need not know `Plan`, which reads, checks and runs.
Relative paths are meant from the plan's own folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import PlanError, SfumatoError
from sfumato.io.addresses import from_folder, noted
from sfumato.methods.shapes import Fault, as_day
from sfumato.plan.limits import ACCEPTED, RECIPIENT
from sfumato.plan.lines import Place, line_of
from sfumato.plan.spec import VERSION
from sfumato.plan.step import Step
from sfumato.schema import Role, Schema

INPUT = "input"
FORM = "determination"


@dataclass(frozen=True, eq=False)
class PlanDocument:
    """What stands in a plan. folder: where its relative paths start."""

    document: Mapping[str, Any]
    folder: Path
    name: str = "plan"
    text: str = ""
    lines: Mapping[Place, int] = field(default_factory=dict, repr=False)

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Raise one error that lists these faults by line; do nothing if there are none."""
        found: list[Fault] = list(faults)
        if not found:
            return
        said = sorted({(line_of(at, self.lines), _fault(at, words)) for at, words in found})
        number = f"{len(said)} fault{'s' * (len(said) > 1)}"
        listing = "; ".join(f"line {line}: {words}" for line, words in said)
        raise PlanError(f"{self.name} has {number}: {listing}.", hint=self._advice, faults=said)

    @property
    def _advice(self) -> str:
        """What to do about faults: another format is the cause of all of them."""
        version = self.document.get("sfumato_plan")
        if version == 1:
            return f"sfumato plan upgrade {self.name}"
        later = isinstance(version, int) and version > VERSION
        return "upgrade Sfumato: the plan is of a later format" if later else "see docs/plan.md"

    # -- looking -------------------------------------------------------------------------------------

    def table(self, name: str) -> Mapping[str, Any]:
        """A table of the plan; empty if it is not there."""
        found: Mapping[str, Any] = self.document.get(name, {})
        return found

    def path(self, text: str) -> Path:
        """A path as the plan means it."""
        return self.folder / text

    def address(self, data: str) -> str:
        """Where data lies, as the plan means it: a file, or a database, which may be a file itself."""
        return from_folder(data, self.folder)

    def source(self, given: object = None) -> str | None:
        """Where a run reads from, as ledgers note it, without passwords; a frame comes from nowhere.

        given: what it reads instead of what the plan names, from where the run is started.
        """
        if given is None:
            return noted(self.table(INPUT)["data"], self.folder)
        return noted(str(given)) if isinstance(given, (str, Path)) else None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order, tables last; a step without a name is called step-1, step-2, ..."""
        out: list[Step] = []
        for i, entry in enumerate(self.document.get("steps", ())):
            name = entry.get("name", f"step-{i + 1}")
            of = entry.get("of", out[-1].name if out else INPUT)
            settings = {k: v for k, v in entry.items() if k not in ("name", "of", "method")}
            out.append(Step(entry["method"], settings, name, of, i))
        tables = self.document.get("tables", ())
        for i, entry in enumerate(tables):
            name = entry.get("name", "tables" if len(tables) == 1 else f"tables-{i + 1}")
            settings = {k: v for k, v in entry.items() if k not in ("name", "method")}
            out.append(Step(entry["method"], settings, name, INPUT, i))
        return tuple(out)

    def beside(self, step: Step) -> tuple[Step, ...]:
        """The tables that stand before one in the plan, and are known to its readers; of rows none."""
        return tuple(s for s in self.steps if s.at[0] == step.at[0] == "tables" and s.place < step.place)

    @property
    def released(self) -> tuple[Step, ...]:
        """The steps whose result is released: those no other step works on."""
        used = {s.of for s in self.steps}
        return tuple(s for s in self.steps if s.name not in used)

    def before(self, step: Step) -> tuple[Step, ...]:
        """The steps a step builds on, the first one first."""
        by_name = {s.name: s for s in self.steps}
        found: list[Step] = []
        while step.of in by_name:
            step = by_name[step.of]
            found.insert(0, step)
        return tuple(found)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the input, with the roles the plan gives."""
        schema = Schema.read(self.path(self.table(INPUT)["schema"]))
        for name, entry in self.table("columns").items():
            if "role" in entry and name in schema:
                schema = schema.with_(name, role=Role(entry["role"]))
        return schema

    # -- limits --------------------------------------------------------------------------------------

    @property
    def limits(self) -> dict[str, float]:
        """The limits by the name of a score."""
        return {n: v for n, v in self.table("thresholds").items() if n not in (RECIPIENT, ACCEPTED)}

    @property
    def accepted(self) -> str:
        """Why a release may leave although it misses a limit, and who says so; empty if nobody does."""
        return " ".join(str(self.table("thresholds").get(ACCEPTED, "")).split())

    # -- review --------------------------------------------------------------------------------------

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """The columns whose guess nobody has looked at."""
        return tuple(n for n, entry in self.table("columns").items() if not entry.get("reviewed", True))

    @property
    def signed(self) -> tuple[str, date] | None:
        """Who has signed, and when."""
        review = self.table("review")
        by, on = str(review.get("by", "")).strip(), as_day(review.get("on", ""))
        return (by, on) if by and on is not None else None

    @property
    def draft(self) -> str:
        """Why a release of this plan is a draft; empty if it is none."""
        reasons = []
        if self.signed is None:
            reasons.append("nobody has signed the plan")
        elif self.table("review").get("digest") not in (None, "", self.digest):
            reasons.append("the plan was changed after it was signed")
        if self.unreviewed:
            n = len(self.unreviewed)
            reasons.append(f"{n} guess{'es' * (n > 1)} about columns {'are' if n > 1 else 'is'} not reviewed")
        return ", and ".join(reasons)

    # -- digests -------------------------------------------------------------------------------------

    @cached_property
    def digest(self) -> str:
        """Of everything a signature covers: the plan without the review, and what its files say."""
        rest = {k: v for k, v in self.document.items() if k not in ("review", "columns")}
        return digest_of_parts({**rest, "columns": self._columns(), "files": self._files})

    def made_by(self, step: Step) -> str:
        """Of everything that decides what a step makes of given data: runs that agree in it share the result.

        Thresholds, the assessment, outputs and the signature are not in it, so that changing them never draws
        anything anew; but for who is held back, as the release is made of the others.
        """
        chain = [(s.method, dict(s.settings)) for s in (*self.before(step), *self.beside(step), step)]
        reading = {k: v for k, v in self.table(INPUT).items() if k not in ("data", "schema")}
        parts: dict[str, Any] = {"steps": chain, "columns": self._columns(), "prepare": self.table("prepare")}
        if self.table("domains"):
            parts["domains"] = self.table("domains")
        if "hold_back" in self.table("assess"):
            parts["hold_back"] = self.table("assess")["hold_back"]
        return digest_of_parts({**parts, "reading": reading, "files": self._files})

    def judged_by(self, step: Step) -> str:
        """Of everything that decides how a step's release is judged: runs that agree in it judge it alike.

        Who signs, why a missed limit is accepted, and how things are written are not in it.
        """
        wanted = self.table("assess")
        beside = {
            name: digest_of_file(self.path(wanted[name]))
            for name in ("control", "population")
            if isinstance(wanted.get(name), str) and self.path(wanted[name]).is_file()
        }
        return digest_of_parts(
            {"made_by": self.made_by(step), "assess": wanted, "limits": self.limits, "files": beside}
        )

    def _columns(self) -> dict[str, Any]:
        return {
            name: {k: v for k, v in entry.items() if k != "reviewed"}
            for name, entry in self.table("columns").items()
        }

    @cached_property
    def _files(self) -> dict[str, str]:
        """What the files say that the plan names: schema, tables of levels, groups of codes, populations."""
        names = [self.table(INPUT)["schema"]]
        for entry in self.table("columns").values():
            hierarchy = entry.get("hierarchy")
            if isinstance(hierarchy, Mapping) and "file" in hierarchy:
                names.append(hierarchy["file"])
        names += [name for step in self.steps for _, name in step.files]
        names += [name for step in self.steps for name in step.populations]
        return {n: digest_of_file(self.path(n)) for n in names}


def _spelt(at: Sequence[str | int]) -> str:
    """A place as a person would write it: [columns] age.hierarchy, [[steps]] 2 k."""
    if not at:
        return "the plan"
    if len(at) > 1 and isinstance(at[1], int) and at[0] in ("steps", "tables", "aggregates"):
        rest = ".".join(map(str, at[2:]))
        return f"{at[0][:-1]} {at[1] + 1}{f': {rest}' if rest else ''}"
    head, rest = at[0], ".".join(map(str, at[1:]))
    return f"[{head}]{f' {rest}' if rest else ''}"


def _fault(at: Place, words: str) -> str:
    """Where and what, as one sentence: 'step 1 needs rows', 'step 1: criteria: ...'."""
    return f"{_spelt(at)}{words if words.startswith(':') else f' {words}'}".strip()


def digest_of_parts(document: Mapping[str, Any]) -> str:
    """Of plain values, in whatever order they were written."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def digest_of_file(path: Path) -> str:
    """Of what a file says that a plan names."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise PlanError(f"{path.name} cannot be read: {error.strerror}.", hint="correct the path") from None


def said(error: SfumatoError) -> str:
    """The words of an error within a list of faults."""
    return error.message.rstrip(".")
