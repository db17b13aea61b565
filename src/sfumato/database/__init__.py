"""Several tables with keys: patients, their stays, the diagnoses of each stay. A table is a database of one.

`Database` (`database`) holds tables, `Link`s (`link`) and `Reference`s (`reference`); `discovery` finds keys
and links and says why, `checks` counts all that is wrong with them, `confirmation` leaves out tables
of which nobody has said that they hold no persons, `repair` leaves out what points nowhere,
`people` says of every row whose it is, through its parents, `person_days` holds a number of days for each,
and `picture` shows tables and links. `ids` says when two ids are the same, `keys` looks them up. It knows
tables and keys; files and engines are for `io`, what is done with people for the rooms above.
"""

from sfumato.database.checks import Defect
from sfumato.database.confirmation import confirmed
from sfumato.database.database import Database
from sfumato.database.discovery import Found, discover
from sfumato.database.ids import key_ids
from sfumato.database.link import Link
from sfumato.database.people import People, with_person
from sfumato.database.person_days import PersonDays
from sfumato.database.picture import drawn, drawn_svg
from sfumato.database.reference import Reference
from sfumato.database.repair import mend

__all__ = [
    "Database",
    "Defect",
    "Found",
    "Link",
    "People",
    "PersonDays",
    "Reference",
    "confirmed",
    "discover",
    "drawn",
    "drawn_svg",
    "key_ids",
    "mend",
    "with_person",
]
