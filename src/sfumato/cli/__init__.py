"""The command line: thin. It parses, calls the library, and prints.

Exit codes: 0 done; 1 a check did not hold (a release is not what it says, data is not what its schema
says); 2 bad input or wrong use; 70 a fault of Sfumato itself; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.cli.exit_codes import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give back its exit code."""
    from sfumato.cli.app import run

    code = run(arguments)
    if code == INTERRUPTED and arguments is None:  # the process is ours, not a caller's
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End at once. Readers in C++ may still be at work after Ctrl-C; unwinding around them aborts."""
    import atexit
    import contextlib
    import os
    import sys

    atexit._run_exitfuncs()  # temporary folders and worker processes are cleared here
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
