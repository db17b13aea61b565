"""A determination file: what a run says beside what a person says, for who decides that a file may leave.

The person writes a TOML file: whom the data go to, under which terms, what the recipient may know, where
each threshold comes from, what risk is left, and signs it. The numbers come from the report of an assessment
and from the release; nobody types them. What is not filled in is shown as open, and the page is a draft
until it is.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.languages import Verbatim, say
from sfumato.privacy import Guarantee
from sfumato.report.contents import Block, DataTable, Promises, Section, Verdict
from sfumato.report.page import Page
from sfumato.report.words import number

# Key, heading, and what belongs there: the words of the template.
FIELDS = (
    ("data", "The data", "What they are, of whom, from when, how they were collected, how many people."),
    ("purpose", "The purpose", "What the recipient will do with them, and why less would not do."),
    ("recipient", "The recipient", "Who gets them, and who else can reach them there."),
    ("context", "The context", "Contract, controls, what happens after a breach; or: published to all."),
    ("knowledge", "What the recipient may know", "Which columns, from which sources; why not others."),
    ("residual_risk", "The risk that is left", "After the numbers: who could still be found, and how."),
    ("limits", "Limits", "Until when this holds, what would end it (another release), who looks again."),
)
SIGNATURE = (("name", "name"), ("role", "role"), ("date", "date"))
_OPEN = "(open)"


def template() -> str:
    """The TOML file to fill in; what is asked is in the language that is spoken now."""
    lines = [f"# {say('What a person says beside the numbers. Every text may run over several lines.')}", ""]
    for key, title, words in FIELDS:
        lines += [f"# {say(title)}. {say(words)}", f'{key} = """"""', ""]
    lines += [
        f"# {say('Where each threshold comes from: its name as in the report, and its source.')}",
        "[thresholds]",
        f'# "risk" = "{say("policy of the institution, section 4")}"',
        "",
        f"# {say('Who decides. The page is a draft until all of it is there.')}",
        "[signature]",
        *(f'{key} = ""' for key, _ in SIGNATURE),
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Said:
    """What the person wrote, checked: all faults at once."""

    texts: Mapping[str, str]
    sources: Mapping[str, str]
    signature: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> Said:
        """From the TOML file."""
        path = Path(path)
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"no file {path.name}.", hint="sfumato determination new writes one") from None
        except (OSError, UnicodeDecodeError):
            raise DataError(f"{path.name} cannot be read.", hint="a TOML file in UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise DataError(f"{path.name} is no TOML: {error}.", hint="correct the file") from None
        texts = {key for key, *_ in FIELDS}
        faults = [
            f"{key!r} is not asked for" for key in document if key not in {*texts, "thresholds", "signature"}
        ]
        faults += [f"{key!r} must be text" for key in texts if not isinstance(document.get(key, ""), str)]
        tables = {}
        for name in ("thresholds", "signature"):
            table = document.get(name, {})
            if not isinstance(table, dict) or any(isinstance(v, dict | list) for v in table.values()):
                faults.append(f"[{name}] holds texts")
                table = {}
            tables[name] = {str(k): str(v).strip() for k, v in table.items()}
        if faults:
            raise DataError(
                f"{path.name}: {'; '.join(faults)}.", hint="sfumato determination new shows the form"
            )
        written = {key: str(document.get(key, "")).strip() for key in texts}
        return cls(written, tables["thresholds"], tables["signature"])

    @property
    def missing(self) -> list[str]:
        """What is still open."""
        texts = [title for key, title, _ in FIELDS if not self.texts.get(key)]
        return texts + [f"signature: {title}" for key, title in SIGNATURE if not self.signature.get(key)]


def determination(
    said: Said,
    found: Mapping[str, Any],
    facts: Mapping[str, Section] | None = None,
    open_too: Sequence[str] = (),
) -> Page:
    """The page. found: what `sfumato assess --report report.json` wrote.

    facts: what a run says of itself, by the key of the field it stands below. open_too: what else is open.
    """
    facts = facts or {}
    limits = [(str(t["name"]), _line(t), t["outcome"]) for t in found["thresholds"]]
    open_ = said.missing + [f"source of the threshold '{n}'" for n, *_ in limits if not said.sources.get(n)]
    open_ += open_too
    unseen = len(found["not_examined"])
    verdict = Verdict(
        [line for _, line, outcome in limits if outcome == "met"],
        [line for _, line, outcome in limits if outcome not in ("met", "undecided")],
        [f"{unseen} parts, listed under {FIELDS[-1][1]}"] if unseen else [],
        undecided=[line for _, line, outcome in limits if outcome == "undecided"],
        because=str(found.get("because") or ""),
    )
    sections = [Section("What was asked, and what came out", _opening(open_), [verdict])]
    sections += [_written(said, key, title, facts.get(key)) for key, title, _ in FIELDS[:5]]
    rows = [(line, _own(said.sources.get(name))) for name, line, _ in limits]
    head = ("threshold and result", "source")
    sourced = [DataTable(head, rows, "Thresholds", words=(0, 1))] if rows else []
    sections.append(Section("Thresholds and their sources", () if rows else "None was set.", sourced))
    sections += [_promised(found), Section("What was measured", _MEASURED, _tables(found["scores"]))]
    sections += [_written(said, key, title, facts.get(key)) for key, title, _ in FIELDS[5:]]
    sections[-1] = replace(sections[-1], blocks=(*sections[-1].blocks, *_not_examined(found)))
    signed = [*((title, _own(said.signature.get(key))) for key, title in SIGNATURE), ("signature", "")]
    decides = DataTable(("of", "who decides"), signed, "Signed by", words=(0, 1))
    sections.append(Section("Decision", (), [decides]))
    rows_ = found["rows"]
    unit = found.get("unit", "rows")
    stamp = f"{rows_['original']:,} {unit} of the original against {rows_['released']:,} of the release."
    return Page(f"{'DRAFT: ' if open_ else ''}Determination", stamp, sections)


_MEASURED = (
    "Risks and attacks, with intervals where they were estimated. The control is the same attack on people "
    "who are not in the data; only what lies above it is due to the release."
)


def _opening(open_: list[str]) -> str:
    if open_:
        return f"A draft. Still open: {'; '.join(open_)}."
    return "The numbers are those of the report; the judgement is that of the person who signed."


def _written(said: Said, key: str, title: str, fact: Section | None) -> Section:
    written = said.texts.get(key)
    words = [Verbatim(p.strip()) for p in written.split("\n\n")] if written else [_OPEN]
    return Section(title, [*words, *(fact.prose if fact else ())], fact.blocks if fact else ())


def _own(written: str | None) -> str:
    """What a person wrote, as it is; that it is open, if nothing was written."""
    return Verbatim(written) if written else _OPEN


def _line(threshold: Mapping[str, Any]) -> str:
    """A threshold with what was measured."""
    value = threshold.get("value")
    measured = (
        "not examined" if value is None else f"{number(value)} ({threshold.get('score') or 'measured'})"
    )
    return f"{threshold['name']}, limit {number(threshold['limit'])}: {measured}"


def _promised(found: Mapping[str, Any]) -> Section:
    if found.get("guarantee") is None:
        return Section("What was promised", "A plain file: it promises nothing by itself.")
    promises = Promises(Guarantee.from_json(json.dumps(found["guarantee"])))
    return Section("What was promised", "The release says this of itself.", [promises])


def _not_examined(found: Mapping[str, Any]) -> list[Block]:
    """What nobody looked at: a long list, which would push everything else off the first sheet."""
    rows = [tuple(str(part).partition(": ")[::2]) for part in found["not_examined"]]
    return [DataTable(("part", "why"), rows, "Not examined", words=(0, 1))] if rows else []


_MEASURES = ("measure", "of", "value", "interval", "control", "about")


def _tables(scores: Sequence[Mapping[str, Any]]) -> list[Block]:
    """One line for each score; what a measure is about is said once, not again for every column."""
    out: list[Block] = []
    for section, caption in (("risk", "What the release gives away"), ("attack", "Attacks")):
        families: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for score in scores:
            if score["section"] == section:
                measure, column = _parted(score)
                families.setdefault(measure, []).append((column, score))
        rows = []
        for measure, found in families.items():
            said: set[str] = set()
            for column, score in found:
                words = _about(score)
                alike = words.replace(f"'{column}'", "")  # but for the column's name
                rows.append((
                    "" if said else measure, column, *_cells(score), "" if alike in said else words,
                ))  # fmt: skip
                said.add(alike)
        out += [_without_empty_columns(rows, caption)] if rows else []
    return out


def _parted(score: Mapping[str, Any]) -> tuple[str, str]:
    """A measure's name, and the column that it looks at, if the name ends with it."""
    name, last = str(score["name"]), str((score["columns"] or [""])[-1])
    return (name.removesuffix(f", {last}"), last) if last and name.endswith(f", {last}") else (name, "")


