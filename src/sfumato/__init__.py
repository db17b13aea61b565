"""Sfumato: publish and use person-level health data without giving the persons away.

The public names, nothing else. Each is loaded when it is first used (PEP 562), so that
`import sfumato` stays quick and a command pays only for the parts it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; must name the same as _HOME
    import sfumato.checked as checked  # noqa: F401  (exported through _HOME)
    import sfumato.hierarchy as hierarchy  # noqa: F401  (exported through _HOME)
    import sfumato.samples as samples  # noqa: F401  (exported through _HOME)
    from sfumato.anonymization.anonymize import anonymize as anonymize
    from sfumato.anonymization.database import anonymize_database as anonymize_database
    from sfumato.anonymization.datafly import Datafly as Datafly
    from sfumato.anonymization.degradation import Degradation as Degradation
    from sfumato.anonymization.greedy.guidance import ModelGuided as ModelGuided
    from sfumato.anonymization.greedy.partition import Partition as Partition
    from sfumato.anonymization.greedy.search import Beam as Beam
    from sfumato.anonymization.greedy.search import Greedy as Greedy
    from sfumato.anonymization.information import ColumnMI as ColumnMI
    from sfumato.anonymization.information import Height as Height
    from sfumato.anonymization.information import Precision as Precision
    from sfumato.anonymization.information import ValueMI as ValueMI
    from sfumato.anonymization.local import LocalRecoding as LocalRecoding
    from sfumato.anonymization.loss import Ambiguity as Ambiguity
    from sfumato.anonymization.loss import AverageClassSize as AverageClassSize
    from sfumato.anonymization.loss import Discernibility as Discernibility
    from sfumato.anonymization.loss import Entropy as Entropy
    from sfumato.anonymization.loss import Loss as Loss
    from sfumato.anonymization.microaggregation import microaggregate as microaggregate
    from sfumato.anonymization.mondrian import Mondrian as Mondrian
    from sfumato.anonymization.network import HierarchyNetwork as HierarchyNetwork
    from sfumato.anonymization.optimal import OptimalRecoding as OptimalRecoding
    from sfumato.anonymization.preparation import prepare as prepare
    from sfumato.anonymization.register import Register as Register
    from sfumato.anonymization.shape.cluster import Clustering as Clustering
    from sfumato.anonymization.shape.gaussian import GaussianDither as GaussianDither
    from sfumato.anonymization.shape.methods import Centroid as Centroid
    from sfumato.anonymization.shape.methods import ClusterDither as ClusterDither
    from sfumato.anonymization.shape.methods import ClusterResample as ClusterResample
    from sfumato.anonymization.simulatable import SimulatableRecoding as SimulatableRecoding
    from sfumato.assessment.aggregates import assess_aggregates as assess_aggregates
    from sfumato.assessment.assess import assess as assess
    from sfumato.assessment.audit import audit as audit
    from sfumato.assessment.database import assess_database as assess_database
    from sfumato.assessment.tables import assess_tables as assess_tables
    from sfumato.counts import Counts as Counts
    from sfumato.criteria import AlphaK as AlphaK
    from sfumato.criteria import JAnonymity as JAnonymity
    from sfumato.criteria import KAnonymity as KAnonymity
    from sfumato.criteria import KMAnonymity as KMAnonymity
    from sfumato.criteria import KMap as KMap
    from sfumato.criteria import KnownSearch as KnownSearch
    from sfumato.criteria import LDiversity as LDiversity
    from sfumato.criteria import TCloseness as TCloseness
    from sfumato.database import Database as Database
    from sfumato.database import Link as Link
    from sfumato.database import Reference as Reference
    from sfumato.description import DomainSearch as DomainSearch
    from sfumato.description import describe as describe
    from sfumato.errors import BudgetError as BudgetError
    from sfumato.errors import DataError as DataError
    from sfumato.errors import MissingExtraError as MissingExtraError
    from sfumato.errors import OutputError as OutputError
    from sfumato.errors import ParameterError as ParameterError
    from sfumato.errors import PlanError as PlanError
    from sfumato.errors import SchemaError as SchemaError
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.errors import SfumatoWarning as SfumatoWarning
    from sfumato.errors import VerificationError as VerificationError
    from sfumato.hierarchy import Hierarchy as Hierarchy
    from sfumato.hierarchy import Nested as Nested
    from sfumato.io import scan as scan
    from sfumato.io import write as write
    from sfumato.io.databases import scan_database as scan_database
    from sfumato.io.fhir.bulk import scan_fhir as scan_fhir
    from sfumato.io.fhir.resources import write_fhir as write_fhir
    from sfumato.plan import Plan as Plan
    from sfumato.plan.map import frontier as frontier
    from sfumato.plan.step import Step as Step
    from sfumato.plan.step import step as step
    from sfumato.prediction.additive import AdditiveScore as AdditiveScore
    from sfumato.prediction.artefact import load_model as load_model
    from sfumato.prediction.comparison import compare_scores as compare_scores
    from sfumato.prediction.dpat import DPaT as DPaT
    from sfumato.prediction.dpat import EDPaT as EDPaT
    from sfumato.prediction.ensemble import AlphaEnsemble as AlphaEnsemble
    from sfumato.prediction.forest import AlphaForest as AlphaForest
    from sfumato.prediction.logistic import PrivateLogistic as PrivateLogistic
    from sfumato.prediction.tree import AlphaTree as AlphaTree
    from sfumato.privacy.grants import Budget as Budget
    from sfumato.privacy.guarantee import Guarantee as Guarantee
    from sfumato.privacy.guest_claims import sign_claim as sign_claim
    from sfumato.privacy.ledger import Ledger as Ledger
    from sfumato.privacy.signatures import ReleaseLog as ReleaseLog
    from sfumato.privacy.signatures import SigningKey as SigningKey
    from sfumato.privacy.signatures import Trust as Trust
    from sfumato.privacy.signatures import TrustedKey as TrustedKey
    from sfumato.pseudonyms import pseudonymize as pseudonymize
    from sfumato.pseudonyms.method import Pseudonymize as Pseudonymize
    from sfumato.reconstruction.aggregate import Aggregates as Aggregates
    from sfumato.reconstruction.baselines import EcologicalRegression as EcologicalRegression
    from sfumato.reconstruction.baselines import MoorePenrose as MoorePenrose
    from sfumato.reconstruction.cudia import CUDIA as CUDIA
    from sfumato.reconstruction.ludia import LUDIA as LUDIA
    from sfumato.reconstruction.uses import average_of as average_of
    from sfumato.reconstruction.uses import fit_lasso as fit_lasso
    from sfumato.reconstruction.uses import fit_random_intercepts as fit_random_intercepts
    from sfumato.release import DatabaseRelease as DatabaseRelease
    from sfumato.release import Release as Release
    from sfumato.release import sign as sign
    from sfumato.release import verify as verify
    from sfumato.release.people import people_of as people_of
    from sfumato.schema import Column as Column
    from sfumato.schema import Kind as Kind
    from sfumato.schema import Provenance as Provenance
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
    from sfumato.synthesis.imputation.missing_values import MissingValues as MissingValues
    from sfumato.synthesis.imputation.multiple import MultipleImputation as MultipleImputation
    from sfumato.synthesis.imputation.partial import PartialSynthesis as PartialSynthesis
    from sfumato.synthesis.imputation.pmi import PMI as PMI
    from sfumato.synthesis.lugs.method import LUGS as LUGS
    from sfumato.synthesis.lugs.parallel import PLUGS as PLUGS
    from sfumato.synthesis.pegs import PeGS as PeGS
    from sfumato.synthesis.people import LinkedModel as LinkedModel
    from sfumato.synthesis.people import LinkedSynthesizer as LinkedSynthesizer
    from sfumato.synthesis.private import PrivateModel as PrivateModel
    from sfumato.synthesis.private import PrivateSynthesizer as PrivateSynthesizer
    from sfumato.synthesis.synthesize import synthesize as synthesize
    from sfumato.table import Table as Table
    from sfumato.tabulation.cell_keys import CellKeys as CellKeys
    from sfumato.tabulation.private import PrivateTables as PrivateTables
    from sfumato.tabulation.rounding import ControlledRounding as ControlledRounding
    from sfumato.tabulation.rules import Dominance as Dominance
    from sfumato.tabulation.rules import Homogeneity as Homogeneity
    from sfumato.tabulation.rules import MinimumCount as MinimumCount
    from sfumato.tabulation.rules import PPercent as PPercent
    from sfumato.tabulation.suppression import CellSuppression as CellSuppression
    from sfumato.tabulation.tabulate import tabulate as tabulate
    from sfumato.workloads.combination import combine_estimates as combine_estimates
    from sfumato.workloads.market import market_risk as market_risk
    from sfumato.workloads.shift import shift_weights as shift_weights
    from sfumato.workloads.transfer import transfer_weights as transfer_weights

    __version__: str

# Where each public name lives; a module lives in itself.
_HOME = {
    "AdditiveScore": "prediction.additive",
    "Aggregates": "reconstruction.aggregate",
    "AlphaForest": "prediction.forest",
    "AlphaEnsemble": "prediction.ensemble",
    "AlphaK": "criteria",
    "AlphaTree": "prediction.tree",
    "Ambiguity": "anonymization.loss",
    "AverageClassSize": "anonymization.loss",
    "Beam": "anonymization.greedy.search",
    "Blocks": "synthesis.blocks",
    "Budget": "privacy.grants",
    "BudgetError": "errors",
    "CUDIA": "reconstruction.cudia",
    "CellKeys": "tabulation.cell_keys",
    "CellSuppression": "tabulation.suppression",
    "Centroid": "anonymization.shape.methods",
    "ClusterDither": "anonymization.shape.methods",
    "ClusterResample": "anonymization.shape.methods",
    "Clustering": "anonymization.shape.cluster",
    "Column": "schema",
    "ColumnMI": "anonymization.information",
    "ContingencyTable": "synthesis.baselines",
    "ControlledRounding": "tabulation.rounding",
    "Counts": "counts",
    "DPaT": "prediction.dpat",
    "DataError": "errors",
    "Database": "database",
    "DatabaseRelease": "release",
    "Datafly": "anonymization.datafly",
    "Degradation": "anonymization.degradation",
    "Discernibility": "anonymization.loss",
    "DomainSearch": "description",
    "Dominance": "tabulation.rules",
    "EDPaT": "prediction.dpat",
    "EcologicalRegression": "reconstruction.baselines",
    "Entropy": "anonymization.loss",
    "GaussianDither": "anonymization.shape.gaussian",
    "Greedy": "anonymization.greedy.search",
    "Guarantee": "privacy.guarantee",
    "Height": "anonymization.information",
    "Hierarchy": "hierarchy",
    "HierarchyNetwork": "anonymization.network",
    "Homogeneity": "tabulation.rules",
    "Implies": "synthesis.constraints",
    "JAnonymity": "criteria",
    "KAnonymity": "criteria",
    "KMAnonymity": "criteria",
    "KMap": "criteria",
    "Key": "seeds",
    "Kind": "schema",
    "KnownSearch": "criteria",
    "LDiversity": "criteria",
    "LUDIA": "reconstruction.ludia",
    "LUGS": "synthesis.lugs.method",
    "Ledger": "privacy.ledger",
    "Link": "database",
    "Reference": "database",
    "scan_fhir": "io.fhir.bulk",
    "write_fhir": "io.fhir.resources",
    "LocalRecoding": "anonymization.local",
    "Loss": "anonymization.loss",
    "MarginalBootstrap": "synthesis.baselines",
    "MinimumCount": "tabulation.rules",
    "MissingExtraError": "errors",
    "MissingValues": "synthesis.imputation.missing_values",
    "ModelGuided": "anonymization.greedy.guidance",
    "Mondrian": "anonymization.mondrian",
    "MoorePenrose": "reconstruction.baselines",
    "MultipleImputation": "synthesis.imputation.multiple",
    "Nested": "hierarchy",
    "Never": "synthesis.constraints",
    "OptimalRecoding": "anonymization.optimal",
    "Ordered": "synthesis.constraints",
    "OutputError": "errors",
    "PLUGS": "synthesis.lugs.parallel",
    "PMI": "synthesis.imputation.pmi",
    "PPercent": "tabulation.rules",
    "ParameterError": "errors",
    "PartialSynthesis": "synthesis.imputation.partial",
    "Partition": "anonymization.greedy.partition",
    "PeGS": "synthesis.pegs",
    "Plan": "plan",
    "PlanError": "errors",
    "Precision": "anonymization.information",
    "LinkedModel": "synthesis.people",
    "LinkedSynthesizer": "synthesis.people",
    "PrivateModel": "synthesis.private",
    "Pseudonymize": "pseudonyms.method",
    "PrivateLogistic": "prediction.logistic",
    "PrivateSynthesizer": "synthesis.private",
    "PrivateTables": "tabulation.private",
    "Provenance": "schema",
    "Register": "anonymization.register",
    "Release": "release",
    "people_of": "release.people",
    "sign_claim": "privacy.guest_claims",
    "ReleaseLog": "privacy.signatures",
    "Role": "schema",
    "Schema": "schema",
    "SimulatableRecoding": "anonymization.simulatable",
    "Step": "plan.step",
    "SchemaError": "errors",
    "SfumatoError": "errors",
    "SfumatoWarning": "errors",
    "SigningKey": "privacy.signatures",
    "TCloseness": "criteria",
    "Table": "table",
    "Trust": "privacy.signatures",
    "TrustedKey": "privacy.signatures",
    "ValueMI": "anonymization.information",
    "VerificationError": "errors",
    "Within": "synthesis.constraints",
    "anonymize": "anonymization.anonymize",
    "anonymize_database": "anonymization.database",
    "assess": "assessment.assess",
    "assess_aggregates": "assessment.aggregates",
    "assess_database": "assessment.database",
    "assess_tables": "assessment.tables",
    "audit": "assessment.audit",
    "average_of": "reconstruction.uses",
    "checked": "checked",
    "combine_estimates": "workloads.combination",
    "compare_scores": "prediction.comparison",
    "describe": "description",
    "fit_lasso": "reconstruction.uses",
    "fit_random_intercepts": "reconstruction.uses",
    "frontier": "plan.map",
    "hierarchy": "hierarchy",
    "load_model": "prediction.artefact",
    "market_risk": "workloads.market",
    "microaggregate": "anonymization.microaggregation",
    "prepare": "anonymization.preparation",
    "pseudonymize": "pseudonyms",
    "samples": "samples",
    "scan": "io",
    "scan_database": "io.databases",
    "sign": "release",
    "step": "plan.step",
    "shift_weights": "workloads.shift",
    "synthesize": "synthesis.synthesize",
    "tabulate": "tabulation.tabulate",
    "transfer_weights": "workloads.transfer",
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
