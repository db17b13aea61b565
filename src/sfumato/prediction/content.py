"""The content of a released model: written from a model, and read back with every part checked.

The reader is for files that anybody may have made: it believes nothing, lists all that is wrong, and makes
no object before its parts are in order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.features.inputs import Feature
from sfumato.prediction.models import AdditiveModel, ForestModel, LogisticModel, ReleasedModel, StoredTree
from sfumato.privacy.differential import ApproxDP, PureDP
from sfumato.privacy.guarantee import Guarantee

_PARTS = {"kind", "name", "target", "features", "guarantee", "card", "versions", "parameters"}
_MOST_FEATURES, _MOST_TREES = 10_000, 1_000
_LONGEST = 500
_DEEPEST = 12  # levels of lists and tables in a card


def content_of(model: ReleasedModel) -> dict[str, Any]:
    """A model as plain JSON: what is published, all of it and nothing else."""
    from importlib.metadata import version

    return {
        "kind": model.kind,
        "name": model.name,
        "target": model.target,
        "features": [_feature_entry(f) for f in model.features],
        "guarantee": json.loads(model.guarantee.to_json()),
        "card": dict(model.card),
        "versions": dict(model.versions) or {"sfumato": version("sfumato")},
        "parameters": model.parameters(),
    }


def _feature_entry(feature: Feature) -> dict[str, Any]:
    entry = {f.name: getattr(feature, f.name) for f in fields(feature)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in entry.items()}


def model_of(content: object) -> tuple[ReleasedModel | None, list[str]]:
    """The model, or what is wrong with the content."""
    if not isinstance(content, dict) or set(content) != _PARTS:
        return None, [f"its content has not the parts {', '.join(sorted(_PARTS))}"]
    faults: list[str] = []
    for part in ("name", "target"):
        if not isinstance(content[part], str) or not 0 < len(content[part]) <= _LONGEST:
            faults.append(f"the {part} must be text of 1 to {_LONGEST} characters")
    features = _features(content["features"], faults)
    guarantee = _guarantee(content["guarantee"], faults)
    if not isinstance(content["card"], dict) or not plain(content["card"]):
        faults.append("the card must be a table of plain values")
    if not isinstance(content["versions"], dict) or not all(
        isinstance(v, str) for v in content["versions"].values()
    ):
        faults.append("the versions must be text")
    reader = READERS.get(content["kind"]) if isinstance(content["kind"], str) else None
    if reader is None:
        faults.append("its kind is not known to this version")
    if faults or reader is None or guarantee is None:
        return None, faults
    shared = {"name": content["name"], "target": content["target"], "features": features,
              "guarantee": guarantee, "card": content["card"], "versions": content["versions"]}  # fmt: skip
    if not isinstance(content["parameters"], dict):
        return None, ["the parameters must be a table"]
    return reader(content["parameters"], shared)


def plain(value: object, depth: int = _DEEPEST) -> bool:
    """Whether a value is made of texts, finite numbers, flags, lists and tables, and not too deep."""
    if value is None or isinstance(value, str | bool):
        return True
    if isinstance(value, int | float):
        return finite(value)
    if depth == 0:
        return False
    if isinstance(value, list):
        return all(plain(v, depth - 1) for v in value)
    return isinstance(value, dict) and all(
        isinstance(k, str) and plain(v, depth - 1) for k, v in value.items()
    )


def finite(value: object) -> bool:
    """Whether it is a finite number; True is none, nor is a whole number beyond all floats."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _features(entries: object, faults: list[str]) -> tuple[Feature, ...]:
    known = {f.name for f in fields(Feature)}
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_FEATURES:
        faults.append(f"the features must be a list of 1 to {_MOST_FEATURES}")
        return ()
    found = []
    for place, entry in enumerate(entries, 1):
        try:
            if not isinstance(entry, dict) or set(entry) != known:
                raise ValueError
            for part in ("levels", "thresholds"):
                if not isinstance(entry[part], list):
                    raise ValueError
            for bound in ("low", "high"):
                if entry[bound] is not None and not finite(entry[bound]):
                    raise ValueError
            if not all(finite(t) for t in entry["thresholds"]):
                raise ValueError
            if not all(isinstance(v, str | bool) or finite(v) for v in entry["levels"]):
                raise ValueError
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
            found.append(Feature(**values))
        except (SfumatoError, ValueError, TypeError):
            faults.append(f"feature {place} cannot be")
    if len({f.name for f in found}) < len(found):
        faults.append("names of features repeat")
    return tuple(found)


def _guarantee(entry: object, faults: list[str]) -> Guarantee | None:
    try:
        guarantee = Guarantee.from_json(json.dumps(entry))
    except (SfumatoError, ValueError, TypeError, AttributeError):
        faults.append("its guarantee cannot be read")
        return None
    if not any(isinstance(c, PureDP | ApproxDP) and not c.scope for c in guarantee):
        faults.append("its guarantee has no epsilon for the whole release")
    return guarantee


