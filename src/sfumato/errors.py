"""What can go wrong, said so that the reader knows what to do next.

A message names columns, files and counts; it never holds a cell value, because a rare value in a
log is a disclosure. Where the values themselves help, they travel in `values` and only the person
at the terminal sees them (`--show-values`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from unicodedata import category


class SfumatoError(Exception):
    """Base of every error the package raises on purpose: what, where, and a hint what next.

    >>> try:
    ...     sf.KAnonymity(0)
    ... except sf.SfumatoError as error:
    ...     print(error.hint)
    KAnonymity(5)
    """

    def __init__(self, message: str, *, hint: str = "", values: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.values = tuple(values)

    def __str__(self) -> str:
        return f"{self.message} Hint: {self.hint}" if self.hint else self.message


class DataError(SfumatoError):
    """The input cannot be read, or is not what it was said to be.

    >>> sf.scan("nowhere.csv")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: no file nowhere.csv. Hint: check the path
    """


class SchemaError(SfumatoError):
    """A schema contradicts itself or the data.

    >>> sf.Schema((sf.Column("age", "numeric"), sf.Column("age", "ordinal")))
    Traceback (most recent call last):
        ...
    sfumato.errors.SchemaError: column names repeat: age. Hint: rename one of them
    """


class ParameterError(SfumatoError):
    """A parameter is out of its range.

    >>> sf.PrivateSynthesizer(epsilon=-1)
    Traceback (most recent call last):
        ...
    sfumato.errors.ParameterError: epsilon is a number from 0.001 to 100...
    """


class PlanError(SfumatoError):
    """A plan has faults. faults: (line, sentence) for each of them, in the order of the lines.

    >>> try:
    ...     sf.Plan.from_toml("sfumato_plan = 2")
    ... except sf.PlanError as error:
    ...     print(error.faults)
    ((1, "the plan needs 'input'"),)
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        values: Sequence[object] = (),
        faults: Sequence[tuple[int, str]] = (),
    ) -> None:
        super().__init__(message, hint=hint, values=values)
        self.faults = tuple(faults)


class BudgetError(SfumatoError):
    """A privacy budget does not cover what was asked, or a grant was used before.

    >>> ledger = sf.Ledger.in_memory(sf.Budget(epsilon=0.5))
    >>> ledger.grant(epsilon=1.0, purpose="too much")
    Traceback (most recent call last):
        ...
    sfumato.errors.BudgetError: the budget does not cover this: epsilon = 1.0 needed, epsilon = 0.5 left...
    """


class OutputError(SfumatoError):
    """The result could not be written; nothing half-written is left behind.

    >>> table = sf.samples.members(3).select(["sex"])
    >>> path = sf.write(table, "people.csv")
    >>> sf.write(table, "people.csv")
    Traceback (most recent call last):
        ...
    sfumato.errors.OutputError: people.csv could not be written: it exists already...
    """


class VerificationError(SfumatoError):
    """A release is not what its record says.

    >>> path = sf.pseudonymize(sf.samples.members(20).select(["id", "sex"]), columns=["id"]).save("out")
    >>> with open("out/public/card.md", "a") as card:
    ...     print("All of it is anonymous.", file=card)
    >>> sf.verify("out").require()
    Traceback (most recent call last):
        ...
    sfumato.errors.VerificationError: the release is not what it says: card.md (altered...
    """


class MissingExtraError(SfumatoError):
    """An optional part is not installed.

    >>> raise sf.MissingExtraError("reading workbooks", "excel")
    Traceback (most recent call last):
        ...
    sfumato.errors.MissingExtraError: reading workbooks needs a part that is not installed...
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs a part that is not installed.", hint=f'pip install "sfumato[{extra}]"'
        )


class SfumatoWarning(UserWarning):
    """Something the user should know although the work goes on.

    >>> issubclass(sf.SfumatoWarning, UserWarning)
    True
    """


class NoisyWarning(SfumatoWarning):
    """What the user should know by noised counts alone: whether it is said depends on how the noise falls."""


def listed(items: Sequence[str], most: int = 8) -> str:
    """The first items and how many more: an error stays readable for a table of a thousand columns."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def printable(text: str) -> str:
    """Without control signs: a name in a file of somebody else's could repaint the terminal with them."""
    return "".join(
        c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else f"\\x{ord(c):02x}" for c in text
    )


def offered(wanted: Iterable[str], there: Sequence[str], what: str = "it has") -> str:
    """A hint for names that are not there: those that are spelt nearly so, then what there is."""
    near = [name for w in wanted for name in difflib.get_close_matches(str(w), there, 1)]
    ask = f"did you mean {listed([repr(n) for n in dict.fromkeys(near)])}? " if near else ""
    return f"{ask}{what} {listed([repr(n) for n in there], 12)}"
