"""A report as one value: its contents, and how it is written as HTML, Markdown or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.languages import speaking
from sfumato.report.contents import Contents


@dataclass(frozen=True)
class Page(Contents):
    """A whole report: `Contents` says what its fields mean."""

    def to_html(self, *, language: str | None = None) -> str:
        """One self-contained HTML file. language: "en", "de"; the one spoken now if none is named."""
        from sfumato.report.html import to_html

        with speaking(language):
            return to_html(self)

    def to_markdown(self, *, language: str | None = None) -> str:
        """The page as Markdown; figures are given by their descriptions and numbers."""
        from sfumato.report.markdown import to_markdown

        with speaking(language):
            return to_markdown(self)

    def to_json(self) -> str:
        """The page as JSON, with every score, number and figure's specification: English, for programs."""
        from sfumato.report.json import to_json

        return to_json(self)

    def save(self, path: str | Path, *, overwrite: bool = False, language: str | None = None) -> Path:
        """Write it as what the suffix says: .html, .md or .json. Internal pages are for the owner alone."""
        from sfumato.io.atomic import write_text

        target = Path(path)
        renderers = {".html": self.to_html, ".md": self.to_markdown, ".json": self.to_json}
        if target.suffix.lower() not in renderers:
            raise ParameterError("a report is written as .html, .md or .json.", hint="report.html")
        with speaking(language):
            text = renderers[target.suffix.lower()]()
        return write_text(target, text, overwrite=overwrite, private=self.audience == "internal")
