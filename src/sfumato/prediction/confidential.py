"""A DPaT or EDPaT as one confidential file, `.dpat`: JSON, for its owner alone. Never a release.

    DPaT().fit(table, "diabetes").save("diabetes.dpat")
    model = load_confidential("diabetes.dpat")
    model.score_noisy({"glucose": 130, ...}, ledger.grant(epsilon=model.claimed_epsilon, purpose="a call"))

It holds the true counts of every leaf, because the noise is drawn at each call. Whoever can read the file
can read the counts; that is said in its first field. Loading makes plain numbers and texts, runs nothing, and
lists all faults at once.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import stat
import warnings
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato._system import permissions
from sfumato.errors import BudgetError, DataError, ParameterError, SfumatoError, SfumatoWarning, listed
from sfumato.features.inputs import Feature, Inputs
from sfumato.io.atomic import write_text
from sfumato.prediction.perturbation import claim, noised, output
from sfumato.prediction.structures import GrownTree, Node
from sfumato.prediction.variables import TreeVariable
from sfumato.privacy.grants import Grant
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.rounding import exact

if TYPE_CHECKING:
    from sfumato.prediction.learner import Learner
    from sfumato.schema import Value

__all__ = ["NoisyModel", "load_confidential", "write"]

FORMAT = 1
MARK = "This file holds true counts of persons. It must not leave the house; it is not a release."
MOST_BYTES = 32 * 2**20
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEYS = ("name", "nonce", "method", "target", "claimed_epsilon", "variables", "trees")
_ROUNDED_UP = 1e-9
_METHODS = ("DPaT", "EDPaT")


@dataclass(frozen=True, eq=False)
class NoisyModel:
    """A noisy model as the service asks it: one row and one grant a call.

    name, target, features, guarantee, card: what may be told to who asks; no count is among them.
    claimed_epsilon: what each call claims and costs; the claim is unproved, and in known cases false.
    version: of the file; made from a nonce too, so that it confirms nobody's guess of the counts.
    """

    name: str
    kind: str
    target: str
    claimed_epsilon: float
    variables: tuple[TreeVariable, ...] = field(repr=False)
    trees: tuple[GrownTree, ...] = field(repr=False)
    version: str = ""

    noisy: ClassVar[bool] = True
    signer: ClassVar[str] = ""

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """What a row may hold."""
        return tuple(_feature(v) for v in self.variables)

    @cached_property
    def _inputs(self) -> Inputs:
        return Inputs(self.features)

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee, and why."""
        return claim(self.claimed_epsilon, self.variables)

    @property
    def card(self) -> dict[str, Any]:
        """The method and its claim; nothing that was computed from the data."""
        return {
            "method": self.kind,
            "source": "Park 2014, chapter 5",
            "claimed epsilon per call": self.claimed_epsilon,
            "limits": [c.promise() for c in self.guarantee],
        }

    def checked(self, row: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The row as the model takes it, and the names of numbers that were clamped to their bounds.

        Raises FeatureError naming every field and rule that is broken, and no value.
        """
        clamped: list[str] = []
        self._inputs.codes(row, clamped)  # refuses what no row may hold
        out: dict[str, Any] = {}
        for f in self.features:
            value = row.get(f.name)
            if value is not None and f.kind == "number":
                low, high = f.low, f.high  # compared before it is a float: a whole number may be too large
                value = low if low is not None and value < low else value  # type: ignore[operator]
                value = float(high if high is not None and value > high else value)  # type: ignore[operator, arg-type]
                value += 0.0  # 0 and -0.0 are one question
            elif value is not None:
                value = f.levels[f.levels.index(value)]  # so are 1 and 1.0
            out[f.name] = value
        return out, tuple(clamped)

    def score_noisy(self, row: Mapping[str, object], grant: Grant) -> float:
        """The answer to one call: share plus Laplace noise, not clamped. Burns a grant of claimed_epsilon."""
        asked, _ = self.checked(row)
        # A ledger counts in whole units and rounds up, so a grant may be a little more than was asked for.
        if grant.epsilon is None or not 0 <= grant.loss - exact(self.claimed_epsilon) < _ROUNDED_UP:
            raise BudgetError(
                "a call costs the claimed epsilon.", hint="ledger.grant(epsilon=model.claimed_epsilon, ...)"
            )
        codes = [_code(v, asked[v.name]) for v in self.variables]
        return float(noised(output([_leaf(t, codes) for t in self.trees]), 1, grant)[0])


class KeptFeature(Feature):
    """A feature whose levels were read off the data: rows are checked against them, and nobody is told."""

    levels_told: ClassVar[bool] = False


def _feature(v: TreeVariable) -> Feature:
    kind = "category" if v.kind == "ordered" else v.kind
    feature = KeptFeature if v.levels and not v.public else Feature
    return feature(
        v.name, kind, v.low, v.high, v.levels, (), v.unit, v.label, missing_allowed=v.missing
    )  # fmt: skip


def _code(v: TreeVariable, value: Value | None) -> int:
    """The code of a checked value; `TreeVariable.codes` for one cell, without a compiler."""
    if value is None:
        return v.cuts + 1
    return bisect_left(v.thresholds, value) if v.kind == "number" else v.levels.index(value)


def _leaf(tree: GrownTree, codes: list[int]) -> Node:
    node = tree.nodes[0]
    while not node.is_leaf:
        right = tree.variables[node.variable].passes(codes[node.variable], node.test)
        node = tree.nodes[node.right if right else node.left]
    return node


# -- writing -----------------------------------------------------------------------------------------


def write(
    fitted: Learner, epsilon: float | None, path: str | Path, name: str = "", *, overwrite: bool = False
) -> Path:
    """Write a fitted model for its owner alone (mode 0600), whole or not at all."""
    target = Path(path)
    name = name or target.stem
    faults = []
    if target.suffix != ".dpat":
        faults.append("the file's suffix is .dpat")
    if not _NAME.fullmatch(name):
        faults.append("the name is 1 to 64 letters, digits, '.', '_' or '-'")
    if not hasattr(fitted, "trees_"):
        faults.append("the model is not fitted")
    elif epsilon is None or len(fitted.classes_) < 2:
        faults.append("a model to be asked has an epsilon, and saw two classes")
    elif not all(isinstance(x, str | int | float) for v in fitted.variables_ for x in v.levels):
        faults.append("levels are texts, numbers, or true and false")
    if faults:
        raise ParameterError(f"no confidential file: {'; '.join(faults)}.", hint='save("diabetes.dpat")')
    content = {
        "name": name, "nonce": secrets.token_hex(16), "method": type(fitted).__name__,
        "target": fitted.target_, "claimed_epsilon": float(epsilon or 0),
        "variables": [v.to_dict() for v in fitted.variables_],
        "trees": [{"alpha": t.alpha, "nodes": t.to_list()} for t in fitted.trees_],
    }  # fmt: skip
    document = {
        "CONFIDENTIAL": MARK,
        "sfumato_noisy_model": FORMAT,
        "checksum": _checksum(content),
        **content,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(target, text, overwrite=overwrite, private=True)
    return target


def _checksum(content: Mapping[str, Any]) -> str:
    spelled = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(spelled.encode()).hexdigest()


# -- reading -----------------------------------------------------------------------------------------


def load_confidential(path: str | Path) -> NoisyModel:
    """Read a .dpat file; every fault is listed.

    A file that everybody may read or change is refused; one that a group may is warned of.
    """
    source = Path(path)
    try:
        with source.open("rb") as opened:
            mode, raw = source.stat().st_mode, opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"{source.name} cannot be read: {error.strerror}.", hint="check the path") from None
    document = _document(source.name, raw)
    content = {k: document[k] for k in _KEYS}
    faults, model = [], None
    try:
        if _checksum(content) != document["checksum"]:
            faults.append("its checksum is not that of its content")
        model = _model(content)
    except SfumatoError as error:
        faults.append(error.message.rstrip("."))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        faults.append("a field has not the type it should have")
    if faults or model is None:
        raise DataError(f"{source.name} is not accepted: {listed(faults)}.", hint="make the file anew")
    if permissions.open_to(mode, stat.S_IRWXO):
        raise DataError(f"{source.name} is open to everybody.", hint="chmod 600, and ask who has read it")
    if permissions.open_to(mode, stat.S_IRWXG):
        warnings.warn(f"{source.name} can be read by others: chmod 600", SfumatoWarning, stacklevel=2)
    return model


def _document(name: str, raw: bytes) -> dict[str, Any]:
    hint = "give a file that DPaT or EDPaT saved"
    if len(raw) > MOST_BYTES:
        raise DataError(f"{name} is larger than {MOST_BYTES >> 20} MiB.", hint=hint)
    try:
        document: dict[str, Any] = json.loads(raw)
    except (ValueError, RecursionError):
        raise DataError(f"{name} is not JSON.", hint=hint) from None
    keys = {"CONFIDENTIAL", "sfumato_noisy_model", "checksum", *_KEYS}
    version = document.get("sfumato_noisy_model") if isinstance(document, dict) else None
    if type(version) is int and version != FORMAT:
        raise DataError(f"{name} is of another version than {FORMAT}.", hint="upgrade Sfumato")
    if version is None or set(document) != keys or document["CONFIDENTIAL"] != MARK:
        raise DataError(f"{name} is not a confidential model, or has other fields.", hint=hint)
    return document


def _model(content: Mapping[str, Any]) -> NoisyModel:
    variables = tuple(
        TreeVariable(**{**v, "thresholds": tuple(v["thresholds"]), "levels": tuple(v["levels"])})
        for v in content["variables"]
    )
    faults = []
    if not isinstance(content["name"], str) or not _NAME.fullmatch(content["name"]):
        faults.append("the name must be a name")
    if content["method"] not in _METHODS:
        faults.append(f"its method is none of {', '.join(_METHODS)}")
    if not all(isinstance(content[k], str) and content[k] for k in ("target", "nonce")):
        faults.append("target and nonce are texts")
    epsilon = content["claimed_epsilon"]
    if type(epsilon) not in (int, float) or not 0 < epsilon <= 1000:
        faults.append("its epsilon is not above 0 and up to 1000")
    trees = tuple(GrownTree.from_list(t["nodes"], variables, float(t["alpha"])) for t in content["trees"])
    if not trees or not variables:
        faults.append("it has no tree or no variable")
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="make the file anew")
    model = NoisyModel(
        content["name"], content["method"], content["target"], float(epsilon), variables, trees,
        _checksum(content)[:16],
    )  # fmt: skip
    Inputs(model.features)  # a feature that cannot be asked is refused here
    return model
