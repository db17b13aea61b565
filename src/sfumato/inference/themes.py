"""What others may know of a person and what they would like to know: by values first, then by names.

Where name and values agree a guess is sure; where one of them speaks it is likely. What is wanted weighs more
than what is known ('family income'), except where the known thing is the subject ('age at diagnosis').
"""

from __future__ import annotations

from sfumato.inference import known_values, ranges
from sfumato.inference.clues import LIKELY, SURE, UNSURE, Clue, share
from sfumato.inference.codes import code_system
from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading
from sfumato.inference.senses import contradicted
from sfumato.inference.vocabulary import WORDS, word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

_WANTED = (
    "diagnosis", "procedure", "drug", "disease", "behaviour", "pregnancy", "lab", "vital", "outcome", "money",
    "income", "symptom", "health", "body",
)  # fmt: skip
_KNOWN = (
    "race", "marital", "education", "work", "nation", "language", "religion", "family", "housing", "place",
    "site", "stay", "insurance",
)  # fmt: skip
_OWN = ("race", "marital", "education", "work", "nation", "language", "religion", "family")
_WORDS = {
    "diagnosis": "a diagnosis", "procedure": "a treatment", "drug": "a drug", "disease": "a disease",
    "behaviour": "a way of life", "pregnancy": "a pregnancy", "lab": "a result",
    "vital": "a measurement of the body", "outcome": "an outcome", "money": "an amount of money",
    "income": "income", "symptom": "a complaint", "health": "the state of health",
    "body": "a measurement of the body",
    "race": "something others know", "marital": "something others know",
    "education": "something others know", "work": "something others know",
    "nation": "something others know", "language": "something others know",
    "religion": "something others know", "family": "something others know",
    "housing": "something others know", "place": "a place", "site": "a place of care",
    "stay": "the length of a stay", "insurance": "an insurance",
}  # fmt: skip
_COMMON_WORDS = word_set("exp med res mi ms hr pay def ing dis stat eth mar civil reg land area general fall")
ROUND = "who knows it exactly finds the row, so round it"
_MOST_SEXES = 12
_ACTS = word_set("sex sexe sexo sesso")  # also what people do
_BEGUN = word_set("start started onset began begun quit stopped first debut inicio beginn debut")
_YES_NO = word_set("0 1 2 9 y n u j o s t yes no ja nein nee oui non si sim nao true false")
_ASKED = tuple({"1", "2", no} for no in ("8", "9", "-1", "-8", "-9"))  # yes, no, no answer
_OLDEST = 125
_OF_THINGS = word_set(
    "sensor device battery specimen sample vehicle car building machine account file kit reagent"
)


def theme(facts: Facts, reading: Reading) -> Clue | None:
    """Why an intruder may know the column, or want it; nothing if neither name nor values say so."""
    text = is_text(facts.levels.type) and facts.kind is not Kind.TEXT
    if text and known_values.units(facts.texts):
        return Clue(Role.OTHER, LIKELY, "the values are units of measurement")
    coded = _by_codes(facts, reading)
    named = _by_name(facts, reading)
    if coded is not None and (named is None or named.role is not Role.SENSITIVE):
        return coded
    if coded is not None and named is not None:
        return Clue(Role.SENSITIVE, SURE, f"{named.why}, and {coded.why}")
    valued = _by_values(facts, reading)
    if named is None:
        return valued
    if valued is not None and valued.role is named.role:
        return Clue(named.role, SURE, f"{named.why}, and {valued.why}")
    if valued is not None and _leave_no_doubt(facts, valued):
        return valued  # a word of one language is another one elsewhere
    return named


def _leave_no_doubt(facts: Facts, valued: Clue) -> bool:
    """Values that are hardly anything else, whatever the name says: sexes, countries, years of births."""
    if valued.role is not Role.QUASI_IDENTIFIER or valued.confidence == UNSURE or facts.is_day:
        return False
    return facts.distinct >= 3 or "sexes" in valued.why


# -- values ----------------------------------------------------------------------------------------


