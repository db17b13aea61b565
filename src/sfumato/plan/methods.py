"""The methods a step of a plan can name: their settings, and how each becomes the library's own object.

A further method is one entry of `METHODS`. Settings carry the names of the library's parameters, so that its
pages are the reference for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.methods.shapes import Either, Flag, ListOf, Number, Record, Shape, TableOf, Text

if TYPE_CHECKING:
    from sfumato.criteria import Wanted

Settings = Mapping[str, Any]
Make = Callable[[Settings], Any]
GENERALIZE, EXCHANGE, SYNTHESIZE, REPLACE = "generalize", "exchange", "synthesize", "replace"


@dataclass(frozen=True)
class Method:
    """One method: what it does with a table, its settings, and how it is made.

    cost: the epsilon or rho that these settings spend, where it is known before the data are looked at.
    claims: whether these settings claim an epsilon at all.
    """

    does: str
    doc: str
    settings: Mapping[str, Shape]
    make: Make
    required: tuple[str, ...] = ()
    cost: Callable[[Settings], dict[str, float]] = field(default=lambda given: {})
    claims: Callable[[Settings], bool] = field(default=lambda given: False)

    def record(self) -> Record:
        """Its settings as an entry of a plan."""
        return Record(self.settings, self.doc, self.required)


_NAMES = ListOf(Text(), "Names of columns.", least=1)
_SHARE = Number("Of the rows, the share that may be suppressed.", 0, 1)
_SECONDS = Number("Seconds; then the best so far is taken, and its gap said.", 0, above=True)
_LOSS = Text(
    "The measure of what is lost.", ("loss", "ncp", "entropy", "discernibility", "class-size", "ambiguity")
)
_CRITERIA: dict[str, Shape] = {
    "k": Number("Every class has at least k rows, or persons where a column says whose.", 2, whole=True),
    "persons": Flag("Whether persons are counted instead of rows."),
    "l": TableOf(Number("", 2, whole=True), "Every class has this many different values in these columns."),
    "t": TableOf(Number("", 0, 1, above=True), "Every class is within t of the whole file in these columns."),
    "criteria": ListOf(
        Text(), "What else is asked, as 'entropy-l(diagnosis, 3)'. See criteria.md.", least=1),
    "columns": ListOf(Text(), "The quasi-identifiers; by default the columns of that role.", least=1),
}  # fmt: skip
_SEARCH: dict[str, Shape] = {
    **_CRITERIA,
    "drop_rarer_than": Number("Leave out rows with a value that fewer rows have.", 1, whole=True),
}
_RESPONSE = Text("A column rows of a cluster should be alike in, such as the cost.")
_ROWS = Number("How many rows; chosen without looking at the data.", 1, 1e9, whole=True)
_COLUMNS = {
    "columns": ListOf(Text(), "Which are synthesized; by default all but those that name people.", least=1)
}
_EPSILON = Number("Of all rows together.", 0, 1000, above=True)
_DOMAIN = Text(
    "'public': domains a person has confirmed. 'data': read off the data, and no promise of epsilon.",
    ("public", "data"),
)
_WEIGHT = Text("Rows count by this.")
_WITHIN = ListOf(
    Record(
        {
            "column": Text("The detailed code."),
            "group": Text("The column of its groups."),
            "members": TableOf(ListOf(Text()), "The codes of each group."),
            "file": Text("A CSV file of code and group instead, with a header."),
        },
        required=("column", "group"),
    ),
    "Detailed codes in two steps: first the group, then the code within it.",
)


def _loss(given: Settings) -> Any:
    from sfumato.anonymization.loss import measure_of

    return measure_of(given.get("loss", "loss"))


def _optimal(given: Settings) -> Any:
    from sfumato.anonymization.optimal import OptimalRecoding

    return OptimalRecoding(**_given(given, "loss", "max_suppressed", "time_limit", "threads"))


def _local(given: Settings) -> Any:
    from sfumato.anonymization.local import LocalRecoding

    return LocalRecoding(**_given(given, "effort", "time_limit", "max_suppressed"))


def _mondrian(given: Settings) -> Any:
    from sfumato.anonymization.mondrian import Mondrian

    return Mondrian(**_given(given, "kind", "ordered", "max_suppressed"))


def _datafly(given: Settings) -> Any:
    from sfumato.anonymization.datafly import Datafly

    return Datafly(given.get("max_suppressed") or None)


def _greedy(given: Settings) -> Any:
    from sfumato.anonymization.greedy.search import Greedy

    return Greedy(loss=_loss(given))


def _partition(given: Settings) -> Any:
    from sfumato.anonymization.greedy.partition import Partition

    return Partition(loss=_loss(given))


def _shape(name: str) -> Make:
    def make(given: Settings) -> Any:
        from sfumato.anonymization.shape import methods

        return getattr(methods, name)(**_given(given, "response", "replacement", "bins"))

    return make


def _pegs(given: Settings) -> Any:
    from sfumato.synthesis.pegs import PeGS

    amounts = ("epsilon", "total", "alpha", "log_l", "cap", "parents", "choose", "parents_epsilon")
    others = ("block", "sweeps", "smoothing", "columns", "domain", "declared_rows", "weight", "constraints")
    return PeGS(**_given(given, *amounts, *others))


def _private(given: Settings) -> Any:
    from sfumato.synthesis.private import PrivateSynthesizer

    public = {"rows": given["declared_rows"]} if "declared_rows" in given else {}
    names = ("epsilon", "delta", "target", "max_rows_per_person", "columns", "constraints", "weight")
    return PrivateSynthesizer(**public, **_given(given, *names))


def _pmi(given: Settings) -> Any:
    from sfumato.synthesis.imputation.pmi import PMI

    amounts = ("epsilon", "total", "alpha", "sweeps")
    return PMI(**_given(given, *amounts, "columns", "domain", "constraints", "weight"))


def _imputation(given: Settings) -> Any:
    from sfumato.synthesis.imputation.multiple import MultipleImputation

    return MultipleImputation(**{"engine": "trees", **_given(given, "engine", "columns", "order", "proper")})


def _marginals(given: Settings) -> Any:
    from sfumato.synthesis.baselines import MarginalBootstrap

    return MarginalBootstrap(**_given(given, "epsilon", "columns", "domain", "constraints", "weight"))


def _table(given: Settings) -> Any:
    from sfumato.synthesis.baselines import ContingencyTable

    return ContingencyTable(**_given(given, "epsilon", "columns", "domain", "constraints", "weight"))


def _lugs(given: Settings) -> Any:
    from sfumato.synthesis.lugs.method import LUGS

    names = ("log_l", "hashes", "floor", "burn_in", "thin", "length", "reach", "cap", "columns")
    method = LUGS(**_given(given, *names, "constraints", "weight"))
    if "partitions" not in given:
        return method
    from sfumato.synthesis.lugs.parallel import PLUGS

    return PLUGS(method, given["partitions"])


def _given(settings: Settings, *names: str) -> dict[str, Any]:
    return {n: settings[n] for n in names if n in settings}


def _claims(given: Settings) -> bool:
    """An amount is given, laws are not merely diverse, and the domains do not come from the data."""
    amount = any(given.get(name) for name in ("epsilon", "total", "alpha"))
    return amount and "log_l" not in given and given.get("domain") != "data"


def _costs_pegs(given: Settings) -> dict[str, float]:
    if not _claims(given):
        return {}
    spent = _pegs(given).spends(int(given["rows"]))
    return {} if spent is None else {"epsilon": spent}


def _costs_private(given: Settings) -> dict[str, float]:
    method = _private(given)
    return {"epsilon": float(method.epsilon)} if method.pure else {"rho": float(method.rho)}


def _costs_epsilon(given: Settings) -> dict[str, float]:
    noised = "epsilon" in given and given.get("domain") != "data"
    return {"epsilon": float(given["epsilon"])} if noised else {}


def _costs_pmi(given: Settings) -> dict[str, float]:
    if not _claims(given):
        return {}
    if "epsilon" in given:
        return {"epsilon": float(given["epsilon"]) * float(given["rows"])}
    return {"epsilon": float(given["total"])} if "total" in given else {}


_PARENTS = Either(
    (Number("", 0, whole=True), Text("", ("auto",)), TableOf(ListOf(Text()))),
    "a whole number, 'auto', or a table of columns and their parents",
    "Columns each is drawn given.",
)
_ENGINE = Text("The models.", ("models", "elastic-net", "trees", "forests", "marginals"))
_COUNT = Number("", 0, whole=True)

METHODS: dict[str, Method] = {
    "optimal": Method(
        GENERALIZE, "One level per column, the best there is, with a certificate. See optimal.md.",
        {**_SEARCH, "loss": _LOSS, "max_suppressed": _SHARE, "time_limit": _SECONDS,
         "threads": Number("How many search side by side.", 1, 64, whole=True)}, _optimal),
    "local": Method(
        GENERALIZE, "Each group of rows as general as it must be, no more. See local.md.",
        {**_SEARCH, "max_suppressed": _SHARE, "time_limit": _SECONDS,
         "effort": Text("10 seconds, or 60.", ("fast", "thorough"))}, _local),
    "mondrian": Method(
        GENERALIZE, "The table cut in two again and again. See mondrian.md.",
        {**_SEARCH, "max_suppressed": _SHARE,
         "kind": Text("Whether parts may overlap at the cuts.", ("strict", "relaxed")),
         "ordered": ListOf(Text(), "Columns in order, to be cut at the median.", least=1)}, _mondrian),
    "datafly": Method(
        GENERALIZE, "The column with most values first. See anonymize.md.",
        {**_SEARCH, "max_suppressed": _SHARE}, _datafly),
    "greedy": Method(
        GENERALIZE, "Cell by cell, as the DSG toolkit does. See greedy.md.",
        {**_SEARCH, "loss": _LOSS}, _greedy),
    "partition": Method(
        GENERALIZE, "By parts, as the DSG toolkit does. See partition.md.",
        {**_SEARCH, "loss": _LOSS}, _partition),
    "resample": Method(
        EXCHANGE, "Values exchanged between rows that are alike. See shape.md.",
        {**_CRITERIA, "response": _RESPONSE, "replacement": Flag("Drawn anew for each row, or permuted.")},
        _shape("ClusterResample")),
    "dither": Method(
        EXCHANGE, "Noise around groups of rows that are alike. See shape.md.",
        {**_CRITERIA, "response": _RESPONSE, "bins": Number("", 1, whole=True)}, _shape("ClusterDither")),
    "centroid": Method(
        EXCHANGE, "The middle of groups of rows that are alike. See shape.md.",
        {**_CRITERIA, "response": _RESPONSE}, _shape("Centroid")),
    "private": Method(
        SYNTHESIZE, "Noise once, one promise for the whole data set. See private.md.",
        {**_COLUMNS, "rows": _ROWS, "epsilon": _EPSILON,
         "delta": Number("0 for pure epsilon.", 0, 0.001), "target": Text("A column that matters most."),
         "max_rows_per_person": Number("A public number.", 1, 1000, whole=True),
         "declared_rows": Number("The number of rows, if it is public.", 1, whole=True), "weight": _WEIGHT,
         "within": _WITHIN},
        _private, ("epsilon",), _costs_private, lambda given: True),
    "pegs": Method(
        SYNTHESIZE, "The perturbed Gibbs sampler. See pegs.md.",
        {**_COLUMNS, "rows": _ROWS, "epsilon": Number("Of each row.", 0, 1000, above=True), "total": _EPSILON,
         "alpha": Number("The prior itself.", 0), "log_l": Number("The entropy of each law instead.", 0),
         "cap": Flag("Columns with too few levels for log_l are drawn evenly."), "parents": _PARENTS,
         "choose": Text("How parents are chosen.", ("privately", "data")),
         "parents_epsilon": _EPSILON, "block": Number("Rows of a block with resets.", 1, whole=True),
         "sweeps": Number("", 1, whole=True), "smoothing": _COUNT, "domain": _DOMAIN,
         "declared_rows": Number("", 1, whole=True), "weight": _WEIGHT,
         "within": _WITHIN},
        _pegs, ("rows",), _costs_pegs, _claims),
    "lugs": Method(
        SYNTHESIZE, "A Gibbs sampler with laws lifted to an entropy. See lugs.md.",
        {**_COLUMNS, "rows": _ROWS, "log_l": Number("The entropy of each law.", 0),
         "cap": Flag("Columns with too few values are drawn evenly."), "hashes": _COUNT, "burn_in": _COUNT,
         "floor": Number("The least share of the uniform law.", 0, 1, above=True),
         "thin": Number("", 1, whole=True), "length": Number("", 1, whole=True), "reach": _COUNT,
         "weight": _WEIGHT, "within": _WITHIN,
         "partitions": Number("PLUGS: in so many parts, side by side; on Spark by the executors.", 1, 100_000,
                              whole=True)},
        _lugs, ("rows",)),
    "pmi": Method(
        SYNTHESIZE, "Perturbed multiple imputation. See imputation.md.",
        {**_COLUMNS, "rows": _ROWS, "epsilon": Number("Of each row.", 0, 1000, above=True), "total": _EPSILON,
         "alpha": Number("The perturbation itself.", 0), "sweeps": Number("", 1, whole=True),
         "domain": _DOMAIN, "weight": _WEIGHT, "within": _WITHIN},
        _pmi, ("rows",), _costs_pmi, _claims),
    "imputation": Method(
        SYNTHESIZE, "A chain of models; promises nothing. See imputation.md.",
        {**_COLUMNS, "rows": _ROWS, "engine": _ENGINE, "order": _NAMES,
         "proper": Flag("Draw the models' parameters too.")}, _imputation, ("rows",)),
    "marginals": Method(
        SYNTHESIZE, "Every column by itself. See baselines.md.",
        {**_COLUMNS, "rows": _ROWS, "epsilon": _EPSILON, "domain": _DOMAIN, "weight": _WEIGHT,
         "within": _WITHIN}, _marginals,
        ("rows",), _costs_epsilon, _claims),
    "table": Method(
        SYNTHESIZE, "All columns at once. See baselines.md.",
        {**_COLUMNS, "rows": _ROWS, "epsilon": _EPSILON, "domain": _DOMAIN, "weight": _WEIGHT,
         "within": _WITHIN}, _table,
        ("rows",), _costs_epsilon, _claims),
    "pseudonymize": Method(
        REPLACE, "Ids replaced under a secret key; not anonymous. See pseudonyms.md.",
        {"columns": _NAMES,
         "shift_dates": Number("Move each person's dates by up to so many days.", 1, whole=True),
         "key": Text("The key of an earlier release, or its folder, to be joinable with it.")},
        lambda given: None),
}  # fmt: skip


def criterion(given: Settings, further: Sequence[Any] = ()) -> Any:
    """What a step asks of each class; None if nothing is asked. further: what its `criteria` mean."""
    from sfumato.criteria import All, Criterion, KAnonymity, LDiversity, TCloseness

    parts: list[Criterion] = []
    if "k" in given:
        parts.append(KAnonymity(given["k"], **({"persons": given["persons"]} if "persons" in given else {})))
    parts += [LDiversity(n, column) for column, n in given.get("l", {}).items()]
    parts += [TCloseness(far, column) for column, far in given.get("t", {}).items()]
    parts += further
    return All(tuple(parts)) if parts else None


def wanted(given: Settings) -> tuple[Wanted, ...]:
    """The criteria a step writes as text."""
    from sfumato.criteria import read_criteria

    return read_criteria(given.get("criteria", ()))


def private(method: str, given: Settings) -> bool:
    """Whether a step claims an epsilon: nothing before it may look at the data then."""
    return METHODS[method].claims(given)
