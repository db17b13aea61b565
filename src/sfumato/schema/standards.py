"""Public code lists that come with Sfumato, by name: domains that need nobody's word and no look at the data.

Facts only: codes, with short names in our own words where a code says nothing. No list here is under a
licence that forbids it; there is no text of CPT or SNOMED CT. A list is never changed under the same name,
because schemas and promises refer to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Code = str | int


@dataclass(frozen=True)
class Standard:
    """A public list: levels with labels, or the edges of bins. kind, type: of a column that has it."""

    name: str
    source: str
    kind: str
    type: str
    levels: tuple[Code, ...] | None = None
    edges: tuple[int, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """How many levels or bins it has."""
        return len(self.levels or ()) or len(self.edges or ()) - 1


def _words(text: str) -> list[str]:
    return text.split()


_MONTHS = _words("January February March April May June July August September October November December")
_DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

_STATES = _words(
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM "
    "NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
)
_TERRITORIES = _words("AS GU MP PR UM VI")

_COUNTRIES = _words(
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS "
    "BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE "
    "EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM "
    "HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC "
    "LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA "
    "NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW "
    "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO "
    "TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)

_ICD_9 = {
    "001-139": "infections and parasites",
    "140-239": "neoplasms",
    "240-279": "endocrine, nutrition, metabolism, immunity",
    "280-289": "blood",
    "290-319": "mental disorders",
    "320-389": "nervous system and sense organs",
    "390-459": "circulation",
    "460-519": "respiration",
    "520-579": "digestion",
    "580-629": "urinary and genital organs",
    "630-679": "pregnancy and birth",
    "680-709": "skin",
    "710-739": "muscles, bones, connective tissue",
    "740-759": "congenital anomalies",
    "760-779": "perinatal conditions",
    "780-799": "symptoms and ill-defined conditions",
    "800-999": "injury and poisoning",
    "E000-E999": "external causes",
    "V01-V91": "other reasons for contact",
}
_ICD_10 = {
    "A00-B99": "infections and parasites",
    "C00-D49": "neoplasms",
    "D50-D89": "blood and immunity",
    "E00-E89": "endocrine, nutrition, metabolism",
    "F01-F99": "mental disorders",
    "G00-G99": "nervous system",
    "H00-H59": "eye",
    "H60-H95": "ear",
    "I00-I99": "circulation",
    "J00-J99": "respiration",
    "K00-K95": "digestion",
    "L00-L99": "skin",
    "M00-M99": "muscles, bones, connective tissue",
    "N00-N99": "urinary and genital organs",
    "O00-O9A": "pregnancy and birth",
    "P00-P96": "perinatal conditions",
    "Q00-Q99": "congenital anomalies",
    "R00-R99": "symptoms and ill-defined conditions",
    "S00-T88": "injury and poisoning",
    "U00-U85": "codes for special purposes",
    "V00-Y99": "external causes",
    "Z00-Z99": "other reasons for contact",
}


def _texts(name: str, source: str, levels: list[str], labels: Mapping[str, str] | None = None) -> Standard:
    return Standard(name, source, "nominal", "text", tuple(levels), labels=labels or {})


def _numbered(name: str, source: str, words: list[str]) -> Standard:
    labels = {str(i): word for i, word in enumerate(words, 1)}
    return Standard(name, source, "ordinal", "integer", tuple(range(1, len(words) + 1)), labels=labels)


_LISTS = (
    _texts("sexes", "the two words of most forms, in English", ["female", "male"]),
    _texts("sexes-fm", "the two letters of most forms, in English", ["F", "M"]),
    Standard(
        "sexes-iso-5218", "ISO/IEC 5218:2022", "nominal", "integer", (0, 1, 2, 9),
        labels={"0": "not known", "1": "male", "2": "female", "9": "not applicable"},
    ),
    _texts(
        "genders-fhir", "HL7 FHIR R5, administrative gender (CC0)", ["male", "female", "other", "unknown"]
    ),
    _numbered("months", "the Gregorian calendar", _MONTHS),
    _numbered("weekdays", "ISO 8601, Monday is 1", _DAYS),
    _texts("us-states", "INCITS 38:2009, the 50 states and the District of Columbia", _STATES),
    _texts("us-states-and-territories", "INCITS 38:2009, with the outlying areas", _STATES + _TERRITORIES),
    _texts("countries-iso-3166", "ISO 3166-1 alpha-2, as in the IANA time zone database", _COUNTRIES),
    _texts("icd-9-cm-chapters", "ICD-9-CM (public domain): ranges of codes", list(_ICD_9), _ICD_9),
    _texts("icd-10-cm-chapters", "ICD-10-CM (public domain): ranges of codes", list(_ICD_10), _ICD_10),
    Standard(
        "ages-five-years", "five-year groups, open from 90 on, as censuses use them", "numeric", "integer",
        edges=(*range(0, 91, 5), 120),
    ),
)  # fmt: skip

STANDARDS: Mapping[str, Standard] = {one.name: one for one in _LISTS}
"""The lists by name."""
