"""One TOML file is one run: input, preparation, methods, assessment, thresholds, outputs.

plan = sf.Plan.read("plan.toml")     # every fault at once, with its line
plan.run("release")                  # whole or not at all; goes on where a killed run ended
"""

from sfumato.plan.plan import Plan
from sfumato.plan.step import Step, step

__all__ = ["Plan", "Step", "step"]
