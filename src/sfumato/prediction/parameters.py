"""Parameters that several scores and trees share, declared once."""

from __future__ import annotations

from typing import Any

from sfumato.methods.declaration import Declaration, Does, Need
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, ListOf, Number, Plain, TableOf, Text


def count(doc: str, least: int = 1, most: float | None = None, **more: Any) -> Parameter:
    """A whole number within bounds."""
    return Parameter(Number(doc, least, most, whole=True), **more)


# Why a score or a tree does not pass through these doors.
CLOSED = {
    "plan": "it is a model, not a release of rows: sfumato fit writes one, sfumato tree shows one",
    "map": "it is not a file of rows",
}


def private_score(name: str, summary: str, page: str, *, first: bool = False) -> Declaration:
    """What a score says of itself whose fit is paid for once."""
    return Declaration(
        name, Does.FIT, summary, page=page, claims=("PureDP", "ApproxDP"),
        needs=(Need.PUBLIC_DOMAIN, Need.TARGET), first=first, closed=CLOSED,
    )  # fmt: skip


def shown_tree(name: str, summary: str, page: str) -> Declaration:
    """What a tree says of itself that promises nothing."""
    return Declaration(
        name, Does.FIT, summary, page=page, claims=("NoGuarantee",), needs=(Need.TARGET,), command="tree",
        closed=CLOSED,
    )  # fmt: skip


_BY_TABLE = "the schema of a table says it; plain arrays are given in Python"

EPSILON = Parameter(
    Number("What the whole fit costs; scoring afterwards is free.", 0, 1000, above=True),
    unit="epsilon", beginner=True,
)  # fmt: skip
EPSILON_PER_CALL = Parameter(
    Number("What each call claims to cost; the claim is false. None, in Python: the true shares.", 0, 1000,
           above=True),
    unit="epsilon", beginner=True,
)  # fmt: skip
SCHEMA = Parameter(
    Plain("Public bounds and levels of the features; or one pair (low, high) for all columns."),
    python_only=_BY_TABLE,
)
BOUNDS = Parameter(Plain("Public bounds of numeric features."), python_only=_BY_TABLE)
DECLARED_ROWS = count("The number of rows of the data, if it is public; otherwise noised.", 1, 10**10)
CLASSES = Parameter(
    ListOf(Plain(), "The two outcomes, the one that is scored last; a schema says it too.", least=2)
)
MONOTONE = Parameter(
    TableOf(
        Text("", ("increasing", "decreasing")),
        "Features along which the score must not fall (increasing) or not rise (decreasing).",
    ),
    columns=True,
)
MAX_ROWS_PER_PERSON = count(
    "A public number: rows of a person that count; above 1 the promise is to persons.", 1, 1000
)
ANYWAY = Parameter(Flag("Fit although the rule says that nothing useful can come of it."))
ALPHA = Parameter(
    Number("The divergence that splits are chosen by: any real number; 1 is C4.5's gain."), beginner=True
)
ALPHAS = Parameter(
    ListOf(Number(), "The divergences, one tree for each; those that differ are kept.", least=1)
)
MAX_DEPTH = count("Splits one below the other, at most.", 0, beginner=True)
MIN_SPLIT = count("Rows of a node that may be split, at least.", 2)
MIN_LEAF = count("Rows in a leaf, at least.", 1, beginner=True)
MIN_GAIN = Parameter(Number("The least gain of a split.", 0))
THRESHOLDS = count("Thresholds for each number; the schema's edges if not given.", 1)
