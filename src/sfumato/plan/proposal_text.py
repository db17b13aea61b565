"""The words of a proposed plan and schema: comments say why, and what a person has to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from sfumato.languages import ENGLISH, current
from sfumato.plan.limits import GAIN, LARGEST_RISK, SMALLEST_CLASS, Limit, Recipient
from sfumato.plan.spec import NAME, VERSION
from sfumato.schema import Column, Kind, Role, Schema

_KNOWN = 6  # quasi-identifiers up to which a closer look at the release takes minutes and not hours
_SEARCHED = 2_000  # nodes of the lattice up to which the best of them is looked for
_LARGE = 3_000_000  # cells from which on groups are formed by cutting, which is quick
WORK = 100_000  # moves of local recoding: seconds, and most of what is to be gained
GENERALIZING = ("local", "optimal", "mondrian")
_IN_THE_SCHEMA = ("levels read off", "edges suggested")  # said there, where the levels are
_SCHEMA_HEAD = """\
# What the columns mean, as sfumato init took them. Levels and edges were read off the data and may hold
# values of single persons: keep this file as safe as the data. Methods with an epsilon wait until levels and
# edges come from elsewhere: a public list, a person who answers for them, or a part of the budget.

"""

_HEAD = """\
#:schema ./{name}
# Written by sfumato init. Everything below is a guess until a person has looked at it: set `reviewed = true`
# column by column, then sign (sfumato sign plan.toml --name "..."). Until then each release is stamped DRAFT.
# Reasons may hold counts of the data: keep this file as safe as the data.
#
#   sfumato plan check plan.toml           every fault of the plan, with its line
#   sfumato run plan.toml --out release    as it stands: {promise}, and a report beside it
#   sfumato run plan.toml --input next.csv --previous release --out next

sfumato_plan = {version}
title = ""                   # what this release is; it stands on the card that goes with it

[review]
by = ""                      # who has looked at every guess below
on = ""                      # when, as 2026-03-01

"""

_STEPS = """\
# What is done, one after the other. docs/plan.md lists the methods; others than below:
#
#   [[steps]]                # "local": as general as each group must be; "optimal": one level per column,
#   method = "optimal"       # the best there is; "mondrian": groups of rows, quick with many columns
#   k = {k}
#
#   [[steps]]                # new rows under one promise of differential privacy; waits for public domains
#   method = "private"
#   epsilon = 1.0
[[steps]]
{step}
[prepare]
redundant = "report"         # or "drop": columns that say what another one says
{keep_text}
[assess]
effort = "{effort}"           # quick, normal or thorough
{hold_back}# target = "..."             # what models predict: trained on the release, tried on the data
# control = "..."            # or, instead of hold_back, a file of people who are not in the data

# Limits for who receives the file: "public", or someone under "agreement" (k = 5, a largest risk of 0.2). The
# numbers do not follow by themselves: change them with the recipient. A release that misses one is written as
# a DRAFT, with exit code 1, unless somebody says here why it is accepted.
[thresholds]
recipient = "{recipient}"
{limits}# utility = 0.8              # no score of the whole table below this
# accepted = "why it may leave although a limit is missed, and who says so"

# [register]                 # earlier releases of the same people: together they must not give them away
# folder = "register"

