"""Risk: what a file gives away about the people in it, counted and estimated.

Start with `classes` (who looks alike by the quasi-identifiers); `uniqueness`, `reidentification`,
`population` and `diversity` read it. `records` and `distance` look for originals in the release; `overview`
gathers it all.

No attack is run here: it knows the file, not an intruder.
"""

from sfumato.assessment.risk.classes import FileClasses, classes
from sfumato.assessment.risk.distance import closest
from sfumato.assessment.risk.diversity import diversity
from sfumato.assessment.risk.intervals import exact_interval
from sfumato.assessment.risk.overview import risks
from sfumato.assessment.risk.population import population_uniqueness
from sfumato.assessment.risk.records import copies, unique_rows
from sfumato.assessment.risk.reidentification import class_sizes, intruders, presence
from sfumato.assessment.risk.uniqueness import riskiest, search, uniqueness

__all__ = [
    "FileClasses",
    "class_sizes",
    "classes",
    "closest",
    "copies",
    "diversity",
    "exact_interval",
    "intruders",
    "population_uniqueness",
    "presence",
    "riskiest",
    "risks",
    "search",
    "unique_rows",
    "uniqueness",
]
