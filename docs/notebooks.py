"""Runs the notebooks and shows them, with their outputs, among the pages.

A notebook is a plain `.ipynb` in docs/notebooks/, which Jupyter opens. Here it is run without Jupyter: the
cells share one namespace, and the last expression of a cell is shown as Jupyter shows it, by `_repr_html_` or
`repr`. mkdocs calls the hook below while it builds, and shows the outputs as they were stored.

    python docs/notebooks.py            runs all of them anew and stores their outputs (make notebooks)
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("notebooks")
_NUMBER = re.compile(r"[-−+]?\d[\d,.]*(e-?\d+)?")

Notebook = dict[str, Any]


def all_of_them() -> list[Path]:
    """The notebooks, in the order of their names."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """A notebook as it is stored."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


# -- running -----------------------------------------------------------------------------------------------


def run(notebook: Notebook) -> Notebook:
    """The same notebook with the outputs of a run in an empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count, before = [], 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    outputs = list(_outputs("".join(cell["source"]), names, count))
                    cell = {**cell, "execution_count": count, "outputs": outputs}
                cells.append(cell)
        finally:
            os.chdir(before)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """What a cell printed, then what its last expression is."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        yield {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def in_words(notebook: Notebook) -> list[str]:
    """Every output without its numbers, which differ with every draw; spaces that pad them are one."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            text = "".join(
                output.get("text") or output["data"].get("text/html") or output["data"]["text/plain"]
            )
            found.append(" ".join(_NUMBER.sub("#", text).split()))
    return found


def stored(notebook: Notebook) -> str:
    """As Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


# -- showing -----------------------------------------------------------------------------------------------


def page(notebook: Notebook, name: str) -> str:
    """The notebook as Markdown: words, code, and what came out."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                parts.append(f'<div class="output">\n{_flat("".join(data["text/html"]))}\n</div>')
            else:
                text = "".join(output.get("text") or data["text/plain"])
                parts.append(f'<pre class="output">{_flat(escape(text.rstrip()))}</pre>')
    parts.append(f"*This page is `docs/notebooks/{name}.ipynb`, with the outputs of its last run.*")
    return "\n\n".join(parts) + "\n"


def _flat(html: str) -> str:
    """HTML that Markdown leaves alone: an empty line would end it."""
    return re.sub(r"\n(?=\s*\n)", "\n&#8203;", html)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """A page for each notebook."""
    from mkdocs.structure.files import File

    for path in all_of_them():
        content = page(read(path), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=content))
    return files


if __name__ == "__main__":
    for path in all_of_them():
        path.write_text(stored(run(read(path))), encoding="utf-8")
        sys.stdout.write(f"{path.name} was run\n")
