"""A step of the demo for who builds an API: a private risk score, signed, checked and asked."""

from __future__ import annotations

from sfumato.cli.demo.stage import Stage

_PEOPLE = 4_000
_PATIENT = {
    "age": "52", "sex": "female", "pregnancies": "2", "bmi": "31", "systolic_bp": "138", "diastolic_bp": "86",
    "glucose": "128", "activity": "low", "family_history": "true", "blood_pressure_drugs": "false",
}  # fmt: skip


def score(stage: Stage) -> str:
    """From check-ups to a score that costs no further privacy."""
    from sfumato.prediction.artefact import load

    data, schema = stage / "checkups.parquet", stage / "checkups.toml"
    stage.command("sample", "diabetes", _PEOPLE, "--seed", 1, "--out", data, "--schema", schema, "--quiet")
    stage.command("trust", "key", stage / "signing.key", "--quiet")
    stage.command(
        "fit", data, "--schema", schema, "--target", "diabetes", "--epsilon", 1, "--quiet",
        "--sign", stage / "signing.key", "--out", stage / "diabetes.sfm",
    )  # fmt: skip
    stage.command("model", "verify", stage / "diabetes.sfm", "--trusted", stage / "signing.pub")
    patient = [f"{name}={value}" for name, value in _PATIENT.items()]
    stage.command("model", "score", stage / "diabetes.sfm", *patient)
    model = load(stage / "diabetes.sfm")
    promise = model.guarantee.claims[0].title
    return (
        f"a signed score with {promise}, learnt from {_PEOPLE:,} simulated check-ups; every call is free. "
        "sfumato serve --demo answers by HTTP"
    )
