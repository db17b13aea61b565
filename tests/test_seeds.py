"""Keys: derived ones, secrecy, and what is refused."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.seeds import Key, Label, _encoded

COUNTING = bytes(range(32))
FROZEN = {
    "seeded": [2266221849212782354, 17406473611483216637],
    "secret": [3415226117913914665, 14079549880745483864],
    "derived": [1668920359431416929],
    "generator": [339, 476, 503],
}

keys = st.one_of(
    st.integers(0, 10**6).map(Key.from_seed), st.binary(min_size=32, max_size=32).map(Key.from_bytes)
)
labels = st.lists(st.one_of(st.text(max_size=4), st.integers(-(10**6), 10**6)), min_size=1, max_size=4)


# -- derived keys ------------------------------------------------------------------------------------


def decoded(code: bytes) -> list[Label]:
    out: list[Label] = []
    while code:
        length = int.from_bytes(code[1:9], "little")
        content = code[9 : 9 + length].decode()
        out.append(content if code[:1] == b"s" else int(content))
        code = code[9 + length :]
    return out


@given(labels)
def test_labels_can_be_read_back_from_their_code(given_labels: list[Label]) -> None:
    assert decoded(_encoded(tuple(given_labels))) == given_labels


@given(labels, labels)
def test_different_labels_give_different_keys(a: list[Label], b: list[Label]) -> None:
    key = Key.from_seed(3)
    same = [(type(x), x) for x in a] == [(type(x), x) for x in b]
    assert (key.derive(*a) == key.derive(*b)) is same


def test_labels_do_not_run_together() -> None:
    key = Key.from_seed(0)
    several = [
        key,
        key.derive("a", "bc"),
        key.derive("ab", "c"),
        key.derive("abc"),
        key.derive("a").derive("bc"),
        key.derive(1),
        key.derive("1"),
        key.derive(-1),
        key.derive(""),
        key.derive("", ""),
        Key.from_seed(1),
    ]
    assert len(set(several)) == len(several)


def test_derived_keys_remember_whether_they_are_secret() -> None:
    assert Key.from_seed(0).derive("x").seeded
    assert not Key.fresh().derive("x").seeded


@pytest.mark.parametrize("label", [True, 1.0, None, b"x"])
def test_labels_are_text_or_whole_numbers(label: object) -> None:
    with pytest.raises(ParameterError, match="label"):
        Key.from_seed(0).derive(label)  # type: ignore[arg-type]


def test_a_derived_key_needs_a_label() -> None:
    with pytest.raises(ParameterError, match="label"):
        Key.from_seed(0).derive()


def test_generators_are_independent_and_repeatable() -> None:
    key = Key.from_seed(7)
    first = key.generator("a").random(5)
    assert np.array_equal(first, key.generator("a").random(5))
    assert not np.array_equal(first, key.generator("b").random(5))
    assert not np.array_equal(first, key.generator().random(5))


def test_streams_stay_the_same_from_release_to_release() -> None:
    """A saved plan run again must give the same bytes: these values may never change."""
    assert Key.from_seed(0).words(0, 0, 2).tolist() == FROZEN["seeded"]
    assert Key.from_bytes(COUNTING).words(0, 0, 2).tolist() == FROZEN["secret"]
    assert Key.from_seed(0).derive("a", 1).words(0, 0, 1).tolist() == FROZEN["derived"]
    assert Key.from_seed(0).generator("a").integers(0, 1000, 3).tolist() == FROZEN["generator"]


# -- the key keeps its secret --------------------------------------------------------------------------


def test_a_key_shows_nothing() -> None:
    key = Key.from_bytes(COUNTING)
    for text in (repr(key), str(key), f"{key}", repr([key]), repr({"key": key})):
        assert "secret" in text
        assert COUNTING.hex()[:8] not in text and "\\x01" not in text
    assert repr(Key.from_seed(5)) == "Key(seeded)"
    assert not hasattr(key, "__dict__")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_key_is_not_pickled(protocol: int) -> None:
    with pytest.raises(ParameterError, match=r"not pickled.*to_bytes"):
        pickle.dumps({"deep": [Key.fresh()]}, protocol)


def test_a_key_is_not_json() -> None:
    with pytest.raises(TypeError):
        json.dumps(Key.fresh())


def test_a_key_cannot_be_changed() -> None:
    key = Key.fresh()
    with pytest.raises(AttributeError):
        key.seeded = True
    with pytest.raises(AttributeError):
        del key._bytes
    with pytest.raises(ParameterError):
        Key()
    assert copy.copy(key) is key and copy.deepcopy([key])[0] is key


@given(keys)
def test_bytes_bring_back_the_key(key: Key) -> None:
    back = Key.from_bytes(key.to_bytes())
    assert back == key and back.seeded is key.seeded and hash(back) == hash(key)


def test_equality_looks_at_everything() -> None:
    key = Key.from_bytes(COUNTING)
    assert key == Key.from_bytes(bytearray(COUNTING))
    assert key != Key.from_bytes(b"\x01" + COUNTING)  # the same bits, but known
    assert key != Key.from_bytes(COUNTING[::-1])
    assert key != COUNTING
    assert Key.fresh() != Key.fresh()


@pytest.mark.parametrize("data", [b"", bytes(31), b"\x02" + bytes(32), bytes(34)])
def test_bytes_that_are_no_key_are_refused(data: bytes) -> None:
    with pytest.raises(ParameterError, match="bytes"):
        Key.from_bytes(data)


def _first_word(data: bytes) -> int:
    return int(Key.from_bytes(data).words(2, 10**9, 1)[0])


def test_another_process_draws_the_same_words() -> None:
    key = Key.fresh()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_first_word, (key.to_bytes(),)) == int(key.words(2, 10**9, 1)[0])


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed"):
        Key.from_seed(seed)  # type: ignore[arg-type]


def test_numpy_seeds_are_seeds() -> None:
    assert Key.from_seed(np.int64(5)) == Key.from_seed(5) != Key.from_seed(2**200)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sweep", {"sweep": 2**32}),
        ("sweep", {"sweep": -1}),
        ("first_row", {"first_row": 2**63}),
        ("first_row", {"first_row": -1}),
        ("rows", {"rows": -1}),
        ("rows", {"rows": 2, "first_row": 2**63 - 1}),
        ("words_per_row", {"words_per_row": 0}),
        ("threads", {"threads": 0}),
        ("rows", {"rows": 1.0}),
    ],
)
def test_addresses_are_checked(name: str, arguments: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=name):
        Key.from_seed(0).words(**{"sweep": 0, "first_row": 0, "rows": 1, **arguments})


def test_importing_seeds_does_not_import_numba() -> None:
    code = "import sys, sfumato.seeds; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
