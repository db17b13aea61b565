"""Whether cells are names of people: by titles, by lists of names, by how first and last words go together.

A name of a person leads to one, whoever it is: patients, kin, doctors, nurses, who asked, who signed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from sfumato.inference.given_names import GIVEN
from sfumato.inference.letters import name_like
from sfumato.inference.morphology import is_drug
from sfumato.inference.names import words
from sfumato.inference.vocabulary import word_set

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
_NAMES = GIVEN | frozenset(w for word in _SURNAMES.split() for w in words(word))
_TITLE = re.compile(
    r"(Dr|DR|Prof|Mr|Mrs|Ms|Frau|Herr|Schw|Sig|Sra?|Dra|Dott|Mag|MUDr|Lek|lek|dr|prof)(\.|\b) ?[^\W\d_]"
)
_PERSON = re.compile(r"(Dr\.? |Mrs?\.? |Ms\.? )?[A-ZÀ-Þ][\w'’-]+,? (([A-ZÀ-Þ]\.?|[A-ZÀ-Þ][\w'’-]+) ?){1,3}")
_SHORT_WORDS = re.compile(r"([^\W\d_]{1,5}\.? ){1,2}[^\W\d_][\w'’-]+")  # N. Brennan, doc. MUDr. Laca
_BY_SURNAME = re.compile(r"([^\W\d_][^\W\d_'’.-]+(?: [^\W\d_][^\W\d_'’-]+)?), ?[^\W\d_][\w.'’ -]{0,30}")
_INITIALED = re.compile(  # Melnyk T. H., J.-P. Martin; in any script
    r"[^\W\d_][^\W\d_'’-]{2,},? ([^\W\d_]\.[ -]?){1,3}|([^\W\d_]\.[ -]?){1,3}[^\W\d_][^\W\d_'’-]{2,}"
)
_POINTED = re.compile(r"([A-ZÀ-ÞΑ-ΩА-ЯІЇЄ]\. ?){2,4}")
_DEGREE = re.compile(
    r"[^\W\d_]{2},? (MD|DO|RN|NP|PA|PA-C|PhD|DDS|DMD|MBBS|FRCS|CRNA|LCSW|PharmD|DPT|APRN|FNP|CNM|BSN|RPh)$"
)
_EASTERN = frozenset(  # the most common ones
    "王李張张刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹高彭曾肖田董袁潘于蒋蔣余杜叶葉程苏蘇"
    "魏吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆陸汪范石廖贾賈韦韋夏付方邹鄒熊孟秦邱江尹薛闫段雷侯龙龍史陶贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤"
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진엄"
)
_NO_TITLES = word_set("st ste sta sto skt sv san tab tbl inj cap caps syr susp sol amp fl dept abt no nr str")
_FEW = 4  # names from which on a short column of names is told
_GRID = 12  # different pairs of words, where one side has few


def given_names(values: Sequence[str], counts: Sequence[int]) -> bool:
    """Whether many rows hold a common first name or surname, and nearly all a word or two with capitals.

    Most rows, where there are fewer than ten names.
    """
    if len(values) < _FEW:
        return False
    total = sum(counts)
    cells = [(words(v), v, n) for v, n in zip(values, counts, strict=True)]
    found = [n for parts, _, n in cells if parts and len(parts) <= 3 and _NAMES.intersection(parts)]
    looks = sum(
        n
        for parts, v, n in cells
        if v[:1].isupper() and 1 <= len(parts) <= 3 and not any(c.isdigit() for c in v)
    )
    enough = 0.25 if len(values) >= 10 else 0.6
    return len(found) >= 3 and sum(found) >= enough * total and looks >= 0.9 * total


def people(values: Sequence[str], share_distinct: float) -> bool:
    """Whether nearly all are two to four words with capitals, as people's names are, and many differ."""
    looked = values[:500]
    if len(looked) < 20 or share_distinct < 0.2:
        return False
    return sum(_PERSON.fullmatch(v.strip()) is not None for v in looked) >= 0.9 * len(looked)


def titled(values: Sequence[str]) -> bool:
    """Whether most begin with the title of a person: Dr. Huber, Mrs Brown; or with a short word of one."""
    if len(values) < 2:
        return False
    if sum(_TITLE.match(v) is not None for v in values) > 0.6 * len(values) or degrees(values):
        return True
    if len(values) >= _FEW and sum(_INITIALED.fullmatch(v.strip()) is not None for v in values) >= 0.9 * len(
        values
    ):
        return True
    return len(values) >= 5 and (_after_short_words(values) or _after_ranks(values))


def eastern(values: Sequence[str]) -> bool:
    """Whether nearly all are names in Chinese or Korean: a common surname and one or two more signs."""
    found = [v[0] for v in (value.strip().replace(" ", "") for value in values) if 2 <= len(v) <= 4]
    first = [sign for sign in found if sign in _EASTERN]
    return len(values) >= 5 and len(first) >= 0.9 * len(values) and len(set(first)) >= 4