def _by_codes(facts: Facts, reading: Reading) -> Clue | None:
    """Codes of a code system of health care."""
    if facts.kind is Kind.CODES:
        return Clue(Role.SENSITIVE, LIKELY, "several codes of a person in a cell")
    if facts.kind in (Kind.TEXT, Kind.FLAG) or facts.is_day:
        return None
    counts = facts.kind is Kind.NUMERIC or not is_text(facts.levels.type)
    if counts and not (facts.is_whole_number and min(facts.widths, default=0) >= 6):
        return None
    hinted = bool(reading.first("diagnosis", "procedure", "drug", "lab"))
    if reading.first("place", "number", "site") and not hinted:
        return None
    system = code_system(facts.texts, alone=not hinted)
    loose = system.startswith("NDC") and not any(
        "-" in t for t in facts.texts[:20]
    )  # ten digits are many things
    short = len(reading.first("drug")) <= 3 and "ndc" not in reading.words  # so are the numbers of doctors
    if not system or (loose and (short or facts.share_distinct > 0.5)):
        return None
    return Clue(Role.SENSITIVE, SURE if hinted else LIKELY, f"the values look like {system}")


def _by_values(facts: Facts, reading: Reading) -> Clue | None:
    if facts.is_day:
        back = ranges.years_back(facts)
        why = "days that reach back a lifetime, as of births" if back else "the day of an event may be known"
        return Clue(Role.QUASI_IDENTIFIER, LIKELY, why)
    if ranges.written_days(facts):
        return Clue(
            Role.QUASI_IDENTIFIER, LIKELY, "the values look like days, and the day of an event may be known"
        )
    explained = _by_meanings(facts)
    if explained is not None:
        return explained
    if is_text(facts.levels.type) and facts.kind is not Kind.TEXT:
        if facts.distinct <= 300:
            known = known_values.known_words(facts.texts, facts.text_counts)
            if known:
                sure = UNSURE if known_values.is_open(known) else LIKELY
                return Clue(Role.QUASI_IDENTIFIER, sure, f"the values are {known}")
            wanted = known_values.genotypes(facts.texts) or known_values.health_words(
                facts.texts, facts.text_counts
            )
            if wanted:
                return Clue(Role.SENSITIVE, LIKELY, f"the values are {wanted}")
        form = known_values.pair_or_time(facts.texts)
        if form:
            role = Role.QUASI_IDENTIFIER if "time" in form else Role.SENSITIVE
            return Clue(role, UNSURE if "time" in form else LIKELY, f"the values look like {form}")
        codes = known_values.postcodes(facts.texts)
        if codes:
            sure = UNSURE if codes.startswith("five") else LIKELY
            return Clue(Role.QUASI_IDENTIFIER, sure, f"the values look like {codes}")
    if ranges.like_birth_years(facts):
        return Clue(Role.QUASI_IDENTIFIER, LIKELY, "years that reach back a lifetime, as of births")
    if ranges.like_coordinates(facts):
        return Clue(Role.QUASI_IDENTIFIER, UNSURE, "numbers as exact as coordinates of places")
    if ranges.like_money(facts):
        return Clue(Role.SENSITIVE, UNSURE, "numbers with cents that spread as amounts of money do")
    return None


def _by_meanings(facts: Facts) -> Clue | None:
    """What the labels of the codes say, where most codes have one."""
    pairs = zip(facts.texts, facts.text_counts, strict=True)
    found = [(facts.meanings[t], n) for t, n in pairs if t in facts.meanings] if facts.meanings else []
    if len(found) < 2 or sum(n for _, n in found) < 0.9 * facts.filled:
        return None
    texts, counts = [text for text, _ in found], [n for _, n in found]
    known = known_values.known_words(texts, counts)
    if known or known_values.age_bands(texts):
        return Clue(Role.QUASI_IDENTIFIER, LIKELY, f"the labels of its codes are {known or 'ages'}")
    wanted = known_values.health_words(texts, counts)
    return Clue(Role.SENSITIVE, LIKELY, f"the labels of its codes are {wanted}") if wanted else None


# -- names -----------------------------------------------------------------------------------------


def _by_name(facts: Facts, reading: Reading) -> Clue | None:
    if facts.is_day:
        word = reading.first("birth", "death", "event")
        return _quasi(word, "the day of something others notice", SURE) if word else None
    return (
        _about_sex(facts, reading)
        or _about_age(facts, reading)
        or _about_births_and_deaths(facts, reading)
        or _wanted_or_known(facts, reading)
        or _event(facts, reading)
        or _how_often(facts, reading)
    )


def _wanted_or_known(facts: Facts, reading: Reading) -> Clue | None:
    """What is wanted, except where a short word of several meanings stands beside a clear one."""
    wanted, known = _wanted(facts, reading), _known(facts, reading)
    if wanted is not None and known is not None:
        weak = wanted.confidence == UNSURE or _is_short(reading, _WANTED)
        clear = known.confidence == SURE or not _is_short(reading, _OWN)
        if weak and clear and reading.first(*_OWN):
            return known
    return wanted or known


