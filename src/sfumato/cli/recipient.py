"""Who receives the file: asked of the person at the terminal."""

from __future__ import annotations

import sys

from rich.text import Text

from sfumato.cli.terminal import Terminal


def asked_recipient(terminal: Terminal) -> str:
    """Who receives the file, from the person at the terminal; the public where nobody is there to ask."""
    from sfumato.plan.limits import RECIPIENTS

    if terminal.json or terminal.quiet or not (sys.stdin.isatty() and terminal.err.is_terminal):
        terminal.note("the limits are those for the public; --recipient agreement sets those for a contract.")
        return "public"
    terminal.err.print(Text("Who receives the file?", "bold"))
    for name, who in RECIPIENTS.items():
        limits = ", ".join(f"{limit.name} {limit.value:g}" for limit in who.limits)
        terminal.err.print(Text(f"  {name:<10} {who.words}: {limits}"))
    while True:
        terminal.err.print(Text("public or agreement [public]: "), end="")
        answer = sys.stdin.readline().strip().lower()
        if not answer:
            return "public"
        if answer in RECIPIENTS:
            return answer
        terminal.err.print(Text("please write public or agreement", "yellow"))
