"""What is served and how: paths and limits, no secret among them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.service.certainty import Certainty

_OWN = "v1|v2|page|docs|healthz|readyz|metrics|openapi.json|cds-services"  # no prefix may begin so
_PREFIX = re.compile(rf"(?!/(?:{_OWN})(?:/|$))(/[A-Za-z0-9][A-Za-z0-9._~-]{{0,63}}){{1,8}}")
VARIABLE = "SFUMATO_SERVICE"  # how the settings reach the worker processes


@dataclass(frozen=True)
class Settings:
    """All a worker needs to know.

    models: files (.sfm, .dpat) or folders of them. A folder is looked through again when a version is
        activated that is not known yet.
    keys: the installation's file: keys, active versions, the secret of its keyed hashes.
    answers: what was answered under an idempotency key, and by noisy models; entries expire. A file, or a URL
        of PostgreSQL, where several machines share answers and rates.
    ledger: path or URL; needed for noisy models only.
    trusted: public keys (hex) whose signatures are taken. None given: the file's own is, which only shows
        that the file was not damaged.
    share_answers: a noisy answer is repeated to every client who asks the same; else to the same client only.
    body_bytes, most_rows: how large a question may be. seconds_to_send: how long its sending may take.
    seconds_to_ask: how long a connection may be open before its first line and headers are there.
    connections_per_address: open at once, in each worker. Behind a proxy all have the proxy's address.
    only_current: versions that are not current answer nobody.
    decimals: scores and explanations are rounded to so many, if given: a coarse score is harder to invert.
    interval_level, widest, unsure: of models with intervals: their level, the width beyond which a score is
        not sure, and what becomes of it then: answer, round or abstain.
    keep_hours: how long answers are kept. runtime: a folder of this run, for counters shared by workers.
    secure: answers tell browsers to come back by TLS only.
    root_path: the prefix under which a proxy shows the service, such as /scores. The proxy may take it away
        or pass it on.
    access: the file of issuers and clients whose tokens are taken beside keys.
    fhir: the file that says which FHIR code is which feature; with it CDS Hooks is spoken.
    telemetry: the address of an OpenTelemetry collector (OTLP by HTTP), if there is one.
    drift: where noisy histograms of what is asked are kept, if drift_ledger pays for them: drift_epsilon each
        drift_period (hour, day or week).
    """

    models: tuple[str, ...]
    keys: str = "sfumato.keys"
    answers: str = "sfumato.answers"
    ledger: str = ""
    trusted: tuple[str, ...] = ()
    allow_unproved: bool = False
    share_answers: bool = True
    body_bytes: int = 1 << 20
    most_rows: int = 1000
    seconds_to_send: float = 15.0
    seconds_to_ask: float = 10.0
    connections_per_address: int = 64
    only_current: bool = False
    keep_hours: float = 24.0
    decimals: int | None = None
    interval_level: float = 0.9
    widest: float = 0.2
    unsure: str = "answer"
    runtime: str = ""
    secure: bool = False
    root_path: str = ""
    access: str = ""
    fhir: str = ""
    telemetry: str = ""
    drift: str = "sfumato.drift"
    drift_ledger: str = ""
    drift_epsilon: float = 1.0
    drift_period: str = "day"

    def __post_init__(self) -> None:
        faults = []
        for name in ("models", "trusted"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        if not self.models:
            faults.append("at least one model is served")
        if not 1 <= self.most_rows <= 100_000 or not 1 <= self.body_bytes <= 1 << 30:
            faults.append("a question has 1 to 100,000 rows and at most a gigabyte")
        if not 0 < self.keep_hours <= 24 * 366 or not 0 < self.seconds_to_send <= 600:
            faults.append("answers are kept up to a year, and a question is sent within 600 seconds")
        if not 0 < self.seconds_to_ask <= 600 or not 1 <= self.connections_per_address <= 1000:
            faults.append("a connection asks within 600 seconds, and 1 to 1,000 of one address are open")
        if self.decimals is not None and not 1 <= self.decimals <= 15:
            faults.append("a score has 1 to 15 decimals")
        faults += self.certainty.faults
        if any(len(key) != 64 or set(key) - set("0123456789abcdef") for key in self.trusted):
            faults.append("a trusted key is 64 hexadecimal digits")
        if self.telemetry and not re.fullmatch(r"https?://[^\s/@]+(/[^\s@]*)?", self.telemetry):
            faults.append("telemetry goes to an address, such as http://127.0.0.1:4318")
        if not 0 < self.drift_epsilon <= 100 or self.drift_period not in ("hour", "day", "week"):
            faults.append("drift costs an epsilon above 0, at most 100, each hour, day or week")
        if self.root_path and not _PREFIX.fullmatch(self.root_path):
            faults.append("a root path is /NAME or /NAME/NAME, and its first name none of our own addresses")
        if faults:
            raise ParameterError(
                f"the settings of the service: {'; '.join(faults)}.", hint="sfumato serve --help"
            )

    def to_json(self) -> str:
        """For the environment of a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read back what `to_json` wrote."""
        given: dict[str, Any] = json.loads(text)
        return cls(**{f.name: given[f.name] for f in fields(cls) if f.name in given})

    @property
    def certainty(self) -> Certainty:
        """What is said of intervals."""
        return Certainty(self.interval_level, self.widest, self.unsure)

    @property
    def folder(self) -> Path:
        """Where the counters of this run are."""
        return Path(self.runtime)
