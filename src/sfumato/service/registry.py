"""The models at hand, by name and version. Names are looked up, never made into paths."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, ParameterError, listed
from sfumato.service import logs
from sfumato.service.certainty import has_intervals
from sfumato.service.installation import Installation
from sfumato.service.request_parts import NAME
from sfumato.service.settings import Settings

if TYPE_CHECKING:
    from sfumato.features.inputs import Feature
    from sfumato.prediction.confidential import NoisyModel
    from sfumato.prediction.models import ReleasedModel

CURRENT = "current"


@dataclass(frozen=True)
class Served:
    """One version of a model, with what is said of it in every answer.

    model: what sfumato.prediction loaded. A released one is asked to score and explain, a confidential one
        to check a row and to score it with noise.
    """

    model: Any
    name: str
    version: str
    noisy: bool
    opening: bytes  # the part of an answer that is the same for all, up to the scores

    @classmethod
    def of(cls, model: Any) -> Served:
        """Ready to answer."""
        if not NAME.fullmatch(model.name) or not NAME.fullmatch(model.version) or model.version == CURRENT:
            raise DataError(
                "a model's name and version are 1 to 64 letters, digits, '.', '_', '-'.",
                hint="fit it with another name",
            )
        fields = {"model": model.name, "version": model.version, "target": model.target}
        fields["guarantee"] = "; ".join(c.title for c in model.guarantee) or "nothing is promised"
        if model.noisy:
            fields["guarantee"] = "unproved"
            fields["claimed_epsilon"] = model.claimed_epsilon
            fields["note"] = UNPROVED
        if not model.noisy:
            _tried(model)
        opening = json.dumps(fields, separators=(",", ":"), allow_nan=False)[:-1].encode()
        return cls(model, model.name, model.version, bool(model.noisy), opening)

    @property
    def signer(self) -> str | None:
        """The public key of who signed it; a confidential model has none."""
        found: str | None = getattr(self.model, "signer", None)
        return found

    @property
    def most_fields(self) -> int:
        """More fields than this are nonsense, not mistakes."""
        return 2 * len(self.model.features) + 20

    def summary(self) -> dict[str, Any]:
        """A line about it."""
        return {
            "name": self.name,
            "version": self.version,
            "kind": self.model.kind,
            "target": self.model.target,
            "noisy": self.noisy,
            "guarantee": [c.title for c in self.model.guarantee],
        }

    def document(self) -> dict[str, Any]:
        """All that is public about it: the guarantee in full, the features with their bounds, the card."""
        guarantee = self.model.guarantee
        about = self.summary() | {
            "guarantee": [
                {
                    "title": c.title,
                    "promise": c.promise(),
                    "limits": c.limits(),
                    "assumptions": list(c.assumptions),
                }
                for c in guarantee
            ],
            "guarantee_json": json.loads(guarantee.to_json()),
            "features": [feature_document(f) for f in self.model.features],
            "card": self.model.card,
            "intervals": has_intervals(self.model),
            "signer": self.signer,
        }
        if self.noisy:
            about |= {"claimed_epsilon": self.model.claimed_epsilon, "note": UNPROVED}
        return about


def _tried(model: ReleasedModel) -> None:
    """Score and explain once before anybody asks; what cannot answer is not served."""
    row = middle(model.features)
    if not 0 <= model.score([row])[0].probability <= 1 or not model.explain(row):
        raise DataError(f"{model.name} gives no probability.", hint="fit it anew")


def middle(features: Sequence[Any]) -> dict[str, Any]:
    """A row in the middle of all public ranges; what may be missing is."""
    return {
        f.name: ((f.low or 0) + (f.high or 0)) / 2 if f.kind == "number" else f.levels[0]
        for f in features
        if not f.missing_allowed and getattr(f, "levels_told", True)
    }


UNPROVED = (
    "The claim of differential privacy of this method is unproved and in known cases false. "
    "The claimed epsilon was debited all the same."
)


def level_type(feature: Feature) -> str:
    """Of what type the levels are, for who is not told them."""
    level = feature.levels[0]
    return "boolean" if isinstance(level, bool) else "string" if isinstance(level, str) else "number"


def feature_document(feature: Feature) -> dict[str, Any]:
    """A feature with its public bounds; what does not apply is left out."""
    about = {
        name: getattr(feature, name, None)
        for name in ("name", "kind", "label", "unit", "low", "high", "levels")
    }
    told = getattr(feature, "levels_told", True)  # not if they were read off the data
    if not told:
        about |= {"levels": None, "level_type": level_type(feature)}
    elif about["levels"] is not None:
        about["levels"] = list(about["levels"]) or None
    about = {k: v for k, v in about.items() if v not in (None, "")}
    return about | {"missing_allowed": bool(getattr(feature, "missing_allowed", False))}


class Registry:
    """All versions of all models; which one is current stands in the installation."""

    def __init__(self, settings: Settings, installation: Installation) -> None:
        self._settings, self._installation = settings, installation
        self._lock = threading.Lock()
        self._files: set[tuple[str, int, int]] = set()
        self._served: dict[str, dict[str, Served]] = {}
        self._require(self.look())
        for name, versions in self._served.items():
            installation.settle(name, list(versions))

    def look(self) -> dict[Path, Exception]:
        """Load what is new among the files and folders; gives back what cannot be loaded, and why.

        Such a file is logged by its name and left out: it must not keep the others from answering.
        """
        refused: dict[Path, Exception] = {}
        with self._lock:
            for path in _files(self._settings.models):
                try:
                    status = path.stat()
                    mark = (str(path), status.st_mtime_ns, status.st_size)
                    if mark not in self._files:
                        self._add(Served.of(_load(path, self._settings)))
                        self._files.add(mark)
                except Exception as error:
                    refused[path] = error
                    logs.event("model_refused", logging.WARNING, file=path.name, **logs.fault(error))
        return refused

    def _require(self, refused: dict[Path, Exception]) -> None:
        """At the start: what was given by name is served, and every version that was made current."""
        named = [error for path, error in refused.items() if path in map(Path, self._settings.models)]
        if named:
            raise named[0]
        lost = any(v not in self._served.get(m, ()) for m, v in self._installation.activated.items())
        if refused and (lost or not self._served):
            raise next(iter(refused.values()))
        if not self._served:
            raise DataError("no model was found.", hint="give .sfm files, or a folder of them")

    def _add(self, served: Served) -> None:
        if served.noisy and not self._settings.allow_unproved:
            raise ParameterError(
                f"{served.name} is a noisy model: its claim of differential privacy is unproved.",
                hint="PrivateLogistic and AdditiveScore are proved; --allow-unproved serves it all the same",
            )
        if served.noisy and not self._settings.ledger:
            raise ParameterError(
                f"{served.name} needs a ledger: each answer is debited.", hint="--ledger FILE"
            )
        if self._settings.unsure != "answer" and not has_intervals(served.model):
            raise ParameterError(
                f"{served.name} has no intervals: where it is not sure cannot be said.",
                hint="fit it with --intervals, or leave --unsure out",
            )
        versions = self._served.setdefault(served.name, {})
        if any(other.noisy != served.noisy for other in versions.values()):
            raise ParameterError(
                f"{served.name} names a released and a noisy model.", hint="give them different names"
            )
        if not self._settings.trusted:
            logs.event("signer_not_compared", model=served.name, version=served.version, signer=served.signer)
        versions[served.version] = served

    # -- looking up --------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """All models."""
        return sorted(self._served)

    def versions(self, name: str) -> list[str]:
        """All versions at hand, in the order they came."""
        return list(self._served.get(name, ()))

    def find(self, name: str, version: str = CURRENT) -> Served | None:
        """A version of a model, or None. One that another worker activated is looked for among the files."""
        versions = self._served.get(name)
        if versions is None:
            return None
        if version != CURRENT:
            return versions.get(version)
        active = self._installation.active(name)
        if active is not None and active not in versions:
            self.look()
        return versions.get(active or "")


def _files(given: Sequence[str]) -> list[Path]:
    found, absent = [], []
    for text in given:
        path = Path(text)
        if path.is_dir():
            found += sorted(p for p in path.iterdir() if p.suffix in (".sfm", ".dpat") and p.is_file())
        elif path.is_file():
            found.append(path)
        else:
            absent.append(path.name)
    if absent:
        raise DataError(f"no such model: {listed(absent)}.", hint="give .sfm files, or a folder of them")
    return found


def _load(path: Path, settings: Settings) -> ReleasedModel | NoisyModel:
    if path.suffix == ".dpat":
        from sfumato.prediction.confidential import load_confidential

        return load_confidential(path)
    from sfumato.prediction.artefact import load

    return load(path, trusted=list(settings.trusted) or None)
