"""Values that say by themselves what a column holds: sexes, marital states, places, postcodes, names.

Words in six languages, small letters without accents. A column counts where nearly all of its rows hold
words of one list, and at least two of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from sfumato.inference.morphology import is_drug
from sfumato.inference.names import words
from sfumato.inference.vocabulary import word_set, words_of

_SHARE = 0.9
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
    )
)  # fmt: skip
_GIVEN = (
    "james john robert michael william david richard joseph thomas charles mary patricia jennifer linda "
    "elizabeth barbara susan jessica sarah karen daniel matthew anthony mark donald steven paul andrew "
    "joshua kevin brian george emily emma olivia sophia isabella mia charlotte amelia harper evelyn "
    "ashley kimberly michelle amanda melissa stephanie rebecca laura anna hans peter klaus wolfgang "
    "juergen dieter manfred helmut guenter heinz karl stefan andreas markus christian sebastian tobias "
    "felix lukas jonas leon ursula renate monika petra sabine claudia birgit heike greta clara jan jean "
    "pierre michel philippe alain nicolas marie nathalie isabelle sylvie catherine francoise camille lea "
    "manon jose antonio juan manuel francisco luis javier carlos miguel rosa carmen maria josefa isabel "
    "dolores pilar marta elena ines giuseppe giovanni francesco marco luca andrea alessandro rosa giulia "
    "francesca chiara sara valentina jeroen sander bart pieter johannes cornelis willem henk kees anneke "
    "johanna sanne daan sem noah liam lucas hugo nils olga ben tom paul karin"
)
_SURNAMES = (
    "smith johnson williams brown jones miller davis garcia rodriguez wilson martinez anderson taylor "
    "thomas hernandez moore martin jackson thompson white lopez lee gonzalez harris clark lewis robinson "
    "walker perez hall young allen mueller schmidt schneider fischer weber meyer wagner becker schulz "
    "hoffmann koch bauer richter klein wolf schroeder neumann schwarz zimmermann braun krueger keller "
    "bernard dubois durand moreau laurent simon michel lefebvre leroy roux fournier girard bonnet dupont "
    "fernandez sanchez gomez diaz moreno alvarez jimenez ruiz romero torres navarro rossi russo ferrari "
    "esposito bianchi romano colombo ricci marino greco bruno gallo conti jansen de vries van bakker "
    "visser smit meijer bos mulder peters hendriks dekker brouwer nguyen patel singh khan kim kowalski "
    "nowak silva santos oliveira souza"
)
_NAMES = frozenset(w for word in (_GIVEN + " " + _SURNAMES).split() for w in words(word))
_RESULTS = word_set(
    "positive negative borderline equivocal indeterminate reactive nonreactive positiv negativ positif "
    "negatif positivo negativo positief negatief pos neg abnormal pathological pathologisch"
)
_DEGREES = word_set(
    "mild moderate severe extreme minor major leicht mittel schwer leger modere severe leve moderado grave "
    "lieve moderato licht matig ernstig lett moderat alvorlig"
)
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
_GENOTYPE = re.compile(r"[ACGT][/|]?[ACGT]|[eE*]\d[/|][eE*]\d|[01][/|][01]")
_STAGE = re.compile(
    r"((?i:stage |stadium |stade ))?(?i:(0|I{1,3}|IV|VI{0,3})[ABC]?\d?)|[pcy]?[TNM][0-4X][a-d]{0,2}"
)
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
_POSTCODES = tuple(
    (what, re.compile(form))
    for what, form in (
        ("British postcodes", r"[A-Z]{1,2}\d[A-Z0-9]? ?\d[A-Z]{2}"),
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
_LEADING_ZERO = re.compile(r"0\d{4}")
_FIVE = re.compile(r"\d{5}")
_ADDRESS = re.compile(r"\d+[a-zA-Z]? [A-Z][\w.' -]+|[A-ZÄÖÜ][\w.'ß -]+ \d+ ?[a-zA-Z]?")
_STREET = re.compile(
    r"(street|st\.?|avenue|ave\.?|road|rd\.?|drive|dr\.?|lane|ln\.?|blvd\.?|boulevard|court|way|circle|"
    r"highway|"
    r"hwy|straat|laan|weg|strasse|straße|str\.|platz|allee|gasse|rue|place|calle|avenida|plaza|via|viale|"
    r"piazza|"
    r"corso)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"(Dr\.? |Mrs?\.? |Ms\.? )?[A-ZÀ-Þ][\w'’-]+,? (([A-ZÀ-Þ]\.?|[A-ZÀ-Þ][\w'’-]+) ?){1,3}")


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
        if sum(n for hit, n in hits if hit) < _SHARE * total or sum(bool(h) for h, _ in hits) < 2:
            continue
        if what == "sexes" and not any(hit & _SEX_CORE for hit, _ in hits):
            continue
        return what
    return ""


def genotypes(values: Sequence[str]) -> str:
    """Two letters of bases, or two numbered variants of a gene."""
    fitting = sum(_GENOTYPE.fullmatch(v.strip()) is not None for v in values)
    return "genotypes" if len(values) >= 2 and fitting == len(values) else ""


def health_words(values: Sequence[str], counts: Sequence[int]) -> str:
    """What a column of words says of people's health: results, how bad it is, stages, diseases, drugs."""
    total = sum(counts)
    if len(values) < 2:
        return ""
    for what, known in (("results", _RESULTS), ("degrees of severity", _DEGREES)):
        hits = [n for v, n in zip(values, counts, strict=True) if known.intersection(words(v))]
        if len(hits) >= 2 and sum(hits) >= _SHARE * total:
            return what
    stages = [v.strip() for v in values if _STAGE.fullmatch(v.strip())]
    hits = [n for v, n in zip(values, counts, strict=True) if v.strip() in stages]
    if len(hits) >= 3 and not all(v.isdigit() for v in stages) and sum(hits) >= 0.8 * total:
        return "stages"
    if len(values) >= 3 and all(_BLOOD.fullmatch(v.strip()) for v in values):
        return "blood groups"
    cells = [(words(v), n) for v, n in zip(values, counts, strict=True) if len(v) <= _SHORT]
    hits = [n for cell, n in cells if any(w in _HEALTH or is_drug(w) for w in cell)]
    return "diseases, complaints or drugs" if len(hits) >= 2 and sum(hits) >= 0.6 * total else ""


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
    hits = sum(_ADDRESS.fullmatch(v) is not None and _STREET.search(v) is not None for v in looked)
    return len(looked) >= 5 and hits >= 0.6 * len(looked)


