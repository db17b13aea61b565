"""Whatever the table, the hierarchies, the criteria and the method: the file does what it says."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import criteria, methods, problems

import sfumato as sf
from sfumato.anonymization import optimal
from sfumato.errors import ParameterError, SfumatoWarning


@settings(max_examples=70)
@given(problems(), criteria(), methods())
def test_every_release_recounted_satisfies_its_criteria(problem, criterion, method) -> None:
    recount(problem, criterion, method)


@settings(max_examples=25)
@given(problems(), criteria(), st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([1, 30, 400]))
def test_every_release_of_the_search_from_the_top_does_so(problem, criterion, share, work) -> None:
    """As if every lattice were too large to be walked through; stopped wherever."""
    with patch.object(optimal, "_LARGE", 0):
        recount(problem, criterion, sf.OptimalRecoding(max_suppressed=share, work_limit=work))


@settings(max_examples=25)
@given(problems(), criteria(), st.sampled_from([1, 200]))
def test_every_release_of_local_recoding_does_so(problem, criterion, work) -> None:
    recount(problem, criterion, sf.LocalRecoding("fast", work_limit=work, max_suppressed=1.0))


def recount(problem, criterion, method) -> None:
    """Anonymize, save, load, and count the file."""
    table, hierarchies = problem
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            release = sf.anonymize(
                table, criterion, method=method, hierarchies=hierarchies, quasi_identifiers=list(hierarchies)
            )
    except ParameterError as refused:
        assert any(
            words in refused.message
            for words in ("cannot hold", "fewer than", "found nothing", "nothing could", "too many rows")
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "r")
        found = sf.verify(Path(folder) / "r")
        assert found.ok, str(found)
        saved = sf.Release.load(Path(folder) / "r")
    # What was reached is at least what was asked, and the file is counted by code that knows no search.
    for asked in criterion.parts:
        match asked:
            case sf.KAnonymity(k=k):
                assert any(getattr(c, "k", 0) >= k for c in saved.guarantee)
            case sf.TCloseness(t=t):
                assert any(getattr(c, "t", 2) <= t + 1e-9 for c in saved.guarantee)
            case sf.LDiversity(l=l):
                assert any(getattr(c, "l", 0) >= l - 1e-9 for c in saved.guarantee)
    lost = saved.internal.extra["rows"]["left_out"]
    assert saved.data.rows() == table.rows() - lost


@settings(max_examples=40)
@given(problems(), st.integers(1, 4), st.sampled_from([0.0, 0.5]))
def test_each_released_cell_is_above_the_original(problem, k, share) -> None:
    """Row by row, without the shuffle: a cell is its value or an ancestor; other columns pass as they are."""
    from sfumato.anonymization.problem import compress
    from sfumato.anonymization.suppression import settle
    from sfumato.anonymization.writer import released

    table, hierarchies = problem
    if table.rows() < k:
        return
    columns = list(hierarchies)
    counted = compress(table, columns, hierarchies)
    recoding = sf.OptimalRecoding(max_suppressed=share).search(counted, sf.KAnonymity(k))
    settled = settle(recoding, sf.KAnonymity(k))
    if settled.left_out:
        return
    out = released(table, settled, table.columns, sf.Key.from_seed(1), shuffle=False).to_arrow().to_pylist()
    for before, after in zip(table.to_arrow().to_pylist(), out, strict=True):
        assert (before["s"], before["v"]) == (after["s"], after["v"])
        for name in columns:
            h = hierarchies[name]
            if before[name] is None:
                assert after[name] in (None, "*")
            else:
                leaf = h.places[before[name]]
                assert after[name] in {
                    h.labels[level][h.ancestors[level, leaf]] for level in range(h.height + 1)
                }


@pytest.mark.soak
def test_pycanon_agrees(peer, tmp_path, data_dir) -> None:
    quasi = ["sex", "age", "race", "marital-status"]
    table = sf.scan(data_dir / "adult" / "adult_arx_30162.parquet").select([*quasi, "occupation"])
    release = sf.anonymize(
        table,
        sf.KAnonymity(10) & sf.LDiversity(3, "occupation"),
        method=sf.OptimalRecoding(max_suppressed=0.02),
        hierarchies=data_dir / "adult" / "hierarchies_arx",
        quasi_identifiers=quasi,
    )
    file = sf.write(release.data, tmp_path / "r.csv")
    theirs = peer("pycanon", file=str(file), quasi=quasi, sensitive=["occupation"])
    claims = {type(c).__name__: c for c in release.guarantee}
    assert theirs["k"] == claims["KAnonymity"].k
    assert theirs["l"] == claims["LDiversity"].l


@pytest.mark.parametrize("threads", [1, 3])
def test_adult_is_solved_exactly(data_dir, threads) -> None:
    """The optimum of the ARX benchmark: nodes, scores and suppressed rows."""
    from sfumato.anonymization.problem import compress
    from sfumato.hierarchy import read_folder

    table = sf.scan(data_dir / "adult" / "adult_arx_30162.parquet")
    problem = compress(
        table, table.columns, read_folder(data_dir / "adult" / "hierarchies_arx", table.columns)
    )
    for share, levels, score, rows in (
        (0.0, (0, 4, 1, 1, 3, 2, 2, 1, 0), 0.6355, 0),
        (0.04, (0, 3, 0, 1, 1, 1, 1, 2, 0), 0.2928, 1178),
        (1.0, (0, 3, 0, 0, 2, 1, 1, 1, 0), 0.2277, 2553),
    ):
        about = (
            sf.OptimalRecoding(max_suppressed=share, threads=threads).search(problem, sf.KAnonymity(5)).about
        )
        assert tuple(about["levels"].values()) == levels
        assert round(about["score"], 4) == score
        assert about["suppressed"] == rows
        assert about["optimal"] and about["gap"] == 0 and len(about["ties"]) == 1
