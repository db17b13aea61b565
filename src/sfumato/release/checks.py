"""What a verification found: one line per file, per column and per claim."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sfumato.errors import VerificationError, listed
from sfumato.release.dictionary import draft_words


class Outcome(StrEnum):
    """How a check ended.

    warned: nothing was altered, and yet somebody has to act.
    recorded: a claim that no file can show. It is the one its maker wrote down, and nothing was recounted.
    """

    PASSED = "passed"
    FAILED = "failed"
    RECORDED = "recorded"
    WARNED = "warning"
    UNSEEN = "not visible"


@dataclass(frozen=True)
class VerificationCheck:
    """One thing that was looked at: what, how it ended, how it was looked at, and what was found."""

    subject: str
    outcome: Outcome
    how: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.subject} ({self.how}{': ' if self.detail else ''}{self.detail})"


@dataclass(frozen=True)
class Verification:
    """What was found about a saved release: its files, its data against the schema, its claims.

    draft: why it says of itself that it is not to be passed on; a whole copy of a draft is still a draft.
    """

    files: tuple[VerificationCheck, ...]
    data: tuple[VerificationCheck, ...]
    claims: tuple[VerificationCheck, ...]
    draft: str = ""

    @property
    def checks(self) -> tuple[VerificationCheck, ...]:
        """All of them."""
        return (*self.files, *self.data, *self.claims)

    @property
    def failures(self) -> tuple[VerificationCheck, ...]:
        """What is not as it should be."""
        return tuple(c for c in self.checks if c.outcome is Outcome.FAILED)

    @property
    def ok(self) -> bool:
        """Whether nothing failed. What is recorded, or not visible in a file, is no failure and no proof."""
        return not self.failures

    @property
    def warnings(self) -> tuple[VerificationCheck, ...]:
        """What is whole and yet not safe, such as an internal record that others may read."""
        return tuple(c for c in self.checks if c.outcome is Outcome.WARNED)

    @property
    def unproven(self) -> tuple[VerificationCheck, ...]:
        """Claims that were not recounted, because a file cannot show them."""
        return tuple(c for c in self.claims if c.outcome in (Outcome.RECORDED, Outcome.UNSEEN))

    @property
    def verdict(self) -> str:
        """The last line: verified or not, and how many claims rest on the word of the maker."""
        said = [self._verdict, *(f"WARNING: {c.subject} {c.detail}." for c in self.warnings)]
        return " ".join([*said, *([draft_words(self.draft)] if self.draft else [])])

    @property
    def _verdict(self) -> str:
        if not self.ok:
            return f"NOT VERIFIED: {len(self.failures)} of {len(self.checks)} checks failed."
        if not self.unproven:
            theirs = sum(c.subject.startswith("not ours") for c in self.claims)
            whose = f"; {theirs} of {len(self.claims)} claims by the package that made them" if theirs else ""
            return f"Verified{whose}."
        foreign = sum(c.subject.startswith("not ours") for c in self.unproven)
        others = f" {foreign} of them {'is' if foreign == 1 else 'are'} not ours." if foreign else ""
        return (
            f"Verified, but for what a file cannot show: {len(self.unproven)} of {len(self.claims)} claims."
            f"{others}"
        )

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Outcome, subject, how, detail: ready for a table."""
        return [(str(c.outcome), c.subject, c.how, c.detail) for c in self.checks]

    def require(self) -> None:
        """Raise if anything failed, naming all of it."""
        if not self.ok:
            found = [f"{c.subject} ({c.detail})" for c in self.failures]
            raise VerificationError(
                f"the release is not what it says: {listed(found)}.",
                hint="do not use this copy; ask for a fresh one, or restore it",
            )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), self.verdict])
