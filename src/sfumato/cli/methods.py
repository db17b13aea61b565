"""The methods of `anonymize` by name: how each is made, and which settings it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from sfumato.errors import ParameterError, listed, offered

Settings = Mapping[str, Any]
DEFAULTS: Settings = {
    "loss": "loss",
    "max_suppressed": 0.0,
    "time_limit": None,
    "threads": 1,
    "response": None,
    "target": None,
    "width": None,
    "literal": False,
    "leaking": False,
    "effort": None,
    "relaxed": False,
    "ordered": None,
}
INFORMED = ("column-information", "value-information")  # losses that look at a target


def _optimal(given: Settings) -> Any:
    from sfumato.anonymization.optimal import OptimalRecoding

    return OptimalRecoding(
        loss=_measure(given),
        max_suppressed=given["max_suppressed"],
        time_limit=given["time_limit"],
        threads=given["threads"],
    )


def _datafly(given: Settings) -> Any:
    from sfumato.anonymization.datafly import Datafly

    return Datafly(given["max_suppressed"] or None)


def _greedy(given: Settings) -> Any:
    from sfumato.anonymization.greedy.search import Greedy

    return Greedy(loss=_measure(given), closed=not given["literal"])


def _beam(given: Settings) -> Any:
    from sfumato.anonymization.greedy.search import Beam

    return Beam(width=given["width"] or 5, loss=_measure(given), closed=not given["literal"])


def _guided(given: Settings) -> Any:
    from sfumato.anonymization.greedy.guidance import ModelGuided

    if given["target"] is None:
        raise ParameterError("the method guided needs a column to predict.", hint="--target cost")
    return ModelGuided(given["target"], leaking=given["leaking"])


def _partition(given: Settings) -> Any:
    from sfumato.anonymization.greedy.partition import Partition

    return Partition(loss=_measure(given), rule="printed" if given["literal"] else "retrying")


def _measure(given: Settings) -> Any:
    from sfumato.anonymization.information import ColumnMI, ValueMI
    from sfumato.anonymization.loss import measure_of

    name, target = given["loss"], given["target"]
    if (name in INFORMED) != (target is not None):
        raise ParameterError(
            f"--target goes with the method guided and with --loss {' or '.join(INFORMED)}, which need it.",
            hint="--loss column-information --target cost",
        )
    if name == "column-information":
        return ColumnMI(target)
    return ValueMI(target) if name == "value-information" else measure_of(name)


def _local(given: Settings) -> Any:
    from sfumato.anonymization.local import LocalRecoding

    effort = {} if given["effort"] is None else {"effort": given["effort"]}
    return LocalRecoding(**effort, time_limit=given["time_limit"], max_suppressed=given["max_suppressed"])


def _mondrian(given: Settings) -> Any:
    from sfumato.anonymization.mondrian import Mondrian

    kind: Literal["strict", "relaxed"] = "relaxed" if given["relaxed"] else "strict"
    ordered = tuple(given["ordered"].split(",")) if given["ordered"] else ()
    return Mondrian(kind, ordered, given["max_suppressed"])


def _resample(given: Settings) -> Any:
    from sfumato.anonymization.shape.methods import ClusterResample

    return ClusterResample(response=given["response"])


def _dither(given: Settings) -> Any:
    from sfumato.anonymization.shape.methods import ClusterDither

    return ClusterDither(response=given["response"])


def _centroid(given: Settings) -> Any:
    from sfumato.anonymization.shape.methods import Centroid

    return Centroid(response=given["response"])


# A new search adds a line.
CLUSTERS = ("resample", "dither", "centroid")  # they exchange values, and need no hierarchies
METHODS: dict[str, tuple[Callable[[Settings], Any], tuple[str, ...]]] = {
    "optimal": (_optimal, ("loss", "target", "max_suppressed", "time_limit", "threads")),
    "local": (_local, ("max_suppressed", "time_limit", "effort")),
    "mondrian": (_mondrian, ("max_suppressed", "relaxed", "ordered")),
    "datafly": (_datafly, ("max_suppressed",)),
    "greedy": (_greedy, ("loss", "target", "literal")),
    "beam": (_beam, ("loss", "target", "literal", "width")),
    "guided": (_guided, ("target", "leaking")),
    "partition": (_partition, ("loss", "target", "literal")),
    "resample": (_resample, ("response",)),
    "dither": (_dither, ("response",)),
    "centroid": (_centroid, ("response",)),
}


def method_of(name: str, given: Settings) -> Any:
    """The method; a setting it would not look at is refused: silence would look like consent."""
    if name not in METHODS:
        raise ParameterError("a method that is not known.", hint=offered([name], list(METHODS), "one of"))
    make, used = METHODS[name]
    idle = [f"--{s.replace('_', '-')}" for s, v in given.items() if v != DEFAULTS[s] and s not in used]
    if idle:
        raise ParameterError(f"the method {name} has no use for {listed(idle)}.", hint="leave them out")
    return make(given)
