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
epsilon = 1.0                      # a promise to persons: domains, bounds and the period must be public
[synthesis.max_children]
stays = 12

[budget]
ledger = "people.ledger"           # what pays for it; sfumato ledger new starts one

[assess]
hold_back = 0.1                    # persons that attacks are compared with; or control = "other-hospital"
known = 2                          # things of one kind that an intruder knows at most; all if it is not there

[thresholds]
risk = 0.2
accepted = ""                      # why it may leave although a limit is missed, and who says so

[outputs]
determination = "form.toml"
language = "de"                    # of report, card and determination; English if it is not there

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
from sfumato.io.addresses import from_folder, noted, require_consent
from sfumato.io.databases import scan_database
from sfumato.languages import ENGLISH, LANGUAGES
from sfumato.plan.database_signature import draft_of
from sfumato.plan.people import as_trusted, people_kept, require_paid
from sfumato.plan.production import PEOPLE, synthesized_people
from sfumato.plan.spec import VERSION
from sfumato.plan.step import Step, fields_of
from sfumato.plan.workplace import workplace
from sfumato.privacy import Ledger
from sfumato.privacy.together import judged_on_data
from sfumato.release import DatabaseRelease
from sfumato.release.people import people_of
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
    "synthesis": dict.fromkeys(
        ("persons", "epsilon", "delta", "max_children", "period", "declared_persons"), object
    ),
    "budget": {"ledger": str},
    "assess": {"control": str, "hold_back": (int, float), "known": int},
    "outputs": {"determination": str, "language": str},
    "review": {"by": str, "on": object, "digest": str},
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
        return draft_of(self.document, self.folder)

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

    @property
    def language(self) -> str | None:
        """Of report, card and determination."""
        return self.document.get("outputs", {}).get("language")  # type: ignore[no-any-return]

    @property
    def ledger(self) -> Ledger | None:
        """What pays for the noise, if it is named."""
        name = self.document.get("budget", {}).get("ledger")
        if name is not None:
            require_consent(name, f"the ledger of {self.name}")
        return None if name is None else Ledger.open(from_folder(name, self.folder))

    @property
    def synthesis(self) -> Step:
        """The step that draws persons."""
        return Step(PEOPLE, self.document["synthesis"])

    def parted(self, database: Database, key: Key | None = None) -> tuple[Database, Database | None]:
        """Whom the release is made of, and whom attacks are compared with: held back, or in other tables.

        key: what decides who is held back; a fresh one if none is given.
        """
        asked = self.document.get("assess", {})
        if "control" in asked:
            return database, self._tables(asked["control"])
        if "hold_back" not in asked:
            return database, None
        return held_back(database, asked["hold_back"], key or Key.fresh())

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
            made = synthesized_people(self.synthesis, as_trusted(database, None))
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
    if "budget" in document and "synthesis" not in document:
        faults.append("[budget] pays for [synthesis] with an epsilon, and there is none")
    elif "budget" in document and "ledger" not in document["budget"]:
        faults.append("[budget]: ledger is not given")
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
    outputs = document.get("outputs", {})
    if isinstance(outputs, dict) and outputs.get("language", ENGLISH) not in list(LANGUAGES):
        faults.append(f"[outputs]: language must be one of {', '.join(LANGUAGES)}")
    asked = document.get("assess", {})
    held = asked.get("hold_back", 0.1) if isinstance(asked, dict) else 0.1
    if isinstance(held, bool) or (
        isinstance(held, int | float) and not (0 < held < 1 or held == int(held) > 0)
    ):
        faults.append("[assess]: hold_back must be a share below 1, or how many persons")
    if isinstance(asked, dict) and {"control", "hold_back"} <= set(asked):
        faults.append("[assess]: control and hold_back: keep one of them")
    drawn = document.get("synthesis", {})
    if (
        all(isinstance(d, dict) for d in (asked, drawn))
        and "hold_back" in asked
        and "declared_persons" in drawn
    ):
        faults.append(
            "[synthesis]: declared_persons is the number of all persons, and hold_back leaves some out: "
            "keep one of them"
        )
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
    """Persons drawn at random and kept out of the release, with all their rows. wanted: a share, or many.

    What a promise to persons needs: with one person more, those who are kept differ by one at most. Of a
    share, everybody has a coin of their own, so by that person alone. A share of all, rounded, would now and
    then put one person more aside, and exchange one who is kept for another. Of a number m, n - m of n
    are kept, each such set as likely: of n + 1, sets with the further person are one of n - m and them,
    those without are one of n - m and one more.
    """
    persons = database.check().people.count
    drawn = key.generator("held back")
    held = drawn.random(persons) < wanted
    if wanted >= 1:
        held = np.zeros(persons, np.bool_)
        held[drawn.choice(persons, min(int(wanted), persons), replace=False)] = True
    if not 2 <= held.sum() <= persons - 2:
        raise PlanError(
            f"hold_back leaves {held.sum():,} of {persons:,} persons out.",
            hint="a share such as 0.1, or another number",
        )
    return database.only(~held), database.only(held)


def run_database(
    plan: DatabasePlan, out: str | Path, *, overwrite: bool = False, spend_again: bool = False,
    other_people: bool = False, language: str | None = None,
) -> DatabaseRun:  # fmt: skip
    """Do what a plan says, and write the release with its reports: whole or not at all.

    spend_again: noise that a stopped run had begun to draw may be drawn, and paid for, again. other_people:
    nobody in the data was paid for before, by another ledger. language: in place of the plan's.
    """
    out = Path(out)
    DatabaseRelease.require_place(out, overwrite=overwrite)
    form = plan.document.get("outputs", {}).get("determination")
    said = Said.read(plan.folder / form) if form else None
    ledger = plan.ledger
    if ledger is None:
        database, control = plan.parted(plan.database())
        return _finished(plan, plan.release(database), database, control, out, said, overwrite, language)
    whole = as_trusted(plan.database(), ledger)
    require_paid(plan.synthesis, whole)
    source = noted(from_folder(plan.document["database"]["data"], plan.folder))
    ledger.pay_for(source, people_of(whole[whole.root]), other_people=other_people)
    with workplace(out) as place:
        database, control = plan.parted(whole, place.split_key)
        folder = people_kept(place, plan.synthesis, database, ledger, again=spend_again)
        made = replace(DatabaseRelease.load(folder), draft=plan.draft)
        done = _finished(plan, made, database, control, out, said, overwrite, language)
        place.remove()
    return done


def _finished(
    plan: DatabasePlan, made: DatabaseRelease, database: Database, control: Database | None, out: Path,
    said: Said | None, overwrite: bool, language: str | None,
) -> DatabaseRun:  # fmt: skip
    """The release judged, and written with its reports."""
    from sfumato.plan.database_determination import determination_page

    found = plan.judged(database, made, control)
    missed = [] if found.met or plan.accepted else ["a limit is missed, or was not examined"]
    made = replace(made, draft="; ".join([*([made.draft] if made.draft else []), *missed]))
    if plan.limits and not plan.accepted:
        made = replace(made, guarantee=judged_on_data(made.guarantee, found.met))
    if made.internal is not None:
        extra = {**made.internal.extra, "assessment": json.loads(json.dumps(found.to_dict()))}
        made = replace(made, internal=replace(made.internal, extra=extra))

    def reports(folder: Path) -> None:
        found.save(folder / "report.html")
        found.save(folder / "report.json")
        if said is not None:
            determination_page(plan, said, database, made, found).save(folder / "determination.html")

    made.save(out, overwrite=overwrite, reports=reports, language=language or plan.language)
    return DatabaseRun(out, made, found, "" if found.met else plan.accepted)
