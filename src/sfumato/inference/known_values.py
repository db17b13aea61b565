"""Values that say by themselves what a column holds: sexes, marital states, places, postcodes, names.

Words in six languages, small letters without accents. A column counts where nearly all of its rows hold
words of one list, and at least two of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.inference.known_facts import FAITHS, HOMES, LANGUAGES, NATIONS, SCHOOLING, WORK
from sfumato.inference.morphology import family_of, is_drug
from sfumato.inference.names import words
from sfumato.inference.vocabulary import word_set, words_of

_SHARE = 0.9
_MOST = 0.6
_SHORT = 50  # signs

_SEX = (
    "male female man woman men women boy girl m f w d x v h u männlich weiblich divers mann frau masculin "
    "feminin homme femme masculino femenino hombre mujer varon maschio femmina uomo donna maschile "
    "femminile man vrouw vrouwelijk mannelijk unknown other unbekannt kvinne kvinna kvinde mand "
    "feminino masculino"
)
_SEX_CORE = word_set(
    "male female woman weiblich maennlich frau femme homme feminin masculin mujer hombre femenino "
    "masculino femmina maschio donna uomo femminile maschile vrouw vrouwelijk mannelijk girl boy kvinne "
    "kvinna kvinde feminino"
)
_SEX_LETTERS = (
    {"m", "f"},
    {"m", "w"},
    {"m", "v"},
    {"h", "f"},
    {"m", "f", "u"},
    {"m", "w", "d"},
    {"m", "f", "x"},
)
_MARITAL = (
    "married single divorced widowed separated never partner cohabiting unmarried widow widower "
    "verheiratet ledig geschieden verwitwet getrennt marie mariee celibataire divorce divorcee veuf veuve "
    "gift ugift skilt separert enke enkemann ogift skild anka fraskilt samboer sambo solteiro viuvo "
    "pacse concubinage casado casada soltero soltera divorciado divorciada viudo viuda separado sposato "
    "sposata coniugato nubile celibe divorziato vedovo vedova separato gehuwd ongehuwd gescheiden weduwe "
    "weduwnaar samenwonend"
)
_RACE = (
    "white black asian hispanic latino caucasian african american indian alaska native hawaiian pacific "
    "islander mexican multiracial weiss schwarz asiatisch blanc noir blanco negro mestizo indigena bianco "
    "nero"
)
_STATES = (
    "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii "
    "idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan "
    "minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee "
    "texas utah vermont virginia washington wisconsin wyoming bayern berlin brandenburg bremen hamburg "
    "hessen niedersachsen saarland sachsen thueringen bretagne normandie occitanie corse andalucia aragon "
    "asturias cataluna galicia murcia navarra lombardia lazio veneto toscana sicilia sardegna puglia "
    "campania liguria piemonte utrecht drenthe zeeland friesland groningen gelderland limburg overijssel "
    "flevoland ontario quebec manitoba alberta saskatchewan northeast midwest south west southeast "
    "southwest northwest urban rural"
)
_STATE_LETTERS = word_set(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY "
    "NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC PR"
)
_COUNTRIES = (
    "germany france italy spain poland sweden norway denmark finland netherlands belgium austria "
    "switzerland portugal greece ireland england scotland wales hungary romania bulgaria croatia serbia "
    "turkey russia ukraine china india japan korea vietnam philippines mexico cuba canada brazil "
    "argentina chile colombia peru ecuador venezuela guatemala honduras nicaragua haiti jamaica iran iraq "
    "syria afghanistan pakistan bangladesh nigeria ghana kenya ethiopia somalia morocco algeria tunisia "
    "egypt australia usa deutschland frankreich italien spanien polen oesterreich schweiz tuerkei "
    "allemagne italie espagne pologne suisse maroc algerie alemania francia italia espana polonia "
    "marruecos germania spagna svizzera marocco duitsland frankrijk spanje turkije marokko nederland "
    "suriname sverige norge danmark suomi syrien syria irak eritrea somalia rumania brasil angola"
)
_RELIGIONS = (
    "catholic protestant christian orthodox lutheran muslim islam islamic jewish judaism hindu hinduism "
    "buddhist sikh atheist agnostic none evangelisch katholisch muslimisch juedisch konfessionslos "
    "catholique protestant musulman juif catolica catolico evangelica cattolica cattolico musulmano ebreo "
    "katholiek moslim joods"
)
_LIFE = (
    "alive living lives dead died deceased expired death survived lebend lebt verstorben gestorben tot "
    "vivant vivante vivo "
    "viva decede decedee decedes mort muerto muerta fallecido fallecida exitus obito deceduto deceduta "
    "levend overleden leeft "
    "avliden dod doed levende zyje zmarl zgon sag olu vefat elossa kuollut"
)
_COUNTRY_CODES = word_set(
    "deu fra ita esp prt nld bel lux aut che pol cze svk hun rou bgr grc tur swe nor dnk fin isl irl gbr "
    "eng sco wal nir usa can mex bra arg col per ven chn ind pak bgd jpn kor vnm phl tha idn rus ukr syr "
    "irq irn afg mar dza tun egy nga gha ken eth som zaf aus nzl"
)
_COUNTRY_PAIRS = word_set(
    "DE FR IT ES PT NL BE LU AT CH PL CZ SK HU RO BG GR TR SE NO DK FI IE GB UK US CA MX BR AR CN IN PK JP "
    "KR RU UA SY"
)
_BLOOD = re.compile(r"(A|B|AB|O|0) ?(RH)? ?(\+|-|pos|neg|positive|negative)?", re.IGNORECASE)
_LISTS = tuple(
    (what, frozenset(w for word in text.split() for w in words(word)))
    for what, text in (
        ("sexes", _SEX), ("marital states", _MARITAL), ("groups of origin", _RACE), ("regions", _STATES),
        ("countries", _COUNTRIES), ("religions", _RELIGIONS), ("states of life", _LIFE),
        ("trades", WORK), ("schooling", SCHOOLING), ("languages", LANGUAGES), ("nations", NATIONS),
        ("faiths", FAITHS), ("homes", HOMES),
    )
)  # fmt: skip
_RESULTS = word_set(
    "positive negative borderline equivocal indeterminate reactive nonreactive positiv negativ positif "
    "negatif positivo negativo positief negatief pos neg abnormal pathological pathologisch"
)
_DEGREES = word_set(
    "mild moderate severe extreme minor major leicht mittel schwer leger modere severe leve moderado grave "
    "lieve moderato licht matig ernstig lett moderat alvorlig"
)
_FLAGS = word_set("h l n hh ll a aa") | {"h*", "l*", "*"}  # high, low, normal, as laboratories mark results
# Answers to a question: how much, how often, how well, how far one agrees.
_ANSWERS = word_set(
    "yes no not none never rarely seldom sometimes often usually always daily weekly monthly former current "
    "past ever agree disagree neutral strongly slightly somewhat several nearly quite very little good bad "
    "fair poor excellent better worse same low normal high higher lower elevated absent present unknown "
    "refused true false ja nein nie selten manchmal oft haeufig immer taeglich gut schlecht mittel sehr kaum "
    "stimme trifft zu weiss niedrig hoch erhoeht frueher aktuell ehemals oui non jamais rarement parfois "
    "souvent toujours bon mauvais moyen tres peu accord pas eleve faible ancien actuel si nunca raramente "
    "veces siempre bueno malo regular muy poco acuerdo alto bajo nao sempre mai talvolta spesso buono "
    "cattivo molto accordo basso ex nee nooit soms vaak altijd goed slecht zeer eens oneens hoog laag "
    "gestopt nej nei aldrig aldri ibland ofte alltid bra god darlig sjelden tidigare tidligere tak nigdy "
    "czasem czesto zawsze dobry zly evet hayir bazen her zaman iyi kotu kylla ei koskaan joskus usein aina "
    "hyva huono lopettanut ano ne nikdy da nu igen nem soha"
)
_OPEN = ("countries", "trades", "schooling", "languages", "nations", "faiths", "homes")  # lists with gaps
_GENOTYPE = re.compile(r"[ACGT][/|]?[ACGT]|[eE*]\d[/|][eE*]\d|[01][/|][01]")
_STAGE = re.compile(
    r"((?i:stage |stadium |stade ))?(?i:(0|I{1,3}|IV|VI{0,3})[ABC]?\d?)|[pcy]?[TNM][0-4X][a-d]{0,2}"
)
_TNM = re.compile(r"[pcy]?[TNM][0-4X][a-d]?")
_BAND = re.compile(
    r"[<>≤≥]=? ?(\d+)|(\d+) ?(?:-|–|to|bis|a|à|tot|till) ?(\d+)|"
    r"(\d+) ?(?:\+|and over|and older|plus|oder mehr)|"
    r"(?:under|over|unter|ueber|über|moins de|plus de|menos de|meno di|onder|boven) (\d+)",
    re.IGNORECASE,
)
_YEARS = re.compile(r" ?(years?|yrs?|jahre|ans|anos|años|anni|jaar|let|lat|ar|år)\.?$", re.IGNORECASE)
_OLDEST = 115
_UNIT = re.compile(
    r"%|m?s|[munpkµ]?(g|mol|l|eq|m|iu|u|kat|gy|bq|osm)(/([dmµup]?l|kg|g|min|h|d|day|hr|mol|mmol|m2|24h|"
    r"1\.73.*))?|"
    r"m?iu/m?l|mm ?hg|cm ?h2o|bpm|/min|(beats|breaths|insp)/min|°?[cf]|cm|mm|km|kcal|kj|"
    r"10\^?[0-9]+/[uµ]?l|[km]?/[uµ]l|"
    r"ratio|score|cells/.*|copies/.*|kg/m2|sec(onds?)?|min(utes?)?|hours?|days?|weeks?|months?|years?|"
    r"tage|stunden|jahre|g/24h|tabl?\.?|stk",
    re.IGNORECASE,
)
_HEALTH = frozenset(w for w in words_of("disease", "symptom", "drug") if len(w) >= 5) - word_set(
    "history chronic condition conditions medicine medication prescription prescriptions decide private "
    "reaction attack blind morse mood steps generic brand supply problem vision hearing eating"
)
_WHO = ("ist", "ists", "ista", "iste", "eut", "euta", "eute", "euten")  # radiotherapist, Therapeut
_BRITISH = (  # areas; a plate of a car may have the same form
    "AB|AL|BA|BB|BD|BH|BL|BN|BR|BS|BT|B|CA|CB|CF|CH|CM|CO|CR|CT|CV|CW|DA|DD|DE|DG|DH|DL|DN|DT|DY|EC|EH|EN|EX|E|"
    "FK|FY|GL|GU|GY|G|HA|HD|HG|HP|HR|HS|HU|HX|IG|IM|IP|IV|JE|KA|KT|KW|KY|LA|LD|LE|LL|LN|LS|LU|L|ME|MK|ML|M|NE|"
    "NG|NN|NP|NR|NW|N|OL|OX|PA|PE|PH|PL|PO|PR|RG|RH|RM|SA|SE|SG|SK|SL|SM|SN|SO|SP|SR|SS|ST|SW|SY|S|TA|TD|TF|TN|"
    "TR|TS|TW|UB|WA|WC|WD|WF|WN|WR|WS|WV|W|YO|ZE"
)
_POSTCODES = tuple(
    (what, re.compile(form))
    for what, form in (
        ("British postcodes", rf"({_BRITISH})\d[A-Z0-9]? ?\d[A-Z]{{2}}"),
        ("Canadian postcodes", r"[ABCEGHJ-NPR-TVXY]\d[A-Z] ?\d[A-Z]\d"),
        ("Dutch postcodes", r"[1-9]\d{3} [A-Z]{2}"),
        ("ZIP codes", r"\d{5}-\d{4}"),
        ("Polish postcodes", r"\d{2}-\d{3}"),
        ("Portuguese postcodes", r"\d{4}-\d{3}"),
        ("Brazilian postcodes", r"\d{5}-\d{3}"),
        ("Japanese postcodes", r"\d{3}-\d{4}"),
        ("Swedish or Czech postcodes", r"\d{3} \d{2}"),
    )
)
_CLOCK = re.compile(r"([01]?\d|2[0-3])[:h.][0-5]\d([:.][0-5]\d)?( ?[AaPp][Mm])?")
_PRESSURE = re.compile(r"(\d{2,3}) ?/ ?(\d{1,3})( ?mm ?[Hh]g)?")
_LEADING_ZERO = re.compile(r"0\d{4}")
_FIVE = re.compile(r"\d{5}")
_ADDRESS = re.compile(
    r"\d+[a-zA-Z]? [A-Z][\w.' -]+|"
    r"([A-ZÀ-ÞΑ-ΩА-ЯІЇЄ]|ul\.|[ув]+л\.|просп\.)[\w.,'/ -]* (№|[Nn][o°º.]:?)? ?\d+ ?[a-zA-Z]?"
)
_EASTERN = re.compile(
    r"[\u3400-\u9fff\uac00-\ud7af].*\d+ ?(号|號|楼|栋|室|番|丁目|번길|번지|동 ?\d+ ?호)|[로길] ?\d+"
)
_STREET = re.compile(
    r"(street|st\.?|avenue|ave\.?|road|rd\.?|drive|dr\.?|lane|ln\.?|blvd\.?|boulevard|court|way|circle|"
    r"highway|"
    r"hwy|straat|laan|weg|strasse|straße|str\.|platz|allee|gasse|rue|place|calle|avenida|plaza|via|viale|"
    r"piazza|"
    r"corso|gatan|vägen|vej|katu|utca|\brua|\btravessa|\bav|\bul|\bulica|\bsok|\bsokak|\bcad|\bcaddesi|"
    r"\bmah|\bmahallesi|\bjalan|\bjl|\bulitsa|\bул|\bулица|\bвул|\bвулиця|\bпроспект|\bпросп|\bоδός)\b",
    re.IGNORECASE,
)


def known_words(values: Sequence[str], counts: Sequence[int]) -> str:
    """What a column of few words holds, by the words."""
    total = sum(counts)
    # A list of words is told by short cells; a sentence may name a country and be about something else.
    cells = [
        (frozenset(words(v)) if len(v) <= _SHORT else frozenset(), n)
        for v, n in zip(values, counts, strict=True)
    ]
    if 2 <= len(values) <= 6 and {v.strip().lower() for v in values} in _SEX_LETTERS:
        return "sexes"
    if (
        len(values) >= 5
        and sum(n for v, n in zip(values, counts, strict=True) if v in _STATE_LETTERS) >= 0.95 * total
    ):
        return "states" if len(values) >= 8 or any(v in values for v in ("CA", "NY", "TX", "FL")) else ""
    if len(values) >= 3 and all(v.lower() in _COUNTRY_CODES for v in values):
        return "countries"
    if len(values) >= 4 and all(v in _COUNTRY_PAIRS or v.lower() in _COUNTRY_PAIRS for v in values):
        return "countries"
    for what, known in _LISTS:
        hits = [(cell & known, n) for cell, n in cells]
        several = what in _OPEN and sum(bool(h) for h, _ in hits) >= 3  # and 'elsewhere'
        both = what == "sexes" and sum(bool(h & _SEX_CORE) for h, _ in hits) >= 2  # and 'not said'
        several = several or (both and len(values) <= 5)
        enough = _MOST if several else _SHARE
        least = 3 if what in _OPEN[1:] else 2
        if sum(n for hit, n in hits if hit) < enough * total or sum(bool(h) for h, _ in hits) < least:
            continue
        if what == "sexes" and not any(hit & _SEX_CORE for hit, _ in hits):
            continue
        return what
    return ""


def is_area(values: Sequence[str]) -> bool:
    """Whether most of a few short codes are those of countries or states."""
    known = [v for v in values if v in _COUNTRY_PAIRS or v.lower() in _COUNTRY_CODES or v in _STATE_LETTERS]
    return len(known) >= _MOST * len(values)


def is_open(what: str) -> bool:
    """Whether a list has words of other meanings too: then a name that says something else counts more."""
    return what in _OPEN[1:]


def genotypes(values: Sequence[str]) -> str:
    """Two letters of bases, or two numbered variants of a gene."""
    fitting = sum(_GENOTYPE.fullmatch(v.strip()) is not None for v in values)
    return "genotypes" if len(values) >= 2 and fitting == len(values) else ""


def health_words(values: Sequence[str], counts: Sequence[int]) -> str:
    """What a column of words says of people's health: results, how bad it is, stages, diseases, drugs."""
    total = sum(counts)
    if len(values) < 2:
        return ""
    letters = {v.strip().lower() for v in values}
    if {"h", "l"} <= letters <= _FLAGS:
        return "results"
    for what, known in (("results", _RESULTS), ("degrees of severity", _DEGREES)):
        hits = [n for v, n in zip(values, counts, strict=True) if known.intersection(words(v))]
        if len(hits) >= 2 and sum(hits) >= _SHARE * total:
            return what
    stages = [v.strip() for v in values if _STAGE.fullmatch(v.strip())]
    hits = [n for v, n in zip(values, counts, strict=True) if v.strip() in stages]
    if len(hits) >= 3 and not all(v.isdigit() for v in stages) and sum(hits) >= 0.8 * total:
        return "stages"
    if (
        len(values) == 2
        and all(_TNM.fullmatch(v.strip()) for v in values)
        and len({v[0] for v in values}) == 1
    ):
        return "stages"
    if len(values) >= 3 and all(_BLOOD.fullmatch(v.strip()) for v in values):
        return "blood groups"
    cells = [(words(v), n) for v, n in zip(values, counts, strict=True) if len(v) <= _SHORT]
    hits = [n for cell, n in cells if any(_is_medical(w) for w in cell)]
    return "diseases, complaints or drugs" if len(hits) >= 2 and sum(hits) >= 0.6 * total else ""


