"""A part of "Sign and release": the release itself, signed with a person's key.

The secret half is a file that the person named in the terminal (`--key`), or one that lies in the chosen
folder. The browser never sees it.
"""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.errors import DataError, ParameterError
from sfumato.privacy.signatures import Statement
from sfumato.release.manifest import SIGNATURES
from sfumato.release.signature import read_envelopes
from sfumato.studio.markup import Html, el, join
from sfumato.studio.screens.papers import releases
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, FAILED

KEY_SIGNATURE = "sign"
_NAMED = ""  # in the form: the key that was named in the terminal


def signed_by(folder: Path) -> list[tuple[str, str, str]]:
    """(who, on which day, by which key) for each signature that fits what it signs; whom to trust is another
    matter.
    """
    found = []
    try:
        for envelope in read_envelopes(folder / "public" / SIGNATURES):
            if not envelope.broken and envelope.signers:
                said = Statement.from_payload(envelope.payload)
                found.append((said.signer, said.on.isoformat(), envelope.signers[0]))
    except DataError:
        return []
    return found


def key_section(view: PageView) -> Html | None:
    """Who has signed each release, and a form to sign it."""
    t, found = view.t, releases(view)
    if not found:
        return None
    task = view.worker.latest(KEY_SIGNATURE)
    parts: list[object] = [el("h2", t("key.title")), el("p", t("key.lead"))]
    for i, (name, folder) in enumerate(found.items()):
        for who, on, public in signed_by(folder):
            words = t("key.signed", release=name, by=who, on=on)
            parts += [
                el("p", words, class_="figure good", id=f"key-signed-{i}"),
                el("p", t("key.public"), " ", el("code", public), class_="stamp"),
            ]
    if task is not None and task.open:
        parts.append(view.progress(task))
        return el("section", *parts, id="key-part")
    if task is not None and task.state == FAILED:
        parts.append(view.failure(task))
    if task is not None and task.state == DONE:
        standing = t(f"release.standing.{task.found['standing']}")
        parts.append(el("p", el("strong", standing), " ", t.said(task.found["verdict"]), id="key-verdict"))
    return el("section", *parts, _form(view, list(found)), id="key-part")


def _form(view: PageView, names: list[str]) -> Html:
    t, keys = view.t, view.studio.chosen.keys()
    own = view.studio.key
    if own is None and not keys:
        return join(
            el("p", t("key.none")), el("pre", el("code", "sfumato trust key officer.key\n")),
            el("p", t("key.none.next"), class_="small"),
        )  # fmt: skip
    options = [el("option", t("key.named", name=own.name), value=_NAMED)] if own is not None else []
    options += [el("option", name, value=name) for name in keys]
    chosen = [el("option", n, value=n) for n in names]
    fields = [
        el("div", el("label", t("papers.release"), for_="key-release"),
           el("select", chosen, name="release", id="key-release", disabled=view.fixed)),
        el("div", el("label", t("key.file"), for_="key-file"),
           el("select", options, name="key", id="key-file", disabled=view.fixed)),
        el("div", el("label", t("release.name"), for_="key-name"),
           el("input", type="text", name="name", id="key-name", required=True, maxlength=200,
              autocomplete="name", disabled=view.fixed)),
    ]  # fmt: skip
    return view.form("key", el("div", fields, class_="fields"), view.button(t("key.sign"), id="key-sign"))


def sign_with_key(view: PageView, form: Form) -> str | None:
    """Sign a release in the background."""
    folder = releases(view).get(form.text("release"))
    if folder is None:
        raise ParameterError("there is no such release.", hint="run the plan")
    real = Path(os.path.realpath(folder))
    if not real.is_relative_to(os.path.realpath(view.folder.folder)):
        raise ParameterError("the release is a link to another place.", hint="run the plan again")
    given = form.text("key")
    path = view.studio.key if given == _NAMED else view.studio.chosen.key_file(given)
    if path is None:
        raise ParameterError("no key was named.", hint="sfumato studio --key FILE")
    name = " ".join(form.text("name").split())
    if not name or not name.isprintable() or len(name) > 200:
        raise ParameterError("a signature is the name of a person.", hint="A. Miller, privacy officer")
    task = view.worker.latest(KEY_SIGNATURE)
    if task is not None and task.open:
        raise ParameterError("a release is being signed already.", hint="wait, or cancel it")
    view.worker.submit(
        KEY_SIGNATURE, {"release": str(real), "key": str(path), "name": name}, view.folder.revision
    )
    return None
