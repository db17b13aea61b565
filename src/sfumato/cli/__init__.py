"""The command line: thin. It parses, calls the library, and prints.

Exit codes: 0 done; 1 a check did not hold (a release is not what it says, data is not what its schema
says); 2 bad input or wrong use; 70 a fault of Sfumato itself; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give back its exit code."""
    from sfumato.cli.app import run

    return run(arguments)
