"""Diagnosis codes for the simulated discharges: ICD-9-like text under 25 major diagnostic categories.

The codes have the shape of ICD-9 without the dot, so some begin with a zero and some with a letter.
Which code exists and where it belongs is simplified: each belongs to exactly one category here.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sfumato.samples._common import LevelLaw

MDC_LABELS = (
    "nervous system", "eye", "ear, nose, mouth and throat", "respiratory system", "circulatory system",
    "digestive system", "liver, bile and pancreas", "muscles and bones", "skin and breast",
    "hormones, nutrition and metabolism", "kidney and urinary tract", "male reproductive system",
    "female reproductive system", "pregnancy and childbirth", "newborn", "blood and immunity",
    "leukaemia, lymphoma and poorly specified tumours", "infections", "mental disorders",
    "alcohol and drugs", "injury, poisoning and complications", "burns", "other contacts with care",
    "multiple severe injuries", "HIV",
)  # fmt: skip

# The three-character categories of each major category, from common to rare.
_CATEGORIES = (
    "434 435 345 346 331 431 332 348 340 430",
    "361 366 360 365 372 362 377",
    "474 473 464 386 463 381 522 528 388",
    "486 491 493 466 518 482 511 507 492 480 481 485",
    "414 428 427 410 786 401 402 440 424 411 415 441 426 425 451 413",
    "562 560 540 578 530 558 535 550 552 532 555 556 569 531 008",
    "574 577 571 575 572 576 573 070",
    "715 722 820 724 733 730 824 714 727 711 823 716",
    "682 681 707 174 680 611 692 610 685 053",
    "250 276 278 272 251 242 274 255 244",
    "599 584 590 592 585 593 403 595 189",
    "185 600 601 604 186 607",
    "218 618 626 617 614 620 182 183",
    "650 664 659 654 644 642 656 648 663 652 660 645 633",
    "V30 V31 774 770 765 766 773 779 769",
    "282 285 280 288 287 286 281",
    "202 204 205 203 200 208",
    "038 079 041 052 003 036 084 002",
    "296 295 298 311 300 309 293 312 290",
    "303 291 304 292 305",
    "996 998 965 969 958 977 967 989 995",
    "945 944 941 942 943 940 948",
    "V57 780 V58 799 782 V66",
    "805 807 860 808 864 862 865 868 887",
    "042 043 044",
)
_ENDINGS = (("0", 0.5), ("1", 0.2), ("9", 0.3))

# Conditions that go along with others: log-odds at age 50, and what ten years of age add.
COMORBIDITIES = {
    "4019": (-0.8, 0.55), "2500": (-1.5, 0.35), "2729": (-1.3, 0.45), "4140": (-2.3, 0.65),
    "4280": (-2.9, 0.70), "4279": (-2.9, 0.75), "5859": (-3.0, 0.50), "2851": (-2.6, 0.35),
    "4919": (-2.9, 0.55), "4939": (-2.5, -0.15), "3119": (-2.4, 0.05), "3009": (-2.6, -0.05),
    "3051": (-2.0, -0.20), "3039": (-3.2, -0.15), "2449": (-2.6, 0.40), "2780": (-2.3, -0.05),
    "5301": (-2.0, 0.30), "7159": (-2.6, 0.55), "5990": (-2.9, 0.50), "2760": (-2.3, 0.35),
    "4030": (-3.3, 0.60), "4409": (-3.6, 0.70), "5719": (-3.5, 0.10), "0429": (-5.0, -0.20),
}  # fmt: skip


@cache
def codes_of(mdc: int) -> tuple[str, ...]:
    """The codes of the major category with this number, 1 to 25."""
    return tuple(category + ending for category in _CATEGORIES[mdc - 1].split() for ending, _ in _ENDINGS)


@cache
def all_codes() -> tuple[str, ...]:
    """Every code, by major category."""
    return tuple(code for mdc in range(1, 26) for code in codes_of(mdc))


@cache
def code_law() -> LevelLaw:
    """All codes by major category and severity: rare categories are commoner among severe cases."""
    weights = np.zeros((25, 3, len(all_codes())))
    first = 0
    for mdc in range(25):
        categories = len(_CATEGORIES[mdc].split())
        rank = np.arange(categories)
        for severity in range(3):
            tilt = np.exp(0.5 * severity * rank / max(categories - 1, 1))
            by_code = np.outer(tilt / (1.0 + rank), [share for _, share in _ENDINGS]).ravel()
            weights[mdc, severity, first : first + len(by_code)] = by_code / by_code.sum()
        first += categories * len(_ENDINGS)
    return LevelLaw(weights)
