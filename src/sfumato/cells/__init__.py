"""Published cells, the relations among them, and what they tell together: the attacker of tables.

A total is the sum of its parts, a row of one table is a row of another, this quarter's table overlaps with
the last one's: each is a relation, and whoever reads all the tables may use them all.

Start at `published`: what a reader is told of each cell, and the relations. `attacker` says what follows for
a cell; `movement` looks for other fillings that would have been published the same way, `arithmetic` for
cells that relations alone give away; `layout` names cells by their labels; `programs` knows the solver. The
room knows no suppression, no rounding and no method, so it judges anyone's tables.
"""

from sfumato.cells.arithmetic import recovered
from sfumato.cells.attacker import Attacker, Findings, Target
from sfumato.cells.movement import Movement, Movements
from sfumato.cells.publication import Published, Relations

__all__ = ["Attacker", "Findings", "Movement", "Movements", "Published", "Relations", "Target", "recovered"]
