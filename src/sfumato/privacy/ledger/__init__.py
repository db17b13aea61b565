"""What has been spent on a data set, and by whom: debited before it is used, durably, never given back."""

from sfumato.privacy.ledger.ledger import Ledger
from sfumato.privacy.ledger.records import Client, LedgerEntry

__all__ = ["Client", "Ledger", "LedgerEntry"]
