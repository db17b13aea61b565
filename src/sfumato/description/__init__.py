"""Looking at a table before anything is done to it: what it holds, what identifies, what fits its schema.

Start at `profile` (`describe`). `differences` compares data with a schema, `suggestions` writes down what
would fit, `domain_search` finds domains with a part of the budget (over `grids`), `one_way` counts each
column as it is, `display` is for terminal and notebook. It proposes and
changes nothing; it knows no method.
"""

from sfumato.description.differences import Difference, Differences, check, scan_as
from sfumato.description.domain_search import DomainSearch, FoundDomains
from sfumato.description.profile import (
    ColumnProfile,
    Description,
    PersonRows,
    Together,
    UniquenessStep,
    describe,
)
from sfumato.description.roles import roles_of
from sfumato.description.suggestions import Change, changes, update

__all__ = [
    "Change",
    "ColumnProfile",
    "Description",
    "Difference",
    "Differences",
    "DomainSearch",
    "FoundDomains",
    "PersonRows",
    "Together",
    "UniquenessStep",
    "changes",
    "check",
    "describe",
    "roles_of",
    "scan_as",
    "update",
]
