"""A model as one file: arrays and JSON in a zip archive, without pickle, checked on the way in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.errors import DataError, SfumatoError
from sfumato.io.atomic import atomic_file
from sfumato.privacy import Guarantee
from sfumato.schema import Schema
from sfumato.schema.domains import without_public_domain
from sfumato.schema.provenance import Checked
from sfumato.schema.search_record import known_as
from sfumato.synthesis.constraints import Ordered, Zero
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.grain import Ends
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.potentials import Potentials, TargetTables
from sfumato.synthesis.private.purse import Measurement
from sfumato.synthesis.private.variables import DomainVariables, Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION = 4
# In version 1 every column was by itself, in 2 none was finer than its bins, up to 3 tables were those of
# `Measured.wanted`.
_READ = (1, 2, 3, 4)


class Content(NamedTuple):
    """What of a model is kept in its file."""

    domain: Domain
    guarantee: Guarantee
    measured: Measured
    potentials: Potentials
    plan: Mapping[str, Any]


def save(model: Content, path: Path, overwrite: bool = False) -> Path:
    """Write the model; whole or not at all."""
    measured, potentials = model.measured, model.potentials
    arrays: dict[str, Any] = {
        "own": potentials.own, "edges": potentials.edges, "particles": potentials.particles,
        "tables": potentials.wanted.flat,
    }  # fmt: skip
    for i, (variable, classes) in enumerate(zip_longest(measured.variables.all, measured.classes)):
        if not variable.single or variable.ends is not None:
            arrays[f"states{i}"] = variable.states
        if variable.ends is not None:
            arrays[f"low{i}"], arrays[f"high{i}"] = variable.ends
        arrays |= {f"level{i}_{k}": level for k, level in enumerate(variable.levels)}
        if classes is not None:
            arrays[f"classes{i}"] = classes
    entries = []
    for i, (what, m) in enumerate(measured.everything()):
        arrays[f"m{i}"] = m.values
        entries.append(
            {"what": what, "columns": m.columns, "factor": m.factor, "sigma": m.sigma, "law": m.law,
             "amount": m.amount}
        )  # fmt: skip
    document = {
        "sfumato_private_model": _VERSION,
        "schema": model.domain.schema.to_toml(),
        "differences": [[d.first.name, d.second.name] for d in model.domain.differences],
        "ordered": [[c.first, c.second] for c in model.domain.constraints if isinstance(c, Ordered)],
        "zeros": [
            {"columns": z.columns, "masks": [m.tolist() for m in z.masks]} for z in measured.variables.zeros
        ],
        "variables": [{"columns": v.columns, "levels": len(v.levels)} for v in measured.variables.all],
        "details": len(measured.variables.details),
        "guarantee": json.loads(model.guarantee.to_json()),
        "plan": dict(model.plan),
        "rows": measured.rows,
        "gain": measured.gain,
        "measurements": entries,
        "trace": potentials.trace,
    }
    arrays["document"] = np.frombuffer(json.dumps(document, allow_nan=False).encode(), np.uint8)
    with atomic_file(path, overwrite) as draft, draft.open("wb") as sink:
        np.savez_compressed(sink, **arrays)
    return path


def load(path: Path) -> Content:
    """Read a model. What does not fit together is refused; a changed number that fits is not noticed."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(arrays["document"].tobytes())
        if document["sfumato_private_model"] not in _READ:
            raise DataError(f"{path.name} has another version than {_VERSION}.", hint="upgrade Sfumato")
        return _content(document, arrays)
    except FileNotFoundError:
        raise DataError(f"no model {path.name}.", hint="correct the path") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}.") from None
    except SfumatoError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, zipfile.BadZipFile):
        raise DataError(f"{path.name} is not a private model.", hint="restore it from a copy") from None


def _content(document: dict[str, Any], arrays: dict[str, Any]) -> Content:
    ordered = tuple(Ordered(a, b) for a, b in document["ordered"])
    # What it promises was stated when it was fitted; here it is about how its columns are read.
    schema = Schema(tuple(known_as(c, Checked.DRAWN) for c in Schema.from_toml(document["schema"])))
    if without_public_domain(schema):
        raise DataError(
            "it rests on domains of which nobody says where they come from: an earlier version made it.",
            hint="fit it again, with domains that have a provenance (docs/domains.md)",
        )
    pairs = [Ordered(a, b) for a, b in document.get("differences", [])]
    domain = Domain.of(schema, constraints=pairs, ranges=True).with_differences()
    if len(domain.differences) != len(pairs):
        raise ValueError
    domain = replace(domain, constraints=ordered)
    zeros = tuple(
        Zero(tuple(z["columns"]), tuple(np.array(m, bool) for m in z["masks"])) for z in document["zeros"]
    )
    variables, classes = _variables(document, arrays, domain.sizes, zeros)
    parts: dict[str, list[Measurement]] = {"rows": [], "scores": [], "column": [], "level": [], "pair": []}
    for i, entry in enumerate(document["measurements"]):
        if arrays[f"m{i}"].dtype != np.int64:
            raise ValueError
        parts[entry["what"]].append(
            Measurement(tuple(int(c) for c in entry["columns"]), arrays[f"m{i}"], int(entry["factor"]),
                        float(entry["sigma"]), str(entry["law"]), float(entry["amount"]))
        )  # fmt: skip
    levels = tuple(tuple(m for m in parts["level"] if m.columns == (j,)) for j in range(len(variables.all)))
    measured = Measured(
        variables, float(document["rows"]), tuple(parts["column"]), levels, classes, tuple(parts["pair"]),
        next(iter(parts["rows"]), None), next(iter(parts["scores"]), None), document["gain"],
    )  # fmt: skip
    _check(measured)
    wanted = measured.wanted()
    own, edges, particles = (arrays[name] for name in ("own", "edges", "particles"))
    fits = (
        own.shape == wanted.own_flat.shape
        and edges.shape == wanted.flat.shape
        and np.isfinite(own).all()
        and np.isfinite(edges).all()
        and particles.dtype == np.uint16
        and particles.shape[0] == len(measured.sizes)
        and particles.shape[1] > 0
        and bool((particles.max(axis=1) < np.array(measured.sizes)).all())
    )
    if not fits:
        raise ValueError
    if "tables" in arrays or document["sfumato_private_model"] > 3:
        wanted = _with(wanted, arrays["tables"])
    guarantee = Guarantee.from_json(json.dumps(document["guarantee"]))
    potentials = Potentials(wanted, own, edges, particles, tuple(document["trace"]))
    return Content(domain, guarantee, measured, potentials, document["plan"])


