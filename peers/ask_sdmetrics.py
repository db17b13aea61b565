"""SDMetrics' quality report of Parquet files: the seconds it takes, and its score.

One table of categories: {"original": file, "released": file}. By default it looks at 50,000 random rows for
the pairs; "all_rows" in the question sets `num_rows_subsample` so that it looks at all.

Linked tables: {"original": {table: file}, "released": {table: file}, "metadata": as SDMetrics wants it}; the
answer has the score of each property too. Dates are read as such.
"""

import json
import sys
import time

import pandas as pd
from sdmetrics.reports import QualityReport


def read(files, metadata):
    """The tables, with dates as the metadata want them."""
    tables = {}
    for name, path in files.items():
        frame = pd.read_parquet(path)
        for column, meant in metadata["tables"][name]["columns"].items():
            if meant["sdtype"] == "datetime":
                frame[column] = pd.to_datetime(frame[column])
        tables[name] = frame
    return tables


question = json.load(sys.stdin)
clocks = (time.perf_counter, time.process_time)
start = [clock() for clock in clocks]
linked = "metadata" in question
if linked:
    metadata = question["metadata"]
    original, released = (read(question[name], metadata) for name in ("original", "released"))
else:
    original, released = ({"t": pd.read_parquet(question[name])} for name in ("original", "released"))
    columns = {name: {"sdtype": "categorical"} for name in original["t"].columns}
    metadata = {"tables": {"t": {"columns": columns}}, "relationships": []}
reading = clocks[0]() - start[0]
report = QualityReport()
if question.get("all_rows"):
    report.num_rows_subsample = None
report.generate(original, released, metadata, verbose=False)
end = [clock() for clock in clocks]
answer = {
    "seconds": end[0] - start[0], "cpu_seconds": end[1] - start[1], "reading": reading,
    "score": report.get_score(),
}  # fmt: skip
if linked:
    answer["properties"] = dict(report.get_properties().itertuples(index=False, name=None))
json.dump(answer, sys.stdout)
