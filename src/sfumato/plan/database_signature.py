"""A person signs a plan for linked tables: name, day, and a digest of the plan and of its declaration.

A signature without a digest, written by hand, counts as one; one whose digest does not fit is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, PlanError
from sfumato.io.atomic import write_text
from sfumato.methods.shapes import as_day
from sfumato.plan.document import digest_of_file, digest_of_parts
from sfumato.plan.signature import with_review

_REVIEW = "review"


@dataclass(frozen=True)
class LinkedSignature:
    """Who signed, and when. text: the plan's file as it is then. digest: of what was signed."""

    by: str
    on: date
    digest: str
    text: str


def signed_by(document: Mapping[str, Any]) -> tuple[str, date] | None:
    """Who has signed, and when, whatever was changed since."""
    review = document.get(_REVIEW, {})
    by, on = str(review.get("by", "")).strip(), as_day(review.get("on", ""))
    return (by, on) if by and on is not None else None


def digest_of(document: Mapping[str, Any], folder: Path) -> str:
    """Of everything that a signature covers: the plan without the review, and the declaration it names."""
    rest = {k: v for k, v in document.items() if k != _REVIEW}
    declared = document["database"].get("declared")
    files = {} if declared is None else {declared: digest_of_file(folder / declared)}
    return digest_of_parts({**rest, "files": files})


def draft_of(document: Mapping[str, Any], folder: Path) -> str:
    """Why what the plan makes is a draft; empty if somebody has signed it as it is."""
    if signed_by(document) is None:
        return "nobody has signed the plan"
    given = document[_REVIEW].get("digest")
    changed = given not in (None, "") and given != digest_of(document, folder)
    return "the plan was changed after it was signed" if changed else ""


def signed_linked(
    text: str, document: Mapping[str, Any], folder: Path, name: str, *, on: date | None = None
) -> LinkedSignature:
    """The text of a plan when a person has signed it. Writes nothing."""
    import tomllib

    name = " ".join(name.split())
    if not name or not name.isprintable():
        raise ParameterError(
            "a signature is the name of a person.", hint='--name "A. Miller, privacy officer"'
        )
    day, digest = on or date.today(), digest_of(document, folder)
    after = with_review(text.replace("\r\n", "\n"), name, day, digest)
    try:
        found = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        found = {}
    if signed_by(found) != (name, day) or digest_of(found, folder) != digest:
        raise PlanError(
            "the plan is written in a way that cannot be signed by the program.",
            hint="set by and on under [review], by hand",
        )
    return LinkedSignature(name, day, digest, after)


def sign_linked(
    path: Path, document: Mapping[str, Any], folder: Path, name: str, *, on: date | None = None
) -> LinkedSignature:
    """Sign a plan for linked tables in its file; document and folder are those that were read from it."""
    after = signed_linked(path.read_text(encoding="utf-8"), document, folder, name, on=on)
    write_text(path, after.text, overwrite=True, private=False)
    return after
