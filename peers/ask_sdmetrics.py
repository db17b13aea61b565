"""SDMetrics' quality report of two Parquet files of categories: the seconds it takes, and its score.

By default it looks at 50,000 random rows for the pairs; "all_rows" in the question sets `num_rows_subsample`
so that it looks at all.
"""

import json
import sys
import time

import pandas as pd
from sdmetrics.reports import QualityReport

question = json.load(sys.stdin)
clocks = (time.perf_counter, time.process_time)
start = [clock() for clock in clocks]
original, released = (pd.read_parquet(question[name]) for name in ("original", "released"))
read = [clock() for clock in clocks]
columns = {name: {"sdtype": "categorical"} for name in original.columns}
report = QualityReport()
if question.get("all_rows"):
    report.num_rows_subsample = None
report.generate(
    {"t": original},
    {"t": released},
    {"tables": {"t": {"columns": columns}}, "relationships": []},
    verbose=False,
)
end = [clock() for clock in clocks]
answer = {
    "seconds": end[0] - start[0], "cpu_seconds": end[1] - start[1], "reading": read[0] - start[0],
    "score": report.get_score(),
}  # fmt: skip
json.dump(answer, sys.stdout)