def _is_medical(word: str) -> bool:
    """A disease, a complaint, a treatment or a drug, by the word or its parts; nobody who treats."""
    told = family_of(word) in ("disease", "procedure", "symptom") and not word.endswith(_WHO)
    return word in _HEALTH or is_drug(word) or told


def age_bands(values: Sequence[str]) -> bool:
    """Whether all are ranges of numbers that ages can have: 15-24, 70+, <40."""
    found = [_BAND.fullmatch(_YEARS.sub("", v.strip())) for v in values]
    hits = [int(g) for hit in found if hit is not None for g in hit.groups() if g is not None]
    bands = sum(hit is not None for hit in found)
    enough = bands == len(values) >= 2 or bands >= max(3, len(values) - 2)
    return enough and len(values) <= 40 and 30 <= max(hits) <= _OLDEST


def units(values: Sequence[str]) -> bool:
    """Whether all are units of measurement."""
    telling = any(len(v.strip()) > 1 or "%" in v for v in values)  # m and f are sexes
    return telling and 2 <= len(values) <= 200 and all(_UNIT.fullmatch(v.strip()) for v in values)


def pair_or_time(values: Sequence[str]) -> str:
    """Times of a day (14:05), or the upper and lower pressure of the blood (130/85)."""
    looked = [v.strip() for v in values[:300]]
    if len(looked) < 10:
        return ""
    if sum(_CLOCK.fullmatch(v) is not None for v in looked) >= 0.95 * len(looked):
        return "times of a day"
    pairs = [hit for v in looked if (hit := _PRESSURE.fullmatch(v))]
    fit = sum(60 <= int(hit[1]) <= 300 and int(hit[2]) <= int(hit[1]) for hit in pairs)
    return "blood pressures" if fit >= 0.9 * len(looked) else ""


