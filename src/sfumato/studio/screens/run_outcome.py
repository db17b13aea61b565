"""A part of "Sign and release": what came of a run, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.studio.markup import Html, el, join
from sfumato.studio.view import PageView
from sfumato.studio.work import CANCELLED, DONE, FAILED, Task


def outcome(view: PageView, task: Task, digest: str) -> Html:
    """Whether something may leave, why, what to do; and what verifying says. digest: of the plan as it is."""
    t = view.t
    if task.state == CANCELLED:
        return el("p", t("work.cancelled"), class_="figure", id="outcome")
    if task.state == FAILED:
        return view.failure(task)
    assert task.state == DONE
    found = task.found
    old = bool(digest) and digest != found.get("digest")
    words = "release.done"
    if found["draft"] or not found["passed"]:
        words = "release.draft"
    elif not found["met"]:
        words = "release.accepted_done"
    if found["refused"]:
        words = "release.refused"
    parts: list[object] = [
        el("p", t("release.outdated"), class_="warn") if old else None,
        el("p", t(words), class_="figure" + (" good" if words == "release.done" else ""), id="outcome"),
        el("p", t.said(found["draft"]) or found["accepted"], class_="small"),
    ]
    if found.get("drift"):
        parts.append(el("ul", [el("li", t.said(words)) for words in found["drift"]], class_="small"))
    for decision in found["decisions"].values():
        parts.append(_decision(view, decision))
    for name, release in found["releases"].items():
        parts.append(_verified(view, name, release))
    if found["notes"]:
        parts.append(el("ul", [el("li", t.said(n)) for n in found["notes"]], class_="small"))
    if found["releases"]:
        parts.append(el("p", el("a", t("release.to_papers"), href="/papers", class_="go")))
    return join(*parts)


def _decision(view: PageView, decision: Mapping[str, Any]) -> Html:
    t = view.t
    rows = [
        el(
            "tr",
            el("td", t(f"outcome.{outcome}"), class_=f"outcome {_tone(outcome)}"),
            el("td", t.said(sentence)),
        )
        for outcome, sentence in decision["limits"]
    ]
    advice = [el("li", t.said(words)) for words in decision["advice"]]
    return join(
        el("p", t.said(decision["because"])) if decision["because"] else None,
        el("table", el("tbody", rows), class_="limits") if rows else None,
        el("p", t("release.next"), class_="label") if advice else None,
        el("ol", advice) if advice else None,
        el("p", t("release.not_examined", n=decision["not_examined"]), class_="small")
        if decision["not_examined"]
        else None,
    )


def _tone(outcome: str) -> str:
    return {"met": "good", "not met": "bad"}.get(outcome, "open")


def _verified(view: PageView, name: str, release: Mapping[str, Any]) -> Html:
    t, said = view.t, release["verified"]
    passed = sum(row[0] == "passed" for row in said["rows"])
    other = [
        el("li", f"{subject}: {t.said(outcome)}, {t.said(how)}")
        for outcome, subject, how in said["rows"]
        if outcome != "passed"
    ]
    return el(
        "div",
        el("h3", t("release.made", name=name, folder=release["folder"])),
        el("p", "; ".join(map(t.said, release["claims"]))),
        el(
            "p",
            el("strong", t(f"release.standing.{said['standing']}")),
            " ",
            t.said(said["verdict"]),
            id=f"verified-{name}",
            class_={"authentic": "good", "altered": "warn"}.get(said["standing"]),
        ),
        el(
            "details",
            el("summary", t("release.checks", n=passed)),
            el("ul", other, class_="small"),
            id=f"checks-{name}",
        ),
    )