def _without_empty_columns(rows: Sequence[tuple[str, ...]], caption: str) -> DataTable:
    used = [k for k in range(len(_MEASURES)) if any(row[k] for row in rows)]
    words = [place for place, k in enumerate(used) if _MEASURES[k] != "of"]
    cells = [tuple(row[k] for k in used) for row in rows]
    return DataTable([_MEASURES[k] for k in used], cells, caption, words=words)


def _about(score: Mapping[str, Any]) -> str:
    return str(score["knowledge"] or score["meaning"])


def _cells(score: Mapping[str, Any]) -> tuple[str, str, str]:
    interval = "" if score["low"] is None else f"{number(score['low'])} to {number(score['high'])}"
    return number(score["value"]), interval, "" if score["control"] is None else number(score["control"])


def read_report(path: str | Path) -> dict[str, Any]:
    """What was measured: the report of an assessment or of a run, as JSON; or the folder of a release."""
    path = Path(path)
    file = path / "internal" / "report.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        missing = "holds no internal/report.json" if path.is_dir() else "is not there"
        raise DataError(f"{path.name or path} {missing}.", hint=_WRITTEN_BY) from None
    except (OSError, ValueError, RecursionError):
        raise DataError(f"{path.name or path} is not a report in JSON.", hint=_WRITTEN_BY) from None
    if isinstance(document, dict) and "sfumato_report" in document:
        if "assessment" not in document:
            raise DataError(f"{path.name or path} holds no assessment.", hint=_WRITTEN_BY)
        document = document["assessment"]
    if not isinstance(document, dict) or not set(document) >= _PARTS:
        raise DataError(f"{path.name or path} is not an assessment.", hint=_WRITTEN_BY)
    return document


_PARTS = {"sfumato_assessment", "thresholds", "not_examined", "rows", "scores"}
_WRITTEN_BY = (
    "sfumato assess ... --report report.json; of a run, with 'json' among [outputs] reports of the plan, and "
    "no skip in [assess]"
)
