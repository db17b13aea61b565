"""Which ledger pays for a data set: one for each declared name, and one for each source, as far as this
place can know.

Everything learnt from the same people adds up in one ledger. A second ledger for them is sound in itself,
and doubles what may be spent. So the folder of the witness remembers under which name a ledger was started,
and from which file or URL its fits have read, as hashes of name and place; and a keyed sample of the people
that were read (overlap.py), so that a copy, a hard link or next quarter's table is noticed by who is in it.

A source is a ledger's own once that was spent from. Two first fits of one source at the same moment, from
two ledgers, would both find that nobody pays: so the first debit looks again, and is committed before the
next one may look (`held_for`). People have no place by which they could be told apart beforehand: first
debits for people are made one after another, whoever they are.

Not noticed: the same people under other ids, or on another machine.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence

from sfumato.errors import BudgetError, DataError, SfumatoError
from sfumato.privacy.ledger.overlap import PeopleSketch
from sfumato.privacy.ledger.witness import NAMES, SOURCES, Witness

PEOPLE = "people"
_EVERYBODY = "first debits"  # what is held while one is made; no ledger's id
_MOST_SKETCHES = 100  # of one ledger: the latest


def _folded(dataset: str) -> str:
    return " ".join(dataset.casefold().split())


def located(source: str | os.PathLike[str]) -> str:
    """A file by its place, whatever way leads there; a URL as it is written."""
    text = os.fspath(source)
    return text if "://" in text else os.path.realpath(text)


def _payer(witness: Witness, kind: str, what: str) -> tuple[str, str] | None:
    """Id and name of the ledger that was spent from for it; one that was never spent from holds nothing."""
    known = witness.known_at(what, kind)
    if not known:
        return None
    identity, _, name = known.partition(" ")
    seen = witness.read(identity, name)
    return (identity, name) if seen and (seen.total or seen.total_delta) else None


def require_first(witness: Witness, dataset: str, identity: str, name: str) -> None:
    """Refuse to begin with a second ledger for a data set that one is spent from already."""
    payer = _payer(witness, NAMES, _folded(dataset)) if dataset else None
    if payer and payer[0] != identity:
        raise DataError(
            f"the budget of this data set is kept in ledger {payer[1]}; {name} would be a second one for the "
            "same people.",
            hint="use that ledger; other people are another data set: give it another name",
        )


def note_name(witness: Witness, dataset: str, identity: str, name: str) -> None:
    """Remember under which name a ledger was started; the first that was spent from keeps it."""
    payer = _payer(witness, NAMES, _folded(dataset))
    if dataset and (payer is None or payer[0] == identity):
        witness.remember(_folded(dataset), f"{identity} {name}", name, NAMES)


def payer_of(witness: Witness, source: str | os.PathLike[str]) -> str:
    """The name of the ledger that was spent from for a source; empty if none is known here."""
    payer = _payer(witness, SOURCES, located(source))
    return payer[1] if payer else ""


def note_source(
    witness: Witness, source: str | os.PathLike[str], identity: str, name: str, other_people: bool
) -> None:
    """Remember which ledger pays for a source; refuse another one, unless a person says who is in it."""
    where = located(source)
    payer = _payer(witness, SOURCES, where)
    if payer and payer[0] != identity and not other_people:
        raise BudgetError(
            f"what was learnt from this source was paid from ledger {payer[1]}: from {name} the same people "
            "would pay without being counted. Nothing was debited.",
            hint="use that ledger; if other people are in it now, say so: other_people=True (--other-people)",
        )
    witness.remember(where, f"{identity} {name}", name, SOURCES)


def payer_of_people(witness: Witness, people: PeopleSketch, identity: str = "") -> tuple[str, float] | None:
    """The name of another ledger that was spent from for the same people, and the share of them."""
    for text in witness.every(PEOPLE):
        try:
            found = json.loads(text)
            owner, name, sketches = found["id"], found["name"], found["sketches"]
            seen = None if owner == identity else witness.read(owner, name)
            if seen is None or not (seen.total or seen.total_delta):
                continue
            for known in map(PeopleSketch.from_json, sketches):
                if people.same_people(known):
                    return name, people.shared(known)
        except (ValueError, KeyError, TypeError, SfumatoError):
            continue  # of a ledger whose record is damaged nothing is known here
    return None


def require_own_people(witness: Witness, people: PeopleSketch, identity: str, name: str) -> None:
    """Refuse people for whom another ledger has paid."""
    payer = payer_of_people(witness, people, identity)
    if payer:
        raise BudgetError(
            f"what was learnt from about {payer[1]:.0%} of these {people.kind} was paid from ledger "
            f"{payer[0]}: from {name} the same people would pay without being counted. Nothing was debited.",
            hint="use that ledger; if they are other people, say so: other_people=True (--other-people)",
        )


def note_people(witness: Witness, people: PeopleSketch, identity: str, name: str, other_people: bool) -> None:
    """Remember whom a ledger pays for; refuse those for whom another does, unless a person says otherwise."""
    if not other_people:
        require_own_people(witness, people, identity, name)
    with witness.alone_with(identity, name, PEOPLE):
        known = []
        with contextlib.suppress(ValueError, KeyError, TypeError):
            known = list(json.loads(witness.known_at(identity, PEOPLE) or "")["sketches"])
        text = people.to_json()
        if text not in known:
            kept = [*known[-(_MOST_SKETCHES - 1) :], text]
            witness.remember(
                identity, json.dumps({"id": identity, "name": name, "sketches": kept}), name, PEOPLE
            )


@contextlib.contextmanager
def held_for(
    witness: Witness | None,
    sources: Mapping[str, bool],
    people: Sequence[PeopleSketch],
    identity: str,
    name: str,
) -> Iterator[None]:
    """Debit alone for what was noted.

    sources: {source: whether other people are in it}. people: those of whom nobody said that they are others.
    """
    with contextlib.ExitStack() as alone:
        if witness is not None:
            for source in sorted(sources):  # in one order: nobody waits in a circle
                alone.enter_context(witness.alone_with(source, name))
                note_source(witness, source, identity, name, sources[source])
            if people:
                alone.enter_context(witness.alone_with(_EVERYBODY, name, PEOPLE))
                for sketch in people:
                    require_own_people(witness, sketch, identity, name)
        yield
