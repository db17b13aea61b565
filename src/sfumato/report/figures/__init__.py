"""Pictures of what a release keeps and gives away: arrays in, figures out.

Each has the numbers in a table behind it and a description in words. Specifications are plain Vega-Lite
(what Altair writes), with the data inside.
"""

from sfumato.report.figures.attacks import attacks
from sfumato.report.figures.frontier import MapPoint, frontier, pareto
from sfumato.report.figures.marginals import class_sizes, marginals
from sfumato.report.figures.tables import associations, mosaic

__all__ = ["MapPoint", "associations", "attacks", "class_sizes", "frontier", "marginals", "mosaic", "pareto"]
