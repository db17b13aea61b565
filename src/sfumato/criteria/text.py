"""Criteria in a line of text, as the command line and a plan write them: entropy-l(diagnosis, 3).

A name and, in brackets, what it needs in its order; every part may also be said by its name, as c=2. A
column whose name holds a comma, a bracket or an = stands in quotes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato import plugins
from sfumato.criteria.anonymity import ANYTHING, OWN_VALUE, JAnonymity, KAnonymity, KMap
from sfumato.criteria.base import Criterion
from sfumato.criteria.code_sets import KMAnonymity
from sfumato.criteria.known_search import KnownSearch
from sfumato.criteria.variety import AlphaK, LDiversity, TCloseness
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.plugins import Group
from sfumato.privacy.known_search import HIDES
from sfumato.table import Table

_PERSONS = {"persons": True, "rows": False}
_HIDES = {word: word for word in HIDES}
_MISSING = {"anything": ANYTHING, "own": OWN_VALUE}
Read = Callable[[str], Any]


def whole(text: str) -> int:
    """A part that is a whole number."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ParameterError("must be a whole number")
    return int(text)


def number(text: str) -> float:
    """A part that is a number."""
    if not re.fullmatch(r"([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)([eE]-?[0-9]{1,3})?", text):
        raise ParameterError("must be a number, as 0.2")
    return float(text)


def _names(text: str) -> tuple[str, ...]:
    """A part that names one column, or several between which stands an &."""
    return tuple(name.strip() for name in text.split(" & "))


def _one_of(words: Mapping[str, Any]) -> Read:
    def read(text: str) -> Any:
        if text not in words:
            raise ParameterError(f"must be {' or '.join(words)}")
        return words[text]

    return read


@dataclass(frozen=True)
class CriterionForm:
    """How one criterion is written. needs: its parts in order; may: those that can be left out.

    Each part is given by a function that reads it from text, such as `whole` and `number`; what they refuse,
    they refuse with a ParameterError. A part called column or weight names a column.
    """

    example: str
    make: Callable[..., Criterion]
    needs: Mapping[str, Read]
    may: Mapping[str, Read]


_COLUMN: dict[str, Read] = {"column": str}
_T: dict[str, Read] = {**_COLUMN, "t": number}
FORMS: dict[str, CriterionForm] = {
    "k-anonymity": CriterionForm(
        "k-anonymity(5, count=persons)", KAnonymity, {"k": whole},
        {"count": _one_of(_PERSONS), "missing": _one_of(_MISSING)}),
    "distinct-l": CriterionForm("distinct-l(diagnosis, 3)", LDiversity, {**_COLUMN, "l": whole}, {}),
    "entropy-l": CriterionForm("entropy-l(diagnosis, 2.5)", LDiversity, {**_COLUMN, "l": number}, {}),
    "recursive-l": CriterionForm(
        "recursive-l(diagnosis, 3, c=2)", LDiversity, {**_COLUMN, "l": whole, "c": number}, {}),
    "equal-t": CriterionForm("equal-t(diagnosis, 0.2)", TCloseness, _T, {}),
    "ordered-t": CriterionForm("ordered-t(income, 0.2)", TCloseness, _T, {}),
    "hierarchical-t": CriterionForm("hierarchical-t(diagnosis, 0.2)", TCloseness, _T, {}),
    "alpha-k": CriterionForm(
        "alpha-k(diagnosis, 0.5, k=5)", AlphaK, {**_COLUMN, "alpha": number, "k": whole}, {}),
    "k-map": CriterionForm(
        "k-map(5, population=residents.csv)", KMap, {"k": whole},
        {"population": str, "weight": str, "name": str}),
    "j-anonymity": CriterionForm(
        "j-anonymity(5, fraction=0.1, delta=0.05)", JAnonymity, {"k": whole},
        {"fraction": number, "weight": str, "delta": number}),
    "km-anonymity": CriterionForm(
        "km-anonymity(diagnoses, 5, m=2)", KMAnonymity, {"codes": _names, "k": whole}, {"m": whole}),
    "known-search": CriterionForm("known-search(values)", KnownSearch, {"hides": _one_of(_HIDES)}, {}),
}  # fmt: skip
_KINDS = {"distinct-l": "distinct", "entropy-l": "entropy", "recursive-l": "recursive",
          "equal-t": "equal", "ordered-t": "ordered", "hierarchical-t": "hierarchical"}  # fmt: skip
_RENAMED = {"count": "persons"}
_MEMBERS = ("k-map", "j-anonymity")  # their k counts members of a population


