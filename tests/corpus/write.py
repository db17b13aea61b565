"""Write one small file of every format, as the version that runs this writes it. Simulated people only.

    PYTHONPATH=SRC python tests/corpus/write.py FOLDER [WHAT ...]

SRC is the source of the version. What is read of them by this version: tests/test_formats.py.
"""

from __future__ import annotations

import sys
import warnings
from inspect import signature
from pathlib import Path

ROWS = "id,sex,age,region\n" + "".join(
    f"P{i // 2},{'fm'[i % 2]},{20 + 10 * (i % 5)},{('north', 'south')[i // 2 % 2]}\n" for i in range(40)
)
SCHEMA = """\
[columns.id]
kind = "nominal"
role = "person"
[columns.sex]
kind = "flag"
role = "quasi-identifier"
levels = ["f", "m"]
confirmed = true
{sex}[columns.age]
kind = "numeric"
type = "integer"
role = "sensitive"
edges = [0, 20, 40, 60, 80, 120]
confirmed = true
[columns.region]
kind = "nominal"
role = "quasi-identifier"
levels = ["east", "north", "south", "west"]
confirmed = true
{region}"""
DECLARED = 'provenance = {{origin="declared", by="me", reason="so", domain="sha256:{}"}}\n'  # not signed
DOMAINS = {"sex": "4839344862f357d18b5c30c3da185493", "region": "17f59e212739460c16b3221fa4bc1d43"}
PLAN = """\
sfumato_plan = {version}
title = "Visits of a small clinic"

[input]
data = "rows.csv"
schema = "schema.toml"

[[steps]]
rows = 20
columns = ["sex", "region"]
{step}"""
STEPS = {1: 'method = "pegs"\nepsilon = 0.1\nparents = 0\n', 2: 'method = "lugs"\nlog_l = 0.1\n'}


def inputs(folder: Path) -> None:
    """Rows, schema and plan, as a person writes them."""
    from sfumato.plan.spec import VERSION

    (folder / "rows.csv").write_text(ROWS, "utf-8")
    said = {name: "" if VERSION == 1 else DECLARED.format(domain) for name, domain in DOMAINS.items()}
    (folder / "schema.toml").write_text(SCHEMA.format(**said), "utf-8")
    (folder / "plan.toml").write_text(PLAN.format(version=VERSION, step=STEPS[VERSION]), "utf-8")


def release(folder: Path) -> None:
    """A release, both parts."""
    import sfumato as sf

    table = sf.scan(folder / "rows.csv", schema=folder / "schema.toml")
    sf.pseudonymize(table).save(folder / "release")


def ledger(folder: Path) -> None:
    """A ledger of epsilon = 1 with two debits of a quarter."""
    from sfumato.privacy import Ledger

    try:
        from sfumato.privacy import Budget

        opened = Ledger.open(folder / "study.ledger", Budget(epsilon=1.0))
    except (ImportError, TypeError):
        opened = Ledger.open(folder / "study.ledger", 1.0)
    for purpose in ("first table", "second table"):
        opened.grant(epsilon=0.25, purpose=purpose)


def models(folder: Path) -> None:
    """A signed score, its key, and a confidential tree."""
    import sfumato as sf

    people = sf.samples.diabetes(400, seed=1).drop(["id"])
    key = sf.SigningKey.fresh()
    key.save(folder / "officer.key")
    score = sf.AdditiveScore(epsilon=1.0).fit(people, "diabetes")
    score.save(folder / "score.sfm", key, name="diabetes-risk")
    (folder / "officer.pub").write_text(key.public, "ascii")
    named = "epsilon" if "epsilon" in signature(sf.EDPaT).parameters else "epsilon_per_call"
    tree = sf.EDPaT(**{named: 1}).fit(sf.samples.icu(300, seed=1), "septic_shock")
    tree.save(folder / "shock.dpat")


def logistic(folder: Path) -> None:
    """A logistic score with all it can carry; 0.1 had none."""
    import sfumato as sf

    people = sf.samples.diabetes(400, seed=1).drop(["id"])
    asked = {"groups": ["sex"], "intervals": True, "population": True, "monotone": {"glucose": "increasing"}}
    score = sf.PrivateLogistic(epsilon=2.0, **asked).fit(people, "diabetes")
    score.save(folder / "logistic.sfm", sf.SigningKey.load(folder / "officer.key"), name="diabetes-logistic")


def synthesizer(folder: Path) -> None:
    """A model of private synthesis."""
    import sfumato as sf

    table = sf.samples.discharges(300, seed=1).select(["sex", "pay", "sev"])
    sf.PrivateSynthesizer(epsilon=2.0, delta=1e-6).fit(table).save(folder / "synthesizer.sfm")


PARTS = {
    "inputs": inputs,
    "release": release,
    "ledger": ledger,
    "models": models,
    "logistic": logistic,
    "synthesizer": synthesizer,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or PARTS:
        PARTS[name](place)
