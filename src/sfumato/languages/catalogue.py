"""The texts of one language, found by the English text as it was written, numbers and names and all.

A catalogue is a TOML file of English texts and the same in the language, with fields:

- `{n}`, one letter, is a number; it is written in the language's form;
- `{date}`, or any name that begins so, is a day;
- `{text}`, or any name that begins so, is itself said in the language;
- `{list}`, or any name that begins so, is a list of names, alone, in pairs (`'a' with 'b'`) or with the
  number of their bins, that may end with "and 3 more";
- `{name}`, any other, stays as it is.

On the side of the language `{n|row|rows}` is the first word for one and the second for all others.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files

_FIELD = re.compile(r"\{(\w+)\}")
_PLURAL = re.compile(r"\{(\w)\|([^|{}]*)\|([^|{}]*)\}")
_NUMBER = r"[−+-]?(?:\d+(?:,\d{3})*(?:\.\d+)?(?:e[−+-]?\d+)?|∞)%?"
_ONLY_NUMBER = re.compile(_NUMBER)
_DAY = r"\d{4}-\d{2}-\d{2}"
_SHORT = "".join(rf"(?<!\b{w})" for w in ("[A-Z]", "Dr", "Prof", "med", "nat", "Mr", "Ms", "St"))  # A. Weber
_NAME = rf"(?:(?!{_SHORT}[.!?] [A-Z]).)+?"  # no sentence ends in a name
_SENTENCES = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bDr\.)(?<!\bProf\.) (?=[A-Z'`(0-9])")
_PARTS = "; "
_PERHAPS = ": "  # a name may hold it; more often an entry took too much for a name
_MORE = re.compile(r"(.*) and (\d+) more", re.DOTALL)
_BINS = re.compile(r" \(in (\d+) bins\)(?=, |$)")  # of a column, behind its name
_PAIR = re.compile(r"(?<=') with (?=')")  # of two columns
_DEPTH = 6  # texts within texts
_LOOKUPS = 2_000  # of texts within one text
_LOOSE = 8  # letters of a template beside its fields
_TOGETHER = 4  # sentences of one entry
_LONGEST = 5_000  # letters; nothing of ours is longer, and what others wrote stays as it is


@dataclass(frozen=True)
class SaidText:
    """A text in the language, and what of it the catalogue lacks. doubts: names that may be none."""

    text: str
    missing: tuple[str, ...] = ()
    doubts: int = 0

    @property
    def lack(self) -> int:
        """How much of the text the catalogue lacks, in letters; a name that may be none counts one."""
        return sum(map(len, self.missing)) + self.doubts


@dataclass(frozen=True)
class Template:
    """An English text with fields, and the same in the language."""

    english: str
    own: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What matches the English text."""
        parts, seen, at = [], set(), 0
        for found in _FIELD.finditer(self.english):
            name = found[1]
            parts.append(re.escape(self.english[at : found.start()]))
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{_matching(name)})")
            seen.add(name)
            at = found.end()
        return re.compile("".join([*parts, re.escape(self.english[at:])]), re.DOTALL)

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What stands between the fields, the longest first: a text without it need not be looked at."""
        return tuple(sorted((p for p in re.split(r"\{\w+\}", self.english) if p), key=len, reverse=True))

    @property
    def weight(self) -> tuple[int, int, int]:
        """What says most of a text comes first; numbers, then texts, then names."""
        names = _FIELD.findall(self.english)
        numbers = sum(len(n) == 1 for n in names)
        return sum(map(len, self.fixed)), numbers - len(names), sum(n.startswith("text") for n in names)


@dataclass(frozen=True)
class _Effort:
    """How deep a search is, and what it may still look up: a text made to take for ever stays English."""

    depth: int = 0
    left: list[int] = field(default_factory=lambda: [_LOOKUPS])
    before: dict[tuple[str, int], SaidText] = field(default_factory=dict)  # what was found on the way

    @property
    def deeper(self) -> bool:
        """Whether texts within this one are looked at."""
        return self.depth < _DEPTH and self.left[0] > 0

    def inner(self) -> _Effort:
        """For a text within this one."""
        return _Effort(self.depth + 1, self.left, self.before)

    def spend(self) -> bool:
        """Whether one more text may be looked up among those with fields."""
        self.left[0] -= 1
        return self.deeper


def _matching(name: str) -> str:
    if len(name) == 1:
        return _NUMBER
    if name.startswith("text"):
        return ".+?"
    return _DAY if name.startswith("date") else _NAME


class Catalogue:
    """The texts of one language, its numbers and days."""

    def __init__(self, document: Mapping[str, Mapping[str, object]]) -> None:
        self.form: dict[str, str] = {str(k): str(v) for k, v in document["form"].items()}
        self._exact: dict[str, str] = {}
        templates: list[Template] = []
        for name, part in document.items():
            if name != "form":
                for english, own in part.items():
                    self._exact[english] = str(own)
                    if _FIELD.search(english):
                        templates.append(Template(english, str(own)))
        ordered = sorted(templates, key=lambda t: t.weight, reverse=True)
        self._templates = [t for t in ordered if t.weight[0] > _LOOSE]
        self._loose = [t for t in ordered if t.weight[0] <= _LOOSE]  # they fit nearly everything
        self.find = lru_cache(maxsize=20_000)(lambda text: self._find(text, _Effort()))

    @classmethod
    def read(cls, language: str) -> Catalogue:
        """The catalogue of a language, by its code."""
        text = (files("sfumato.languages") / f"{language}.toml").read_text(encoding="utf-8")
        return cls(tomllib.loads(text))

    @property
    def texts(self) -> Mapping[str, str]:
        """Every English text with the same in the language."""
        return self._exact

    # -- numbers and days --------------------------------------------------------------------------

    def number(self, text: str) -> str:
        """A number, written in English, in the form of the language."""
        if not _ONLY_NUMBER.fullmatch(text):
            return text
        marks = {",": self.form["thousands"], ".": self.form["decimal"], "%": self.form["percent"]}
        return "".join(marks.get(sign, sign) for sign in text)

    def day(self, text: str) -> str:
        """A day, written as in 2026-11-18, in the form of the language."""
        year, month, day = text.split("-")
        return self.form["day"].format(year=year, month=month, day=day)

    # -- texts -------------------------------------------------------------------------------------

    def _find(self, text: str, effort: _Effort) -> SaidText:
        """Sentence by sentence, as one entry, or in parts: what leaves least of it in English."""
        if (text, effort.depth) in effort.before:
            return effort.before[text, effort.depth]
        best = SaidText(text, (text,))
        ways = (self._sentences, self._whole, self._halves) if effort.deeper else (self._whole,)
        for way in ways if len(text) <= _LONGEST else ():
            found = way(text, effort)
            if found is not None and found.lack < best.lack:
                best = found
            if not best.lack:
                break
        effort.before[text, effort.depth] = best
        return best

    def _whole(self, text: str, effort: _Effort, holding: str = "") -> SaidText | None:
        """The text as one entry of the catalogue; or with its first letter small, as within a sentence.

        holding: what an entry with fields must itself hold.
        """
        small = text[:1].lower() + text[1:]
        if text in self._exact and "{" not in text:
            return SaidText(self._exact[text])
        if _ONLY_NUMBER.fullmatch(text):
            return SaidText(self.number(text))
        if small in self._exact and "{" not in small:
            return SaidText(_capital(self._exact[small]))
        best: SaidText | None = None
        for templates in (self._templates, self._loose):
            for first in dict.fromkeys((text, small)):
                found = self._filled_in(templates, first, effort, holding)
                if found is not None and (best is None or found.lack < best.lack):
                    capital = SaidText(_capital(found.text), found.missing, found.doubts)
                    best = found if first == text else capital
                if best is not None and not best.lack:
                    return best
        return best

    def _filled_in(
        self, templates: Sequence[Template], text: str, effort: _Effort, holding: str
    ) -> SaidText | None:
        """The text by the first template that leaves nothing of it in English, or by the best of them."""
        partly: SaidText | None = None
        for template in templates if effort.spend() else ():
            if holding in template.english and all(part in text for part in template.fixed):
                match = template.pattern.fullmatch(text)
                if match:
                    found = self._filled(template, match.groupdict(), effort)
                    if not found.lack:
                        return found
                    if partly is None or found.lack < partly.lack:
                        partly = found
        return partly

    def _filled(self, template: Template, fields: Mapping[str, str], effort: _Effort) -> SaidText:
        missing: list[str] = []
        doubts = 0
        said: dict[str, str] = {}
        for name, value in fields.items():
            if name.startswith("text"):
                inner = self._find(value, effort.inner())
                said[name] = inner.text
                missing += inner.missing
                doubts += inner.doubts
            else:
                said[name] = self._field(name, value)
                doubts += len(name) > 1 and _PERHAPS in value

        def plural(match: re.Match[str]) -> str:
            return match[2] if fields[match[1]] == "1" else match[3]

        own = _PLURAL.sub(plural, template.own)
        return SaidText(_FIELD.sub(lambda m: said[m[1]], own), tuple(missing), doubts)

    def _field(self, name: str, value: str) -> str:
        if len(name) == 1:
            return self.number(value)
        if name.startswith("date"):
            return self.day(value)
        return self._list(value) if name.startswith("list") else value

    def _list(self, value: str) -> str:
        """Names stay as they are; what stands beside them is said in the language."""
        more = _MORE.fullmatch(value)
        names = value if more is None else more[1]
        names = _PAIR.sub(lambda _: f" {self.form['with']} ", names)
        names = _BINS.sub(lambda m: f" ({self.form['bins'].format(n=self.number(m[1]))})", names)
        return names if more is None else self.form["more"].format(names=names, n=self.number(more[2]))

    def _sentences(self, text: str, effort: _Effort) -> SaidText | None:
        return None if text in self._exact else self._joined(_SENTENCES.split(text), " ", effort)

    def _halves(self, text: str, effort: _Effort) -> SaidText | None:
        return self._joined(text.split(_PARTS), _PARTS, effort)

    def _joined(self, parts: list[str], joint: str, effort: _Effort) -> SaidText | None:
        if len(parts) == 1:
            return None
        found = list(self._entries(parts, joint, effort))
        missing = tuple(m for f in found for m in f.missing)
        return SaidText(joint.join(f.text for f in found), missing, sum(f.doubts for f in found))

    def _entries(self, parts: list[str], joint: str, effort: _Effort) -> Iterator[SaidText]:
        """Each part, or as many in a row as are one entry."""
        holding = joint if joint == _PARTS else ". "
        while parts:
            for many in range(min(len(parts), _TOGETHER), 1, -1):
                found = self._whole(joint.join(parts[:many]), effort.inner(), holding)
                if found is not None and not found.lack:
                    break
            else:
                many, found = 1, self._find(parts[0], effort.inner())
            yield found
            parts = parts[many:]


def _capital(text: str) -> str:
    """As a sentence begins; k-anonymity stays small."""
    return text if text[1:2] == "-" else text[:1].upper() + text[1:]
