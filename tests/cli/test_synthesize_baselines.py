"""sfumato synthesize with imputation, PMI and the baselines."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_support import Sfumato
from declared import signed

from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.samples import discharges


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    """Simulated discharges with their schema."""
    table = discharges(200, 1).select(["sex", "sev", "los_days"])
    pq.write_table(table.to_arrow(), tmp_path / "stays.parquet")
    (tmp_path / "stays.toml").write_text(signed(table.schema).to_toml())
    return [tmp_path / "stays.parquet", "--schema", tmp_path / "stays.toml", "--rows", 20, "--out", "new"]


@pytest.mark.parametrize(
    ("more", "claim"),
    [
        (["--method", "imputation"], "NoGuarantee"),
        (["--method", "marginals"], "NoGuarantee"),
        (["--method", "marginals", "--epsilon", 1], "PureDP"),
        (["--method", "table", "--epsilon", 1], "PureDP"),
        (["--method", "pmi", "--epsilon", 40, "--columns", "sex", "--columns", "sev"], "PureDP"),
    ],
)
def test_a_release_is_written_with_what_it_promises(
    sfumato: Sfumato, arguments: list[object], more: list[object], claim: str
) -> None:
    answer = sfumato("synthesize", *arguments, *more, "--json")
    assert answer.code == 0, answer.all
    found = json.loads(answer.out)
    assert found["rows"] == 20 and found["guarantee"]["claims"][0]["claim"] == claim
    assert sfumato("verify", "new").code == NOT_TRUSTED


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--method", "imputation", "--epsilon", 1], "imputation has no use for --epsilon"),
        (["--method", "marginals", "--block", 3], "marginals has no use for --block"),
        (["--method", "table", "--epsilon-per-row", 1], "table has no use for --epsilon-per-row"),
        (["--method", "pmi"], "one of epsilon"),
    ],
)
def test_options_that_a_method_has_no_use_for_are_refused(
    sfumato: Sfumato, arguments: list[object], more: list[object], words: str
) -> None:
    answer = sfumato("synthesize", *arguments, *more)
    assert answer.code == 2 and words in answer.err


def test_rows_of_people_with_new_cells_or_filled_gaps(sfumato: Sfumato, tmp_path: Path) -> None:
    table = discharges(150, 3).select(["sex", "sev", "age_years"])
    pq.write_table(table.to_arrow(), tmp_path / "stays.parquet")
    (tmp_path / "stays.toml").write_text(signed(table.schema).to_toml())
    (tmp_path / "rules.toml").write_text("[[never]]\nsex = 'male'\nsev = 2\n")
    common = ["synthesize", tmp_path / "stays.parquet", "--schema", tmp_path / "stays.toml", "--json"]
    partial = sfumato(
        *common, "--method", "partial", "--columns", "sex", "--risky", 50, "--by", "sev", "--by", "sex",
        "--engine", "marginals", "--constraints", tmp_path / "rules.toml", "--out", "partial",
    )  # fmt: skip
    assert partial.code == 0, partial.all
    made = pq.read_table(tmp_path / "partial" / "public" / "data.parquet").to_pylist()
    assert made and not any(r["sex"] == "male" and r["sev"] == 2 for r in made)
    filled = sfumato(*common, "--method", "missing", "--sweeps", 1, "--engine", "trees", "--out", "filled")
    assert filled.code == 0, filled.all
    assert not pq.read_table(tmp_path / "filled" / "public" / "data.parquet")["age_years"].null_count
    assert sfumato(*common, "--method", "partial", "--out", "no").code == 2


def test_lugs_by_parts(sfumato: Sfumato, arguments: list[object]) -> None:
    answer = sfumato(
        "synthesize",
        *arguments,
        "--method",
        "plugs",
        "--lugs",
        "log_l=0.2",
        "--partitions",
        1,
        "--lugs",
        "burn_in=2",
        "--json",
    )
    assert answer.code == 0, answer.all
    assert json.loads(answer.out)["rows"] == 20
