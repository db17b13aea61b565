"""Tables to publish: counts and sums that hold against everything published.

Start at `tabulate`. `contents` counts the cells, `rules` says which are sensitive, `problem` is what a
pattern has to do, `search` looks for one, `exact` proves how good it can be, and `suppression` gives it out
when the attacker (`sfumato.cells`) finds nothing. `rounding` and `cell_keys` change counts
in place of withholding them; `private` adds noise to them, and `margins` makes what was drawn agree.
`history` reads what was published before, `outcome` makes the release. It knows no other method.
"""

from sfumato.tabulation.cell_keys import CellKeys
from sfumato.tabulation.private import PrivateTables
from sfumato.tabulation.rounding import ControlledRounding
from sfumato.tabulation.rules import Dominance, Homogeneity, MinimumCount, PPercent
from sfumato.tabulation.suppression import CellSuppression, Pattern
from sfumato.tabulation.tabulate import tabulate

__all__ = [
    "CellKeys",
    "CellSuppression",
    "ControlledRounding",
    "Dominance",
    "Homogeneity",
    "MinimumCount",
    "PPercent",
    "Pattern",
    "PrivateTables",
    "tabulate",
]