def _with(wanted: TargetTables, flat: NDArray[Any]) -> TargetTables:
    """The tables that were estimated with the model."""
    if flat.shape != wanted.flat.shape or flat.dtype != np.float64 or not np.isfinite(flat).all():
        raise ValueError
    if len(flat) and flat.min() < 0:
        raise ValueError
    parts = np.split(flat, wanted.starts[1:-1]) if wanted.tables else []
    return wanted.with_tables([p.reshape(t.shape) for p, t in zip(parts, wanted.tables, strict=True)])


def _variables(
    document: dict[str, Any], arrays: dict[str, Any], sizes: tuple[int, ...], zeros: tuple[Zero, ...]
) -> tuple[DomainVariables, tuple[Any, ...]]:
    """What is one variable, and its classes; in version 1 every column is by itself."""
    if document["sfumato_private_model"] == 1:
        return DomainVariables.plain(sizes, zeros), (None,) * len(sizes)
    every, classes = [], []
    for i, entry in enumerate(document["variables"]):
        columns = tuple(int(c) for c in entry["columns"])
        finer = f"low{i}" in arrays
        states = arrays[f"states{i}"] if len(columns) > 1 or finer else np.arange(sizes[columns[0]])[None]
        levels = tuple(arrays[f"level{i}_{k}"] for k in range(int(entry["levels"])))
        cells = _ends(arrays[f"low{i}"], arrays[f"high{i}"], states, columns) if finer else None
        every.append(Variable(columns, states, levels, ends=cells))
        classes.append(arrays.get(f"classes{i}"))
        for codes, column in zip(states, columns, strict=True):
            _places(codes, sizes[column])
        for cells in (*levels, *(c for c in classes[-1:] if c is not None)):
            _places(cells, states.shape[1])
            if len(cells) != states.shape[1]:
                raise ValueError
    graph = len(every) - int(document["details"])
    first = sorted([*(c for v in every[:graph] for c in v.columns), *(v.columns[1] for v in every[graph:])])
    if graph < 1 or first != list(range(len(sizes))):
        raise ValueError
    return DomainVariables(tuple(every[:graph]), zeros, tuple(every[graph:])), tuple(classes[:graph])


def _ends(low: NDArray[Any], high: NDArray[Any], states: NDArray[Any], columns: tuple[int, ...]) -> Ends:
    """The ends of cells: in order, as many as there are states but for a missing one."""
    fits = (
        len(columns) == 1
        and low.dtype == high.dtype
        and low.dtype in (np.dtype(np.int64), np.dtype(np.float64))
        and low.shape == high.shape
        and len(low) in (states.shape[1], states.shape[1] - 1)
        and np.isfinite(low).all()
        and bool((low <= high).all() and (high[:-1] < low[1:]).all())
    )
    if not fits:
        raise ValueError
    return low, high


def _places(values: NDArray[Any], size: int) -> None:
    if values.dtype != np.int64 or values.ndim != 1 or not len(values):
        raise ValueError
    if values.min() < 0 or values.max() >= size:
        raise ValueError


def _check(measured: Measured) -> None:
    """Every table has the shape of what it is of."""
    variables = measured.variables
    if [m.columns for m in measured.own] != [(j,) for j in range(len(variables.all))]:
        raise ValueError
    expected: list[tuple[Measurement, tuple[int, ...]]] = [
        (m, (size,)) for m, size in zip(measured.own, variables.sizes, strict=True)
    ]
    for variable, levels in zip(variables.all, measured.levels, strict=True):
        cells = [(int(level.max()) + 1,) for level in variable.levels]
        expected += list(zip(levels, cells, strict=True))
    expected += [(m, tuple(measured.sizes[j] for j in m.columns)) for m in measured.pairs]
    if any(m.values.shape != shape for m, shape in expected):
        raise ValueError
