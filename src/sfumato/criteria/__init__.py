"""What is asked of a release, measured on classes. A criterion is what was asked; a claim what was reached.

    KAnonymity(5) & LDiversity(3, "diagnosis") & TCloseness(0.3, "diagnosis")

A class is a set of rows whose released quasi-identifiers are the same.

Start at `base`: what every criterion has. `anonymity` looks at how many rows are in a class, `code_sets`
at sets of codes, `variety` at what is in them, `known_search` at how they were formed, `classes` is what
they are shown, `text` reads them from a
plan or a command. It counts and claims; how classes are made is for methods, and it knows none.
"""

from sfumato.criteria.anonymity import ANYTHING, OWN_VALUE, JAnonymity, KAnonymity, KMap
from sfumato.criteria.base import All, Criterion
from sfumato.criteria.classes import Classes, Spread
from sfumato.criteria.code_sets import KMAnonymity
from sfumato.criteria.known_search import KnownSearch
from sfumato.criteria.text import CriterionForm, CriterionSpec, read_criteria
from sfumato.criteria.variety import AlphaK, LDiversity, TCloseness

__all__ = [
    "ANYTHING",
    "OWN_VALUE",
    "All",
    "AlphaK",
    "Classes",
    "Criterion",
    "CriterionForm",
    "CriterionSpec",
    "JAnonymity",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "KnownSearch",
    "LDiversity",
    "Spread",
    "TCloseness",
    "read_criteria",
]
