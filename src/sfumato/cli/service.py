"""serve: risk scores by HTTP from released models."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sfumato.cli.keys import DEFAULT, KeysFile
from sfumato.cli.signing import Trusted, trusted_signers
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError, SfumatoError

if TYPE_CHECKING:
    from sfumato.service.registry import Served
    from sfumato.service.server import Address
    from sfumato.service.settings import Settings

_NET = "Where it listens"
_SURE = "Models with intervals"
_NOISY = "Noisy models"
_DRIFT = "Drift under privacy"
_FIT = "import sys; from sfumato.cli.demo_models import fit; fit(sys.argv[1])"


def _net(name: str, metavar: str, help_: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_NET)
    return option


def _sure(name: str, metavar: str, help_: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_SURE)
    return option


def _drift(name: str, metavar: str, help_: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_DRIFT)
    return option


@dataclass(frozen=True)
class _Questions:
    """What may be asked, and how it is answered."""

    answers: Annotated[
        str,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Where answers are kept that may be asked again; postgresql://... is for several machines.",
        ),
    ] = "sfumato.answers"
    keep_hours: Annotated[float, typer.Option("--keep-hours", metavar="H", help="How long.")] = 24.0
    decimals: Annotated[
        int | None,
        typer.Option("--decimals", metavar="N", help="Round scores: coarse ones are harder to invert."),
    ] = None
    max_body: Annotated[int, typer.Option("--max-body", metavar="BYTES", help="Largest question.")] = 1 << 20
    max_rows: Annotated[int, typer.Option("--max-rows", metavar="N", help="Most rows in one call.")] = 1000
    only_current: Annotated[
        bool,
        typer.Option("--only-current", help="Close all versions of a model but the one that is active."),
    ] = False
    access: Annotated[
        Path | None,
        typer.Option(
            "--access", metavar="FILE", help="Issuers and clients whose tokens are taken beside keys (TOML)."
        ),
    ] = None
    fhir: Annotated[
        Path | None,
        typer.Option(
            "--fhir", metavar="FILE", help="Which FHIR code is which feature (TOML): speaks CDS Hooks."
        ),
    ] = None
    telemetry: Annotated[
        str,
        typer.Option(
            "--telemetry",
            metavar="URL",
            help="OpenTelemetry collector (OTLP by HTTP), such as http://127.0.0.1:4318.",
        ),
    ] = ""


@dataclass(frozen=True)
class _Network:
    """Where it listens, and to how many."""

    per_address: Annotated[
        int, _net("--per-address", "N", "Open connections of one address; behind a proxy, of all.")
    ] = 64
    root_path: Annotated[
        str, _net("--root-path", "PREFIX", "Prefix that a proxy shows it under, such as /scores.")
    ] = ""
    host: Annotated[str, _net("--host", "NAME", "Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, _net("--port", "N", "Port to listen on.")] = 8000
    workers: Annotated[int, _net("--workers", "N", "Processes.")] = 1
    ssl_certfile: Annotated[str | None, _net("--ssl-certfile", "FILE", "Certificate, for TLS.")] = None
    ssl_keyfile: Annotated[str | None, _net("--ssl-keyfile", "FILE", "Its private key.")] = None
    ssl_ca_certs: Annotated[str | None, _net("--ssl-ca-certs", "FILE", "Authorities of clients.")] = None


@dataclass(frozen=True)
class _DriftHistograms:
    """What is told of the questions, under noise."""

    drift_ledger: Annotated[
        str | None,
        _drift("--drift-ledger", "FILE", "Pays for noisy histograms of what is asked; turns them on."),
    ] = None
    drift_epsilon: Annotated[float, _drift("--drift-epsilon", "E", "What a period of a model costs.")] = 1.0
    drift_period: Annotated[str, _drift("--drift-period", "PERIOD", "hour, day or week.")] = "day"
    drift: Annotated[Path, _drift("--drift", "FILE", "Where they are kept.")] = Path("sfumato.drift")


@dataclass(frozen=True)
class _Intervals:
    """How sure scores are, and what becomes of those that are not."""

    interval_level: Annotated[float, _sure("--interval-level", "P", "Of the interval of each score.")] = 0.9
    unsure: Annotated[
        str,
        _sure("--unsure", "WHAT", "What becomes of a score with a wide interval: answer, round, abstain."),
    ] = "answer"
    widest: Annotated[float, _sure("--widest", "W", "From which width on an interval is wide.")] = 0.2


@dataclass(frozen=True)
class _NoisyModels:
    """Confidential models that answer with noise."""

    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger", metavar="FILE", help="What noisy answers are debited from.", rich_help_panel=_NOISY
        ),
    ] = None
    allow_unproved: Annotated[
        bool,
        typer.Option(
            "--allow-unproved",
            help="Serve confidential noisy models (.dpat): their promise is unproved.",
            rich_help_panel=_NOISY,
        ),
    ] = False
    answers_per_client: Annotated[
        bool,
        typer.Option(
            "--answers-per-client",
            help="Do not repeat one client's noisy answer to another, who would notice that it was asked.",
            rich_help_panel=_NOISY,
        ),
    ] = False


def serve(
    terminal: Terminal,
    questions: _Questions,
    network: _Network,
    drift: _DriftHistograms,
    noisy: _NoisyModels,
    sure: _Intervals,
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MODEL", help="Released models (.sfm), or folders of them.", show_default=False
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve two models of simulated patients, with a key to try.")
    ] = False,
    keys: KeysFile = DEFAULT,
    trusted: Trusted = None,
) -> None:
    """Serve risk scores by HTTP, until stopped.

    Scores come from released models, never from data. See docs/serve.md for TLS, keys and backup.
    """
    from sfumato.privacy.signatures import Purpose
    from sfumato.service.server import Address
    from sfumato.service.settings import Settings

    n, q = network, questions
    address = Address(n.host, n.port, n.workers, n.ssl_certfile, n.ssl_keyfile, n.ssl_ca_certs)
    if demo == bool(models):
        raise ParameterError("either models are served or the demo is.", hint="sfumato serve model.sfm")
    trust = None if demo else trusted_signers(trusted)
    signers = () if trust is None else trust.without_day(Purpose.MODEL)
    if trust is not None and not signers:
        raise ParameterError("no key that is trusted signs models today.", hint="sfumato trust list")
    settings = Settings(
        models=tuple(map(str, models or ())) or ("demo",), keys=str(keys), trusted=signers,
        answers=q.answers, body_bytes=q.max_body, most_rows=q.max_rows, keep_hours=q.keep_hours,
        decimals=q.decimals, only_current=q.only_current, access="" if q.access is None else str(q.access),
        fhir="" if q.fhir is None else str(q.fhir), telemetry=q.telemetry,
        connections_per_address=n.per_address, root_path=n.root_path.rstrip("/"),
        ledger=noisy.ledger or "", allow_unproved=noisy.allow_unproved,
        share_answers=not noisy.answers_per_client,
        drift=str(drift.drift), drift_ledger=drift.drift_ledger or "", drift_epsilon=drift.drift_epsilon,
        drift_period=drift.drift_period, interval_level=sure.interval_level, widest=sure.widest,
        unsure=sure.unsure,
    )  # fmt: skip
    if demo:
        _demonstrate(terminal, settings, address)
    else:
        _serve(terminal, settings, address)


_ANY_SIGNER = (
    "Models of any signer are served: nobody said whose to take, so a signature shows only that a file is "
    "whole. --trusted KEY takes the models of one signer."
)


def _line(served: Served) -> str:
    signed = f"signed by {served.signer[:16]}..." if served.signer else "not signed"
    return f"{served.name}, version {served.version}, {signed}"


def _serve(terminal: Terminal, settings: Settings, address: Address, *more: str) -> None:
    from sfumato.service.installation import Installation
    from sfumato.service.server import check, run

    served = check(settings)
    with closing(Installation(settings.keys, create=True)) as installation:
        if not installation.listed():
            terminal.note("there is no key yet: sfumato keys create CLIENT makes one.")
    terminal.result(
        [
            *(Text.assemble(("Model ", "bold"), _line(s)) for s in served),
            *([] if settings.trusted else [Text(_ANY_SIGNER, "yellow")]),
            Text.assemble(
                ("Listening on ", "bold"),
                address.url,
                f"  (page: {settings.root_path}/, API: {settings.root_path}/docs)",
            ),
        ],
        {
            "models": [{"name": s.name, "version": s.version, "signer": s.signer} for s in served],
            "signers_compared": bool(settings.trusted),
            "url": address.url,
            "more": list(more),
        },
    )
    if not terminal.json:  # as they are, for the clipboard: a broken line would break the call
        sys.stdout.writelines(f"{line}\n" for line in more)
    sys.stdout.flush()
    run(settings, address)


# -- the demonstration ---------------------------------------------------------------------------------


def _demonstrate(terminal: Terminal, settings: Settings, address: Address) -> None:
    """Everything in a folder that goes away; the models are fitted by a process that ends before serving."""
    from sfumato.cli.demo_models import CALLS
    from sfumato.service.installation import Installation

    folder = Path(tempfile.mkdtemp(prefix="sfumato-demo-"))
    try:
        fitted = subprocess.run(
            [sys.executable, "-c", _FIT, str(folder)],
            capture_output=True, text=True,
        )  # fmt: skip
        if fitted.returncode:
            raise SfumatoError("the models of the demo could not be fitted.", hint="sfumato demo")
        settings = replace(
            settings, models=(str(folder),), keys=str(folder / "keys"), answers=str(folder / "answers")
        )
        with closing(Installation(settings.keys, create=True)) as installation:
            _, key = installation.create_key("demo", ("score", "admin", "metrics"))
        calls = [_curl(address.url, key, name, row) for name, row in CALLS.items()]
        _serve(terminal, settings, address, f"Key {key}", "", *calls)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _curl(url: str, key: str, model: str, body: str) -> str:
    return (
        f"curl {url}/v1/models/{model}/score -H 'Authorization: Bearer {key}' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )
