"""sign, and trust: a person signs a plan, a release or a determination, and says whose signatures count."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.privacy.signatures import Trust, TrustedKey

Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted", "--trust", metavar="KEY", show_default=False,
        help="Whose signatures count: a public key, its file, or a trust file. May be repeated.",
    ),
]  # fmt: skip
TrustFile = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", show_default=False,
        help="The trust file; by default SFUMATO_TRUST, or sfumato/trust.toml among the user's settings.",
    ),
]  # fmt: skip
Named = Annotated[
    str,
    typer.Argument(metavar="KEY", help="Its name, or how its digits begin.", show_default=False),
]
Day = Annotated[
    str | None,
    typer.Option("--on", metavar="DAY", help="Such as 2026-12-31; by default today.", show_default=False),
]


def trusted_signers(given: list[str] | None) -> Trust | None:
    """Whom the command or the usual trust file names; None where neither names anybody."""
    from sfumato.privacy.signatures import Trust

    return Trust.of(given or None) or (Trust() if given else None)


# -- signing -------------------------------------------------------------------------------------


def sign(
    terminal: Terminal,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="A plan, a release, a model (.sfm), or a document.", show_default=False
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Who signs, for all but models.", show_default=False),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", metavar="FILE", help="Your signing key, for all but plans.", show_default=False
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="LOG", show_default=False,
            help="Write down in this log, a file or a URL, what was signed.",
        ),
    ] = None,
    purpose: Annotated[
        str, typer.Option("--as", metavar="WHAT", help="What a document is: determination, claim or package.")
    ] = "determination",
    every: Annotated[
        bool, typer.Option("--all", help="Of a plan: every guess was looked at, mark all as reviewed.")
    ] = False,
    trusted: Trusted = None,
) -> None:  # fmt: skip
    """Sign a plan, a release, a model, or a document such as a determination.

    A plan's releases are then no drafts; if it is changed later, it has to be signed again. A release or a
    document is signed with your key (sfumato trust key makes one): whoever has its public half can tell a
    forgery. A model is signed when it is made; after your key was rotated, sign it again with the new one.
    Its old signer must be trusted: by your trust file, or --trusted.
    """
    if target.suffix == ".sfm" and not target.is_dir():
        if name is not None or log is not None or every:
            raise ParameterError("a model is signed with a key alone.", hint="leave out --name, --log, --all")
        _sign_model(terminal, target, key, trusted)
        return
    if name is None:
        raise ParameterError("who signs?", hint='--name "A. Miller, privacy officer"')
    if trusted is not None:
        raise ParameterError("--trusted is for models that are signed again.", hint="leave it out")
    if target.suffix == ".toml" and not target.is_dir():
        if key is not None or log is not None:
            raise ParameterError(
                "a plan is signed by name; key and log are for releases.", hint="give the folder of a release"
            )
        _sign_plan(terminal, target, name, every)
        return
    if every:
        raise ParameterError("--all is for plans.", hint="leave it out")
    _sign_with_key(terminal, target, name, key, log, purpose)


def _sign_plan(terminal: Terminal, plan: Path, name: str, every: bool) -> None:
    from sfumato.plan.database import DatabasePlan, is_database_plan
    from sfumato.plan.database_signature import sign_linked
    from sfumato.plan.signature import sign as write

    if is_database_plan(plan):
        read = DatabasePlan.read(plan)
        linked = sign_linked(plan, read.document, read.folder, name)
        said = f"{plan.name} is signed by {linked.by}, {linked.on.isoformat()}."
        plain = {"plan": str(plan), "by": linked.by, "on": str(linked.on), "digest": linked.digest}
        terminal.result(Text(said, "green"), plain)
        return
    after = write(plan, name, all_reviewed=every)
    assert after.signed is not None
    by, on = after.signed
    said = f"{plan.name} is signed by {by}, {on.isoformat()}."
    if after.accepted:
        said += f" The signature covers that missed limits are accepted: {after.accepted}"
    plain = {"plan": str(plan), "by": by, "on": str(on), "digest": after.digest}
    terminal.result(Text(said, "green"), {**plain, "accepted": after.accepted or None})


def _sign_model(terminal: Terminal, target: Path, key: Path | None, trusted: list[str] | None) -> None:
    from sfumato.prediction.artefact import load, sign_again
    from sfumato.privacy.signatures import SigningKey

    if key is None:
        raise ParameterError("a model is signed with a key.", hint="--key FILE; sfumato trust key makes one")
    secret, before = SigningKey.load(key), load(target).signer
    model = sign_again(target, secret, trusted or None)
    lines = [
        Text(f"{target.name} is signed again: version {model.version}, as before.", "green"),
        Text.assemble("Until now with ", (before, "bold"), ", from now on with ", (secret.public, "bold")),
    ]
    plain = {"signed": str(target), "version": model.version, "before": before, "public_key": secret.public}
    terminal.result(lines, plain)


def _sign_with_key(
    terminal: Terminal, target: Path, name: str, key: Path | None, log: str | None, purpose: str
) -> None:
    from sfumato.privacy.signatures import SigningKey
    from sfumato.release import sign as write
    from sfumato.release.document import sign_document

    if key is None:
        what = "a release" if target.is_dir() else "a document"
        raise ParameterError(
            f"{what} is signed with a key.", hint="--key FILE; sfumato trust key FILE makes one"
        )
    secret = SigningKey.load(key)
    if target.is_dir():
        said = write(target, secret, name, log=log)
    else:
        said = sign_document(target, secret, name, log=log, purpose=purpose)
    lines = [
        Text(f"{target.name} is signed by {said.signer}, {said.on.isoformat()}.", "green"),
        Text.assemble("Recipients check it with the public key ", (secret.public, "bold")),
        Text(f"Give them the key by another way than the {said.purpose}."),
    ]
    if log is not None:
        lines.append(Text("It is in the log."))
    plain = {"signed": str(target), "by": said.signer, "on": str(said.on), "public_key": secret.public}
    terminal.result(lines, {**plain, "logged": log is not None})


def key(
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="The new key file.")],
) -> None:
    """Make a signing key: a file for its owner alone, and beside it the public key to give to others."""
    from sfumato.privacy.signatures import SigningKey

    made = SigningKey.fresh()
    public = file.with_name(f"{file.name.removesuffix('.key')}.pub")
    if public.exists():
        raise ParameterError(f"{public.name} exists already.", hint="choose another name; no key is replaced")
    made.save(file)
    made.save_public(public)
    terminal.result(
        [
            Text(f"Signing key written to {file.name}: keep it secret, and keep a copy.", "green"),
            Text.assemble(f"Public key, also in {public.name}: ", (made.public, "bold")),
        ],
        {"written": str(file), "public": str(public), "public_key": made.public},
    )


# -- whom to trust -------------------------------------------------------------------------------


def add(
    terminal: Terminal,
    public: Annotated[
        str,
        typer.Argument(metavar="KEY", help="A public key, or its file.", show_default=False),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Whose it is.", show_default=False)],
    signs: Annotated[
        list[str] | None,
        typer.Option(
            "--signs", metavar="WHAT", show_default=False,
            help="release, model, determination, claim, declaration; may be repeated. Default: everything.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="Its first day.", show_default=False)
    ] = None,
    end: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="Its last day.", show_default=False)
    ] = None,
    file: TrustFile = None,
) -> None:  # fmt: skip
    """Trust a key. Make sure by another way, such as a call, that it is its owner's."""
    from sfumato.privacy.signatures import Trust, TrustedKey

    given = Trust.of([public]).keys
    if len(given) != 1:
        raise ParameterError("one key is added at a time.", hint="give a public key or its file")
    entries: dict[str, Any] = {"start": _day(start), "end": _day(end)}
    if signs:
        entries["signs"] = tuple(signs)
    new = TrustedKey(given[0].public, name, **entries)
    _changed(terminal, file, lambda trust: trust.with_key(new), f"Signatures of {name} count from now on.")


def list_(terminal: Terminal, file: TrustFile = None) -> None:
    """Show whose signatures count, for what, and until when."""
    trust = _read(file)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Name", "Key", "Signs", "From", "Until", "State"):
        grid.add_column(title, overflow="fold")
    for k in trust.keys:
        signs = "everything" if "signs" not in k.to_dict() else " ".join(k.signs)
        cells = (k.name, k.public, signs, str(k.start or ""), str(k.end or ""), _state(k))
        grid.add_row(*map(Text, cells))
    shown = grid if trust.keys else Text("Nobody is trusted yet: sfumato trust add.")
    terminal.result(shown, [{**k.to_dict(), "state": _state(k)} for k in trust.keys])


def retire(terminal: Terminal, named: Named, on: Day = None, file: TrustFile = None) -> None:
    """End a key in good order: what it signed up to that day still counts. Its secret half is destroyed."""
    day = _day(on) or datetime.now(UTC).date()
    _changed(
        terminal, file, lambda trust: trust.changed(named, end=day),
        f"Signatures after {day.isoformat()} no longer count; earlier ones do.",
    )  # fmt: skip


def revoke(
    terminal: Terminal,
    named: Named,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)] = "",
    on: Day = None,
    file: TrustFile = None,
) -> None:
    """Trust nothing that a key signed, whatever day it bears: somebody else may have it."""
    day = _day(on) or datetime.now(UTC).date()
    _changed(
        terminal, file, lambda trust: trust.changed(named, revoked=day, reason=reason),
        "None of its signatures counts any more. Ask its owner to sign anew, with another key.",
    )  # fmt: skip


def log(
    terminal: Terminal,
    place: Annotated[str, typer.Argument(metavar="LOG", help="A file, or a URL.", show_default=False)],
) -> None:
    """Show the log of what was released; its whole chain is walked first."""
    from dataclasses import asdict

    from sfumato.privacy.signatures import ReleaseLog

    entries = ReleaseLog.at(place).entries()
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Line", "When", "By", "Statement"):
        grid.add_column(title, overflow="fold")
    for e in entries:
        grid.add_row(*map(Text, (str(e.number), e.at, e.name, e.statement)))
    terminal.result(grid if entries else Text("Nothing was released."), [asdict(e) for e in entries])


# -- the file ------------------------------------------------------------------------------------


def _place(file: Path | None) -> Path:
    from sfumato.privacy.signatures.trust import usual_place

    return file or usual_place()


def _read(file: Path | None) -> Trust:
    from sfumato.privacy.signatures import Trust

    path = _place(file)
    return Trust.read(path) if path.exists() else Trust()


def _changed(terminal: Terminal, file: Path | None, change: Callable[[Trust], Trust], words: str) -> None:
    """Change the trust file: whole or not at all."""
    from sfumato.io.atomic import write_text

    path = _place(file)
    after = change(_read(file))
    if not path.parent.exists() and file is None:
        path.parent.mkdir(parents=True, mode=0o700)
    there = path.exists()
    write_text(path, after.to_toml(), overwrite=True)
    if not there:
        path.chmod(0o644)  # whatever the umask says: who may write it decides whom to trust
    terminal.result(Text(f"{words} Written to {path.name}.", "green"), {"written": str(path)})


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ParameterError("a day is written as 2026-12-31.", hint="year, month, day") from None


def _state(key: TrustedKey) -> str:
    today = datetime.now(UTC).date()
    if key.revoked is not None:
        return f"revoked {key.revoked.isoformat()}"
    if key.end is not None and today > key.end:
        return "retired"
    return "from then on" if key.start is not None and today < key.start else "trusted"
