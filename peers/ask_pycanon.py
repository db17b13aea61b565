"""k, l, t, alpha, beta and delta as pycanon measures them: {"file", "quasi", "sensitive"} in, numbers out."""

import json
import sys

import pandas as pd
from pycanon import anonymity

question = json.load(sys.stdin)
data = pd.read_csv(question["file"], dtype=str, keep_default_na=False)
quasi, sensitive = question["quasi"], question["sensitive"]
answer = {
    "k": int(anonymity.k_anonymity(data, quasi)),
    "l": int(anonymity.l_diversity(data, quasi, sensitive)),
    "entropy_l": float(anonymity.entropy_l_diversity(data, quasi, sensitive)),
    "t": float(anonymity.t_closeness(data, quasi, sensitive)),
    "alpha": float(anonymity.alpha_k_anonymity(data, quasi, sensitive)[0]),
    "beta": float(anonymity.basic_beta_likeness(data, quasi, sensitive)),
    "enhanced_beta": float(anonymity.enhanced_beta_likeness(data, quasi, sensitive)),
    "delta": float(anonymity.delta_disclosure(data, quasi, sensitive)),
    "classes": len(anonymity.utils.aux_anonymity.get_equiv_class(data, quasi)),
}
json.dump(answer, sys.stdout)