def _is_short(reading: Reading, concepts: tuple[str, ...]) -> bool:
    """Whether the word for these has at most three letters: NIV is a treatment, and a level of schooling."""
    return len(reading.first(*concepts)) <= 3


def _is_yes_or_no(facts: Facts) -> bool:
    """0 and 1, yes and no, or one mark and gaps; in a table long enough to have several places."""
    texts = {t.lower().removesuffix(".0") for t in facts.texts[:5]}
    return facts.distinct <= 2 and facts.filled >= 20 and texts <= _YES_NO and texts != {"1", "2"}


def _quasi(word: str, what: str, confidence: str) -> Clue:
    return Clue(Role.QUASI_IDENTIFIER, confidence, f"'{word}' in the name means {what}")


def _about_sex(facts: Facts, reading: Reading) -> Clue | None:
    word = reading.first("sex")
    if not word:
        return None
    life = reading.first("behaviour", "pregnancy", "count") or ("ever" if "ever" in reading.words else "")
    if facts.is_number:  # '39Y/M' is an age and a sex
        life = life or reading.first("age")
    if life and word in ("sex", "sexe", "sexo", "sesso"):
        return Clue(
            Role.SENSITIVE, LIKELY, f"'{word}' and '{life}' in the name: about somebody's sexual life"
        )
    noun = next((w for w in reversed(reading.words) if len(w) > 1 and not w.isdigit()), "")
    if reading.first(*_WANTED) and not (noun == word and word not in _ACTS and facts.distinct <= 3):
        return None
    if facts.distinct > _MOST_SEXES:
        return None  # so many are no sexes
    return _quasi(word, "something others know", SURE)


def _about_age(facts: Facts, reading: Reading) -> Clue | None:
    word = reading.first("age")
    if not word or _OF_THINGS.intersection(reading.words):
        return None
    at = reading.first("disease", "behaviour", "drug", "pregnancy") or next(
        (w for w in reading.words if w in _BEGUN), ""
    )
    if at:
        return Clue(
            Role.SENSITIVE, LIKELY, f"'{at}' in the name: the age of something a person keeps to themselves"
        )
    if {t.removesuffix(".0") for t in facts.texts[:5]} in _ASKED:
        return None  # whether something was so at an age, or within years
    unit = age_unit(facts, reading)
    numbers = facts.numbers
    plausible = not len(numbers) or numbers.max() <= _OLDEST * {"months": 12.5, "days": 366}.get(unit, 1)
    return _quasi(
        word,
        "something others know" + f", in {unit}" * (unit not in ("", "years")),
        SURE if plausible else LIKELY,
    )


def age_unit(facts: Facts, reading: Reading) -> str:
    """'years', 'months' or 'days' of a column of ages; nothing if it is none, or in bands."""
    if "age" not in reading or facts.kind is not Kind.NUMERIC or _OF_THINGS.intersection(reading.words):
        return ""
    if "months" in reading:
        return "months"
    if "days" in reading:
        return "days"
    numbers = facts.numbers
    if not len(numbers) or numbers.max() <= _OLDEST or numbers.max() in (999, 998, 997):
        return "years"
    return "months" if numbers.max() <= 1_500 else "days"


def _about_births_and_deaths(facts: Facts, reading: Reading) -> Clue | None:
    word = reading.first("birth")
    if word and not reading.first("weight", "body", "outcome", "disease", "diagnosis"):
        return _quasi(word, "something others know", SURE)
    word = reading.first("death")
    if not word:
        return None
    other = reading.first("diagnosis", "outcome", "procedure", "disease", "lab") or next(
        (w for w in reading.words if w in ("risk", "cause", "ursache", "causa", "oorzaak", "prob", "score")),
        "",
    )
    if other:
        return Clue(Role.SENSITIVE, LIKELY, f"'{word}' and '{other}' in the name")
    if facts.is_number and not facts.is_whole_number:
        return Clue(Role.SENSITIVE, LIKELY, f"'{word}' in the name, and fractions: a risk")
    return _quasi(word, "an event others notice", LIKELY)


