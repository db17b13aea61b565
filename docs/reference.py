"""Writes the reference of all public names: signature, docstring, examples, methods.

mkdocs calls it while it builds (`hooks` in mkdocs.yml). The groups are those of names.md, and nothing is
written by hand twice: what a page says of a name is what its docstring says.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

NAMES = Path(__file__).with_name("names.md")
WIDE = 88  # characters of a signature on one line
SETTING = re.compile(r"^([a-z_][\w]*(?:, [a-z_]\w*)*): (.+)")


def groups() -> dict[str, list[str]]:
    """The names of names.md by heading, in their order; a heading that comes twice is one group."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        elif heading and (name := re.match(r"\| `([a-zA-Z]\w*)`", line)):
            found.setdefault(heading, []).append(name[1])
    return found


# -- signatures --------------------------------------------------------------------------------------------


def plain(annotation: str) -> str:
    """A type without what it carries for declarations: Annotated[float, ...] is float."""
    while "Annotated[" in annotation:
        start = annotation.index("Annotated[")
        depth, comma, at = 1, 0, start + len("Annotated[")
        while depth:
            sign = annotation[at]
            depth += (sign in "[(") - (sign in "])")
            if sign == "," and depth == 1 and not comma:
                comma = at
            at += 1
        annotation = annotation[:start] + annotation[start + len("Annotated[") : comma] + annotation[at:]
    return annotation


def signature(name: str, thing: Any) -> str:
    """As one would write it, without types of the inside; one setting a line where it is long."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return name
    shown, starred = [], False
    for p in parameters:
        if p.name in ("self", "cls") or p.name.startswith("_"):
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        starred = starred or p.kind is p.VAR_POSITIONAL
        sign = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        typed = "" if p.annotation is p.empty else f": {plain(str(p.annotation))}"
        default = "" if p.default is p.empty else f" = {value(p.default)}"
        shown.append(f"{sign}{p.name}{typed}{default}")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= WIDE else f"{name}(\n" + "".join(f"    {s},\n" for s in shown) + ")"


def value(default: object) -> str:
    """A default as text; one that is made anew each time, or has a place in memory, is said to be there."""
    text = repr(default)
    return "..." if " at 0x" in text or text.startswith("<") else text


# -- docstrings --------------------------------------------------------------------------------------------


def rendered(text: str) -> Iterator[str]:
    """A docstring as Markdown: settings become a list, examples stay code, the rest are paragraphs."""
    example, margin = False, 0  # margin: how far in a setting begins; what is further in goes on with it
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(">>>") and not example:
            yield from ("", "```python")
            example = True
        elif example and not stripped:
            yield from ("```", "")
            example = False
        if example:
            yield stripped
        elif stripped == "Parameters:":
            margin = 4
            yield from ("", "**Settings**", "")
        elif (said := SETTING.match(stripped)) and len(line) - len(stripped) == margin:
            names = ", ".join(f"`{n}`" for n in said[1].split(", "))
            yield from ("", f"- {names}: {escaped(said[2])}")
        else:
            yield escaped(line if not line.startswith("    ") else "  " + stripped)
    if example:
        yield "```"


def escaped(text: str) -> str:
    """Signs of Markdown and HTML that a docstring means as they are; code in backticks is left alone."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([<*_\[\]])", r"\\\1", parts[i])
    return "".join(parts)


def methods(thing: Any) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the package itself wrote, those of its bases too."""
    for name, member in inspect.getmembers(thing):
        plain_function = (
            inspect.isfunction(member) or inspect.ismethod(member) or isinstance(member, property)
        )
        home = inspect.getmodule(member.fget if isinstance(member, property) else member)
        if name.startswith("_") or not plain_function or home is None:
            continue
        if home.__name__.startswith("sfumato") and inspect.getdoc(member):
            yield name, member


def entry(name: str, thing: Any) -> Iterator[str]:
    """One name: what it is called with, what it says of itself, what it can do."""
    yield from ("", f"## {name}", "")
    if inspect.ismodule(thing):
        first, *_, last = (inspect.getdoc(thing) or "").split("\n\n")
        yield from (escaped(first), "", *rendered(last))
        return
    if callable(thing):
        yield from ("```python", f"sf.{signature(name, thing)}", "```", "")
    yield from rendered(inspect.getdoc(thing) or "")
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return
    for inner, member in methods(thing):
        head = inner if isinstance(member, property) else signature(inner, member)
        yield from ("", f"### {name}.{inner}", "", "```python", head, "```", "")
        yield from rendered(inspect.getdoc(member) or "")


# -- called by mkdocs --------------------------------------------------------------------------------------


def page_of(group: str) -> str:
    """Where the reference of a group lives."""
    return f"reference/{re.sub(r'[^a-z]+', '-', group.lower()).strip('-')}.md"


def on_config(config: Any, **_: Any) -> Any:
    """One page a group, in a part of its own after "Reference"."""
    pages = [{group: page_of(group)} for group in groups()]
    parts = []
    for part in config["nav"]:
        parts += [part, {"API": pages}] if "Reference" in part else [part]
    config["nav"] = parts
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """The pages themselves: made of the package as it is imported here."""
    import sfumato as sf

    for group, names in groups().items():
        lines = [
            f"# {group}: reference",
            "",
            "From signatures and docstrings; the pages before tell when and why. Examples begin after",
            "`import sfumato as sf`, and each runs as a test.",
        ]
        for name in names:
            lines += entry(name, getattr(sf, name))
        files.append(File.generated(config, page_of(group), content="\n".join(lines) + "\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """On names.md every name leads to its place in the reference."""
    if page.file.src_uri != NAMES.name:
        return markdown
    home = {name: page_of(group) for group, names in groups().items() for name in names}
    return re.sub(
        r"^\| `([a-zA-Z]\w*)`",
        lambda row: f"| [`{row[1]}`]({home[row[1]]}#{row[1].lower()})" if row[1] in home else row[0],
        markdown,
        flags=re.MULTILINE,
    )
