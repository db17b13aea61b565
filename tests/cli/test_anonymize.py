"""The command anonymize: a release from files, refusals that say what next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import CANARY, Sfumato

import sfumato as sf
from sfumato.cli.exit_codes import NOT_TRUSTED


@pytest.fixture
def hierarchies(tmp_path: Path) -> Path:
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "visits_age.csv").write_text("".join(f"{v};{v // 10 * 10}+;*\n" for v in range(20, 80)))
    return folder


def test_a_release_is_written_and_verified(sfumato, visits, hierarchies) -> None:
    asked = ["anonymize", visits, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age", "--k", 5]
    answer = sfumato(*asked, "--l", "dx=2", "--max-suppressed", 0.1, "--out", "r", "--json")
    assert answer.code == 0, answer.err
    said = json.loads(answer.out)
    assert said["search"]["optimal"] and said["rows"]["read"] == 200
    assert CANARY not in answer.out + answer.err
    assert sfumato("verify", "r").code == NOT_TRUSTED
    assert "patient_id" not in sf.Release.load("r").columns
    again = sfumato(*asked, "--out", "r")
    assert again.code != 0 and "exists already" in again.err
    for method in ("datafly", "optimal", "local", "mondrian"):
        limit = ["--time-limit", 3600] if method in ("optimal", "local") else []
        again = sfumato(*asked, "--l", "dx=2", "--method", method, *limit, "--out", "r", "--overwrite")
        assert again.code == 0, again.err
        assert sfumato("verify", "r").code == NOT_TRUSTED


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "nothing is asked"),
        (["--l", "dx=2", "--no-persons"], "persons says what k counts"),
        (["--k", 5, "--method", "greedy", "--no-closed"], "only k rows can be asked"),
        (["--k", 5, "--method", "magic"], "no such method"),
        (["--k", 5, "--method", "optmal"], "did you mean 'optimal'?"),
        (["--k", 5, "--quasi-identifiers", "sexx"], "did you mean 'sex'?"),
        (["--k", 5, "--method", "local", "--loss", "entropy"], "has no use for --loss"),
        (["--k", 5, "--weights", "age"], "--weights: it takes NAME=VALUE"),
        (["--k", 5, "--max-level", "age=x"], "--max-level: must be a whole number"),
        (["--k", 201], "fewer than the 201"),
        (
            ["--k", 5, "--quasi-identifiers", "sex,dx"],
            "no hierarchy in 'hierarchies': 'dx'. Hint: write one: sfumato hierarchy build DATA dx",
        ),
        (["--criteria", "entropy-l(dx)", "--criteria", "x-l(dx, 2)"], "needs l; 'x-l(dx, 2)' is not known"),
        (["--criteria", "k-map(5, population=gone.csv)"], "gone.csv"),
        (["--criteria", "hierarchical-t(dx, 0.4)"], "no hierarchy says how far the values of 'dx'"),
        (["--criteria", "distinct-l(height, 2)"], "unknown column"),
        (["--k", 5, "--method", "local", "--effort", "heroic"], "--effort must be one of fast, thorough"),
        (["--k", 5, "--quasi-identifiers", "sex,height"], "unknown column"),
    ],
)
def test_refusals_say_what_and_leave_nothing(sfumato, visits, hierarchies, more, words) -> None:
    named = [] if "--quasi-identifiers" in more else ["--quasi-identifiers", "sex,age"]
    answer = sfumato("anonymize", visits, "--hierarchies", hierarchies, "--out", "r", *named, *more)
    assert answer.code != 0 and words in " ".join(answer.err.split())
    assert not Path("r").exists() and CANARY not in answer.err


@pytest.mark.parametrize(
    ("criterion", "claim"),
    [
        ("k-anonymity(5, count=rows)", {"k": 5}),
        ("k-anonymity(5, missing=anything)", {"k": 5, "matching": "anything"}),
        ("entropy-l(dx, 2)", {"l": 2, "kind": "entropy"}),
        ("recursive-l(dx, 2, c=3)", {"l": 2, "kind": "recursive", "c": 3}),
        ("equal-t(dx, 0.3)", {"t": 0.3}),
        ("ordered-t(cost, 0.3)", {"t": 0.3, "distance": "ordered"}),
        ("hierarchical-t(dx, 0.3)", {"t": 0.3, "distance": "hierarchical"}),
        ("alpha-k(dx, 0.6, k=4)", {"k": 4, "alpha": 0.6}),
        ("k-map(9, population=town.csv, name=the town)", {"k": 9, "population": "the town"}),
        ("k-map(9, weight=cost)", {"k": 9}),
        ("j-anonymity(20, fraction=0.5)", {"k": 20}),
    ],
)
def test_every_criterion_can_be_asked(sfumato, costs, hierarchies, criterion, claim) -> None:
    (hierarchies / "dx.csv").write_text("".join(f"D{i};{'xy'[i // 3]};*\n" for i in range(5)))
    Path("town.csv").write_text("age,sex\n" + "".join(f"{20 + i % 60},{'FM'[i % 2]}\n" for i in range(600)))
    asked = ["anonymize", costs, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age"]
    answer = sfumato(*asked, "--criteria", criterion, "--max-suppressed", 0.1, "--out", "r", "--json")
    assert answer.code == 0, answer.err
    claims = json.loads(answer.out)["guarantee"]["claims"]
    for name, asked_for in claim.items():
        for reached in (c[name] for c in claims):
            if isinstance(asked_for, str) or name == "c":
                assert reached == asked_for
            else:
                assert reached <= asked_for if name in ("t", "alpha") else reached >= asked_for
    assert sfumato("verify", "r").code == NOT_TRUSTED


def test_the_help_lists_every_criterion(sfumato: Sfumato) -> None:
    from sfumato.criteria.text import FORMS

    shown = "".join(c for c in sfumato("anonymize", "--help").out if c.isalnum() or c in "-,")
    assert all(name in shown for name in FORMS)


@pytest.mark.parametrize(
    ("more", "method"),
    [
        (["--method", "mondrian", "--kind", "relaxed", "--ordered", "age"], "Mondrian, relaxed"),
        (["--method", "local", "--effort", "fast", "--time-limit", 3600], "fast"),
        (["--method", "simulatable", "--no-persons", "--criteria", "known-search(places)"], "places hidden"),
    ],
)
def test_searches_and_their_efforts(sfumato, costs, hierarchies, more, method) -> None:
    asked = ["anonymize", costs, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age", "--k", 5]
    assert sfumato(*asked, *more, "--out", "r").code == 0
    record = sf.Release.load("r").internal
    assert method in json.dumps([record.plan, record.extra["search"]])
    assert sfumato("verify", "r").code == NOT_TRUSTED


@pytest.mark.parametrize(
    ("more", "claim"),
    [
        (["--method", "beam", "--width", 3], "KAnonymity"),
        (["--method", "beam", "--loss", "height", "--no-closed", "--no-persons"], "KAmbiguity"),
        (["--method", "greedy", "--no-closed", "--no-persons"], "KAmbiguity"),
        (["--method", "partition", "--rule", "printed", "--loss", "height"], "KAnonymity"),
        (["--method", "guided", "--target", "dx"], "KAnonymity"),
        (["--method", "greedy", "--loss", "measure=column-information", "--loss", "target=dx"], "KAnonymity"),
        (
            ["--method", "partition", "--loss", "measure=value-information", "--loss", "target=dx"],
            "KAnonymity",
        ),
    ],
)
def test_every_search_of_the_thesis_has_a_name(sfumato, visits, hierarchies, more, claim) -> None:
    asked = ["anonymize", visits, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age", "--k", 4]
    answer = sfumato(*asked, *more, "--drop", "dx", "--out", "r", "--json")
    assert answer.code == 0, answer.err
    kinds = {c["claim"] for c in json.loads(answer.out)["guarantee"]["claims"]}
    assert kinds == {claim}
    assert sfumato("verify", "r").code == NOT_TRUSTED
    if claim == "KAnonymity":
        assert sf.Release.load("r").data.counts("sex", "age").n.min() >= 4


def test_a_search_that_reads_the_outcome_says_that_it_leaks(sfumato, visits, hierarchies) -> None:
    asked = ["anonymize", visits, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age", "--k", 4]
    told = sfumato(*asked, "--method", "guided", "--target", "dx", "--leaking", "--out", "r")
    assert told.code == 0 and "chosen by looking at 'dx'" in " ".join(told.out.split())


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    """One row a person, with a cost and a free column."""
    rows = [f"P{i:04},{'FM'[i % 2]},{20 + i % 60},D{i % 5},{i % 7}.5" for i in range(200)]
    path = tmp_path / "costs.csv"
    path.write_text("patient_id,sex,age,dx,cost\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("method", ["resample", "dither", "centroid"])
def test_methods_of_clusters_need_no_hierarchies(sfumato, costs, method) -> None:
    asked = ["anonymize", costs, "--method", method, "--quasi-identifiers", "sex,age", "--k", 5]
    answer = sfumato(*asked, "--response", "cost", "--out", "r", "--json")
    assert answer.code == 0, answer.err
    said = json.loads(answer.out)
    assert said["clusters"] == 40 and len(said["guarantee"]["claims"]) == 1
    assert sfumato("verify", "r").code == NOT_TRUSTED
    assert sf.Release.load("r").data.rows() == 200 and "patient_id" not in sf.Release.load("r").columns
    plain = sfumato(*asked, "--out", "r", "--overwrite")
    assert plain.code == 0 and "40 clusters of rows" in plain.out
    assert ("k = 5" if method == "centroid" else "at most 1/5") in plain.out


def test_hierarchies_say_how_far_nominal_values_are_apart(sfumato, costs, hierarchies) -> None:
    asked = ["anonymize", costs, "--method", "resample", "--quasi-identifiers", "dx,age", "--k", 5]
    (hierarchies / "dx.csv").write_text("".join(f"D{i};{'xy'[i // 3]};*\n" for i in range(5)))
    assert sfumato(*asked, "--hierarchies", hierarchies, "--out", "r").code == 0
    (hierarchies / "dx.csv").write_text("D0;x;*\n")
    short = sfumato(*asked, "--hierarchies", hierarchies, "--out", "r2")
    assert short.code == 2 and "'dx': 4 of its 5 values" in " ".join(short.err.split())
    assert not Path("r2").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--method", "resample", "--threads", 2], "no use for --threads"),
        (["--method", "resample", "--max-suppressed", 0.1, "--loss", "entropy"], "--max-suppressed, --loss"),
        (["--method", "greedy", "--response", "cost"], "no use for --response"),
        (["--method", "greedy", "--max-suppressed", 0.1], "no use for --max-suppressed"),
        (["--method", "guided"], "needs --target"),
        (["--method", "greedy", "--width", 3], "no use for --width"),
        (["--method", "local", "--no-closed"], "no use for --closed"),
        (["--method", "greedy", "--target", "cost"], "it goes with guided"),
        (["--method", "greedy", "--loss", "value-information"], "loss must be one of"),
        (["--method", "beam", "--loss", "discernibility"], "loss must be one of"),
        (["--method", "resample", "--max-level", "age=1"], "no use for --max-level"),
        (["--method", "resample", "--response", "age"], "response is one of the quasi-identifiers"),
        (["--method", "resample", "--register", "reg"], "no use for register"),
        (["--seed", 3], "--seed goes with --hierarchies"),
        (["--kind", "relaxed"], "it goes with mondrian"),
        (["--method", "mondrian", "--effort", "fast"], "no use for --effort"),
        (["--method", "local", "--kind", "relaxed", "--ordered", "age"], "no use for --kind, --ordered"),
    ],
)
def test_settings_a_method_would_not_look_at_are_refused(sfumato, costs, more, words) -> None:
    answer = sfumato("anonymize", costs, "--quasi-identifiers", "sex,age", "--k", 5, "--out", "r", *more)
    assert answer.code == 2 and words in " ".join(answer.err.split())
    assert not Path("r").exists() and not Path("reg").exists()
