"""A plan for linked tables: `[database]` in place of `[input]`, and what is done with keys, dates and codes.

[database]
data = "hospital"                  # a folder, a DuckDB file, a database URL
declared = "database.toml"         # tables, keys, links and what the columns mean
mend = false                       # leave out rows without a person, empty ids of no row

[pseudonyms]
shift_dates = 365
coarsen_dates = "week"

[codes]                            # instead of [pseudonyms]: k^m-anonymity
k = 5
m = 2
columns = ["sex", "age_band"]
[codes.hierarchies]
"diagnoses.code" = "icd9"

[synthesis]                        # instead of both: persons who never lived; settings of the method `linked`
persons = 10_000
[synthesis.max_children]
stays = 12

[assess]
hold_back = 0.1                    # persons that attacks are compared with; or control = "other-hospital"
known = 2                          # things of one kind that an intruder knows at most; all if it is not there

[thresholds]
risk = 0.2
accepted = ""                      # why it may leave although a limit is missed, and who says so

[outputs]
determination = "form.toml"

[review]
by = ""
on = ""
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.assessment.database import assess_database
from sfumato.assessment.judgement import Assessment
from sfumato.database import Database
from sfumato.errors import PlanError
from sfumato.io.addresses import from_folder, require_consent
from sfumato.io.databases import scan_database
from sfumato.methods.shapes import as_day
from sfumato.plan.production import PEOPLE, synthesized_people
from sfumato.plan.spec import VERSION
from sfumato.plan.step import Step, fields_of
from sfumato.release import DatabaseRelease
from sfumato.report.determination import Said
from sfumato.seeds import Key

_ACCEPTED = "accepted"

_KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "database": {"data": str, "declared": str, "mend": bool},
    "pseudonyms": {
        "shift_dates": int, "coarsen_dates": str, "integers": int,
        "drop": list, "keep_text": bool, "key": str,
    },
    "codes": {"k": int, "m": int, "columns": list, "codes": list, "hierarchies": dict},
    "synthesis": {"persons": object, "max_children": object, "period": object},
    "assess": {"control": str, "hold_back": (int, float), "known": int},
    "outputs": {"determination": str},
    "review": {"by": str, "on": object},
}  # fmt: skip


@dataclass(frozen=True)
class DatabasePlan:
    """A plan for linked tables that has been read and checked. folder: where its relative paths start."""

    document: Mapping[str, Any]
    folder: Path
    name: str

    @classmethod
    def read(cls, path: str | Path) -> DatabasePlan:
        """Read a plan, or list everything that is wrong with it."""
        path = Path(path)
        document = _document(path)
        faults = list(_faults(document))
        if faults:
            raise PlanError(
                f"{path.name} has {len(faults)} fault{'s' * (len(faults) > 1)}: {'; '.join(faults)}.",
                hint="see docs/database.md",
            )
        return cls(document, path.resolve().parent, path.name)

    @property
    def draft(self) -> str:
        """Why what it makes is a draft; empty if somebody has signed it."""
        review = self.document.get("review", {})
        signed = str(review.get("by", "")).strip() and as_day(review.get("on", "")) is not None
        return "" if signed else "nobody has signed the plan"

    def database(self) -> Database:
        """The tables it names, checked."""
        return self._tables(self.document["database"]["data"])

    def _tables(self, data: str) -> Database:
        """Tables that it names, by its declaration; on another machine only with consent."""
        entry = self.document["database"]
        require_consent(data, f"the data of {self.name}")
        declared = self.folder / entry["declared"] if "declared" in entry else None
        return scan_database(from_folder(data, self.folder), declared, mend=entry.get("mend", False))

    @property
    def limits(self) -> dict[str, float]:
        """What is asked of the release, by the names of scores."""
        asked = self.document.get("thresholds", {})
        return {n: float(v) for n, v in asked.items() if n != _ACCEPTED}

    @property
    def accepted(self) -> str:
        """Why it may leave although a limit is missed, and who says so."""
        return str(self.document.get("thresholds", {}).get(_ACCEPTED, "")).strip()

    def parted(self, database: Database) -> tuple[Database, Database | None]:
        """Whom the release is made of, and whom attacks are compared with: held back, or in other tables."""
        asked = self.document.get("assess", {})
        if "control" in asked:
            return database, self._tables(asked["control"])
        if "hold_back" not in asked:
            return database, None
        return held_back(database, asked["hold_back"], Key.fresh())

    def judged(self, database: Database, made: DatabaseRelease, control: Database | None) -> Assessment:
        """The release held against the limits."""
        codes = self.document.get("codes", {})
        return assess_database(
            database, made, control=control, thresholds=self.limits, hierarchies=codes.get("hierarchies"),
            codes=codes.get("codes"), columns=codes.get("columns"),
            known=self.document.get("assess", {}).get("known"),
        )  # fmt: skip

    def release(self, database: Database) -> DatabaseRelease:
        """What it asks for, made of these tables."""
        from sfumato.anonymization.database import anonymize_database
        from sfumato.criteria import KMAnonymity
        from sfumato.pseudonyms import pseudonymize

        if "codes" in self.document:
            asked = dict(self.document["codes"])
            criterion = KMAnonymity(asked.pop("k"), asked.pop("m", 2))
            made = anonymize_database(database, criterion, **asked)
        elif "synthesis" in self.document:
            made = synthesized_people(Step(PEOPLE, self.document["synthesis"]), database)
        else:
            asked = dict(self.document.get("pseudonyms", {}))
            if "key" in asked:
                asked["key"] = self.folder / asked["key"]
            made = pseudonymize(database, **asked)
        return replace(made, draft=self.draft)


def is_database_plan(path: str | Path) -> bool:
    """Whether a plan is one for linked tables; a file that cannot be read is left to who reads plans."""
    try:
        return "database" in tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path.name} cannot be read: {error.strerror}.", hint="give a TOML file") from None
    except (ValueError, RecursionError):
        raise PlanError(f"{path.name} is not valid TOML.", hint="see docs/database.md") from None


def _faults(document: Mapping[str, Any]) -> list[str]:
    faults = [f"unknown table [{n}]" for n in document if n not in (*_KEYS, "thresholds", "sfumato_plan")]
    if document.get("sfumato_plan", VERSION) != VERSION:
        faults.append(f"sfumato_plan is not {VERSION}: for a later format, upgrade Sfumato")
    for name, keys in _KEYS.items():
        entry = document.get(name, {})
        if not isinstance(entry, dict):
            faults.append(f"[{name}] must be a table")
            continue
        faults += [f"[{name}]: unknown setting '{n}'" for n in entry if n not in keys]
        faults += [
            f"[{name}]: {n} is of the wrong kind"
            for n, kind in keys.items()
            if n in entry and (not isinstance(entry[n], kind) or (kind is int and isinstance(entry[n], bool)))
        ]
    if not isinstance(document.get("database"), dict) or "data" not in document["database"]:
        faults.append("[database]: data is not given")
    if "codes" in document and "pseudonyms" in document:
        faults.append("[codes] brings its own pseudonyms: leave out [pseudonyms]")
    if "synthesis" in document and {"codes", "pseudonyms"} & set(document):
        faults.append("[synthesis] stands alone: leave out [codes] and [pseudonyms]")
    if "codes" in document and "k" not in document["codes"]:
        faults.append("[codes]: k is not given")
    return faults + _synthesis_faults(document) + _asked_faults(document)


def _synthesis_faults(document: Mapping[str, Any]) -> list[str]:
    """What the method says of its settings."""
    from sfumato.methods.names import find

    asked = document.get("synthesis")
    own = fields_of(find(PEOPLE))
    if not isinstance(asked, dict):
        return []
    return [
        f"[synthesis]: {'.'.join(map(str, at))} {words}"
        for name, value in asked.items()
        if name in own
        for at, words in own[name].parameter.shape.faults(value, (name,))
    ]


def _asked_faults(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with the limits, and with whom attacks are compared."""
    faults = []
    limits = document.get("thresholds", {})
    if not isinstance(limits, dict):
        return ["[thresholds] must be a table"]
    if not isinstance(limits.get(_ACCEPTED, ""), str):
        faults.append(f"[thresholds]: {_ACCEPTED} must be text")
    numbers = {n: v for n, v in limits.items() if n != _ACCEPTED}
    faults += [
        f"[thresholds]: the limit of '{n}' must be a number from 0 to 1"
        for n, v in numbers.items()
        if isinstance(v, bool) or not isinstance(v, int | float) or not 0 <= v <= 1
    ]
    asked = document.get("assess", {})
    held = asked.get("hold_back", 0.1) if isinstance(asked, dict) else 0.1
    if isinstance(held, bool) or (
        isinstance(held, int | float) and not (0 < held < 1 or held == int(held) > 0)
    ):
        faults.append("[assess]: hold_back must be a share below 1, or how many persons")
    if isinstance(asked, dict) and {"control", "hold_back"} <= set(asked):
        faults.append("[assess]: control and hold_back: keep one of them")
    known = asked.get("known", 1) if isinstance(asked, dict) else 1
    if isinstance(known, int) and not isinstance(known, bool) and known < 1:
        faults.append("[assess]: known must be from 1")
    return faults


