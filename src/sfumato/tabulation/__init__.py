"""Tables to publish: counts and sums that hold against everything published.

Start at `tabulate`. `contents` counts the cells, `rules` says which are sensitive, `problem` is what a
pattern has to do, `search` looks for one, `exact` proves how good it can be, and `suppression` gives it out
when the attacker (`sfumato.cells`) finds nothing. It knows no other method.
"""

from sfumato.tabulation.rounding import ControlledRounding
from sfumato.tabulation.rules import Dominance, MinimumCount, PPercent
from sfumato.tabulation.suppression import CellSuppression, Pattern
from sfumato.tabulation.tabulate import tabulate

__all__ = [
    "CellSuppression",
    "ControlledRounding",
    "Dominance",
    "MinimumCount",
    "PPercent",
    "Pattern",
    "tabulate",
]
