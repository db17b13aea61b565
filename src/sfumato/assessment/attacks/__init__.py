"""Attacks on a release: each says what the intruder knows, and is judged against control and baseline.

Start with `intruder` (what somebody sees of two files) and `success` (how success is counted). Who is it:
`linkage`, `fellegi_sunter`, `ambiguity`; by one who thinks `telling` (on `agreement`), `order`,
`prediction`, `minimality`. What is their secret: `attributes`, `network`, `beliefs`. Were they
in the data: `membership`, played as a `game`. Several `releases` together; `three_risks` as Anonymeter counts
them; `score_api` for scores instead of files.

It knows no threshold and no report, and never how a release was made.
"""

from sfumato.assessment.attacks.ambiguity import perfect_matching, smallest_cover
from sfumato.assessment.attacks.attributes import (
    background,
    homogeneity,
    learnt,
    link_gain,
    mean_value,
    most_frequent,
)
from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
from sfumato.assessment.attacks.intruder import by_key, sharp
from sfumato.assessment.attacks.network import bayesian_network
from sfumato.assessment.attacks.releases import complementary, rare_values, temporal, unsorted_matching
from sfumato.assessment.attacks.three_risks import inference, linkability, singling_out

__all__ = [
    "AttackDatabase",
    "background",
    "bayesian_network",
    "by_key",
    "complementary",
    "homogeneity",
    "inference",
    "learnt",
    "link_gain",
    "linkability",
    "mean_value",
    "most_frequent",
    "perfect_matching",
    "rare_values",
    "sharp",
    "singling_out",
    "smallest_cover",
    "temporal",
    "unsorted_matching",
]
