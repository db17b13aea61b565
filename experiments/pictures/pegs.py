"""PeGS, figures 5 to 12: simulated discharges, two parents."""

from __future__ import annotations

from collections.abc import Callable

from pictures.marks import Picture, Row, dots, lines, name, number, panels

_METHODS = ("PeGS", "PeGS.rs", "PeGS, data seeds", "PeGS.rs, data seeds", "bootstrap", "PMI")
_EPSILON = number("epsilon", "epsilon of a row", log=True, ticks=(0.1, 1, 10, 100))
_METHOD = name("method", order=_METHODS)


def _of(rows: list[Row], figure: str, epsilons: tuple[float, ...]) -> list[Row]:
    """One figure's rows. A bootstrap has no epsilon: it stands at those given, as a level line."""
    here = [r for r in rows if (r["data"], r["m"], r["figure"]) == ("discharges", 2, figure)]
    level = [r for r in here if r["method"] == "bootstrap"]
    return [r for r in here if r["method"] != "bootstrap"] + [
        {**r, "epsilon": e} for r in level for e in epsilons
    ]


def _measured(figure: str, measures: dict[str, str]) -> Callable[[list[Row]], list[Row]]:
    def chosen(rows: list[Row]) -> list[Row]:
        here = _of(rows, figure, (0.1, 100))
        return [{**r, "what": measures[r["measure"]]} for r in here if r["measure"] in measures]

    return chosen


def _map(
    figure: str, subject: str, measures: dict[str, str], *, log: bool = False, columns: int = 2
) -> Picture:
    """Measures of a subject against epsilon, a panel for each."""
    drawing = lines(_EPSILON, number("value", subject, log=log), _METHOD)
    width = 220 if columns == 2 else 170
    spec = panels(drawing, "what", columns=columns, order=tuple(measures.values()), free="y", width=width)
    return Picture("pegs_risk_utility", spec, _measured(figure, measures))


def _coefficients(rows: list[Row]) -> list[Row]:
    here = _of(rows, "11 coefficients", (0.1, 10))
    return [
        {**r, "coefficient": r["measure"].removeprefix("linear "), "at": f"epsilon {r['epsilon']:g} a row"}
        for r in here
        if r["measure"].startswith("linear") and r["epsilon"] in (0.1, 10)
    ]


_ERRORS = {"mse": "mean squared error", "mae": "mean absolute error"}
_RANKS = {"kendall": "Kendall's tau", "spearman": "Spearman's rho"}
_ATTACKS = {
    "group missed": "diagnosis: guesses that miss",
    "number missed": "charge: error, in standard deviations",
    "unique": "rows alone in age, sex and ZIP",
}
PICTURES = {
    "pegs-blocks": Picture(
        "pegs_blocks",
        panels(
            lines({**name("level", None), "axis": {"labelAngle": 0, "labelOverlap": True}},
                  number("share", zero=True), name("rows")),
            "column", columns=1, free="x", width=400, height=130,
        ),
        lambda rows: [r for r in rows if r["data"] == "discharges"],
    ),
    "pegs-marginals": _map("6 marginal", "marginals", _ERRORS, log=True),
    "pegs-conditionals": _map("7 conditional", "conditionals", _ERRORS, log=True),
    "pegs-ranks": _map("8 marginal ranks", "marginals", _RANKS),
    "pegs-conditional-ranks": _map("9 conditional ranks", "conditionals", _RANKS),
    "pegs-regression": _map(
        "10 regression", "error of coefficients",
        {"linear": "linear regression", "logistic": "logistic regression"}, log=True,
    ),
    "pegs-coefficients": Picture(
        "pegs_risk_utility",
        panels(
            dots({**number("value", "deviation, as a share of the original"), "aggregate": "mean"},
                 name("coefficient", None), _METHOD, size=45),
            "at", height=110,
        ),
        _coefficients,
    ),
    "pegs-intruder": _map("12 intruder", "mean", _ATTACKS, columns=3),
}  # fmt: skip
