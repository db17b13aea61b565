"""Privacy: what is promised, the noise that keeps the promise, and what has been spent.

Promises: `base`, `claims`, `code_sets` and `tables` (counted in a file), `differential`, `secret` (rests on a
draw or a key), `foreign`, `vouching` (of guests), all a `guarantee`; `account` says who pays for it. Noise:
`grants` (budgets, and what is cut from them for one use), `noise` (the only place where it is drawn),
`rounding` (outward). Spending: `ledger`. Who says so: `signatures` (keys, envelopes, the trust file).
Start at `guarantee` to read a promise, at `noise` to keep one. It lies below tables and files: it knows
amounts, claims and numbers, and no data.
"""

from sfumato.privacy.account import Accounted, Unaccounted
from sfumato.privacy.base import Claim, Neighbours, Unit
from sfumato.privacy.claims import AlphaK, JAnonymity, KAmbiguity, KAnonymity, KMap, LDiversity, TCloseness
from sfumato.privacy.code_sets import KMAnonymity
from sfumato.privacy.differential import ZCDP, ApproxDP, PureDP
from sfumato.privacy.foreign import ForeignClaim
from sfumato.privacy.grants import Budget, Grant
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.known_search import KnownSearch
from sfumato.privacy.ledger import Client, Ledger, LedgerEntry
from sfumato.privacy.secret import BoundedReidentification, DiverseLaw, NoGuarantee, Pseudonymous
from sfumato.privacy.tables import ConsistentTotals, HiddenCells

__all__ = [
    "ZCDP",
    "Accounted",
    "AlphaK",
    "ApproxDP",
    "BoundedReidentification",
    "Budget",
    "Claim",
    "Client",
    "ConsistentTotals",
    "DiverseLaw",
    "ForeignClaim",
    "Grant",
    "Guarantee",
    "HiddenCells",
    "JAnonymity",
    "KAmbiguity",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "KnownSearch",
    "LDiversity",
    "Ledger",
    "LedgerEntry",
    "Neighbours",
    "NoGuarantee",
    "Pseudonymous",
    "PureDP",
    "TCloseness",
    "Unaccounted",
    "Unit",
]
