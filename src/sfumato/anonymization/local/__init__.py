"""Local recoding: classes of similar rows, each released as the smallest box around it.

Start at `recode`, the search itself: `start` merges small classes, `improve` clusters pools of them anew at
a `pace`, `bounds` proves what no recoding can be below. `forest` holds the hierarchies as the loops read
them, `pieces` a partition, `blocks` what a maximum level keeps apart; `query` asks the criterion, and
`_kernels` are the loops, one module a topic. Nothing here may know the other searches.
"""

from sfumato.anonymization.local.recode import LocalRecoding

__all__ = ["LocalRecoding"]
