"""SDMetrics' quality report of two files of categories: seconds it took, and its score."""

import json
import sys
import time

import pandas as pd
from sdmetrics.reports.single_table import QualityReport

question = json.load(sys.stdin)
original, released = (pd.read_csv(question[name], dtype=str) for name in ("original", "released"))
metadata = {"columns": {name: {"sdtype": "categorical"} for name in original.columns}}
start = time.perf_counter()
report = QualityReport()
report.generate(original, released, metadata, verbose=False)
json.dump({"seconds": time.perf_counter() - start, "score": report.get_score()}, sys.stdout)
