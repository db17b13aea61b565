"""Every table and entry of a plan, once: the check, the JSON Schema and the page in docs/ follow from it."""

from __future__ import annotations

import json
from typing import Any

from sfumato.languages import LANGUAGES
from sfumato.methods.declaration import Does
from sfumato.methods.names import MethodTable
from sfumato.methods.shapes import Day, Flag, ListOf, Number, Record, TableOf, Tagged, Text, described
from sfumato.plan.limits import ACCEPTED, RECIPIENT, RECIPIENTS
from sfumato.plan.recipes import HIERARCHY
from sfumato.plan.step import entry_of
from sfumato.schema import Role

VERSION = 2
RELEASING = (Does.GENERALIZE, Does.EXCHANGE, Does.SYNTHESIZE, Does.REPLACE)
NAME = "plan.schema.json"
_FORMATS = ("parquet", "csv", "csv.gz", "xlsx", "sav", "zsav", "dta", "xpt", "arrow", "feather")

COLUMN = Record(
    {
        "role": Text("What the column can do to a person.", tuple(Role)),
        "hierarchy": HIERARCHY,
        "max_level": Number("How far it may be generalized; 0 not at all.", 0, whole=True),
        "weight": Number("How much it counts in the loss.", 0),
        "drop": Flag("Leave it out."),
        "top": Number("Larger numbers are written as this one."),
        "bottom": Number("Smaller numbers are written as this one."),
        "reviewed": Flag("Whether a person has looked at this guess."),
    },
    "What happens to a column. The role counts before that of the schema.",
)

