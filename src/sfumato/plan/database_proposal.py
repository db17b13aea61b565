"""A plan for linked tables, proposed from what was found in them: every line a guess to be reviewed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sfumato.database import Database
from sfumato.errors import SfumatoError
from sfumato.io.addresses import is_url, local_path, with_relative_file, without_secrets
from sfumato.io.databases import scan_database
from sfumato.io.declarations import DECLARATION, database_toml
from sfumato.plan.holdback import suggested
from sfumato.plan.limits import AGREEMENT, GAIN
from sfumato.schema import Kind, Role

_M = 2
_FEW, _NEARLY_ALL = 20, 0.95  # codes that say which dictionary they are of, and their share in it


def propose_database(data: str, folder: Path) -> tuple[Database, str, str]:
    """The database as it was found, its declaration, and a plan that runs as it is."""
    database = scan_database(data, check=False)
    codes = {
        f"{n}.{c.name}": found
        for n, t in database.tables.items()
        for c in t.schema
        if database.route(n) and (found := _dictionary(database, n, c.name))
    }
    quasi = [
        c for c in database[database.root].schema.of_role(Role.QUASI_IDENTIFIER)
        if database[database.root].schema[c].kind is not Kind.DATE
    ]  # fmt: skip
    faults = any(d.fatal for d in database.differences)
    text = _plan_text(_relative(data, folder), codes, quasi, _concepts(database), _persons(database), faults)
    return database, database_toml(database), text


def _concepts(database: Database) -> list[str]:
    """The concepts of a CDM that say what somebody has or got: numbers, of which no dictionary is asked."""
    return [
        f"{name}.{column}"
        for name, table in database.tables.items()
        if database.form.startswith("omop") and database.route(name)
        for column in table.schema.of_role(Role.SENSITIVE)
        if column.casefold().endswith("_concept_id") and table.schema[column].kind is Kind.NOMINAL
    ]


def _persons(database: Database) -> int:
    """How many persons there are, if the keys hold."""
    return 0 if any(d.fatal for d in database.differences) else database.people.count


def _relative(data: str, folder: Path) -> str:
    import os

    if is_url(data) and local_path(data) is None:
        return with_relative_file(without_secrets(data)[0], lambda path: os.path.relpath(path, folder))
    path = Path(data)
    return os.path.relpath(path, folder) if path.exists() and not path.is_absolute() else data


def _dictionary(database: Database, table: str, column: str) -> str:
    """The dictionary that nearly all values in the head of a column are of; nothing if there is none."""
    from sfumato.hierarchy import Icd9, Icd10
    from sfumato.hierarchy.classifications import UNKNOWN

    described = database[table].schema[column]
    if described.type != "text" or column in database.key_columns[table]:
        return ""
    values = {v for v in database[table].select([column]).head(2_000).column(0).to_pylist() if v}
    parts = (
        {p.strip() for v in values for p in v.split(described.separator)}
        if described.kind is Kind.CODES
        else values
    )
    if len(parts) < _FEW:
        return ""
    shares = {}
    for name, recipe in (("icd9", Icd9(chapters=True)), ("icd10", Icd10(chapters=True))):
        try:
            rows = recipe.over(sorted(parts)).rows()
        except SfumatoError:
            continue
        shares[name] = sum(UNKNOWN not in row for row in rows) / len(parts)
    best = max(shares, key=lambda name: shares[name], default="")
    return best if shares.get(best, 0.0) >= _NEARLY_ALL else ""


def _plan_text(
    data: str, codes: Mapping[str, str], quasi: list[str], concepts: list[str], persons: int, faults: bool
) -> str:
    mend = "# Its keys do not hold. This leaves out rows without a person, and empties ids of no row:"
    lines = [
        "# A plan for linked tables. Every line is a guess to be reviewed; database.toml says what was "
        "found.",
        "", "[database]", f"data = {json.dumps(data)}", f'declared = "{DECLARATION}"',
        *([mend, "# mend = true"] if faults else []), "",
    ]  # fmt: skip
    if codes:
        lines += [
            "# Any m codes of a person, with these columns, fit at least k persons.",
            "[codes]", "k = 5", f"m = {_M}", f"columns = {json.dumps(quasi)}", "", "[codes.hierarchies]",
            *(f"{json.dumps(place)} = {json.dumps(name)}" for place, name in codes.items()), "",
            "# Instead of [codes]: keys and dates only, which is not anonymous.",
            "# [pseudonyms]", "# shift_dates = 365", '# coarsen_dates = "week"', "",
        ]  # fmt: skip
    else:
        lines += ["# Not anonymous: codes and gaps remain.", "[pseudonyms]", 'coarsen_dates = "week"', ""]
    if concepts and not codes:
        lines += [
            "# Instead of [pseudonyms]: any m of these concepts of a person, with columns, fit k persons.",
            "# [codes]", "# k = 5", f"# m = {_M}", f"# codes = {json.dumps(concepts)}",
            f"# columns = {json.dumps(quasi)}", "",
        ]  # fmt: skip
    held = suggested(persons)
    source = next(limit for limit in AGREEMENT.limits if limit.name == GAIN)
    lines += [
        "# Attacks are compared with people who are not in the release: some are held back beforehand.",
        "[assess]",
        f"hold_back = {held}" if held is not None else "# hold_back = 0.1   # too few persons to spare any",
        "# The verdict takes it that an intruder knows at most so many things of a person; all, without it.",
        f"known = {_M}" if codes else f"# known = {_M}",
        "",
        f"# For {AGREEMENT.words}. {source.source}.",
        "[thresholds]",
        f"risk = {source.value}",
        '# accepted = "why it may leave although a limit is missed, and who says so"',
        "",
    ]
    return "\n".join([*lines, "[review]", 'by = ""', 'on = ""', ""])
