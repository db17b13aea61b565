"""A part of "Open": what lies elsewhere than in a listed file: a file that is dropped, a database."""

from __future__ import annotations

from sfumato.errors import ParameterError
from sfumato.io.addresses import is_url
from sfumato.io.engines import DATABASES
from sfumato.plan.limits import RECIPIENTS
from sfumato.studio.dropped_file import MOST_BYTES
from sfumato.studio.markup import Html, el, join
from sfumato.studio.studio import OfferedTables
from sfumato.studio.view import Form, PageView

_IN_FILES = ("sqlite", "duckdb")  # databases that are chosen among the files
_LONGEST = 1000


def recipient_field(view: PageView, place: str) -> Html:
    """Who receives the release: it decides the limits."""
    t = view.t
    options = [el("option", t(f"recipient.{name}"), value=name) for name in RECIPIENTS]
    return el(
        "div",
        el("label", t("open.recipient"), for_=f"for-{place}"),
        el("select", options, name="recipient", id=f"for-{place}"),
        el("p", t("open.recipient.note"), class_="small"),
        class_="field",
    )


def drop_field(view: PageView) -> Html:
    """A field for a file from elsewhere; the whole window takes one that is dropped."""
    t = view.t
    return el(
        "div",
        el("label", t("drop.label"), for_="drop"),
        el("input", type="file", id="drop", data_drop_file=True, aria_describedby="drop-means"),
        el("p", t("drop.means", most=MOST_BYTES >> 30), class_="small", id="drop-means"),
        el("noscript", el("p", t("drop.noscript"), class_="small")),
        class_="field dropzone",
    )


def offered_tables(view: PageView, offered: OfferedTables) -> Html:
    """The tables of a database, to choose one, or all."""
    t = view.t
    rows = [
        el("tr", el("th", name, scope="row"),
           el("td", view.button(t("open.begin"), name="table", value=name, id=f"table-{i}", class_="quiet",
                                aria_label=f"{t('open.begin')}: {name}")))
        for i, name in enumerate(offered.tables)
    ]  # fmt: skip
    table = el("table", el("tbody", rows), class_="list")
    whole = None
    if len(offered.tables) > 1:
        whole = view.form("linked", view.button(t("open.linked"), id="open-database", class_="quiet"))
    return el(
        "section", el("h2", t("database.tables", name=offered.name)), el("p", t("database.choose")),
        view.form("table", recipient_field(view, "table"), table), whole, id="offered",
    )  # fmt: skip


def address_form(view: PageView) -> Html:
    """A database by its address."""
    t = view.t
    field = el(
        "div", el("label", t("database.address"), for_="address"),
        el("input", type="text", name="address", id="address", required=True, maxlength=_LONGEST, size=50,
           spellcheck="false", autocomplete="off", placeholder="postgresql://…",
           aria_describedby="address-means"),
        el("p", t("database.means"), class_="small", id="address-means"), class_="field",
    )  # fmt: skip
    form = view.form("database", field, view.button(t("database.name"), id="name-database"))
    return el("section", el("h2", t("database.title")), join(form))


# -- doing ---------------------------------------------------------------------------------------------


def name_database(view: PageView, form: Form) -> str | None:
    """Look which tables a database has."""
    address = form.text("address").strip()
    scheme = address.partition("://")[0].lower().partition("+")[0]
    if not is_url(address) or len(address) > _LONGEST or not address.isprintable() or scheme not in DATABASES:
        raise ParameterError("that is not the address of a database.", hint="postgresql://name@host/database")
    if scheme in _IN_FILES:
        raise ParameterError(
            "a database in a file is chosen among the files of the folder.",
            hint="or dropped into this window",
        )
    view.studio.offer(address)
    return "/open"


def open_table(view: PageView, form: Form) -> str | None:
    """Open one table of the database that was named."""
    view.studio.open_table(form.text("table"), form.text("recipient", "public"))
    return "/"


def open_linked(view: PageView, form: Form) -> str | None:
    """Open all its tables as linked ones."""
    view.studio.open_linked()
    return "/tables"


def open_folder(view: PageView, form: Form) -> str | None:
    """Open the files of the folder as linked tables."""
    view.studio.open_linked(folder=True)
    return "/tables"