# -- running ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DatabaseRun:
    """What came of a run. passed: whether every limit is met, or that it is not was accepted."""

    out: Path
    release: DatabaseRelease
    assessment: Assessment
    accepted: str = ""

    @property
    def passed(self) -> bool:
        """Whether the release may leave, as far as its limits go."""
        return self.assessment.met or bool(self.accepted)


def held_back(database: Database, wanted: float, key: Key) -> tuple[Database, Database]:
    """Persons drawn at random and kept out of the release, with all their rows. wanted: a share, or many."""
    persons = database.check().people.count
    many = round(wanted * persons) if wanted < 1 else int(wanted)
    if not 2 <= many <= persons - 2:
        raise PlanError(
            f"hold_back asks for {many:,} of {persons:,} persons.",
            hint="a share such as 0.1, or another number",
        )
    held = np.zeros(persons, np.bool_)
    held[key.generator("held back").choice(persons, many, replace=False)] = True
    return database.only(~held), database.only(held)


def run_database(plan: DatabasePlan, out: str | Path, *, overwrite: bool = False) -> DatabaseRun:
    """Do what a plan says, and write the release with its reports: whole or not at all."""
    from sfumato.plan.database_determination import determination_page

    out = Path(out)
    DatabaseRelease.require_place(out, overwrite=overwrite)
    form = plan.document.get("outputs", {}).get("determination")
    said = Said.read(plan.folder / form) if form else None
    database, control = plan.parted(plan.database())
    made = plan.release(database)
    found = plan.judged(database, made, control)
    missed = [] if found.met or plan.accepted else ["a limit is missed, or was not examined"]
    made = replace(made, draft="; ".join([*([made.draft] if made.draft else []), *missed]))
    if made.internal is not None:
        extra = {**made.internal.extra, "assessment": json.loads(json.dumps(found.to_dict()))}
        made = replace(made, internal=replace(made.internal, extra=extra))

    def reports(folder: Path) -> None:
        found.save(folder / "report.html")
        found.save(folder / "report.json")
        if said is not None:
            determination_page(plan, said, database, made, found).save(folder / "determination.html")

    made.save(out, overwrite=overwrite, reports=reports)
    return DatabaseRun(out, made, found, "" if found.met else plan.accepted)