[outputs]
format = "parquet"
reports = ["html", "json"]   # to read, and for sfumato determination fill
unmet = "draft"              # what comes of a missed limit: a "draft", or nothing at all ("refuse")
# determination = "determination.toml"  # a form (sfumato determination new), printed with the numbers
"""

_GROUPS: tuple[tuple[str, Callable[[Guess], bool]], ...] = (
    ("They name a person or a record, or say which rows are one person's: never released as they are.",
     lambda g: g.column.role in (Role.IDENTIFIER, Role.PERSON)),
    ("Left out: nothing is in them, or too much. Take `drop` away to keep one.", lambda g: bool(g.drop)),
    ("Others may know them of a person (quasi-identifiers): made more general.",
     lambda g: g.column.role is Role.QUASI_IDENTIFIER),
    ("Somebody would like to know them (sensitive): released as they are, unless you say otherwise.",
     lambda g: g.column.role is Role.SENSITIVE),
    ("Free text: left out, it names people.", lambda g: g.column.kind is Kind.TEXT),
    ("The others. A sensitive or identifying column under a name that says nothing lands here: look twice.",
     lambda g: True),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """For whom the file is, and what follows: limits, k, and how many people are held back (None: nobody)."""

    recipient: Recipient
    limits: tuple[Limit, ...]
    k: int
    hold_back: float | int | None


@dataclass(frozen=True)
class Guess:
    """What is proposed for one column, and why. goes_with: the column whose hierarchy it is a level of."""

    column: Column
    hierarchy: str | dict[str, Any] | None = None
    drop: str = ""
    top: float | None = None
    because: str = ""
    goes_with: str = ""


@dataclass(frozen=True)
class ProposedStep:
    """The step that releases. settings: those that were asked for; the others are chosen.

    diverse: sensitive columns that every class should have two values of. nodes: how many ways there are to
    choose a level for each quasi-identifier.
    """

    settings: Mapping[str, Any]
    diverse: tuple[str, ...]
    nodes: int
    keep_text: bool = False


def plan_text(
    guesses: Sequence[Guess],
    data: str,
    schema: str,
    options: Mapping[str, Any],
    asked: Asked,
    rows: int,
    step: ProposedStep,
    reading: str = "",
) -> str:
    """The plan as a person reads it. reading: how a file was read."""
    persons = any(g.column.role is Role.PERSON for g in guesses)
    known = sum(g.column.role is Role.QUASI_IDENTIFIER and not g.drop for g in guesses)
    large = rows * len(guesses) > 500_000 or len(guesses) > 30 or known > _KNOWN
    k = asked.k
    parts = [
        _HEAD.format(name=NAME, version=VERSION, promise=_promise(step, k)),
        *_input(data, schema, options, reading),
        *_columns(guesses),
        _STEPS.format(
            k=k,
            step=_step(step, k, known, rows, "persons" if persons else "rows"),
            keep_text="keep_text = true             # asked for; it may name people\n" * step.keep_text,
            effort="quick" if large else "normal",
            hold_back=_hold_back(asked.hold_back),
            recipient=asked.recipient.name,
            limits="".join(map(_limit, asked.limits)),
        ),
        *_language(),
    ]
    return "".join(parts)


def _language() -> list[str]:
    """The last entry of [outputs]: the language that is spoken, so that the plan's pages stay in it."""
    words = "of the report, the card and the determination"
    return [] if current() == ENGLISH else [_with_comment(f'language = "{current()}"', words)]


def _promise(step: ProposedStep, k: int) -> str:
    drawn = synthesizes(step.settings["method"]) if "method" in step.settings else False
    return "synthetic rows" if drawn else f"{k}-anonymous"


def _step(step: ProposedStep, k: int, known: int, rows: int, unit: str) -> str:
    """The entries of the step, each with what it means."""
    from sfumato.methods.requests import ASKING

    given = {n: v for n, v in step.settings.items() if n != "k"}
    large = rows * known > _LARGE and step.nodes > _SEARCHED
    method = given.pop("method", None) or ("mondrian" if large else "local")
    if synthesizes(method):
        entries = [("method", method, ""), *((name, v, "") for name, v in given.items())]
        return "".join(_with_comment(f"{name} = {value(v)}", words) for name, v, words in entries)
    asked = bool(set(ASKING) & set(given))  # what was asked for is all that is asked
    entries = [("method", method, "")]
    if "k" in step.settings or not asked:
        shared = f"every combination of quasi-identifiers is shared by {k} {unit} or more"
        entries.append(("k", k, shared))
    if method in GENERALIZING and "max_suppressed" not in given:
        rest = "up to this share of the rows may have * in all of them instead"
        entries.append(("max_suppressed", 0.05, rest))
    if method == "local" and not {"work_limit", "time_limit"} & set(given):
        entries.append(("work_limit", WORK, "moves of the search: the same result on every machine"))
    entries += [(name, v, "") for name, v in given.items()]
    if step.diverse and not asked:
        why = "a class whose rows all say the same gives it away, whatever k is"
        entries.append(("l", dict.fromkeys(step.diverse, 2), why))
    return "".join(_with_comment(f"{name} = {value(v)}", words) for name, v, words in entries)


