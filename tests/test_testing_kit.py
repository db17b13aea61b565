"""The kit passes our own methods, and catches those that lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lying_methods as lying
import pytest

from sfumato import plugins, testing
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Does
from sfumato.methods.names import OURS, find

# What a method cannot be made without, or what says whom the kit's table is about.
SETTINGS: dict[str, dict[str, Any]] = {
    "guided": {"target": "diagnosis"},
    "private": {"epsilon": 2.0},
    "pegs": {"epsilon": 4.0},
    "pmi": {"epsilon": 4.0},
    "partial": {"columns": ("cost",)},
    "pseudonymize": {"columns": ("id",)},
}
CHECKS = [check for name in OURS for check in testing.checks(find(name)(**SETTINGS.get(name, {})))]


@pytest.fixture(autouse=True)
def nobody_registered() -> Iterator[None]:
    yield
    plugins.forget()


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_our_own_methods_pass(check: testing.MethodCheck) -> None:
    check()


def test_all_that_release_are_tried_in_all_ways() -> None:
    releasing = [name for name, (does, _) in OURS.items() if does not in (Does.FIT, Does.PEOPLE)]
    tried = [str(check) for check in CHECKS]
    assert len(releasing) > 20 and all(f"{name}, public part" in tried for name in releasing)


def test_an_honest_method_passes() -> None:
    testing.check_method(lying.Honest())


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (lying.SaysFive(), "k-anonymity with k = 5 rows is not so"),
        (lying.SpendsSecretly(), "spends() says that it claims none"),
        (lying.SpendsMore(), "spends() says epsilon = 3, and its release claims another"),
        (lying.AnotherClaim(), "claims what is not declared: KAnonymity"),
        (lying.KeepsIds(), "240 values of 'id' are in the released rows"),
        (lying.TellsAbout(), "values of 'id' are in public/card.md"),
        (lying.TellsAbout(), "a key is in public/manifest.json"),
        (lying.Unsteady(), "the same key gives other rows"),
        (lying.Undeclared(), "its constructor takes 'hidden', of which nothing is declared"),
        (lying.Undeclared(), "'base' that is below 1, in Python ends in a ValueError"),
        (lying.BadDefault(), "the default of 'base' is not what it may be"),
        (lying.BadDefault(), "'manner' has no words"),
        (lying.BadDefault(), "it takes 'base' that is above 10, in Python"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else x[:30],
)
def test_a_method_that_lies_is_caught(method: Any, words: str) -> None:
    with pytest.raises(AssertionError) as caught:
        testing.check_method(method)
    assert words in str(caught.value)


def test_each_lie_is_found_by_one_check_alone() -> None:
    faulty = {str(c) for c in testing.checks(lying.SaysFive()) if c.faults()}
    assert faulty == {"says-five, guarantee"}
    with pytest.raises(AssertionError, match="guarantee"):
        next(c for c in testing.checks(lying.SaysFive()) if "guarantee" in str(c))()


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="declares nothing"):
        testing.check_method(object())
    with pytest.raises(ParameterError, match="not its class"):
        testing.check_method(lying.Honest)