def _wanted(facts: Facts, reading: Reading) -> Clue | None:
    concept = next((c for c in _WANTED if c in reading), "")
    if not concept:
        return None
    word = reading.about[concept]
    known = reading.first("site", "insurance", "place", "work")
    if contradicted(facts, concept, word):
        return None
    if concept in ("health", "symptom") and known:
        return None  # a health centre, a health insurance
    if concept == "money" and "thing" in reading and not facts.is_number:
        return None  # how it was paid
    if (
        concept in ("money", "income")
        and len(word) <= 3
        and is_text(facts.levels.type)
        and not facts.is_number
    ):
        return None  # words are no amounts: NOK is a currency, and next of kin
    if concept == "money" and "site" in reading and is_text(facts.levels.type) and not facts.is_number:
        return None  # a cost centre
    if concept in ("symptom", "behaviour", "disease") and _is_long_code(facts):
        return None  # numbers of five digits are codes of something else
    if concept == "procedure" and reading.first("event") == word and "date" in reading:
        return None
    if concept in ("procedure", "diagnosis", "drug", "disease") and _is_place(reading):
        return None  # where somebody was treated
    return Clue(Role.SENSITIVE, _confidence(facts, word), f"'{word}' in the name means {_WORDS[concept]}")


def _is_long_code(facts: Facts) -> bool:
    """Whole numbers of five digits and more, all of one length, that repeat."""
    return (
        facts.is_whole_number and min(facts.widths) >= 5 and len(facts.widths) == 1 and facts.distinct >= 20
    )


def _is_place(reading: Reading) -> bool:
    """Whether the noun of a name is a place: the last word, in Romance languages the first."""
    long = [w for w in reading.words if len(w) > 1 and not w.isdigit()]
    first = word_set("lugar ciudad municipio provincia comune citta luogo lieu ville commune departamento")
    return len(long) > 1 and (WORDS.get(long[-1]) == frozenset({"place"}) or long[0] in first)


def _known(facts: Facts, reading: Reading) -> Clue | None:
    concept = next((c for c in _KNOWN if c in reading), "")
    if not concept:
        return None
    word = reading.about[concept]
    number = facts.kind is Kind.NUMERIC
    if contradicted(facts, concept, word):
        return None
    if (
        number
        and concept not in ("place", "stay")
        and not facts.is_whole_number
        and facts.share_distinct > 0.5
    ):
        return None  # a measurement, whatever else the word means
    if concept == "site" and _is_yes_or_no(facts):
        return Clue(Role.SENSITIVE, LIKELY, f"'{word}' in the name, yes or no: whether somebody was treated")
    if concept == "site" and number and not (facts.is_whole_number and min(facts.widths) >= 3):
        return None  # days in hospital, visits to a doctor
    if concept == "place" and number and not facts.is_whole_number and not _coordinate(reading):
        return None
    way = reading.first("event", "thing") not in ("", "code") and "number" not in reading
    if concept == "site" and way and facts.distinct < 30 and "place" not in reading:
        return None  # the way of an admission
    return _quasi(word, _WORDS[concept], _confidence(facts, word))


def _coordinate(reading: Reading) -> bool:
    return any(w.startswith(("lat", "lon", "lng", "gps", "coord", "koord")) for w in reading.words)


def _event(facts: Facts, reading: Reading) -> Clue | None:
    event = reading.first("event", "stay")
    if event and "date" in reading:
        return _quasi(event, "an event others notice", LIKELY)
    return None


def _how_often(facts: Facts, reading: Reading) -> Clue | None:
    """How many visits, stays, episodes: small whole numbers from 0 or 1 on."""
    how, what = reading.first("count"), reading.first("event", "record", "site")
    counted = facts.is_whole_number and len(facts.numbers) > 0 and 0 <= facts.numbers.min() <= 1
    if not how or not what or how == what or not counted or facts.share_distinct > 0.5:
        return None
    return Clue(Role.SENSITIVE, LIKELY, f"'{how}' and '{what}' in the name: how often somebody was treated")


def _confidence(facts: Facts, word: str) -> str:
    """Short words mean several things; of a column without values nothing agrees with its name."""
    if word in _COMMON_WORDS or len(word) < 3 or facts.distinct < 1:
        return UNSURE
    return SURE if len(word) > 4 else LIKELY


def near_unique(facts: Facts) -> str:
    """A warning where exact numbers or times nearly never repeat: whoever knows one finds its row."""
    exact = facts.is_number or facts.type in ("datetime", "instant")
    if not exact or facts.filled < 50 or facts.distinct < 50 or facts.share_alone < 0.5:
        return ""
    return f"{share(facts.share_alone)} of the rows have a value that no other has ({facts.of_rows}): {ROUND}"