def given_names(values: Sequence[str], counts: Sequence[int]) -> bool:
    """Whether many rows hold a common first name or surname, and nearly all a word or two with capitals."""
    if len(values) < 10:
        return False
    total = sum(counts)
    cells = [(words(v), v, n) for v, n in zip(values, counts, strict=True)]
    hits = sum(n for parts, _, n in cells if parts and len(parts) <= 3 and _NAMES.intersection(parts))
    looks = sum(
        n
        for parts, v, n in cells
        if v[:1].isupper() and 1 <= len(parts) <= 3 and not any(c.isdigit() for c in v)
    )
    return hits >= 0.25 * total and looks >= 0.9 * total


def people(values: Sequence[str], share_distinct: float) -> bool:
    """Whether nearly all are two to four words with capitals, as people's names are, and many differ."""
    looked = values[:500]
    if len(looked) < 20 or share_distinct < 0.2:
        return False
    return sum(_PERSON.fullmatch(v.strip()) is not None for v in looked) >= 0.9 * len(looked)


def paired_words(values: Sequence[str]) -> bool:
    """Whether the first words of cells go with several last ones each, and the last with several first ones.

    First names and surnames do, in every script; what else is said in two words hardly does.
    """
    cells = {tuple(v.split()) for v in values[:2_000]}
    named = [c for c in cells if 2 <= len(c) <= 4 and all(_is_name(word) for word in (c[0], c[-1]))]
    if len(named) < 20 or len(named) < 0.9 * len(cells):
        return False
    pairs = {(c[0].rstrip(","), c[-1]) for c in named}
    first, last = {a for a, _ in pairs}, {b for _, b in pairs}
    return min(len(first), len(last)) >= 5 and len(pairs) >= 2 * max(len(first), len(last))


def _is_name(word: str) -> bool:
    """A word that a name may have: letters alone, with a capital where the script has capitals."""
    letters = word.rstrip(",.").replace("-", "").replace("'", "").replace("’", "")
    spelt = letters.isalpha() or all(unicodedata.category(c)[0] in "LM" for c in letters)
    return len(letters) > 0 and spelt and not letters[0].islower()