def answers(values: Sequence[str], counts: Sequence[int]) -> bool:
    """Whether nearly all are answers to a question: how much, how often, how well."""
    if not 2 <= len(values) <= 12:
        return False
    hits = [
        n for v, n in zip(values, counts, strict=True) if _ANSWERS.intersection(words(v)) and len(v) <= _SHORT
    ]
    return len(hits) >= 2 and sum(hits) >= 0.7 * sum(counts)


def postcodes(values: Sequence[str]) -> str:
    """What kind of postcodes these different values are."""
    if len(values) < 10:
        return ""
    for what, form in _POSTCODES:
        if sum(form.fullmatch(v.strip().upper()) is not None for v in values) >= 0.95 * len(values):
            return what
    five = sum(_FIVE.fullmatch(v) is not None for v in values)
    zeros = sum(_LEADING_ZERO.fullmatch(v) is not None for v in values)
    return "five-digit codes with leading zeros, as of places" if five == len(values) and zeros else ""


def addresses(values: Sequence[str]) -> bool:
    """Whether nearly all are a street with a number."""
    looked = values[:500]
    if len(looked) >= 5 and sum(_EASTERN.search(v) is not None for v in looked) >= 0.8 * len(looked):
        return True
    hits = sum(_ADDRESS.fullmatch(v) is not None and _STREET.search(v) is not None for v in looked)
    return len(looked) >= 5 and hits >= 0.6 * len(looked)
