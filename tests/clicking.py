"""What a person does in a real browser: moves the mouse and presses, tabs and types, drags; and waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from chromium import Browser
from cli_support import PATIENCE

_CODES = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def until(browser: Browser, claim: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds(browser, claim):
        assert time.monotonic() < end, f"never so: {claim}; {browser.complaints()}"
        time.sleep(0.05)


def holds(browser: Browser, claim: str) -> bool:
    """Whether a claim is so now; not while one page makes room for the next."""
    try:
        return bool(
            browser.evaluate(f"(() => {{ try {{ return !!({claim}) }} catch {{ return false }} }})()")
        )
    except RuntimeError as error:
        if "navigated" in str(error) or "context" in str(error):
            return False
        raise


def settled(browser: Browser, claim: str) -> None:
    """The claim holds, no click is under way, and the page is there with its style."""
    there = "!document.body.hasAttribute('aria-busy') && document.readyState === 'complete'"
    until(browser, f"({claim}) && {there}")


def key(browser: Browser, name: str, *, control: bool = False) -> None:
    text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
    code = _CODES.get(name, ord(name.upper()[0]))
    common = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
    down = {"text": text} if text and not control else {}
    browser.ask("Input.dispatchKeyEvent", type="keyDown", **common, **down)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", **common)


def by_mouse(browser: Browser, selector: str) -> None:
    """Move to the middle of an element and press; again if the page moved away under the mouse meanwhile."""
    box = f"document.querySelector({selector!r})"
    end = time.monotonic() + PATIENCE
    while True:
        browser.evaluate(f"{box}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        at = browser.evaluate(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])({box}.getBoundingClientRect())"
        )
        browser.evaluate(
            "addEventListener('mousedown', e => { window.pressedOn = e.target }, {capture: true, once: true})"
        )
        where = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
        browser.ask("Input.dispatchMouseEvent", type="mousePressed", **where)
        hit = holds(browser, f"{box}.contains(window.pressedOn)")
        if not hit:  # let go where nothing is
            where = {**where, "x": 1, "y": 1}
        browser.ask("Input.dispatchMouseEvent", type="mouseReleased", **where)
        if hit:
            return
        assert time.monotonic() < end, f"the mouse never met {selector}"


def by_keys(browser: Browser, selector: str) -> None:
    """Tab until it has the focus, then Enter; a box is ticked with Space."""
    for _ in range(400):
        if browser.evaluate(f"document.activeElement?.matches({selector!r})"):
            break
        key(browser, "Tab")
    assert browser.evaluate(f"document.activeElement.matches({selector!r})"), selector
    box = browser.evaluate("document.activeElement.type === 'checkbox'")
    plain = browser.evaluate("document.activeElement.matches('input:not([type=checkbox]), select, textarea')")
    if not plain:
        key(browser, " " if box else "Enter")


def by_dragging(browser: Browser, selector: str, onto: str) -> None:
    """Take an element by the mouse and let it fall on another."""
    browser.ask("Input.setInterceptDrags", enabled=True)
    box = f"document.querySelector({selector!r})"
    browser.evaluate(f"{box}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    places = [
        browser.evaluate(
            f"(r => [r.x + 60, r.y + r.height / 2])(document.querySelector({s!r}).getBoundingClientRect())"
        )
        for s in (selector, onto)
    ]
    (x, y), (to_x, to_y) = places
    browser.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for step in (5, 10):
        browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y, button="left", buttons=1)
    data = [e for e in browser.events if e.get("method") == "Input.dragIntercepted"][-1]["params"]["data"]
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.ask("Input.dispatchDragEvent", type=kind, x=to_x, y=to_y, data=data)
    browser.ask("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)
    browser.ask("Input.setInterceptDrags", enabled=False)


Press = Callable[[Browser, str], None]


def write(browser: Browser, press: Press, selector: str, words: str) -> None:
    press(browser, selector)
    until(browser, f"document.activeElement.matches({selector!r})")
    browser.evaluate("document.activeElement.select?.()")
    browser.ask("Input.insertText", text=words)
