"""A page as one HTML file that loads nothing: readable on any screen, on paper, by ear and by keyboard.

Figures are SVG drawn at build time. The only script is our own small one for tooltips; the page allows
itself exactly that script and that style (by hash) and no request at all, whatever stands in the data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import count
from typing import Any

from sfumato.languages import ENGLISH, current, say, tried
from sfumato.privacy.base import Claim
from sfumato.report.contents import (
    Block,
    Cell,
    Contents,
    DataTable,
    Figure,
    Promises,
    ScoreTable,
    Section,
    Verdict,
)
from sfumato.report.palette import swaps, variables
from sfumato.report.pictures import said_spec
from sfumato.report.scores import scores_html
from sfumato.report.svg import draw
from sfumato.report.verdict import verdict_html
from sfumato.report.words import INTERNAL, MOST_ROWS, ON_PAPER, clean, said_cell

_LEAVE = "computed from the original data; must not leave the house"
# For languages of longer words than English has.
_LONGER = (
    "h1,h2,h3,p,td,th,li,caption{hyphens:auto}.limits .outcome{width:11rem}\n"
    "@media (max-width:40rem){.limits tr{grid-template-columns:1fr}.limits .outcome{grid-row:auto}}\n"
)


def to_html(page: Contents) -> str:
    """The page as HTML text; the same page gives the same bytes."""
    style, script = _style(page), _script()
    internal = page.audience == "internal"
    title = f"{say(INTERNAL)}: {say(page.title)}" if internal else say(page.title)
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    policy += "; form-action 'none'"
    numbers = count(1)
    named = [(f"section-{i}", section) for i, section in enumerate(page.sections, 1)]
    decided = bool(page.sections[0].first)
    parts = [
        f'<!DOCTYPE html>\n<html lang="{current()}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">\n<meta name="robots" content="noindex">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_bare(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
        f'<a class="skip" href="#main">{_("Skip to the report")}</a>',
        *(_marks() if internal else ()),
        f'<div class="wrap">\n<header class="top">\n<h1>{_(page.title)}</h1>',
        f'<p class="stamp">{_(page.stamp)}</p>' if page.stamp else "",
        "</header>",
        *(() if decided else _contents(named)),
        '<main id="main" tabindex="-1">',
        *_section(*named[0], numbers),
        *(_contents(named) if decided else ()),  # the verdict is read before the way around
        *(part for identity, section in named[1:] for part in _section(identity, section, numbers)),
        "</main>",
        f"<footer><p>{_(INTERNAL)}: {_(_LEAVE)}.</p></footer>" if internal else "",
        f"</div>\n<script>{script}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _(text: str) -> str:
    """A text of ours in the reader's language, with nothing in it that HTML would act on."""
    return _bare(say(text))


def _bare(text: object) -> str:
    """Any text as it is, with nothing in it that HTML would act on."""
    return escape(clean(text))


# -- the frame -----------------------------------------------------------------------------------------


def _style(page: Contents) -> str:
    css = (files("sfumato.report") / "page.css").read_text(encoding="utf-8")
    light, dark = (
        f":root{{--ground:{g};{variables(d)}}}" for g, d in (("#f7f5f0", False), ("#14171d", True))
    )
    sheet = f"\n{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n{css}{swaps()}\n"
    sheet += "" if current() == ENGLISH else _LONGER
    if page.audience == "internal":  # in the margin of every printed page
        said = f'content:"{say(INTERNAL)}: {say(_LEAVE)}";font:700 8.5pt sans-serif;color:#7d1733'
        sheet += f"@media print{{@page{{@top-center{{{said}}}@bottom-left{{{said}}}}}}}\n"
    return sheet


def _script() -> str:
    return "\n" + (files("sfumato.report") / "page.js").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _marks() -> Iterator[str]:
    yield f'<div class="mark" role="note"><strong>{_(INTERNAL)}</strong> {_(_LEAVE)}</div>'
    # Paper: fixed elements are repeated on every printed page; margin boxes alone are not in all browsers.
    yield f'<div class="paper-mark" aria-hidden="true">{_(INTERNAL)}</div>'


def _contents(named: list[tuple[str, Section]]) -> Iterator[str]:
    if len(named) < 3:
        return
    yield f'<nav class="toc" aria-label="{_("Contents")}">\n<ol>'
    for identity, section in named:
        yield f'<li><a href="#{identity}">{_(section.title)}</a></li>'
    yield "</ol>\n</nav>"


def _section(identity: str, section: Section, numbers: Iterator[int]) -> Iterator[str]:
    mark = _class("decides", bool(section.first))
    yield f'<section id="{identity}" aria-labelledby="{identity}-title"{mark}>'
    yield f'<h2 id="{identity}-title">{_(section.title)}</h2>'
    for block in section.first:
        yield from _block(block, numbers)
    yield from (f"<p>{_(paragraph)}</p>" for paragraph in section.prose)
    for block in section.rest:
        yield from _block(block, numbers)
    yield "</section>"


def _block(block: Block, numbers: Iterator[int]) -> Iterator[str]:
    match block:
        case Verdict():
            yield from verdict_html(block)
        case Promises():
            yield '<div class="block">'
            yield from (_claim(claim) for claim in block.guarantee)
            yield "" if len(block.guarantee) else f"<p>{_('Nothing is promised.')}</p>"
            yield "</div>"
        case ScoreTable():
            yield from scores_html(block, lambda t: "\n".join(table_html(t)))
        case DataTable():
            yield '<div class="block">'
            yield from table_html(block)
            yield "</div>"
        case Figure():
            yield from _figure(block, f"figure-{next(numbers)}")


# -- blocks --------------------------------------------------------------------------------------------


