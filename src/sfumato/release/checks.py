"""What a verification found: one line per file, signature, column and claim, and what it comes to."""

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


class Standing(StrEnum):
    """What a copy of a release is, taken together.

    authentic: as it was signed by somebody the reader trusts, and nothing in it contradicts what it says.
    whole: it agrees with itself. So does a forgery whose lists were rewritten.
    altered: it contradicts itself, its signature or its internal record.
    """

    AUTHENTIC = "authentic"
    WHOLE = "whole but not signed by anyone you trust"
    ALTERED = "altered"


@dataclass(frozen=True)
class Verification:
    """What was found about a saved release: its files, its signatures, its data, its claims.

    draft: why it says of itself that it is not to be passed on; a whole copy of a draft is still a draft.
    signers: who signed it of those the reader trusts, in words. doubts: why other signatures do not count.
    asked: whether somebody was named as trusted, so that nothing less than authentic will do.
    """

    files: tuple[VerificationCheck, ...]
    data: tuple[VerificationCheck, ...]
    claims: tuple[VerificationCheck, ...]
    draft: str = ""
    signatures: tuple[VerificationCheck, ...] = ()
    signers: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    asked: bool = False

    @property
    def checks(self) -> tuple[VerificationCheck, ...]:
        """All of them."""
        return (*self.files, *self.signatures, *self.data, *self.claims)

    @property
    def failures(self) -> tuple[VerificationCheck, ...]:
        """What is not as it should be."""
        return tuple(c for c in self.checks if c.outcome is Outcome.FAILED)

    @property
    def standing(self) -> Standing:
        """Authentic, whole, or altered."""
        if self.failures:
            return Standing.ALTERED
        return Standing.AUTHENTIC if self.signers else Standing.WHOLE

    @property
    def ok(self) -> bool:
        """Whether nothing failed and, where somebody was named as trusted, it is authentic.

        What is recorded, or not visible in a file, is no failure and no proof.
        """
        return self.standing is Standing.AUTHENTIC or (self.standing is Standing.WHOLE and not self.asked)

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
        """The last line: what the copy is, by whose word, and how many claims rest on that word."""
        said = [self._verdict, *(f"WARNING: {c.subject} {c.detail}." for c in self.warnings)]
        return " ".join([*said, *([draft_words(self.draft)] if self.draft else [])])

    @property
    def _verdict(self) -> str:
        failed = f"{len(self.failures)} of {len(self.checks)} checks failed. Do not use this copy."
        match self.standing:
            case Standing.ALTERED if self.signers:
                return f"NOT WHAT IT SAYS, although {'; '.join(self.signers)}: {failed}"
            case Standing.ALTERED:
                return f"ALTERED: {failed}"
            case Standing.AUTHENTIC:
                return f"AUTHENTIC: {'; '.join(self.signers)}.{self._rest}"
        why = "; ".join(self.doubts) if self.doubts else "there is no signature"
        return (
            f"WHOLE, BUT NOT SIGNED BY ANYONE YOU TRUST ({why}): it agrees with itself, and so does a "
            f"forgery.{self._rest}"
        )

    @property
    def _rest(self) -> str:
        """What the claims rest on, where it is not a recount of ours."""
        foreign = sum(c.subject.startswith("not ours") for c in self.claims)
        if self.unproven:
            said = f" {len(self.unproven)} of {len(self.claims)} claims cannot be seen in a file."
            foreign = sum(c.subject.startswith("not ours") for c in self.unproven)
            return (
                f"{said} {foreign} of them {'is' if foreign == 1 else 'are'} not ours." if foreign else said
            )
        if foreign:
            return f" {foreign} of {len(self.claims)} claims were recounted by the package that made them."
        return ""

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Outcome, subject, how, detail: ready for a table."""
        return [(str(c.outcome), c.subject, c.how, c.detail) for c in self.checks]

    def require(self) -> None:
        """Raise if anything failed, naming all of it, or if those named as trusted did not sign it."""
        if self.failures:
            found = [f"{c.subject} ({c.detail})" for c in self.failures]
            raise VerificationError(
                f"the release is not what it says: {listed(found)}.",
                hint="do not use this copy; ask for a fresh one, or restore it",
            )
        if not self.ok:
            raise VerificationError(
                f"the release is {self.standing}: {listed(list(self.doubts)) or 'there is no signature'}.",
                hint="ask the publisher to sign it, or for the key they sign with",
            )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), self.verdict])
