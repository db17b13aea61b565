"""The page of all methods, from what they declare: docs/methods.md is this text."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.methods.declaration import Declaration, Does, declaration_of
from sfumato.methods.names import find, is_ours, names
from sfumato.methods.parameters import Field, parameters
from sfumato.methods.requests import REQUESTS

_HEAD = """\
# Methods

Every method declares itself once: what it does, needs and may claim, and each of its settings. Plans, the
command line, the map and this page are made from that, so a setting has the same name and meaning in all of
them. `sfumato methods NAME` prints the same at a terminal; `sfumato anonymize -m local --help` shows the
options of one method.

In a plan a setting is an entry of `[[steps]]`, of tables to publish of `[[tables]]`;
on the command line `max_suppressed` is `--max-suppressed`,
lists are written with commas (`--columns age,sex`) or by repeating the option, tables as `NAME=VALUE` (`--l
diagnosis=3`), and what is true or false as `--closed` or `--no-closed`.

Four words mean the same wherever they stand. `epsilon` is what the whole release costs; a price by the row
is `epsilon_per_row`, and the guarantee says the total it comes to. `rows` is how many rows are released,
`declared_rows` how many the data have, if that is public. `time_limit` is in seconds on the clock; a search
that it stops says so. `work_limit` is the same in units of work: the result is then equal on every machine,
however busy.
"""
_TITLES = {
    Does.GENERALIZE: ("Make more general", "sf.anonymize"),
    Does.EXCHANGE: ("Exchange between rows that are alike", "sf.anonymize"),
    Does.SYNTHESIZE: ("Synthesize", "sf.synthesize"),
    Does.PEOPLE: ("Synthesize people with linked records", "sample"),
    Does.REPLACE: ("Replace what names people", "sf.pseudonymize"),
    Does.TABULATE: ("Count tables to publish", "sf.tabulate"),
    Does.FIT: ("Learn a score or a tree", "fit"),
}


def methods_page() -> str:
    """All methods of this package as Markdown."""
    parts = [_HEAD]
    for does, (title, call) in _TITLES.items():
        own = [n for n in names(does) if is_ours(find(n))]
        parts += [f"\n## {title}\n", *_overview(own), *_asked(does, call)]
        for name in own:
            parts += _method(name)
    return "\n".join(parts) + "\n"


def _overview(own: list[str]) -> Iterator[str]:
    yield "| method | in Python | what | needs | may claim |"
    yield "|---|---|---|---|---|"
    for name in own:
        kind = find(name)
        d: Declaration = declaration_of(kind)
        needs, claims = ", ".join(d.needs) or "-", ", ".join(d.claims)
        yield f"| [`{name}`](#{name}) | `{kind.__name__}` | {d.summary} | {needs} | {claims} |"


def _asked(does: Does, call: str) -> Iterator[str]:
    fields = list(parameters(REQUESTS[does]).values())
    if fields:
        yield f"\nAsked beside the method, as of `{call}`:\n"
        yield from _fields(fields)


def _method(name: str) -> Iterator[str]:
    kind = find(name)
    declared = declaration_of(kind)
    yield f"\n### {name}\n"
    closed = "".join(f" Not in the {door}: {why}." for door, why in declared.closed.items())
    page = f"[{declared.page}]({declared.page})"
    command = declared.command if declared.command == name else f"{declared.command} --method {name}"
    yield f"{declared.summary} `sfumato {command}`; see {page}.{closed}\n"
    yield from _fields(list(parameters(kind).values()))


def _fields(fields: list[Field]) -> Iterator[str]:
    yield "| setting | may be | default | what |"
    yield "|---|---|---|---|"
    for f in fields:
        default = (
            "needed"
            if f.required
            else ""
            if f.plain_default in (None, "", [], {})
            else f"`{f.plain_default}`"
        )
        only = f.parameter.python_only
        words = f"in Python only: {only}" if only else f.parameter.shape.words()
        yield f"| `{f.name}` | {_cell(words)} | {_cell(default)} | {_cell(f.parameter.doc)} |"


def _cell(text: str) -> str:
    """Text within a table of Markdown."""
    return text.replace("|", "\\|").replace("\n", " ")
