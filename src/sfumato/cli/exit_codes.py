"""The exit codes that all commands share; beside them 0: done, and 1: what a command checks does not hold.

Of `run`, 1 is a release that misses a limit, or of which a limit is undecided or was not examined: it was
written as a draft, or not at all. It is 0 where the plan says why that is accepted.
"""

from __future__ import annotations

BAD_INPUT = 2
NOT_TRUSTED = 3  # of `verify`: whole, and not signed by anyone you trust; 0 is authentic, 1 altered
OUR_FAULT = 70
INTERRUPTED = 130  # by Ctrl-C, or by a batch system
NO_READER = 141  # whoever read the output has closed it
