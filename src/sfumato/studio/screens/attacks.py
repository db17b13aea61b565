"""The attack bench: one person, what each attack finds of them, people who are not in the data beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.errors import ParameterError
from sfumato.seeds import Key
from sfumato.studio.markup import Html, el, join
from sfumato.studio.pictures import meter
from sfumato.studio.precedence import submit_ahead
from sfumato.studio.screens.screen import Screen
from sfumato.studio.tasks.attack import KNOWN, MATCHES, NUMBER, PEOPLE, RIGHT, SURE, TRUTH
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, Task

ATTACK = "attack"
_FIRST = 8  # attacks that are shown at once


def show(view: PageView) -> Html:
    """The verdict, one person, and all attacks."""
    t = view.t
    latest = view.worker.latest(ATTACK)
    done = next((task for task in view.worker.tasks(ATTACK) if task.state == DONE), None)
    ready = not isinstance(view.folder.plan, Exception) and bool(view.document.get("steps"))
    begin = (
        view.form("begin", view.button(t("attacks.again" if done else "attacks.begin"), id="attacks-begin",
                                       class_="quiet" if done else None))
        if ready
        else el("p", t("comparison.no_step"), class_="small")
    )  # fmt: skip
    head = el(
        "section", el("h1", t("attacks.title")), el("p", t("attacks.lead")),
        el("p", t("internal"), class_="small"),
        view.progress(latest) if latest is not None and latest.open else begin,
        view.failure(latest) if latest is not None and latest.state == "failed" else None,
    )  # fmt: skip
    if done is None:
        return head
    people = _read(view.worker.own(done) / PEOPLE)
    return join(
        head,
        _verdict(view, done),
        _person(view, done, people) if people is not None and people.num_rows else None,
        _attacks(view, done),
    )


@lru_cache(2)
def _parquet(path: Path, mark: int) -> pa.Table:
    return pq.read_table(path)


def _read(path: Path) -> pa.Table | None:
    try:
        return _parquet(path, path.stat().st_mtime_ns)
    except (OSError, pa.ArrowException):
        return None


def _verdict(view: PageView, task: Task) -> Html:
    t, found = view.t, task.found
    stale = el("p", t("attacks.stale"), class_="warn") if task.revision != view.folder.revision else None
    limits = [el("li", el("strong", t(f"outcome.{o}")), ": ", t.said(words)) for o, words in found["limits"]]
    advice = [el("li", t.said(words)) for words in found["advice"]]
    unseen = found["not_examined"]
    return el(
        "section", el("h2", t("attacks.met" if found["met"] else "attacks.not_met")), stale,
        el("p", t.said(found["because"])) if found["because"] else None,
        el("ul", limits) if limits else el("p", t("attacks.no_limits")),
        join(el("h3", t("attacks.advice")), el("ul", advice)) if advice else None,
        el("details", el("summary", t("attacks.unseen", n=len(unseen))),
           el("ul", [el("li", w) for w in unseen], class_="small"), id="attacks-unseen") if unseen else None,
        el("p", t("attacks.how", people=int(found["people"]), control=int(found["control"]),
                  method=found["method"]), class_="small"),
    )  # fmt: skip


# -- one person ----------------------------------------------------------------------------------------


def worst(people: pa.Table) -> int:
    """The place of who is found most surely: fewest records that fit, then the surest guess of a secret."""
    matches = people.column(MATCHES).to_numpy().astype(float)
    sure = np.zeros(len(matches))
    for name in people.column_names:
        if name.startswith(SURE):
            sure = np.maximum(sure, people.column(name).to_numpy())
    order = np.lexsort((-sure, np.where(matches == 0, np.inf, matches)))
    return int(order[0])


def _person(view: PageView, task: Task, people: pa.Table) -> Html:
    t, found = view.t, task.found
    asked = view.query.get("person", "")
    at = worst(people)
    title = t("attacks.worst")
    if asked.isascii() and asked.isdigit() and len(asked) < 10:
        place = pc.index(people.column(NUMBER), int(asked) - 1).as_py()
        if place >= 0:
            at, title = place, t("attacks.person", number=asked)
    row = people.slice(at, 1).to_pylist()[0]
    facts = [el("tr", el("th", n.removeprefix(KNOWN), scope="row"), el("td", _cell(v)))
             for n, v in row.items() if n.startswith(KNOWN)]  # fmt: skip
    number = int(row[NUMBER]) + 1
    pick = view.form(
        "pick", el("label", t("attacks.number"), for_="attacks-number"),
        el("input", type="number", name="person", id="attacks-number", min=1, value=number, required=True),
        " ", view.button(t("attacks.pick"), id="attacks-pick", name="how", value="number"), " ",
        view.button(t("attacks.random"), id="attacks-random", class_="quiet", name="how", value="random"),
        " ", el("a", t("attacks.to_worst"), href="/attacks#person", id="attacks-worst"),
    )  # fmt: skip
    return el(
        "section", el("h2", title, id="person"), pick,
        el("p", t("attacks.is_row", number=t.number(number)), class_="small"),
        el("h3", t("attacks.knows")), el("table", el("tbody", facts), class_="facts-list"),
        el("h3", t("attacks.tries")), _tries(view, found, row),
    )  # fmt: skip


def _tries(view: PageView, found: Mapping[str, Any], row: Mapping[str, Any]) -> Html:
    """Each attack on this person in words, and how the same goes for people who are not in the data."""
    t, n = view.t, int(row[MATCHES])
    tried = t("attacks.link", n=n, chance=t.share(1 / n)) if n else t("attacks.link.none")
    control = t("attacks.no_control")
    if "control_alone" in found:
        control = t("attacks.link.control", alone=t.share(float(found["control_alone"])),
                    middle=float(found["control_matches"]), own=t.share(float(found["alone"])))  # fmt: skip
    lines = [(t("attacks.linking"), tried, control)]
    for name in found["wanted"]:
        sure, right = float(row[SURE + name]), float(row[RIGHT + name])
        words = "right" if right >= 0.999 else "maybe" if right > 0 else "wrong"
        said = t(f"attacks.guess.{words}", column=name, truth=_cell(row[TRUTH + name]), share=t.share(sure))
        beside = t("attacks.guess.plain", guess=t.share(float(found[f"guess.{name}"])))
        if f"control.{name}" in found:
            beside = t("attacks.guess.control", right=t.share(float(found[f"control.{name}"])),
                       guess=t.share(float(found[f"guess.{name}"])))  # fmt: skip
        lines.append((t("attacks.guessing", column=name), said, beside))
    titles = ("attacks.attack", "attacks.this", "attacks.beside")
    head = el("tr", [el("th", t(w), scope="col") for w in titles])
    body = [el("tr", el("th", a, scope="row"), el("td", b), el("td", c)) for a, b, c in lines]
    return el("table", el("thead", head), el("tbody", body))


def _cell(value: object) -> str:
    return "∅" if value is None else str(value)[:60]


# -- all attacks ---------------------------------------------------------------------------------------


def _attacks(view: PageView, task: Task) -> Html | None:
    t, scores = view.t, task.found["scores"]
    if not scores:
        return None

    def table(some: list[dict[str, Any]]) -> Html:
        head = el("tr", [el("th", t(w), scope="col", class_=c) for w, c in (
            ("attacks.attack", None), ("attacks.success", "n"), ("attacks.control", "n"),
            ("attacks.gain", None))])  # fmt: skip
        body = [
            el("tr", el("th", s["name"], el("p", s["meaning"], class_="small"), scope="row"),
               el("td", t.share(float(s["value"])), class_="n"), el("td", _reference(view, s), class_="n"),
               el("td", meter(float(s["gain"]), s["name"]), t.share(max(0.0, float(s["gain"])))))
            for s in some
        ]  # fmt: skip
        return el("table", el("thead", head), el("tbody", body))

    rest = scores[_FIRST:]
    return el(
        "section", el("h2", t("attacks.all", n=len(scores))), el("p", t("attacks.all.lead")),
        table(scores[:_FIRST]),
        el("details", el("summary", t("attacks.more", n=len(rest))), table(rest), id="attacks-more")
        if rest else None,
    )  # fmt: skip


def _reference(view: PageView, score: Mapping[str, Any]) -> str:
    t = view.t
    if score["control"] is not None:
        return t.share(float(score["control"]))
    guess = score["baseline"]
    return "–" if guess is None else t("attacks.by_guess", share=t.share(float(guess)))


# -- doing ---------------------------------------------------------------------------------------------


def begin(view: PageView, form: Form) -> str | None:
    """Attack a release of the plan as it is."""
    if isinstance(view.folder.plan, Exception) or not view.document.get("steps"):
        raise ParameterError("the plan has faults: nothing can be tried yet.", hint="see the top of the page")
    submit_ahead(view, ATTACK, {})
    return None


def pick(view: PageView, form: Form) -> str | None:
    """Another person: by the number of the row, or any."""
    done = next((task for task in view.worker.tasks(ATTACK) if task.state == DONE), None)
    people = None if done is None else _read(view.worker.own(done) / PEOPLE)
    if people is None:
        raise ParameterError("nobody was attacked yet.", hint="attack a release first")
    numbers = people.column(NUMBER).to_numpy()
    if form.text("how", "number") == "random":
        number = int(Key.fresh().generator("person").choice(numbers)) + 1
    else:
        number = form.whole("person", 1, 10**9)
        if number - 1 not in numbers:
            raise ParameterError(
                f"row {number:,} is not in the attacked release: it is in the control, or not in the file.",
                hint="take another number",
            )
    return f"/attacks?person={number}#person"


SCREEN = Screen("attacks", show, {"begin": begin, "pick": pick})
