"""What the command `synthesize` knows of each method: which options it has, and how it is built from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sfumato.synthesis.synthesize import SynthesisMethod


@dataclass(frozen=True)
class Asked:
    """What was said on the command line; each method takes what it knows, and refuses the rest.

    said: every other option by its parameter's name; None, False or nothing where it was not given.
    """

    epsilon: float | None
    columns: list[str] | None
    said: Mapping[str, Any]

    def take(self, method: str, *known: str) -> dict[str, Any]:
        """The options that were given; those that this method has no use for are refused, not ignored."""
        given = {n: v for n, v in self.said.items() if v is not None and v is not False and v != []}
        foreign = [f"--{n.replace('_', '-')}" for n in given if n not in known]
        if foreign:
            raise ParameterError(f"{method} has no {', '.join(foreign)}.", hint="sfumato synthesize --help")
        if "constraints" in given:
            given["constraints"] = read_constraints(given["constraints"])
        return given | ({"columns": tuple(self.columns)} if self.columns else {})


def read_constraints(path: Path) -> Any:
    """The constraints of a file."""
    from sfumato.synthesis.constraints import from_toml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path.name} cannot be read.", hint="a TOML file of constraints") from None
    return from_toml(text)


def _private(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.private import PrivateSynthesizer

    given = asked.take(
        "private", "delta", "target", "max_rows_per_person", "declared_rows", "constraints", "weight"
    )
    if "declared_rows" in given:
        given["rows"] = given.pop("declared_rows")
    return PrivateSynthesizer(epsilon=1.0 if asked.epsilon is None else asked.epsilon, **given)


def _pegs(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.pegs import PeGS

    given = asked.take(
        "pegs", "log_l", "parents", "block", "per_row", "cap", "sweeps", "weight", "smoothing", "models",
        "neighbours", "declared_rows", "constraints",
    )  # fmt: skip
    per_row = given.pop("per_row", False)
    if given.get("parents") == -1:
        given["parents"] = "auto"
    if "models" in given:
        given["models"] = dict(_pair(m) for m in given["models"])
    return PeGS(
        epsilon_per_row=asked.epsilon if per_row else None,
        epsilon=None if per_row else asked.epsilon,
        **given,
    )


def _pair(text: str) -> tuple[str, str]:
    name, sign, family = text.rpartition("=")
    if not (name and sign and family):
        raise ParameterError("--models takes COLUMN=FAMILY.", hint="--models charge=lognormal")
    return name, family


def _pmi(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.imputation.pmi import PMI

    given = asked.take("pmi", "per_row", "sweeps", "weight", "constraints")
    per_row, total = (asked.epsilon, None) if given.pop("per_row", False) else (None, asked.epsilon)
    return PMI(epsilon_per_row=per_row, epsilon=total, **given)


def _imputation(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.imputation.multiple import MultipleImputation

    given = {"engine": "trees"} | asked.take("imputation", "engine", "weight", "constraints")
    return _no_epsilon("imputation", asked, MultipleImputation(**given))


def _partial(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.imputation.partial import PartialSynthesis

    given = asked.take("partial", "risky", "by", "engine", "weight", "constraints")
    if "columns" not in given:
        raise ParameterError("which columns are drawn anew?", hint="--column age --column zip")
    return _no_epsilon("partial", asked, PartialSynthesis(**given))


def _missing(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.imputation.missing_values import MissingValues

    given = asked.take("missing", "engine", "sweeps", "weight", "constraints")
    return _no_epsilon("missing", asked, MissingValues(**given))


def _no_epsilon(name: str, asked: Asked, method: SynthesisMethod) -> SynthesisMethod:
    if asked.epsilon is not None:
        raise ParameterError(f"{name} promises no epsilon.", hint="--method private or pegs, or without it")
    return method


def _marginals(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.baselines import MarginalBootstrap

    return MarginalBootstrap(
        epsilon=asked.epsilon, **asked.take("marginals", "neighbours", "constraints", "weight")
    )


def _table(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.baselines import ContingencyTable

    given = asked.take("table", "neighbours", "constraints", "weight")
    return ContingencyTable(epsilon=asked.epsilon, **given)


def _lugs(asked: Asked) -> SynthesisMethod:
    from sfumato.synthesis.lugs.method import LUGS
    from sfumato.synthesis.lugs.parallel import PLUGS

    if asked.epsilon is not None:
        raise ParameterError(
            "lugs has no --epsilon: it is not differentially private.", hint="--log-l, or --method private"
        )
    given = asked.take(
        "lugs", "log_l", "cap", "hashes", "burn_in", "thin", "partitions", "weight", "constraints"
    )
    partitions = given.pop("partitions", None)
    return LUGS(**given) if partitions is None else PLUGS(LUGS(**given), partitions)


# Methods that know how many rows there are to be.
OWN_ROWS = ("private", "partial", "missing")
# A further method is one line here. The first is the default.
METHODS: dict[str, Callable[[Asked], SynthesisMethod]] = {
    "private": _private,
    "pegs": _pegs,
    "pmi": _pmi,
    "imputation": _imputation,
    "partial": _partial,
    "missing": _missing,
    "marginals": _marginals,
    "table": _table,
    "lugs": _lugs,
}
