"""A k-anonymous file by anjana: {"file", "quasi", "k", "suppressed", "hierarchies", "out"} in, rows out."""

import json
import sys

import pandas as pd
from anjana.anonymity import k_anonymity

question = json.load(sys.stdin)
data = pd.read_csv(question["file"])
hierarchies = {}
for name, path in question["hierarchies"].items():
    levels = pd.read_csv(path, header=None)
    hierarchies[name] = {level: levels[level].values for level in levels.columns}
made = k_anonymity(data, [], question["quasi"], question["k"], question["suppressed"], hierarchies)
made.to_csv(question["out"], index=False)
json.dump({"rows": len(made)}, sys.stdout)
