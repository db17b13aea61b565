"""Audits: try to refute a claim of differential privacy by running the mechanism on two neighbours.

Start with `claim` (`sf.audit` and what it gives back). It looks for `events` that tell two laws apart, in
`draws` of the mechanism, and confirms them on fresh ones by the exact `intervals`.

It knows a mechanism only as a function, and nothing of files and releases. An audit refutes, it never proves.
"""

from sfumato.assessment.audit.claim import Audit, audit, exact_epsilon

__all__ = ["Audit", "audit", "exact_epsilon"]
