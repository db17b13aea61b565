"""What has been spent on a data set, and by whom: debited before it is used, durably, never given back.

Start at `ledger`. `debit` is one debit, `chain` the log, `tables` what a database holds of it, in `files`
(SQLite) or `postgres`; `create` makes them. `witness` remembers what was last seen, `published` lets releases
be witnesses, `recovery` accounts for lines that were lost, `bindings` says which ledger pays for which data,
`backup` copies, `records` is what a ledger tells of itself, `payer` what a method asks for a grant.
"""

from sfumato.privacy.ledger.ledger import Ledger
from sfumato.privacy.ledger.payer import Payer
from sfumato.privacy.ledger.records import Client, LedgerEntry

__all__ = ["Client", "Ledger", "LedgerEntry", "Payer"]