PLAN = Record(
    {
        "sfumato_plan": Number(f"The version of the format: {VERSION}.", VERSION, VERSION, whole=True),
        "title": Text("What this release is, for its card.", empty=True),
        "review": Record(
            {
                "by": Text("Who has looked at every guess and stands for it.", empty=True),
                "on": Day("When."),
                "digest": Text("Of the plan as it was signed, written by sfumato sign.", empty=True),
            },
            "The signature. Without it the release and its report are stamped DRAFT.",
        ),
        "input": Record(
            {
                "data": Text("A file, a pattern, or a database URL; from the plan's folder."),
                "schema": Text("What the columns mean: a TOML file."),
                "separator": Text("Between cells.", (",", ";", "|", "\t")),
                "decimal": Text("In numbers.", (".", ",")),
                "encoding": Text("Such as utf-8, cp1252, latin-1."),
                "dates": Text("Order of dates.", ("YMD", "DMY", "MDY")),
                "missing": ListOf(Text(empty=True), "Cells that stand for missing."),
                "header": Number(
                    "The line (of a sheet: the row) with the names, from 1; 0: no names.", 0, whole=True
                ),
                "units": Flag("Whether the row below the names holds units, and is skipped."),
                "table": Text("Of a database: a table, or a SELECT."),
                "sheet": Text("Of a workbook."),
                "memory_limit": Text("What counting may use before it spills to disk, as 4GB."),
            },
            "Where the data is, and how it is read.",
            ("data", "schema"),
        ),
        "columns": TableOf(
            COLUMN, "What happens to each column; columns that are not named keep their role."
        ),
        "prepare": Record(
            {
                "redundant": Text("Columns that say what another says.", ("report", "drop", "ignore")),
                "target": Text("What the data is for: columns are held against it."),
                "least_information": Number(
                    "Drop columns that tell less about the target than so many times a shuffled column.", 0
                ),
                "keep_text": Flag("Keep free text, which may name people."),
            },
            "Before the steps.",
        ),
        "domains": Record(
            {
                "columns": ListOf(Text(), "The columns."),
                "epsilon": Number("For each column.", 0.001, 100),
                "delta": Number("For each column with levels.", 1e-15, 0.001),
                "other": Text("The level that values are read as which are not found."),
                "bins": Number("Of numbers and days, at most.", 1, 1000, whole=True),
                "grid": ListOf(Number(), "Public marks that numbers are counted between."),
                "max_rows_per_person": Number("A public number: rows that count.", 1, 1000, whole=True),
                "rows": Flag("Promise to rows, though there is a column of persons."),
            },
            "Domains to be found in the data before the steps, with a part of the budget.",
            ("columns",),
        ),
        "steps": ListOf(
            Tagged(
                "method",
                MethodTable(entry_of, *RELEASING),
                {
                    "name": Text("What the step is called."),
                    "of": Text(
                        "What it works on: 'input', or the name of an earlier step; by default the one "
                        "before."
                    ),
                },
            ),
            "What is done, one after the other. What no later step works on is released.",
            least=1,
        ),
        "tables": ListOf(
            Tagged(
                "method",
                MethodTable(entry_of, Does.TABULATE),
                {"name": Text("What the tables are called.")},
            ),
            "Tables to publish, of everybody in the input; each entry is a release, all protected together.",
            least=1,
        ),
        "budget": Record(
            {
                "ledger": Text("What was spent on this data: a file, or a PostgreSQL address."),
                "epsilon": Number("The budget a new ledger starts with.", 0, 1000, above=True),
                "rho": Number("The same in zCDP, which also pays for (epsilon, delta).", 0, 1000, above=True),
                "delta": Number("What mechanisms with a chance of failure may add up to.", 0, 0.1),
            },
            "What may be spent on this data in all runs together.",
            ("ledger",),
        ),
        "register": Record(
            {"folder": Text("Keeps who was in which class; must not leave.")},
            "Earlier releases of the same people, which this one is held against.",
            ("folder",),
        ),
        "assess": Record(
            {
                "skip": Flag("Release without looking at what it gives away."),
                "effort": Text("How hard.", ("quick", "normal", "thorough")),
                "target": Text("What models predict, trained on the release."),
                "control": Text("A file of people who are not in the data, same columns."),
                "hold_back": Number(
                    "People that are held back before the release is made, as its control: a share below 1, "
                    "or how many (rows, where no column says whose they are).",
                    0,
                    above=True,
                ),
                "population": Number("How many people the data is a sample of.", 1, whole=True),
                "weight": Text("The survey weight."),
            },
            "How the release is judged.",
        ),
        "aggregates": ListOf(
            Record(
                {
                    "by": ListOf(Text(), "The columns that name a group.", least=1),
                    "value": Text("The column whose aggregates are to be published."),
                    "statistic": Text("What is published of it.", ("mean", "sum", "mean_log")),
                    "tolerance": Number(
                        "A guess within this share of the true value is a success.", 0, above=True
                    ),
                    "max_risk": Number("How much better than guess and control an intruder may be.", 0, 1),
                    "fewest": Number("Smaller groups are to be coarsened.", 1, whole=True),
                    "most": Number("The share of groups that may have to be coarsened; by default 0.", 0, 1),
                },
                required=("by", "value"),
            ),
            "Aggregates to be published beside the release: LUDIA tries to reconstruct people from them.",
        ),
        "thresholds": TableOf(
            Number(),
            "Limits by the name of a score; 'risk' for all attacks, 'utility' for all of utility.",
            {
                RECIPIENT: Text("Who receives the file, for whom the limits are.", tuple(RECIPIENTS)),
                ACCEPTED: Text("Why a release that misses a limit may leave all the same, and who says so."),
            },
        ),
        "drift": Record(
            {
                "unknown": Text("Codes that were not there before.", ("stop", "report")),
                "notable": Number("Total variation from which a column is said to have moved.", 0, 1),
                "most": Number("Total variation from which the run stops.", 0, 1),
            },
            "How new data is held against an earlier release.",
        ),
        "outputs": Record(
            {
                "format": Text("Of the data.", _FORMATS),
                "reports": ListOf(Text("", ("html", "md", "json")), "Formats of the internal report."),
                "language": Text("Of the report, the card and the determination.", tuple(LANGUAGES)),
                "determination": Text(
                    "The form that sfumato determination new writes: its page goes with it."
                ),
                "unmet": Text(
                    "What happens if a limit is missed and nobody accepts it: a draft is written, or "
                    "nothing. 'mark' is an earlier word for 'draft'.",
                    ("draft", "refuse", "mark"),
                ),
            },
            "What is written.",
        ),
    },
    "One run of Sfumato, from a file to a release.",
    ("sfumato_plan", "input"),
)


def json_schema() -> dict[str, Any]:
    """What a plan may hold, as JSON Schema, for editors."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Sfumato plan",
        **described(PLAN),
    }


def json_schema_text() -> str:
    """The same as the file that is published."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