def _claim(claim: Claim) -> str:
    title = claim.title[0].upper() + claim.title[1:]
    parts = [f'<div class="claim">\n<h3>{_(title)}</h3>\n<p>{_(claim.promise())}</p>']
    if claim.limits():
        parts.append(f'<p class="limits">{_(claim.limits())}</p>')
    if claim.scope:
        parts.append(f"<p>{_(f'This is about {claim.scope} alone.')}</p>")
    if claim.assumptions:
        items = "".join(f"<li>{_(a)}</li>" for a in claim.assumptions)
        parts.append(f"<p>{_('It rests on this:')}</p>\n<ul>{items}</ul>")
    return "\n".join([*parts, "</div>"])


def table_html(table: DataTable, printed: int = ON_PAPER) -> Iterator[str]:
    """A table, folded behind its caption if it says so, or with its later rows folded.

    printed: rows of a folded one that are printed; the style sheet has the same number.
    """
    caption, most = _(table.caption), table.most
    if not table.folded and (most is None or len(table.rows) <= most):
        yield from _grid(table, table.rows, caption)
        return
    if not table.folded:
        yield from _grid(table, table.rows[:most], caption)
        rest = table.rows[most:]
        yield f'<details class="more"><summary>{_(f"{len(rest):,} more")}{_on_paper(len(rest), 0)}</summary>'
        yield from _grid(table, rest, f"{caption}, {_('continued')}", hidden=True)
    else:
        size = f'<span class="hidden">{_("table")}, </span>({_(_rows(len(table.rows)))})'
        yield f"<details><summary>{caption} {size}{_on_paper(len(table.rows), printed)}</summary>"
        yield from _grid(table, table.rows, caption, hidden=True)
    yield "</details>"


def _rows(number: int) -> str:
    return f"{number:,} row{'s' * (number != 1)}"


def _on_paper(number: int, shown: int) -> str:
    """What stands behind a fold is printed in its first rows; where all of them are is said there."""
    if number <= shown:
        return ""
    where = f": {_(f'the first {shown} here, all in the JSON')}" if shown else f", {_('in the JSON')}"
    return f'<span class="paper">{where}</span>'


def _grid(
    table: DataTable, rows: Sequence[Sequence[Cell]], caption: str, hidden: bool = False
) -> Iterator[str]:
    numeric = [_numeric(table, i) for i in range(len(table.columns))]
    yield f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}">'
    yield f'<table class="data">\n<caption{_class("hidden", hidden)}>{caption}</caption>\n<thead><tr>'
    for name, right in zip(table.columns, numeric, strict=True):
        yield f'<th scope="col"{_class("n", right)}>{_bare(tried(name))}</th>'
    yield "</tr></thead>\n<tbody>"
    for row in rows[:MOST_ROWS]:
        said = [said_cell(table, i, value) for i, value in enumerate(row)]
        cells = [_cell(i, value, right) for i, (value, right) in enumerate(zip(said, numeric, strict=True))]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody>\n</table>"
    if len(rows) > MOST_ROWS:
        yield f'<p class="small">{_(f"{len(rows) - MOST_ROWS:,} more rows are in the JSON.")}</p>'
    yield "</div>"


def _numeric(table: DataTable, place: int) -> bool:
    column = [row[place] for row in table.rows if row[place] is not None]
    return (
        place > 0
        and bool(column)
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in column)
    )


def _class(name: str, wanted: bool) -> str:
    return f' class="{name}"' if wanted else ""


def _cell(place: int, said: str, right: bool) -> str:
    if place == 0:
        return f'<th scope="row">{_bare(said)}</th>'
    mark = _class("n", right)
    return f"<td{mark}>{_bare(said)}</td>"


def _key(figure: Figure) -> str:
    """What the colours stand for."""
    square = (
        '<svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="2" fill="{}"/></svg>'
    )
    items = "".join(f"<li>{square.format(escape(colour))}{_(text)}</li>" for text, colour in figure.key)
    return f'<ul class="key panel">{items}</ul>' if items else ""


_WIDE = 540  # pixels; wider panels are scrolled on small screens, narrower ones shrink to fit


def _width(drawn: str) -> float:
    return float(drawn.partition(' width="')[2].partition('"')[0])


def _figure(figure: Figure, identity: str) -> Iterator[str]:
    yield f'<figure aria-labelledby="{identity}-title" aria-describedby="{identity}-text">'
    yield f'<figcaption><h3 id="{identity}-title">{_(figure.title)}</h3>'
    yield f'<p id="{identity}-text">{_(figure.description)}</p></figcaption>'
    yield _key(figure)
    yield f'<div class="panels of-{min(3, len(figure.panels))}">'
    for i, spec in enumerate(figure.panels, 1):
        yield _panel(figure, spec, f"{identity}-{i}", "full" if figure.narrow is not None else "")
    if figure.narrow is not None:
        yield _panel(figure, figure.narrow, f"{identity}-narrow", "narrow")
    yield "</div>"
    if figure.table is not None:
        yield from table_html(figure.table, printed=0)  # the picture has it already
    yield "</figure>"


def _panel(figure: Figure, spec: Mapping[str, Any], identity: str, size: str) -> str:
    title = spec.get("title", "")
    panel = tried(str(title.get("text", "") if isinstance(title, dict) else title))
    label = clean(f"{say(figure.title)}: {panel}" if panel else say(figure.title))
    words = f"{label}. {clean(say(figure.description))}"
    drawn = draw(said_spec(spec, figure), identity=identity, label=words)
    size = size or ("wide" if _width(drawn) > _WIDE else "")
    return f'<div class="{f"panel {size}".strip()}" role="group" aria-label="{_bare(label)}">{drawn}</div>'
