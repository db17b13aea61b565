"""The record of an analysis: a page that an output checker turns over, and the same as JSON."""

from __future__ import annotations

import json
import math
import shutil
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import OutputError
from sfumato.io.atomic import atomic_directory
from sfumato.io.formulas import marked

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.checked.analysis import Analysis
    from sfumato.checked.outputs import CheckedOutput

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: #222; }
header, section, nav.list { max-width: 70em; margin: 0 auto; padding: 1em 2em; }
.internal { background: #8b1a1a; color: #fff; padding: .5em 2em; font-weight: 600; margin: 0; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ccc; padding: .15em .6em; text-align: right; } th { text-align: left; }
td.gone { background: #eee; color: #777; }
.verdict { font-weight: 700; padding: .1em .6em; border-radius: .3em; }
.pass { background: #d7efd7; } .review { background: #f7e6b5; } .refused { background: #f3c9c7; }
section { border-top: 1px solid #ccc; } dt { font-weight: 600; } dd { margin: 0 0 .6em; }
body:has(section:target) section:not(:target), body:has(section:target) nav.list { display: none; }
@media print { body section, body nav.list { display: block !important; break-after: page; } }
"""
_SIGN = "withheld"
_FORMAT = "sfumato analysis 1"
_RECORD, _PAGE = "analysis.json", "review.html"
_PASSED, _TO_REVIEW, _HELD = "outputs", "to-review", "held"


def require_record_place(folder: Path, *, overwrite: bool) -> None:
    """`overwrite` replaces an earlier record; never a folder of something else, nor what lies beside one."""
    there = {path.name for path in folder.iterdir()} if overwrite and folder.is_dir() else set()
    if not there:
        return
    try:
        known = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("format") != _FORMAT:
        raise OutputError(
            f"'{folder.name}' is there and is no record of an analysis.", hint="choose a new folder"
        )
    if there - {_RECORD, _PAGE, _PASSED, _TO_REVIEW, _HELD}:
        raise OutputError(f"'{folder.name}' holds more than a record.", hint="move the rest away first")


def write_record(analysis: Analysis, folder: Path, *, overwrite: bool) -> Path:
    """Write outputs and record to a folder, all or nothing."""
    require_record_place(folder, overwrite=overwrite)
    with atomic_directory(folder, overwrite) as draft:
        written: dict[str, list[str]] = {}
        for output in analysis.outputs.values():
            written[output.name] = _write_output(output, draft)
        text = json.dumps(_as_json(analysis, written), indent=2, ensure_ascii=False, default=str)
        (draft / _RECORD).write_text(text, encoding="utf-8")
        (draft / _PAGE).write_text(as_page(analysis), encoding="utf-8")
    return folder


def _write_output(output: CheckedOutput, draft: Path) -> list[str]:
    if not output.leaves and not output.exception:
        return []
    place = draft / {"pass": _PASSED, "review": _TO_REVIEW, "refused": _HELD}[output.verdict]
    place.mkdir(exist_ok=True)
    names = []
    for i, frame in enumerate(output.frames):
        name = f"{output.name}.{i}.csv" if len(output.frames) > 1 else f"{output.name}.csv"
        _as_text(frame).to_csv(place / name, encoding="utf-8")
        names.append(f"{place.name}/{name}")
    for file in output.files:
        name = f"{output.name}.{Path(file).name}"  # names have no dot: no two outputs write one file
        shutil.copyfile(file, place / name)
        names.append(f"{place.name}/{name}")
    return names


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with labels and text that no spreadsheet runs as a formula."""
    safe = frame.copy()
    safe.index, safe.columns = _labels(frame.index), _labels(frame.columns)
    for at, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":  # what is no number or time
            safe.isetitem(at, [_mark(x) for x in frame.iloc[:, at]])
    return safe


def _labels(labels: pd.Index) -> pd.Index:
    import pandas as pd

    if isinstance(labels, pd.MultiIndex):
        rows = [tuple(map(_mark, row)) for row in labels]
        many: pd.Index = pd.MultiIndex.from_tuples(rows, names=list(map(_mark, labels.names)))
        return many
    one: pd.Index = pd.Index([_mark(x) for x in labels], name=_mark(labels.name))
    return one


def _mark(value: object) -> object:
    """Text as a spreadsheet leaves it alone (labels of other kinds too, as they are written as text)."""
    import pandas as pd

    if (
        value is None
        or isinstance(value, bool | int | float)
        or (pd.api.types.is_scalar(value) and pd.isna(value))  # type: ignore[call-overload]
    ):
        return value
    import pyarrow as pa

    text = str(value)
    safe = marked(pa.array([text], pa.string()))[0].as_py()
    return value if safe == text else safe


def _as_json(analysis: Analysis, written: dict[str, list[str]]) -> dict[str, Any]:
    from importlib.metadata import version

    limits = analysis.limits
    return {
        "format": _FORMAT,
        "version": version("sfumato"),
        "limits": {
            "threshold": limits.threshold, "freedom": limits.freedom, "zeros": limits.zeros,
            "missing": limits.missing, "base": limits.base,
            "dominance": [limits.dominance.n, limits.dominance.k], "percent": limits.percent.p,
        },
        "results": {
            o.name: {
                "status": o.verdict, "type": o.kind, "command": o.command, "files": written[o.name],
                "summary": [*o.reasons, *o.found], "comments": o.comments, "exception": o.exception,
                "timestamp": o.when,
                "properties": {k: v for k, v in o.facts.items() if k != "rows"},
            }
            for o in analysis.outputs.values()
        },
    }  # fmt: skip


def as_text(analysis: Analysis) -> str:
    """All outputs in words."""
    parts = []
    for o in analysis.outputs.values():
        said = [f"{o.name}: {o.verdict}", *o.reasons, *o.found, *(f"Comment: {c}" for c in o.comments)]
        said += [f"Exception asked for: {o.exception}"] if o.exception else []
        parts.append("\n  ".join([*said, *(f"\n{f.to_string(na_rep=_SIGN)}" for f in o.frames)]))
    return "\n\n".join(parts)


def as_page(analysis: Analysis) -> str:
    """One file: a list of outputs with their verdicts, then each on a page of its own."""
    outputs = list(analysis.outputs.values())
    counted = {v: sum(o.verdict == v for o in outputs) for v in ("refused", "review", "pass")}
    asked = sum(bool(o.exception) for o in outputs)
    head = (
        f"{len(outputs)} outputs: {counted['refused']} refused, {counted['review']} to be looked at, "
        f"{counted['pass']} passed; {asked} exceptions asked for. Numbers about fewer than "
        f"{analysis.limits.threshold} people do not leave; all tables were judged together."
    )
    order = sorted(outputs, key=lambda o: ("refused", "review", "pass").index(o.verdict))
    rows = "".join(
        f"<tr><td><a href='#{escape(o.name)}'>{escape(o.name)}</a></td><td>{escape(o.kind)}</td>"
        f"<td>{_badge(o)}</td><td>{escape(' '.join([*o.found, *o.reasons]))}</td></tr>"
        for o in order
    )
    pages = "".join(_page(o, order, i) for i, o in enumerate(order))
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Outputs to be checked</title>"
        f"<style>{_STYLE}</style><p class='internal'>For the output checker: this page does not leave.</p>"
        f"<header><h1>Outputs to be checked</h1><p>{escape(head)}</p></header><nav class='list'><table>"
        f"<tr><th>output</th><th>kind</th><th>verdict</th><th>why</th></tr>{rows}</table></nav>{pages}</html>"
    )


def _badge(output: CheckedOutput) -> str:
    return f"<span class='verdict {output.verdict}'>{output.verdict}</span>"


def _page(output: CheckedOutput, order: list[CheckedOutput], at: int) -> str:
    links = ["<a href='#'>all outputs</a>"]
    if at:
        links.append(f"<a href='#{escape(order[at - 1].name)}'>previous</a>")
    if at + 1 < len(order):
        links.append(f"<a href='#{escape(order[at + 1].name)}'>next</a>")
    facts = [
        ("Why", " ".join([*output.found, *output.reasons])),
        ("Asked for", output.command),
        ("Analyst's comments", " ".join(output.comments)),
        ("Exception asked for", output.exception),
        ("Files", ", ".join(Path(f).name for f in output.files)),
    ]
    said = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts if v)
    tables = "".join(_table(frame) for frame in output.frames)
    return (
        f"<section id='{escape(output.name)}'><p>{' · '.join(links)}</p><h2>{escape(output.name)} "
        f"{_badge(output)}</h2><dl>{said}</dl>{tables}</section>"
    )


def _table(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(_said(label))}</th>" for label in ("", *frame.columns))
    body = []
    for label, row in zip(frame.index, frame.to_numpy(dtype=object), strict=True):
        cells = "".join(_cell(value) for value in row)
        body.append(f"<tr><th>{escape(_said(label))}</th>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def _said(label: object) -> str:
    return " · ".join(str(p) for p in label) if isinstance(label, tuple) else str(label)


def _cell(value: object) -> str:
    import pandas as pd

    if pd.isna(value):  # type: ignore[call-overload]
        return f"<td class='gone'>{_SIGN}</td>"
    if isinstance(value, float) and math.isfinite(value):
        return f"<td>{value:g}</td>" if value != int(value) else f"<td>{int(value)}</td>"
    return f"<td>{escape(str(value))}</td>"
