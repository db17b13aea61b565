"""Papers: the report, the card, the determination, filled in place; shown as they lie in the release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.responses import Response

from sfumato.errors import DataError
from sfumato.report.determination import FIELDS, SIGNATURE, Said, determination, read_report, template
from sfumato.studio.markup import Html, el, join
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.screens.screen import Screen
from sfumato.studio.tasks.release import OUT
from sfumato.studio.toml_text import with_entry
from sfumato.studio.view import Form, PageView
from sfumato.web.headers import PAPER_POLICY

FORM = "determination.toml"
# What may be shown of a release, by the name in its address: the file, its kind, and whether it may leave.
_PAPERS = {
    "report": ("internal/report.html", "text/html", False),
    "determination": ("internal/determination.html", "text/html", False),
    "card": ("public/card.md", "text/plain", True),
    "guarantee": ("public/guarantee.json", "text/plain", True),
}
_FILLED = "preview"  # the determination as it would be with what is filled in now
_LONGEST = 20_000


def releases(view: PageView) -> dict[str, Path]:
    """The releases in the folder of the plan, by name: one, or one for each step."""
    out = view.folder.folder / OUT
    found = {OUT: out} if (out / "public").is_dir() else {}
    if out.is_dir():
        steps = sorted(p for p in out.iterdir() if (p / "public").is_dir() and not p.is_symlink())
        found |= {p.name: p for p in steps}
    return found


def show(view: PageView) -> Html:
    """What there is to read and to print, and the form of the determination."""
    t, found = view.t, releases(view)
    head = [el("h1", t("papers.title")), el("p", t("papers.lead"))]
    if not found:
        nothing = el("p", t("papers.none"), " ", el("a", t("nav.release"), href="/release"))
        return join(el("section", *head, nothing), _form(view, found))
    rows = []
    for name, folder in found.items():
        for paper, (file, _, leaves) in _PAPERS.items():
            if (folder / file).is_file():
                label = t(f"papers.{paper}")
                link = el("a", label, href=f"/papers/{name}/{paper}", target="_blank", rel="noopener")
                audience = t("papers.leaves" if leaves else "papers.stays")
                rows.append(
                    el("tr", el("th", link, scope="row"), el("td", name), el("td", audience, class_="small"))
                )
    titles = ("papers.paper", "papers.release", "papers.audience")
    table = el(
        "table", el("thead", el("tr", [el("th", t(n), scope="col") for n in titles])), el("tbody", rows)
    )
    note = el("p", t("papers.print"), class_="small")
    return join(el("section", *head, table, note), _form(view, found))


def _form(view: PageView, found: Mapping[str, Path]) -> Html:
    """What a person says beside the numbers."""
    t, said = view.t, _said(view)
    fields = []
    for key, title, words in FIELDS:
        box = el(
            "textarea",
            said.texts.get(key, "") if said else "",
            name=key,
            id=f"said-{key}",
            rows=3,
            cols=70,
            maxlength=_LONGEST,
            disabled=view.fixed,
        )
        name = t(f"said.{key}") if t.has(f"said.{key}") else title
        hint = t(f"said.{key}.hint") if t.has(f"said.{key}.hint") else words
        fields.append(
            el(
                "div",
                el("label", name, for_=f"said-{key}"),
                el("p", hint, class_="small"),
                box,
                class_="field",
            )
        )
    signs = []
    for key, title in SIGNATURE:
        value = said.signature.get(key, "") if said else ""
        name = t(f"said.{key}") if t.has(f"said.{key}") else title
        box = el(
            "input",
            type="text",
            name=f"sign-{key}",
            id=f"sign-{key}",
            value=value,
            maxlength=200,
            disabled=view.fixed,
        )
        signs.append(el("div", el("label", name, for_=f"sign-{key}"), box))
    sheet = None
    if said is not None:
        sheet = el(
            "p",
            [
                el(
                    "a",
                    t("papers.preview", name=name),
                    href=f"/papers/{name}/{_FILLED}",
                    target="_blank",
                    rel="noopener",
                )
                for name, folder in found.items()
                if (folder / "internal" / "report.json").is_file()
            ],
        )
    form = view.form(
        "fill", fields, el("div", signs, class_="fields"), view.button(t("papers.save"), id="fill")
    )
    return el(
        "section",
        el("h2", t("papers.determination")),
        el("p", t("papers.determination.lead")),
        sheet,
        el(
            "details",
            el("summary", t("papers.fill")),
            form,
            id="determination-form",
            open=said is not None and bool(said.missing),
        ),
    )


def _said(view: PageView) -> Said | None:
    try:
        return Said.read(view.folder.folder / FORM)
    except DataError:
        return None


# -- doing ---------------------------------------------------------------------------------------------


def fill(view: PageView, form: Form) -> str | None:
    """Keep what the person says; the next run prints it with its numbers."""
    texts = {key: form.text(key, "")[:_LONGEST] for key, *_ in FIELDS}
    signature = {key: " ".join(form.text(f"sign-{key}", "").split())[:200] for key, _ in SIGNATURE}

    def change(before: Mapping[str, str]) -> dict[str, str]:
        text = before.get(FORM) or template()
        for key, said in texts.items():
            text = with_entry(text, (key,), said.replace("\r\n", "\n").strip())
        for key, said in signature.items():
            text = with_entry(text, ("signature", key), said)
        plan = with_entry(before[PLAN], ("outputs", "determination"), FORM)
        return {**before, FORM: text, PLAN: plan}

    view.folder.edit(named("edit.fill"), change, form.revision)
    return None


# -- papers --------------------------------------------------------------------------------------------


def paper(view: PageView, given: Mapping[str, str]) -> Response:
    """One paper of a release, under a policy that lets it do nothing."""
    folder = releases(view).get(given["release"])
    if folder is None:
        raise DataError("there is no such release.", hint="run the plan")
    if given["paper"] == _FILLED:
        said = Said.read(view.folder.folder / FORM)
        return _sheet(determination(said, read_report(folder)).to_html(), "text/html")
    if given["paper"] not in _PAPERS:
        raise DataError("there is no such paper.", hint="see the list")
    file, kind, _ = _PAPERS[given["paper"]]
    path = folder / file
    if path.is_symlink() or path.parent.is_symlink():
        raise DataError("the paper is a link.", hint="run the plan again")
    try:
        return _sheet(path.read_bytes().decode("utf-8"), kind)
    except (OSError, ValueError):
        raise DataError("the paper cannot be read.", hint="run the plan again") from None


def _sheet(content: str, kind: str) -> Response:
    return Response(
        content, media_type=f"{kind}; charset=utf-8", headers={"content-security-policy": PAPER_POLICY}
    )


SCREEN = Screen("papers", show, {"fill": fill}, {"{release}/{paper}": paper}, linked=True)
