"""Chapters and blocks of ICD-9-CM and ICD-10-CM, by category: which codes belong together.

Facts of two classifications of the United States' government, in the public domain: ICD-9-CM, sixth edition,
October 2011, and the ICD-10-CM tabular list (both National Center for Health Statistics and Centers for
Medicare & Medicaid Services). Every category was held against lists of others: the 1,957 of simple_icd_10_cm
1.5.0 and the 1,234 of ICD-9-CM lie in the same block. The names of chapters are short ones of ours. Other
countries' ICD-10 has the same chapters and nearly the same blocks; a category between two blocks is put with
the rest of its chapter.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from types import MappingProxyType

_ICD9_CHAPTERS = (
    ("001", "139", "infectious and parasitic"), ("140", "239", "neoplasms"),
    ("240", "279", "endocrine, nutritional, metabolic, immunity"), ("280", "289", "blood"),
    ("290", "319", "mental"), ("320", "389", "nervous system and senses"), ("390", "459", "circulatory"),
    ("460", "519", "respiratory"), ("520", "579", "digestive"), ("580", "629", "genitourinary"),
    ("630", "679", "pregnancy and childbirth"), ("680", "709", "skin"), ("710", "739", "musculoskeletal"),
    ("740", "759", "congenital"), ("760", "779", "perinatal"), ("780", "799", "symptoms"),
    ("800", "999", "injury and poisoning"), ("E000", "E999", "external causes"),
    ("V01", "V91", "health status and contacts"),
)  # fmt: skip
_ICD9_BLOCKS = """
001-009 010-018 020-027 030-041 042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129
130-136 137-139 140-149 150-159 160-165 170-176 179-189 190-199 200-208 209 210-229 230-234 235-238 239
240-246 249-259 260-269 270-279 280-289 290-299 300-316 317-319 320-326 327 330-337 338 339 340-349 350-359
360-379 380-389 390-392 393-398 401-405 410-414 415-417 420-429 430-438 440-449 451-459 460-466 470-478
480-488 490-496 500-508 510-519 520-529 530-539 540-543 550-553 555-558 560-569 570-579 580-589 590-599
600-608 610-612 614-616 617-629 630-633 634-639 640-649 650-659 660-669 670-677 678-679 680-686 690-698
700-709 710-719 720-724 725-729 730-739 740-759 760-763 764-779 780-789 790-796 797-799 800-829 830-839
840-848 850-854 860-869 870-897 900-904 905-909 910-919 920-924 925-929 930-939 940-949 950-957 958-959
960-979 980-989 990-995 996-999 V01-V06 V07-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82
V83-V84 V85 V86 V87 V88 V89 V90 V91 E000 E001-E030 E800-E848 E849 E850-E858 E860-E869 E870-E876 E878-E879
E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929 E930-E949 E950-E959 E960-E969 E970-E978 E979
E980-E989 E990-E999
"""
_ICD10_CHAPTERS = (
    ("A00", "B99", "infectious and parasitic"), ("C00", "D49", "neoplasms"),
    ("D50", "D89", "blood and immunity"), ("E00", "E89", "endocrine, nutritional, metabolic"),
    ("F01", "F99", "mental"), ("G00", "G99", "nervous system"), ("H00", "H59", "eye"),
    ("H60", "H95", "ear"), ("I00", "I99", "circulatory"), ("J00", "J99", "respiratory"),
    ("K00", "K95", "digestive"), ("L00", "L99", "skin"), ("M00", "M99", "musculoskeletal"),
    ("N00", "N99", "genitourinary"), ("O00", "O9A", "pregnancy and childbirth"),
    ("P00", "P96", "perinatal"), ("Q00", "QA0", "congenital"), ("R00", "R99", "symptoms"),
    ("S00", "T88", "injury and poisoning"), ("U00", "U85", "special purposes"),
    ("V00", "Y99", "external causes"), ("Z00", "Z99", "health status and contacts"),
)  # fmt: skip
_ICD10_BLOCKS = """
A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A90-A99 B00-B09 B10 B15-B19 B20
B25-B34 B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B97 B99 C00-C14 C15-C26 C30-C39 C40-C41 C43-C44+C4A
C45-C49 C50 C51-C58 C60-C63 C64-C68 C69-C72 C73-C75 C76-C80 C7A C7B C81-C96 D00-D09 D10-D36 D37-D48 D3A
D49 D50-D53 D55-D59 D60-D64 D65-D69 D70-D77 D78 D80-D89 E00-E07 E08-E13 E15-E16 E20-E35 E36 E40-E46
E50-E64 E65-E68 E70-E88 E89 F01-F09 F10-F19 F20-F29 F30-F39 F40-F48 F50-F59 F60-F69 F70-F79 F80-F89
F90-F98 F99 G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 G60-G65 G70-G73 G80-G83 G89-G99
H00-H05 H10-H11 H15-H22 H25-H28 H30-H36 H40-H42 H43-H44 H46-H47 H49-H52 H53-H54 H55-H57 H59 H60-H62
H65-H75 H80-H83 H90-H94 H95 I00-I02 I05-I09 I10-I16+I1A I20-I25 I26-I28 I30-I52+I5A I60-I69 I70-I79
I80-I89 I95-I99 J00-J06 J09-J18 J20-J22 J30-J39 J40-J47+J4A J60-J70 J80-J84 J85-J86 J90-J94 J95 J96-J99
K00-K14 K20-K31 K35-K38 K40-K46 K50-K52 K55-K64 K65-K68 K70-K77 K80-K87 K90-K95 L00-L08 L10-L14 L20-L30
L40-L45 L49-L54 L55-L59 L60-L75 L76 L80-L99 M00-M02 M04 M05-M14+M1A M15-M19 M20-M25 M26-M27 M30-M36
M40-M43 M45-M49 M50-M54 M60-M63 M65-M67 M70-M79 M80-M85 M86-M90 M91-M94 M95 M96 M97 M99 N00-N08 N10-N16
N17-N19 N20-N23 N25-N29 N30-N39 N40-N53 N60-N65 N70-N77 N80-N98 N99 O00-O08 O09 O10-O16 O20-O29 O30-O48
O60-O77 O80-O82 O85-O92 O94-O9A P00-P04 P05-P08 P09 P10-P15 P19-P29 P35-P39 P50-P61 P70-P74 P76-P78
P80-P83 P84 P90-P96 Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89
Q90-Q99 QA0 R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 R80-R82 R83-R89
R90-R94 R97 R99 S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99 T07 T14
T15-T19 T20-T25 T26-T28 T30-T32 T33-T34 T36-T50 T51-T65 T66-T78 T79 T80-T88 U00-U49 V00-V09 V10-V19
V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V79 V80-V89 V90-V94 V95-V97 V98-V99 W00-W19 W20-W49 W50-W64
W65-W74 W85-W99 X00-X08 X10-X19 X30-X39 X50 X52-X58 X71-X83 X92-Y09 Y21-Y33 Y35-Y38 Y62-Y69 Y70-Y82
Y83-Y84 Y90-Y99 Z00-Z13 Z14-Z15 Z16 Z17 Z18 Z19 Z20-Z29 Z30-Z39+Z3A Z40-Z53 Z55-Z65 Z66 Z67 Z68 Z69-Z76
Z77-Z99
"""
UNKNOWN = "not in the classification"


class CategoryGroups(dict[str, tuple[str, str]]):
    """Block and chapter of every category; what is none of the classification's is a group of its own."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> tuple[str, str]:
        return UNKNOWN, UNKNOWN


