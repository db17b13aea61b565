"""Sfumato: publish and use person-level health data without giving the persons away.

The public names, nothing else. Each is loaded when it is first used (PEP 562), so that
`import sfumato` stays quick and a command pays only for the parts it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; must name the same as _HOME
    import sfumato.samples as samples  # noqa: F401  (exported through _HOME)
    from sfumato.assessment.assess import assess as assess
    from sfumato.assessment.frontier import frontier as frontier
    from sfumato.counts import Counts as Counts
    from sfumato.description import describe as describe
    from sfumato.errors import BudgetError as BudgetError
    from sfumato.errors import DataError as DataError
    from sfumato.errors import MissingExtraError as MissingExtraError
    from sfumato.errors import OutputError as OutputError
    from sfumato.errors import ParameterError as ParameterError
    from sfumato.errors import SchemaError as SchemaError
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.errors import SfumatoWarning as SfumatoWarning
    from sfumato.errors import VerificationError as VerificationError
    from sfumato.io import scan as scan
    from sfumato.io import write as write
    from sfumato.privacy.guarantee import Guarantee as Guarantee
    from sfumato.privacy.ledger import Ledger as Ledger
    from sfumato.pseudonyms import pseudonymize as pseudonymize
    from sfumato.release import Release as Release
    from sfumato.release import verify as verify
    from sfumato.schema import Column as Column
    from sfumato.schema import Kind as Kind
    from sfumato.schema import Role as Role
    from sfumato.schema import Schema as Schema
    from sfumato.seeds import Key as Key
    from sfumato.synthesis.baselines import ContingencyTable as ContingencyTable
    from sfumato.synthesis.baselines import MarginalBootstrap as MarginalBootstrap
    from sfumato.synthesis.blocks import Blocks as Blocks
    from sfumato.synthesis.constraints import Implies as Implies
    from sfumato.synthesis.constraints import Never as Never
    from sfumato.synthesis.constraints import Ordered as Ordered
    from sfumato.synthesis.constraints import Within as Within
    from sfumato.synthesis.imputation.combining import combine as combine
    from sfumato.synthesis.imputation.missing import MissingValues as MissingValues
    from sfumato.synthesis.imputation.multiple import MultipleImputation as MultipleImputation
    from sfumato.synthesis.imputation.partial import PartialSynthesis as PartialSynthesis
    from sfumato.synthesis.imputation.pmi import PMI as PMI
    from sfumato.synthesis.pegs import PeGS as PeGS
    from sfumato.synthesis.synthesize import synthesize as synthesize
    from sfumato.table import Table as Table

    __version__: str

# Where each public name lives; a module lives in itself.
_HOME = {
    "Blocks": "synthesis.blocks",
    "BudgetError": "errors",
    "Column": "schema",
    "ContingencyTable": "synthesis.baselines",
    "Counts": "counts",
    "DataError": "errors",
    "Guarantee": "privacy.guarantee",
    "Implies": "synthesis.constraints",
    "Key": "seeds",
    "Kind": "schema",
    "Ledger": "privacy.ledger",
    "MarginalBootstrap": "synthesis.baselines",
    "MissingExtraError": "errors",
    "MissingValues": "synthesis.imputation.missing",
    "MultipleImputation": "synthesis.imputation.multiple",
    "Never": "synthesis.constraints",
    "Ordered": "synthesis.constraints",
    "OutputError": "errors",
    "PMI": "synthesis.imputation.pmi",
    "ParameterError": "errors",
    "PartialSynthesis": "synthesis.imputation.partial",
    "PeGS": "synthesis.pegs",
    "Release": "release",
    "Role": "schema",
    "Schema": "schema",
    "SchemaError": "errors",
    "SfumatoError": "errors",
    "SfumatoWarning": "errors",
    "Table": "table",
    "VerificationError": "errors",
    "Within": "synthesis.constraints",
    "assess": "assessment.assess",
    "combine": "synthesis.imputation.combining",
    "describe": "description",
    "frontier": "assessment.frontier",
    "pseudonymize": "pseudonyms",
    "samples": "samples",
    "scan": "io",
    "synthesize": "synthesis.synthesize",
    "verify": "release",
    "write": "io",
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("sfumato")
    elif name in _HOME:
        module = import_module(f"sfumato.{_HOME[name]}")
        found = module if name == _HOME[name] else getattr(module, name)
    else:
        raise AttributeError(f"module 'sfumato' has no attribute '{name}'")
    globals()[name] = found  # the next look-up does not come here
    return found


def __dir__() -> list[str]:
    return __all__
