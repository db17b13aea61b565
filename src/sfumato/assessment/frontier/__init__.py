"""The risk-utility map: many methods, settings and repeats, each a point of risk against utility.

Start with `driver` (`sf.frontier`), which runs a `grid` of methods and draws a `map`. `axes` turns names of
scores into measures, `points` finds what no other point beats, `cache` keeps results on disk.

A method is anything with a name and settings that can be called; none is known here by name.
"""

from sfumato.assessment.frontier.driver import frontier
from sfumato.assessment.frontier.grid import Candidate
from sfumato.assessment.frontier.map import Frontier
from sfumato.assessment.frontier.points import Point

__all__ = ["Candidate", "Frontier", "Point", "frontier"]
