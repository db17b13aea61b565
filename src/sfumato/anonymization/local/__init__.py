"""Local recoding: classes of similar rows, each released as the smallest box around it."""

from sfumato.anonymization.local.recode import LocalRecoding

__all__ = ["LocalRecoding"]
