"""The exit codes that all commands share; beside them 0: done, and 1: what a command checks does not hold."""

from __future__ import annotations

BAD_INPUT = 2
OUR_FAULT = 70
INTERRUPTED = 130  # by Ctrl-C, or by a batch system
NO_READER = 141  # whoever read the output has closed it
