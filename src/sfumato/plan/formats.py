"""Plans of format 1: what their words mean in format 2, and how one is written anew.

A plan of format 1 is refused, never read with another meaning: some of its words are still there and mean
something else now (`epsilon` of pegs was that of each row, and is that of the whole release).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from sfumato.errors import PlanError
from sfumato.io.atomic import write_text
from sfumato.methods.shapes import Fault

OLD, NEW = 1, 2
_ANONYMIZE = (
    "optimal", "local", "mondrian", "datafly", "greedy", "partition", "resample", "dither", "centroid"
)  # fmt: skip
_PER_ROW = {"epsilon": "epsilon_per_row", "total": "epsilon"}
_LUGS = ("log_l", "cap", "hashes", "floor", "burn_in", "thin", "length", "reach", "columns", "weight")


def renamed(entry: Mapping[str, Any]) -> dict[str, str]:
    """{old: new} of the words of a step of format 1 that are called otherwise now; a dot enters a table."""
    method = entry.get("method")
    words: dict[str, str] = {}
    if method in ("pegs", "pmi"):
        words |= _PER_ROW
    if method in _ANONYMIZE:
        words["columns"] = "quasi_identifiers"
    words["within"] = "constraints.within"
    if method == "lugs" and "partitions" in entry:
        words |= {name: f"lugs.{name}" for name in _LUGS} | {"within": "lugs.constraints.within"}
    return {old: new for old, new in words.items() if old in entry}


def said_now(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a step of format 1 meant without saying it, where the usual value is another now."""
    usual = {"greedy": ("loss", "loss"), "partition": ("loss", "loss"), "imputation": ("engine", "trees")}
    name, value = usual.get(str(entry.get("method")), ("", None))
    return {name: value} if name and name not in entry else {}


def left_out(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Words of a step of format 1 that meant nothing: datafly took a share of 0 for none given."""
    unset = entry.get("method") == "datafly" and entry.get("max_suppressed") == 0
    return ("max_suppressed",) if unset else ()


def refusing(document: Mapping[str, Any]) -> bool:
    """Whether a plan of format 1 meant, without saying it, that nothing is written if a limit is missed."""
    limited = bool(document.get("thresholds") or document.get("aggregates"))
    outputs = document.get("outputs", {})
    return limited and isinstance(outputs, Mapping) and "unmet" not in outputs


def earlier_format(document: Mapping[str, Any]) -> Iterator[Fault]:
    """What has to be changed in a plan of format 1; nothing in others."""
    if document.get("sfumato_plan") != OLD or isinstance(document.get("sfumato_plan"), bool):
        return
    yield ("sfumato_plan",), f"is {OLD}, an earlier format: some words mean something else now, write {NEW}"
    if refusing(document):
        yield ("outputs",), "meant unmet = 'refuse', which has to be said now"
    steps = document.get("steps")
    for i, entry in enumerate(steps if isinstance(steps, list) else []):
        if not isinstance(entry, Mapping):
            continue
        for old, new in renamed(entry).items():
            yield ("steps", i, old), f"is called {new} now"
        if entry.get("method") == "lugs" and "partitions" in entry:
            yield ("steps", i, "method"), "is called plugs now, where there are partitions"
        for name, value in said_now(entry).items():
            yield ("steps", i), f"meant {name} = '{value}', which has to be said now"
        for name in left_out(entry):
            yield ("steps", i, name), "meant that nothing is said, and has to be left out now"


def upgrade(path: Path, out: Path | None = None) -> Path:
    """Write the plan of a file in the present format: in its place, or to `out`, which must not be there."""
    try:
        text = path.read_bytes().decode("utf-8")
        after = upgraded(text)
    except FileNotFoundError:
        raise PlanError(f"no plan {path.name}.", hint="give a TOML file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise PlanError(f"{path.name} cannot be read as TOML.", hint="correct it first") from None
    return write_text(out or path, after, overwrite=out is None, private=True)


def upgraded(text: str) -> str:
    """The text of a plan of format 1 in format 2, unsigned; comments stay where the lines can be changed.

    It means what the old one meant. What it was signed for is gone: a person looks at it again.
    """
    document = tomllib.loads(text)
    if document.get("sfumato_plan") != OLD:
        raise PlanError("this is not a plan of format 1.", hint="nothing has to be changed")
    meant = _upgraded(document)
    written = _by_lines(text, document)
    try:
        same = tomllib.loads(written) == meant
    except tomllib.TOMLDecodeError:
        same = False
    return written if same else tomli_w.dumps(meant)


def _upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    out = {k: v for k, v in document.items() if k != "review"}
    out["sfumato_plan"] = NEW
    if refusing(document):
        out["outputs"] = {"unmet": "refuse", **document.get("outputs", {})}
    if "steps" in out:
        out["steps"] = [_step(entry) for entry in out["steps"]]
    return out


def _step(entry: Mapping[str, Any]) -> dict[str, Any]:
    words = renamed(entry)
    out: dict[str, Any] = {}
    for name, value in {**entry, **said_now(entry)}.items():
        if name in left_out(entry):
            continue
        *tables, last = words.get(name, name).split(".")
        place: dict[str, Any] = out
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    if out.get("method") == "lugs" and "partitions" in entry:
        out["method"] = "plugs"
    return out


def _by_lines(text: str, document: Mapping[str, Any]) -> str:
    """Line by line: the version, the words of each step, and without the review."""
    lines = text.split("\n")
    out, table, step = [], "", -1
    for line in lines:
        header = re.fullmatch(r"\s*(\[\[?)\s*([\w.\-\"]+)\s*\]\]?\s*(#.*)?", line)
        if header:
            table = header[2]
            step += table == "steps" and header[1] == "[["
        if table == "review":
            continue
        entry = document.get("steps", [{}])[step] if table == "steps" and step >= 0 else {}
        out.append(_line(line, table, entry))
        if header and table == "outputs" and refusing(document):
            out.append('unmet = "refuse"')
    if refusing(document) and "outputs" not in document:
        out += ["[outputs]", 'unmet = "refuse"', ""]
    return "\n".join(out)


def _line(line: str, table: str, entry: Mapping[str, Any]) -> str:
    key = re.match(r"(\s*)([\w\-]+)(\s*=)", line)
    if not key:
        return line
    name, rest = key[2], line[key.end(2) :]
    if table == "steps" and name in left_out(entry):
        return f"# {line}   # meant nothing in format 1"
    if table == "steps" and name == "method" and said_now(entry):
        added = "\n".join(f'{key[1]}{n} = "{v}"' for n, v in said_now(entry).items())
        return f"{line}\n{added}"
    if not table and name == "sfumato_plan":
        return re.sub(r"=\s*1\b", f"= {NEW}", line, count=1)
    if table == "steps" and name == "method" and entry.get("method") == "lugs" and "partitions" in entry:
        return line.replace("lugs", "plugs", 1)
    new = renamed(entry).get(name, name) if table == "steps" else name
    return f"{key[1]}{new}{rest}"