def initials(values: Sequence[str]) -> bool:
    """Whether nearly all are two to four capitals with points: A.L., J. M.; i.v. is a way to give a drug."""
    looked = values[:500]
    fitting = sum(_POINTED.fullmatch(v.strip()) is not None for v in looked)
    return len(looked) >= _FEW and fitting >= 0.9 * len(looked)


def by_surname(values: Sequence[str]) -> bool:
    """Whether nearly all are a surname, a comma and a first name or letters, with a degree or without."""
    cells = [_BY_SURNAME.fullmatch(v.strip()) for v in values]
    found = [c for c in cells if c is not None]
    return len(found) >= 3 and len(found) >= 0.9 * len(cells) and len({c.group(1) for c in found}) >= 3


def degrees(values: Sequence[str]) -> bool:
    """Whether most end in a degree of those who treat, and not in MD or PA alone: these are places, too."""
    ends = [hit.group(1) for v in values if (hit := _DEGREE.search(v.strip()))]
    return len(values) >= 3 and len(ends) > 0.6 * len(values) and bool({*ends} - {"MD", "PA"})


def _after_short_words(values: Sequence[str]) -> bool:
    """A name after one to two words cut short, of which there are few: N. Brennan, doc. Laca."""
    cells = [v.split() for v in values[:500] if _SHORT_WORDS.fullmatch(v.strip())]
    cells = [c for c in cells if any(w.endswith(".") for w in c[:-1]) and _is_name(c[-1])]
    first = {w.rstrip(".").lower() for c in cells for w in c[:-1]}
    if len(cells) < 0.9 * len(values[:500]) or first & _NO_TITLES or len(first) > max(3, len(cells) // 4):
        return False
    return not any(is_drug(c[-1].lower()) for c in cells) and len({c[-1] for c in cells}) >= 5


def _after_ranks(values: Sequence[str]) -> bool:
    """A rank in a few letters that several share, and a word with the letters of a name: OA Brunner."""
    cells = [v.replace(".", "", 1).split() for v in values[:500]]
    if not all(len(c) == 2 and 2 <= len(c[0]) <= 4 and c[0].isalpha() and _is_name(c[1]) for c in cells):
        return False
    ranks, last = {c[0].lower() for c in cells}, {c[1] for c in cells}
    if len(last) < 5 or len(last) < 1.5 * len(ranks) or ranks & _NO_TITLES:
        return False
    alike = name_like(sorted(last))
    return alike is not None and alike >= 1.0


def paired_words(values: Sequence[str]) -> bool:
    """Whether the first words of cells go with several last ones each, and the last with several first ones.

    First names and surnames do, in every script; what else is said in two words hardly does. Where one side
    has three or four words only, half of one side must be names that are known.
    """
    cells = _own_words({tuple(v.split()) for v in values[:2_000]})
    named = [c for c in cells if 2 <= len(c) <= 4 and all(_is_name(word) for word in (c[0], c[-1]))]
    if len(named) < _GRID or len(named) < 0.9 * len(cells):
        return False
    pairs = {(c[0].rstrip(","), c[-1]) for c in named}
    sides = {a for a, _ in pairs}, {b for _, b in pairs}
    few, many = sorted(map(len, sides))
    if len(pairs) < 2 * many or few < 3:
        return False
    return (few >= 5 and len(named) >= 20) or any(_are_known(side) for side in sides)


def known_pairs(values: Sequence[str]) -> bool:
    """Whether two words of cells go together as in `paired_words`, and names that are known among them."""
    cells = _own_words({tuple(v.split()) for v in values[:2_000]})
    sides = {c[0] for c in cells if c}, {c[-1] for c in cells if c}
    return paired_words(values) and any(_are_known(side) for side in sides)


def _are_known(side: set[str]) -> bool:
    return sum(bool(_NAMES.intersection(words(w))) for w in side) >= 0.5 * len(side)


def _own_words(cells: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The cells without a word that (nearly) all begin or end with: a rank, letters after a name."""
    for at in (0, -1):
        ends = [c[at] for c in cells if len(c) > 2]
        if len(ends) >= 0.9 * len(cells) > 0 and len(set(ends)) == 1:
            cells = {c[1:] if at == 0 else c[:-1] for c in cells if len(c) > 2}
    return cells


def spelt(texts: Sequence[str]) -> bool:
    """Nearly all words or names with a capital, of letters alone, none of them in capitals throughout."""
    named = sum(
        all(_is_name(w) for w in (t.split()[0], t.split()[-1])) and (len(t) < 4 or not t.isupper())
        for t in texts
        if t.strip()
    )
    return len(texts) > 0 and named >= 0.9 * len(texts)


def _is_name(word: str) -> bool:
    """A word that a name may have: letters alone, with a capital where the script has capitals."""
    letters = word.rstrip(",.").replace("-", "").replace("'", "").replace("’", "")
    spelt = letters.isalpha() or all(unicodedata.category(c)[0] in "LM" for c in letters)
    return len(letters) > 0 and spelt and not letters[0].islower()