@dataclass(frozen=True)
class CriterionSpec:
    """One criterion as it was written. population: the file it counts in; tree: the column whose hierarchy
    it looks at. Both are opened when it is made."""

    name: str
    given: Mapping[str, Any]

    @property
    def population(self) -> str | None:
        """The file of the population, if it counts in one."""
        found: str | None = self.given.get("population")
        return found

    @property
    def tree(self) -> str | None:
        """The column whose hierarchy says how far values are apart."""
        return self.given["column"] if self.name == "hierarchical-t" else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it names."""
        single = (self.given[p] for p in ("column", "weight") if p in self.given)
        return (*single, *self.given.get("codes", ()))

    def make(
        self, population: Callable[[str], Table] | None = None, tree: Callable[[str], Hierarchy] | None = None
    ) -> Criterion:
        """The criterion; what it needs besides the text comes from these two."""
        given = {_RENAMED.get(part, part): value for part, value in self.given.items()}
        if self.name in _MEMBERS:
            given["members"] = given.pop("k")
        if self.population is not None and population is not None:
            given["population"] = population(self.population)
            given.setdefault("name", "the population")
        if self.tree is not None and tree is not None:
            given["hierarchy"] = tree(self.tree)
        if self.name in _KINDS:
            given["distance" if self.name.endswith("-t") else "kind"] = _KINDS[self.name]
        form = form_of(self.name)
        if form is None:
            raise ParameterError("no criterion is called that.", hint=_hint([]))
        return form.make(**given)


def form_of(name: str) -> CriterionForm | None:
    """How the criterion of that name is written, ours or a guest's; None if there is none."""
    if name in FORMS:
        return FORMS[name]
    found: CriterionForm | None = plugins.find(Group.CRITERIA, name, _require_form, FORMS)
    return found


def _require_form(name: str, form: object) -> None:
    if not isinstance(form, CriterionForm) or not form.example.startswith(f"{name}("):
        raise ParameterError(f"it is no CriterionForm with an example as {name}(...)", hint="docs/guests.md")


def read_criteria(texts: Sequence[str]) -> tuple[CriterionSpec, ...]:
    """What the texts ask for, or everything that is wrong with them at once."""
    found, faults, faulty = [], [], []
    for text in texts:
        wanted, wrong = _read(text)
        faults += [f"'{_short(text)}'{w if w.startswith(':') else f' {w}'}" for w in wrong]
        if wrong:
            faulty.append(text)
        elif wanted is not None:
            found.append(wanted)
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint=_hint(faulty))
    return tuple(found)


def _hint(texts: Sequence[str]) -> str:
    """How the one that was meant is written; where none can be told, all of them."""
    meant = [_near(text.partition("(")[0].strip()) for text in texts]
    names = list(dict.fromkeys(m for m in meant if m)) or list(FORMS)
    forms = [form_of(name) for name in names]
    return ", ".join(form.example for form in forms if form is not None)


def _near(name: str) -> str | None:
    known = [*FORMS, *plugins.names(Group.CRITERIA, FORMS)]
    near = difflib.get_close_matches(name.lower().replace("_", "-"), known, 1)
    return near[0] if near else None


def _short(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


_PART = re.compile(r"""\s*(?:([a-z]+)\s*=\s*)?(?:"([^"]*)"|'([^']*)'|([^,()="']*))\s*(,|$)""")


def _read(text: str) -> tuple[CriterionSpec | None, list[str]]:
    whole = re.fullmatch(r"\s*([A-Za-z_-]+)\s*\((.*)\)\s*", text, re.DOTALL)
    if whole is None:
        return None, ["is not a criterion with its settings in brackets"]
    name = whole[1]
    form = form_of(name)
    if form is None:
        near = _near(name)
        return None, ["is not known" + (f" (did you mean {near}?)" if near else "")]
    parts, wrong = _parts(whole[2])
    if wrong:
        return None, wrong
    return _settled(name, {**form.needs, **form.may}, form, parts)


def _parts(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """(name or empty, value) for each part between commas."""
    parts, at = [], 0
    while True:
        found = _PART.match(text, at)
        if found is None:
            return [], ["has a comma, a bracket, a quote or an = where none belongs: quote such names"]
        value = next((v for v in found.groups()[1:4] if v is not None), "").strip()
        if not value:
            return [], ["has an empty part"]
        parts.append((found[1] or "", value))
        if not found[5]:
            return parts, []
        at = found.end()


def _settled(
    name: str, known: Mapping[str, Read], form: CriterionForm, parts: Sequence[tuple[str, str]]
) -> tuple[CriterionSpec | None, list[str]]:
    given: dict[str, Any] = {}
    wrong = []
    order = list(form.needs)
    for i, (part, value) in enumerate(parts):
        if not part and i >= len(order):
            wrong.append(f"has {i + 1} parts, of which {len(order)} can go without a name")
            break
        part = part or order[i]
        if part not in known:
            wrong.append(f"has no part {part}; it may have {', '.join(known)}")
        elif part in given:
            wrong.append(f"says {part} twice")
        else:
            try:
                given[part] = known[part](value)
            except ParameterError as error:
                given[part] = None
                wrong.append(f": {part} {error.message}")
    wrong += [f"needs {part}" for part in order if part not in given]
    wanted = CriterionSpec(name, given)
    return wanted, wrong or _refused(wanted)


def _refused(wanted: CriterionSpec) -> list[str]:
    """What the criterion itself says of its settings; files and hierarchies are looked at later."""
    given = dict(wanted.given)
    if wanted.population is not None and "weight" in given:
        return ["counts in a population or by survey weights, not in both"]
    if given.pop("population", None) is not None:
        given["weight"] = "stands in for the file"
    name = "equal-t" if wanted.tree is not None else wanted.name
    try:
        CriterionSpec(name, given).make()
    except ParameterError as error:
        return [f": {error.message.rstrip('.')}"]
    return []
