"""Anonymeter's three risks of a release: files, columns and number of attacks in, rates and risks out.

links: pairs of column lists by a name of their own, so that its code is compiled once for all of them.
"""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
question = json.load(sys.stdin)
np.random.seed(question.get("seed", 0))  # its own generator is not passed on everywhere
original, released, control = (pd.read_csv(question[name]) for name in ("original", "released", "control"))
attacks = question["attacks"]


def rates(evaluator: object) -> dict:
    results = evaluator.results()
    names = {
        "attack": results.attack_rate,
        "baseline": results.baseline_rate,
        "control": results.control_rate,
    }
    answer = {name: {"value": rate.value, "error": rate.error} for name, rate in names.items()}
    return {**answer, "risk": results.risk().value, "interval": list(results.risk().ci)}


def linked(halves: list) -> dict:
    linking = LinkabilityEvaluator(original, released, tuple(halves), n_attacks=attacks, control=control)
    return rates(linking.evaluate(n_jobs=1))


answer = {}
if "linkability" in question:
    answer["linkability"] = linked(question["linkability"])
if "links" in question:
    answer["links"] = {name: linked(halves) for name, halves in question["links"].items()}
if "inference" in question:
    wanted = question["inference"]
    inferring = InferenceEvaluator(
        original, released, wanted["known"], wanted["secret"], n_attacks=attacks, control=control
    )
    answer["inference"] = rates(inferring.evaluate(n_jobs=1))
if "singling_out" in question:
    single = SinglingOutEvaluator(
        original, released, n_attacks=question.get("singling_attacks", attacks), control=control, n_cols=3,
        seed=question.get("seed", 0),
    )  # fmt: skip
    answer["singling_out"] = rates(single.evaluate(mode=question["singling_out"]))
json.dump(answer, sys.stdout)
