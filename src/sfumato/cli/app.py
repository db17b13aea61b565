"""The commands in one place."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from sfumato.cli import (
    anonymization,
    assessment,
    comparison,
    demo,
    determination,
    domains,
    drift,
    frontier,
    hierarchies,
    inspection,
    keys,
    ledgers,
    methods,
    models,
    plans,
    reconstruction,
    releases,
    samples,
    schemas,
    service,
    signing,
    studio,
    synthesis,
    tabulation,
    trees,
)
from sfumato.cli.commands import HELP, register, register_methods
from sfumato.cli.exit_codes import INTERRUPTED
from sfumato.cli.terminal import STOPPED

app = typer.Typer(
    name="sfumato",
    help="Publish and use person-level health data without giving the persons away.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # rich tracebacks would show the values of variables: cells
    context_settings=HELP,
)


def _version(wanted: bool) -> None:
    if wanted:
        import sfumato

        typer.echo(f"sfumato {sfumato.__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    """Publish and use person-level health data without giving the persons away."""


schema_app = typer.Typer(
    help="Compare a schema with data, write one down, say where its domains come from.", no_args_is_help=True
)
hierarchy_app = typer.Typer(help="Say how values become more general.", no_args_is_help=True)
determination_app = typer.Typer(
    help="Write down why a release may leave, for who decides and signs.", no_args_is_help=True
)
keys_app = typer.Typer(help="Say who may ask the service.", no_args_is_help=True)
ledger_app = typer.Typer(
    help="Start a privacy budget, see what was spent of it; divide, back up and restore it.",
    no_args_is_help=True,
)

plan_app = typer.Typer(help="Check a plan, or help an editor to write one.", no_args_is_help=True)
trust_app = typer.Typer(
    help="Make a key to sign with; say whose signatures you trust, and until when.", no_args_is_help=True
)
model_app = typer.Typer(help="Signed risk scores: keys, checks, scores.", no_args_is_help=True)

register(app, inspection.describe)
register(app, plans.init)
register(app, plans.run)
register(app, signing.sign)
register(plan_app, plans.check)
register(plan_app, plans.schema)
register(plan_app, plans.upgrade)
app.add_typer(plan_app, name="plan")
register(schema_app, schemas.check)
register(schema_app, schemas.update)
register(schema_app, domains.declare)
register(schema_app, domains.find)
register(schema_app, domains.standards)
app.add_typer(schema_app, name="schema")
register(hierarchy_app, hierarchies.build)
register(hierarchy_app, hierarchies.check)
register(hierarchy_app, hierarchies.show)
register(hierarchy_app, hierarchies.convert)
app.add_typer(hierarchy_app, name="hierarchy")
register(app, methods.methods)
register(app, inspection.counts)
register(app, inspection.convert)
register_methods(app, releases.pseudonymize)
register_methods(app, anonymization.anonymize)
register_methods(app, tabulation.tabulate)
register_methods(app, synthesis.synthesize)
register(app, releases.verify)
register(app, assessment.assess)
register(app, frontier.frontier)
register(determination_app, determination.new)
register(determination_app, determination.fill)
app.add_typer(determination_app, name="determination")
register_methods(app, models.fit)
register(app, comparison.compare)
register(model_app, signing.key)
register(model_app, models.show)
register(model_app, models.verify)
register(model_app, models.score)
app.add_typer(model_app, name="model")
register(app, reconstruction.reconstruct)
register(app, reconstruction.assess_aggregates, "assess-aggregates")
register(app, tabulation.assess_tables, "assess-tables")
register_methods(app, trees.tree)
register(app, samples.sample)
for command in (
    ledgers.new,
    ledgers.show,
    ledgers.verify,
    ledgers.check,
    ledgers.client,
    ledgers.unlock,
    ledgers.backup,
    ledgers.restore,
):
    register(ledger_app, command)
app.add_typer(ledger_app, name="ledger")
register(trust_app, signing.key)
register(trust_app, signing.add)
register(trust_app, signing.list_, "list")
register(trust_app, signing.retire)
register(trust_app, signing.revoke)
register(trust_app, signing.log)
app.add_typer(trust_app, name="trust")
register(app, studio.studio)
register(app, service.serve)
register(keys_app, keys.create)
register(keys_app, keys.list_, "list")
register(keys_app, keys.rotate)
register(keys_app, keys.revoke)
register(keys_app, keys.history)
app.add_typer(keys_app, name="keys")
register(app, drift.drift)


@contextmanager
def _stopping_politely() -> Iterator[None]:
    """A batch system that ends us is like Ctrl-C: what is half-written is removed first."""
    if threading.current_thread() is not threading.main_thread():  # Python sets signals there only
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def run(arguments: Sequence[str] | None = None) -> int:
    """Parse, do, and give back the exit code."""
    try:
        with _stopping_politely():
            app(args=None if arguments is None else list(arguments), prog_name="sfumato")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        sys.stderr.write(f"{STOPPED}\n")
        return INTERRUPTED
    return 0


register(app, demo.command(run))  # last: it plays the others through `run`
