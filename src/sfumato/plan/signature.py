"""A person signs a plan: name, day, and a digest of what was signed, written into the plan's own text."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

from sfumato.errors import ParameterError, PlanError, listed
from sfumato.io.atomic import write_text
from sfumato.plan.lines import statements
from sfumato.plan.plan import Plan
from sfumato.plan.proposal_text import value

_UNREVIEWED = re.compile(r"(\breviewed\s*=\s*)false\b")
_HEADER = re.compile(r"\s*\[\s*review\s*\]\s*(#.*)?")
_ENTRY = re.compile(r"\s*(by|on|digest)\s*=")


def sign(path: str | Path, name: str, *, on: date | None = None, all_reviewed: bool = False) -> Plan:
    """Sign a plan, and give back the plan as it is then.

    all_reviewed: the signer has looked at every guess; otherwise a plan with guesses nobody has looked at is
        refused.
    """
    path = Path(path)
    after = signed(Plan.read(path), name, on=on, all_reviewed=all_reviewed)
    write_text(path, after.text, overwrite=True, private=False)
    return after


def signed(plan: Plan, name: str, *, on: date | None = None, all_reviewed: bool = False) -> Plan:
    """The plan as it is when a person has signed it; its `text` is the file to keep. Writes nothing."""
    name = " ".join(name.split())
    if not name or not name.isprintable():
        raise ParameterError(
            "a signature is the name of a person.", hint='--name "A. Miller, privacy officer"'
        )
    open_ = plan.unreviewed
    if open_ and not all_reviewed:
        raise PlanError(
            f"{len(open_)} guess{'es' * (len(open_) > 1)} about columns {'are' if len(open_) > 1 else 'is'} "
            f"not reviewed: {listed([repr(n) for n in open_])}.",
            hint="set reviewed = true where you agree, or say --all if you have looked at every one of them",
        )
    text = plan.text.replace("\r\n", "\n")
    if open_:
        text = _reviewed(text, set(open_))
    text = with_review(text, name, on or date.today(), plan.digest)
    after = Plan.from_toml(text, folder=plan.folder, name=plan.name)
    if after.draft or after.digest != plan.digest:
        raise PlanError(
            f"{plan.name} is written in a way that cannot be signed by the program.",
            hint="set reviewed = true, and by and on under [review], by hand",
        )
    return after


def _reviewed(text: str, names: set[str]) -> str:
    """`reviewed = false` of these columns made true; nothing else is touched."""
    lines = text.split("\n")
    table: tuple[str, ...] = ()
    for number, statement in statements(text):
        end = number + statement.count("\n")
        if statement.startswith("["):
            found = tomllib.loads(statement)
            table = ("columns",) if "columns" in found else ()
            inner = found.get("columns") or {}
            table += tuple(inner) if isinstance(inner, dict) else ()
            continue
        if table[:1] != ("columns",):
            continue
        keys = set(table[1:]) or set(tomllib.loads(statement))
        if keys & names:
            for i in range(number - 1, end):
                lines[i] = _UNREVIEWED.sub(r"\1true", lines[i])
    return "\n".join(lines)


def with_review(text: str, name: str, on: date, digest: str) -> str:
    """The text with the signature under [review]; comments stay where they are."""
    wanted = {"by": value(name), "on": on.isoformat(), "digest": value(digest)}
    out: list[str] = []
    inside = False
    seen = False
    for line in text.split("\n"):
        if _HEADER.fullmatch(line):
            inside = seen = True
            out.append(line)
            out += [f"{key} = {entry}" for key, entry in wanted.items()]
            continue
        if inside and line.lstrip().startswith("["):
            inside = False
        if inside and _ENTRY.match(line):
            continue
        out.append(line)
    if not seen:
        out += ["", "[review]", *(f"{key} = {entry}" for key, entry in wanted.items()), ""]
    return "\n".join(out)
