"""A plan for linked tables: `[database]` in place of `[input]`, and what is done with keys, dates and codes.

[database]
data = "hospital"                  # a folder, a DuckDB file, a database URL
declared = "database.toml"         # tables, keys, links and what the columns mean

[pseudonyms]
shift_dates = 365
coarsen_dates = "week"

[codes]                            # instead of [pseudonyms]: k^m-anonymity
k = 5
m = 2
columns = ["sex", "age_band"]
[codes.hierarchies]
"diagnoses.code" = "icd9"

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

from sfumato.assessment.database import DatabaseAssessment, assess_database
from sfumato.database import Database
from sfumato.errors import PlanError, SfumatoError, listed
from sfumato.io.addresses import from_folder
from sfumato.io.databases import DECLARATION, database_toml, scan_database
from sfumato.methods.shapes import as_day
from sfumato.release import DatabaseRelease
from sfumato.schema import Kind, Role

_KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "database": {"data": str, "declared": str},
    "pseudonyms": {
        "shift_dates": int, "coarsen_dates": str, "integers": int,
        "drop": list, "keep_text": bool, "key": str,
    },
    "codes": {"k": int, "m": int, "columns": list, "codes": list, "hierarchies": dict},
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
        entry = self.document["database"]
        declared = self.folder / entry["declared"] if "declared" in entry else None
        return scan_database(from_folder(entry["data"], self.folder), declared)

    def release(self, database: Database) -> DatabaseRelease:
        """What it asks for, made of these tables."""
        from sfumato.anonymization.database import anonymize_database
        from sfumato.criteria import KMAnonymity
        from sfumato.pseudonyms import pseudonymize

        if "codes" in self.document:
            asked = dict(self.document["codes"])
            criterion = KMAnonymity(asked.pop("k"), asked.pop("m", 2))
            made = anonymize_database(database, criterion, **asked)
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
    faults = [f"unknown table [{n}]" for n in document if n not in _KEYS and n != "sfumato_plan"]
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
    if "codes" in document and "k" not in document["codes"]:
        faults.append("[codes]: k is not given")
    return faults


# -- running ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DatabaseRun:
    """What came of a run."""

    out: Path
    release: DatabaseRelease
    assessment: DatabaseAssessment


def run_database(plan: DatabasePlan, out: str | Path, *, overwrite: bool = False) -> DatabaseRun:
    """Do what a plan says, and write the release with its assessment: whole or not at all."""
    out = Path(out)
    DatabaseRelease.require_place(out, overwrite=overwrite)
    database = plan.database()
    made = plan.release(database)
    found = assess_database(database, made.data)
    if made.internal is not None:
        extra = {**made.internal.extra, "assessment": json.loads(json.dumps(found.to_dict()))}
        made = replace(made, internal=replace(made.internal, extra=extra))
    made.save(out, overwrite=overwrite)
    return DatabaseRun(out, made, found)


# -- proposing -------------------------------------------------------------------------------------


def propose_database(data: str, folder: Path) -> tuple[Database, str, str]:
    """The database as it was found, its declaration, and a plan that runs as it is."""
    database = scan_database(data, check=False)
    codes = {
        f"{n}.{c.name}": "icd9"
        for n, t in database.tables.items()
        for c in t.schema
        if database.route(n) and _seems_icd9(database, n, c.name)
    }
    quasi = [
        c for c in database[database.root].schema.of_role(Role.QUASI_IDENTIFIER)
        if database[database.root].schema[c].kind is not Kind.DATE
    ]  # fmt: skip
    return database, database_toml(database), _plan_text(_relative(data, folder), codes, quasi)


def _relative(data: str, folder: Path) -> str:
    import os

    path = Path(data)
    return os.path.relpath(path, folder) if path.exists() and not path.is_absolute() else data


def _seems_icd9(database: Database, table: str, column: str) -> bool:
    """Whether nearly all values in the head of a column are in ICD-9-CM."""
    from sfumato.hierarchy import Icd9

    described = database[table].schema[column]
    if described.type != "text" or column in database.key_columns[table]:
        return False
    values = {v for v in database[table].select([column]).head(2_000).column(0).to_pylist() if v}
    parts = (
        {p.strip() for v in values for p in v.split(described.separator)}
        if described.kind is Kind.CODES
        else values
    )
    if len(parts) < 20:
        return False
    try:
        Icd9(chapters=True).over(sorted(parts))
    except SfumatoError as error:
        return 0 < len(error.values) < 0.05 * len(parts)
    return True


def _plan_text(data: str, codes: Mapping[str, str], quasi: list[str]) -> str:
    lines = [
        "# A plan for linked tables. Every line is a guess to be reviewed; database.toml says what was "
        "found.",
        "", "[database]", f"data = {json.dumps(data)}", f'declared = "{DECLARATION}"', "",
    ]  # fmt: skip
    if codes:
        lines += [
            "# Any m codes of a person, with these columns, fit at least k persons.",
            "[codes]", "k = 5", "m = 2", f"columns = {json.dumps(quasi)}", "", "[codes.hierarchies]",
            *(f"{json.dumps(place)} = {json.dumps(name)}" for place, name in codes.items()), "",
            "# Instead of [codes]: keys and dates only, which is not anonymous.",
            "# [pseudonyms]", "# shift_dates = 365", '# coarsen_dates = "week"', "",
        ]  # fmt: skip
    else:
        lines += ["# Not anonymous: codes and gaps remain.", "[pseudonyms]", 'coarsen_dates = "week"', ""]
    return "\n".join([*lines, "[review]", 'by = ""', 'on = ""', ""])


def listed_links(database: Database) -> str:
    """The links and why they were found, for a terminal."""
    return listed([f"{k} ({k.reason or 'declared'})" for k in database.links], 20) or "no links were found"