def _weights(entries: object, features: tuple[Feature, ...]) -> bool:
    return (
        isinstance(entries, list)
        and len(entries) == len(features)
        and all(
            isinstance(w, list) and len(w) == f.size and all(finite(v) for v in w)
            for w, f in zip(entries, features, strict=True)
        )
    )


def _additive(
    parameters: Mapping[str, Any], shared: dict[str, Any]
) -> tuple[ReleasedModel | None, list[str]]:
    faults = []
    if set(parameters) != {"base", "weights"}:
        return None, ["its parameters are not base and weights"]
    if not finite(parameters["base"]):
        faults.append("the base must be a finite number")
    if not _weights(parameters["weights"], shared["features"]):
        faults.append("its weights are not one finite number for each bin of each feature")
    if faults:
        return None, faults
    weights = tuple(tuple(float(v) for v in w) for w in parameters["weights"])
    return AdditiveModel(base=float(parameters["base"]), weights=weights, **shared), []


def _logistic(
    parameters: Mapping[str, Any], shared: dict[str, Any]
) -> tuple[ReleasedModel | None, list[str]]:
    if set(parameters) != {"base", "weights", "coordinates", "covariance"}:
        return None, ["its parameters are not base, weights, coordinates and covariance"]
    additive, faults = _additive({k: parameters[k] for k in ("base", "weights")}, shared)
    coordinates, covariance = parameters["coordinates"], parameters["covariance"]
    if coordinates == [] and covariance == []:
        width = 0
    else:
        width = _width(coordinates, shared["features"])
        if width == 0:
            faults.append("its coordinates are not the same finite numbers for each code of each feature")
        elif not _square(covariance, width):
            faults.append("its covariance is not one finite number for each two coefficients")
    if faults or not isinstance(additive, AdditiveModel):
        return None, faults
    return LogisticModel(
        base=additive.base, weights=additive.weights,
        coordinates=tuple(tuple(tuple(map(float, c)) for c in t) for t in coordinates) if width else (),
        covariance=tuple(tuple(map(float, r)) for r in covariance) if width else (), **shared,
    ), []  # fmt: skip


def _width(coordinates: object, features: tuple[Feature, ...]) -> int:
    """How many coefficients there are, the intercept's among them; 0 if the coordinates cannot be."""
    if not isinstance(coordinates, list) or len(coordinates) != len(features):
        return 0
    width = 1
    for table, feature in zip(coordinates, features, strict=True):
        if not isinstance(table, list) or len(table) != feature.size:
            return 0
        if not all(isinstance(c, list) and all(finite(v) for v in c) for c in table):
            return 0
        if len({len(c) for c in table}) != 1:
            return 0
        width += len(table[0])
    return width


def _square(matrix: object, width: int) -> bool:
    return (
        isinstance(matrix, list)
        and len(matrix) == width
        and all(isinstance(r, list) and len(r) == width and all(finite(v) for v in r) for r in matrix)
    )


def _forest(parameters: Mapping[str, Any], shared: dict[str, Any]) -> tuple[ReleasedModel | None, list[str]]:
    if set(parameters) != {"base", "trees"} or not isinstance(parameters["trees"], list):
        return None, ["its parameters are not base and trees"]
    faults = [] if finite(parameters["base"]) else ["the base must be a finite number"]
    if not 0 < len(parameters["trees"]) <= _MOST_TREES:
        faults.append(f"it has not 1 to {_MOST_TREES} trees")
    trees = []
    for place, entry in enumerate(parameters["trees"], 1):
        tree = _tree(entry, shared["features"])
        if tree is None:
            faults.append(f"tree {place} cannot be")
        else:
            trees.append(tree)
    if faults:
        return None, faults
    return ForestModel(base=float(parameters["base"]), trees=tuple(trees), **shared), []


def _tree(entry: object, features: tuple[Feature, ...]) -> StoredTree | None:
    """One tree, or None: each node leads on only, to a node that is there, so that every walk ends."""
    if not isinstance(entry, dict) or set(entry) != {"nodes", "values"}:
        return None
    nodes, values = entry["nodes"], entry["values"]
    if not isinstance(nodes, list) or not isinstance(values, list) or len(values) <= len(nodes):
        return None
    if not all(finite(v) for v in values):
        return None
    links = []
    for place, node in enumerate(nodes):
        if not isinstance(node, dict) or set(node) != {"feature", "next"}:
            return None
        feature, following = node["feature"], node["next"]
        if not _within(feature, 0, len(features)) or not isinstance(following, list):
            return None
        if len(following) != features[feature].size:
            return None
        if not all(_within(n, place + 1, len(values)) for n in following):
            return None
        links.append((feature, tuple(following)))
    return tuple(links), tuple(float(v) for v in values)


def _within(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value < high


Reader = Callable[[Mapping[str, Any], dict[str, Any]], tuple[ReleasedModel | None, list[str]]]
READERS: dict[str, Reader] = {
    AdditiveModel.kind: _additive,
    LogisticModel.kind: _logistic,
    ForestModel.kind: _forest,
}
