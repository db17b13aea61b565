"""What has been spent on a data set, and by whom: debited before it is used, durably, never given back."""

from sfumato.privacy.ledger.ledger import Client, Entry, Ledger

__all__ = ["Client", "Entry", "Ledger"]