@cache
def icd9_groups() -> MappingProxyType[str, tuple[str, str]]:
    """Block and chapter of each category of ICD-9-CM."""
    numbers = [f"{n:03}" for n in range(1, 1000)]
    letters = [*(f"V{n:02}" for n in range(1, 92)), *(f"E{n:03}" for n in range(1000))]
    return MappingProxyType(_grouped([*numbers, *letters], _ICD9_BLOCKS, _ICD9_CHAPTERS))


@cache
def icd10_groups() -> MappingProxyType[str, tuple[str, str]]:
    """Block and chapter of each category of ICD-10."""
    third = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    codes = [a + b + c for a in third[10:] for b in third[:10] for c in third]
    return MappingProxyType(_grouped([*codes, "QA0"], _ICD10_BLOCKS, _ICD10_CHAPTERS))


def _grouped(codes: list[str], blocks: str, chapters: tuple[tuple[str, str, str], ...]) -> CategoryGroups:
    block_of: dict[str, str] = {}
    for text in blocks.split():
        block, *more = text.split("+")  # C43-C44+C4A: a category with a letter that belongs to the block, too
        first, _, last = block.partition("-")
        inside = [c for c in codes if first <= c <= (last or first)]
        for code in (*inside, *more):
            wider = block_of.get(code)  # of C76-C80 and C7A the narrower one
            if wider is None or wider.partition("-")[0] < first:
                block_of[code] = f"{first}-{last or first}"  # 042-042: the code is 042
    heads = sorted(chapters)
    out = CategoryGroups()
    for code in codes:
        place = bisect_right([first for first, _, _ in heads], code) - 1
        if place < 0:
            continue
        first, last, name = heads[place]
        chapter = f"{first}-{last} {name}"
        out[code] = (block_of.get(code, f"{first}-{last} other"), chapter)
    return out
