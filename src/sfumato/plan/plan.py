"""A plan: one TOML file is one run.

It is checked as a whole when it is read: every fault is listed at once, with its line. Nothing of the data is
looked at for that. Relative paths are meant from the plan's own folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sfumato.errors import PlanError, SfumatoError
from sfumato.io.addresses import from_folder, noted
from sfumato.methods.shapes import Fault, as_day
from sfumato.plan.formats import earlier_format
from sfumato.plan.lines import Place, line_numbers, line_of
from sfumato.plan.spec import PLAN, VERSION
from sfumato.plan.step import Step, step
from sfumato.schema import Role, Schema

if TYPE_CHECKING:
    from sfumato.plan.run import Run

INPUT = "input"
FORM = "determination"
_LARGEST = 4_000_000  # characters


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan that has been read and checked. folder: where its relative paths start."""

    document: Mapping[str, Any]
    folder: Path
    name: str = "plan"
    text: str = ""
    lines: Mapping[Place, int] = field(default_factory=dict, repr=False)

    # -- in ------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a plan, or list everything that is wrong with it."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise PlanError(f"no plan {path.name}.", hint="sfumato init DATA writes one") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise PlanError(f"{path.name} cannot be read: {reason}.", hint="give a TOML file") from None
        return cls.from_toml(text, folder=path.resolve().parent, name=path.name)

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path = ".", name: str = "plan") -> Plan:
        """A plan from its text."""
        from sfumato.plan.checks import faults_of

        plan = cls(
            _parsed(text, name), Path(folder).resolve(), name, text, line_numbers(text.replace("\r\n", "\n"))
        )
        plan.refuse(earlier_format(plan.document))
        plan.refuse(PLAN.faults(plan.document, ()))
        plan.refuse(faults_of(plan))
        _ = plan._files  # as they are now: what is changed later is not what was checked
        return plan

    @classmethod
    def of(
        cls,
        data: str | Path,
        steps: Sequence[Any],
        *,
        schema: str | Path,
        folder: str | Path = ".",
        **tables: Any,
    ) -> Plan:
        """A plan of methods as they are in Python, checked like one that was written by hand.

        steps: methods, or steps (`sf.step(sf.LocalRecoding(), k=5)`); its `text` is the file to keep.
        tables: the other tables of a plan, such as columns={"age": {"hierarchy": "ages"}}.
        """
        entries = []
        for one in (s if isinstance(s, Step) else step(s) for s in steps):
            one.require_plain()
            labels = {n: v for n, v in (("name", one.name), ("of", one.of)) if v}
            entries.append({"method": one.method, **labels, **one.settings})
        document = {"sfumato_plan": VERSION, "input": {"data": str(data), "schema": str(schema)}, **tables}
        return cls.from_toml(tomli_w.dumps({**document, "steps": entries}), folder=folder)

    def refuse(self, faults: Any) -> None:
        """Raise one error that lists these faults by line; do nothing if there are none."""
        found: list[Fault] = list(faults)
        if not found:
            return
        said = sorted({(line_of(at, self.lines), f"{_spelt(at)} {words}".strip()) for at, words in found})
        number = f"{len(said)} fault{'s' * (len(said) > 1)}"
        listing = "; ".join(f"line {line}: {words}" for line, words in said)
        old = self.document.get("sfumato_plan") == 1
        hint = f"sfumato plan upgrade {self.name}" if old else "see docs/plan.md"
        raise PlanError(f"{self.name} has {number}: {listing}.", hint=hint, faults=said)

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

    def source(self, given: Any = None) -> str | None:
        """Where a run reads from, as ledgers note it, without passwords; a frame comes from nowhere.

        given: what it reads instead of what the plan names, from where the run is started.
        """
        if given is None:
            return noted(self.table(INPUT)["data"], self.folder)
        return noted(str(given)) if isinstance(given, (str, Path)) else None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order; a step without a name is called step-1, step-2, ..."""
        out: list[Step] = []
        for i, entry in enumerate(self.document["steps"]):
            name = entry.get("name", f"step-{i + 1}")
            of = entry.get("of", out[-1].name if out else INPUT)
            settings = {k: v for k, v in entry.items() if k not in ("name", "of", "method")}
            out.append(Step(entry["method"], settings, name, of, i))
        return tuple(out)

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
        return _digest({**rest, "columns": self._columns(), "files": self._files})

    def made_by(self, step: Step) -> str:
        """Of everything that decides what a step makes of given data: runs that agree in it share the result.

        Thresholds, the assessment, outputs and the signature are not in it, so that changing them never draws
        anything anew.
        """
        chain = [(s.method, dict(s.settings)) for s in (*self.before(step), step)]
        reading = {k: v for k, v in self.table(INPUT).items() if k not in ("data", "schema")}
        parts = {"steps": chain, "columns": self._columns(), "prepare": self.table("prepare")}
        return _digest({**parts, "reading": reading, "files": self._files})

    def _columns(self) -> dict[str, Any]:
        return {
            name: {k: v for k, v in entry.items() if k != "reviewed"}
            for name, entry in self.table("columns").items()
        }

    @cached_property
    def _files(self) -> dict[str, str]:
        """What the files say that the plan names: schema, tables of levels, groups of codes, populations."""
        from sfumato.plan.checks import populations

        names = [self.table(INPUT)["schema"]]
        for entry in self.table("columns").values():
            hierarchy = entry.get("hierarchy")
            if isinstance(hierarchy, Mapping) and "file" in hierarchy:
                names.append(hierarchy["file"])
        names += [name for step in self.steps for _, name in step.files]
        names += [name for step in self.steps for name in populations(step)]
        return {n: _digest_of(self.path(n)) for n in names}

    # -- doing ---------------------------------------------------------------------------------------

    def run(self, out: str | Path, **options: Any) -> Run:
        """Do what the plan says, and write the release; see `sfumato.plan.run.run`."""
        from sfumato.plan.run import run

        return run(self, Path(out), **options)


def _parsed(text: str, name: str) -> dict[str, Any]:
    if len(text) > _LARGEST:
        raise PlanError(f"{name} is too long for a plan.", hint="levels belong in the schema or in files")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        where = f" at line {line}, column {place[2]}" if place else " at its end"
        raise PlanError(
            f"{name} is not valid TOML{where}.",
            hint="correct that line",
            faults=[(line, "is not valid TOML")],
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        raise PlanError(f"{name} is not a plan.", hint="see docs/plan.md") from None


def _spelt(at: Sequence[str | int]) -> str:
    """A place as a person would write it: [columns] age.hierarchy, [[steps]] 2 k."""
    if not at:
        return "the plan"
    if len(at) > 1 and isinstance(at[1], int) and at[0] in ("steps", "aggregates"):
        rest = ".".join(map(str, at[2:]))
        return f"{at[0][:-1]} {at[1] + 1}{f': {rest}' if rest else ''}"
    head, rest = at[0], ".".join(map(str, at[1:]))
    return f"[{head}]{f' {rest}' if rest else ''}"


def _digest(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _digest_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise PlanError(f"{path.name} cannot be read: {error.strerror}.", hint="correct the path") from None


def said(error: SfumatoError) -> str:
    """The words of an error within a list of faults."""
    return error.message.rstrip(".")
