"""The public schema of UCI Adult: levels as its own documentation lists them, bounds in round numbers."""

from __future__ import annotations

from sfumato.schema import Column, Kind, Provenance, Schema

FORM = Provenance.declared("B. Becker", "adult.names, the documentation of UCI 2")

_WORK = ("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov",
         "Without-pay", "Never-worked")  # fmt: skip
_MARITAL = ("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
            "Married-spouse-absent", "Married-AF-spouse")  # fmt: skip
_JOB = ("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
        "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
        "Priv-house-serv", "Protective-serv", "Armed-Forces")  # fmt: skip
_RELATION = ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")
_RACE = ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")
_COUNTRY = (
    "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany",
    "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras",
    "Philippines", "Italy", "Poland", "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France",
    "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala",
    "Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong",
    "Holand-Netherlands",
)  # fmt: skip


def _number(name: str, *edges: float) -> Column:
    return Column(name, Kind.NUMERIC, type="integer", edges=edges, missing=False, clamp=True, provenance=FORM)


def _names(name: str, levels: tuple[str, ...]) -> Column:
    return Column(name, Kind.NOMINAL, levels=levels, missing_codes=("?",), provenance=FORM)


SCHEMA = Schema(
    (
        _number("age", 16, 96),
        _names("workclass", _WORK),
        _number("education-num", 1, 17),
        _names("marital-status", _MARITAL),
        _names("occupation", _JOB),
        _names("relationship", _RELATION),
        _names("race", _RACE),
        _names("sex", ("Female", "Male")),
        _number("capital-gain", 0, 1, 2500, 5000, 7500, 10_000, 20_000, 100_000),
        _number("capital-loss", 0, 1, 1000, 1500, 1750, 2000, 2500, 5000),
        _number("hours-per-week", 0, 96),
        _names("native-country", _COUNTRY),
        Column("income", Kind.FLAG, levels=("<=50K", ">50K"), missing=False, provenance=FORM),
    )
)