def synthesizes(method: str) -> bool:
    """Whether a method draws new rows."""
    from sfumato.methods.declaration import Does, declaration_of
    from sfumato.methods.names import find

    return declaration_of(find(method)).does is Does.SYNTHESIZE


def _with_comment(entry: str, words: str) -> str:
    if not words:
        return f"{entry}\n"
    return f"{entry:<29}# {words}\n" if len(entry) < 29 else f"# {words[:1].upper()}{words[1:]}.\n{entry}\n"


def _hold_back(share: float | int | None) -> str:
    words = "people kept out of the release: attacks on it are compared with them (not on Spark: control)"
    if share is None:
        few = "too few here for a control: "
        return f"# hold_back = 0.1            # {few}{words}\n"
    return f"{f'hold_back = {share}':<29}# {words}\n"


def _limit(limit: Limit) -> str:
    meaning = {
        SMALLEST_CLASS: "How many share a combination of quasi-identifiers, at least",
        LARGEST_RISK: "The largest prosecutor risk",
        GAIN: "What an attack gains over people outside the data, or over a guess",
    }[limit.name]
    return f"# {meaning} ({limit.source}).\n{_key(limit.name)} = {limit.value:g}\n"


def schema_text(schema: Schema) -> str:
    """The schema with a word of caution."""
    return _SCHEMA_HEAD + schema.to_toml()


def _input(data: str, schema: str, options: Mapping[str, Any], reading: str) -> Iterator[str]:
    if reading:
        yield f"# Read with {_one_line(reading)}. Found by looking; options such as header = 3 overrule it.\n"
    yield f"[input]\ndata = {value(data)}\nschema = {value(schema)}\n"
    yield from (f"{name} = {value(given)}\n" for name, given in options.items())
    yield "\n"


def _columns(guesses: Sequence[Guess]) -> Iterator[str]:
    yield "# What happens to each column, and why it was taken for what it is.\n[columns]\n"
    left = list(guesses)
    for words, belongs in _GROUPS:
        here = [g for g in left if belongs(g)]
        left = [g for g in left if not belongs(g)]
        if not here:
            continue
        yield f"\n# -- {words}\n\n"
        for guess in here:
            yield from _entry(guess)
    yield "\n"


def _entry(guess: Guess) -> Iterator[str]:
    column = guess.column
    read = [part for part in column.reason.split("; ") if not part.startswith(_IN_THE_SCHEMA)]
    why = "; ".join(part for part in (*read, guess.drop, guess.because) if part)
    if guess.top is not None:
        why += f"; cut off at {guess.top:g}, as HIPAA's Safe Harbor asks"
    gone = bool(guess.drop) or column.kind is Kind.TEXT
    parts = ["drop = true"] if gone else [f"role = {value(str(column.role))}"]
    if guess.hierarchy is not None and not gone:
        parts.append(f"hierarchy = {value(guess.hierarchy)}")
    if guess.top is not None:
        parts.append(f"top = {value(guess.top)}")
    sure = f", {column.confidence}" if column.confidence else ""
    yield f"# {_one_line(f'{column.kind}{sure}: {why}' if why else str(column.kind))}\n"
    yield f"{_key(column.name)} = {{ {', '.join(parts)}, reviewed = false }}\n"


def entry_line(name: str, role: Role, hierarchy: object) -> str:
    """The line of a column in the plan, as it would stand there in another role."""
    return f"{_key(name)} = {{ role = {value(str(role))}, hierarchy = {value(hierarchy)}, reviewed = false }}"


def _one_line(text: str) -> str:
    """Comments end with their line and hold no control signs."""
    return "".join(c if c.isprintable() else " " for c in text)


def _key(name: str) -> str:
    """A column's name as a key of TOML."""
    return tomli_w.dumps({name: 1}).rpartition(" = ")[0]


def value(given: object) -> str:
    """A value of TOML on one line."""
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {value(v)}" for k, v in given.items()) + " }"
    if isinstance(given, list | tuple):
        return "[" + ", ".join(value(v) for v in given) + "]"
    return tomli_w.dumps({"x": given}).partition(" = ")[2].strip()
