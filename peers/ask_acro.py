"""What ACRO gives out: {"script", "file", "folder"} in; runs a script that leaves its answer in `answer`."""

import contextlib
import json
import sys

question = json.load(sys.stdin)
names = {"file": question["file"], "folder": question["folder"]}
with contextlib.redirect_stdout(sys.stderr):  # it prints what it does
    exec(compile(question["script"], "script", "exec"), names)
json.dump(names["answer"], sys.stdout)
