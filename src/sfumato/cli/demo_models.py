"""The two models of `sfumato serve --demo`: simulated patients, fitted and released as hospitals would."""

from __future__ import annotations

from pathlib import Path

ROWS = 20_000

# The two calls of the dissertation's page 112, in this service's words.
CALLS = {
    "diabetes": '{"glucose": 130, "bmi": 25, "age": 44, "sex": "female", "pregnancies": 2, '
    '"systolic_bp": 128, "diastolic_bp": 82, "activity": "low", "family_history": true, '
    '"blood_pressure_drugs": false}',
    "septic-shock": '{"systolic_bp_last": 105, "heart_rate_last": 61, "respiratory_rate_last": 22, '
    '"temperature_last": 38.4, "spo2_last": 93, "diastolic_bp_last": 58, "age": 67, "sex": "male"}',
}
_BEDSIDE = [
    "age", "sex", "systolic_bp_last", "diastolic_bp_last", "heart_rate_last", "respiratory_rate_last",
    "temperature_last", "spo2_last", "septic_shock",
]  # fmt: skip


def fit(folder: str | Path) -> None:
    """Fit, judge and sign both; called in a process of its own, so that the serving one never saw a row.

    Each is judged on other simulated patients, for an epsilon of their own.
    """
    from sfumato.prediction.artefact import write
    from sfumato.prediction.card import evaluated
    from sfumato.prediction.logistic import PrivateLogistic
    from sfumato.privacy.signatures import SigningKey
    from sfumato.samples import diabetes, icu

    key = SigningKey.fresh()
    for name, target, table, other in (
        ("diabetes", "diabetes", diabetes(ROWS, seed=1), diabetes(ROWS // 4, seed=2)),
        (
            "septic-shock", "septic_shock", icu(ROWS, seed=1).select(_BEDSIDE),
            icu(ROWS // 4, seed=2).select(_BEDSIDE),
        ),
    ):  # fmt: skip
        score = PrivateLogistic(epsilon=1.0, schema=table.schema, intervals=True, population=True)
        model = score.fit(table, target).released(name)
        judged = evaluated(
            model,
            other,
            target,
            epsilon=1.0,
            subgroups=["sex"],
            disjoint="another draw of simulated patients",
        )
        write(judged, Path(folder) / f"{name}.sfm", key)
