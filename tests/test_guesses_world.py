"""Files of other countries: headers in many languages and scripts, names of people, codes of surveys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.inference.names import read
from sfumato.inference.person_names import paired_words
from sfumato.inference.script_words import in_english

NAMING = (
    "Ονοματεπώνυμο|ΑΜΚΑ|Τηλέφωνο|ПІБ|РНОКПП|ФИО|Фамилия|ЕГН|Адрес|اسم المريض|رقم الهوية|رقم الجوال|"
    "نام خانوادگی|"
    "کد ملی|שם משפחה|תעודת זהות|טלפון נייד|氏名|フリガナ|患者ID|電話番号|姓名|身份证号|이름|주민등록번호|"
    "ชื่อ-สกุล|เลขประจำตัวประชาชน|नाम|मोबाइल नंबर|নাম|სახელი|Nama Pasien|NIK|Alamat|Họ tên|CCCD|"
    "Số điện thoại|"
    "Ime i prezime|OIB|JMBG|Priimek|EMŠO|Vardas|Asmens kodas|Uzvārds|Eesnimi|Isikukood|Kennitala|Nafn|"
    "Cognoms|Abizena|Jina|Adı Soyadı|T.C. Kimlik No|Cep Telefonu|Nazwisko|Imię|Meno|Pangalan|Cédula|RUT"
)
KNOWN = {
    "sex": "Φύλο|Стать|Пол|الجنس|جنسیت|מין|性別|성별|เพศ|लिंग|Jenis Kelamin|Giới tính|"
    "Spol|Lytis|Dzimums|Sugu|Kyn|Płeć|Jinsia",
    "birth": "Ημερομηνία Γέννησης|Дата народження|تاريخ الميلاد|תאריך לידה|生年月日|วันเกิด|जन्म तिथि|Tgl Lahir|"
    "Ngày sinh|Datum rođenja|Gimimo data|Sünniaeg|Doğum Tarihi|Data urodzenia",
    "diagnosis": "Διάγνωση|Діагноз|التشخيص|אבחנה|主病名|วินิจฉัย|Diagnosa Utama|Chẩn đoán|"
    "Dijagnoza|Diagnoos|Tanı",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMING.split("|"))
def test_a_header_that_names_people_is_read_in_many_languages(name: str) -> None:
    assert read(name).first("direct", "number", "personnumber"), read(name)


@pytest.mark.parametrize(("concept", "name"), [(c, n) for c, ns in KNOWN.items() for n in ns.split("|")])
def test_a_header_of_what_others_know_or_want_is_read(concept: str, name: str) -> None:
    assert concept in read(name), read(name)


def test_a_part_of_a_word_is_not_the_word() -> None:
    assert "sex" not in read("Полис")  # a policy, not the sex that its first letters spell
    assert in_english("患者ID") == "patient ID"
    assert in_english("Größe") == "Größe"


FIRST = ["محمد", "أحمد", "فاطمة", "علي", "نورة", "خالد", "سارة", "يوسف"]
LAST = ["العتيبي", "الغامدي", "القحطاني", "الحربي", "الشمري", "الدوسري"]
SURNAMES, GIVEN = ["Ó Briain", "Novak", "Li", "Sato", "Dee"], ["Ana", "Ivo", "Mia", "Jo", "Xu"]
PARTS = ["knee", "hip", "hand", "foot", "arm", "leg", "ear", "eye", "toe", "rib"]


def test_first_names_and_surnames_are_seen_by_how_they_pair() -> None:
    assert paired_words([f"{a} {b}" for a in FIRST for b in LAST])
    assert paired_words([f"{a}, {b}" for a in SURNAMES for b in GIVEN])
    kinds = ["Acute bronchitis", "Acute appendicitis", "Acute sinusitis", "Chronic sinusitis"]
    assert not paired_words([f"{k} {i}" for k in kinds for i in range(9)])  # numbers are no names
    assert not paired_words([f"{side} {w}" for w in PARTS for side in ("Left", "Right", "Whole")])


def _survey(columns: dict[str, object]) -> sf.Schema:
    return sf.scan(pa.table(columns)).schema


def test_a_survey_of_codes_alone_is_about_people() -> None:
    rng = np.random.default_rng(5)
    rows = 600
    codes = {f"B4K{i}": rng.integers(1, 2 + i, rows) for i in (1, 4, 5, 6, 8)}
    answers = {f"D0{i}": rng.integers(1, 3, rows) for i in (1, 2, 3, 4)}
    schema = _survey({**codes, "B4K7": rng.integers(0, 96, rows), **answers})
    assert all(str(schema[name].role) == "quasi-identifier" for name in (*codes, "B4K7"))
    assert all(str(schema[name].role) == "sensitive" for name in answers)


def test_what_all_names_begin_with_says_nothing_of_one_column() -> None:
    rng = np.random.default_rng(6)
    ages = rng.integers(0, 96, 500)
    columns = {f"ER{30_000 + 7 * i}": rng.integers(1, 6, 500) for i in range(9)} | {"ER34504": ages}
    schema = _survey(columns)
    assert str(schema["ER34504"].role) == "quasi-identifier"
    assert not any("'er'" in schema[name].reason and "diagnosis" in schema[name].reason for name in columns)
    items = {"id": np.arange(500), **{f"dx{i}": rng.integers(1, 900, 500) for i in range(1, 12)}}
    assert str(_survey(items)["dx3"].role) == "sensitive"  # eleven diagnoses stay diagnoses


def test_numbers_that_many_people_share_name_nobody() -> None:
    rng = np.random.default_rng(7)
    products = 10**13 + rng.integers(0, 10**12, 150)
    schema = _survey(
        {
            "patient_id": rng.integers(10**7, 10**8, 1_000)[rng.integers(0, 1_000, 3_000)],
            "product_group": products[rng.integers(0, 150, 3_000)],
            "xprs": products[rng.integers(0, 150, 3_000)],
        }
    )
    assert str(schema["patient_id"].role) == "person"
    assert str(schema["product_group"].role) == "quasi-identifier"
    assert "share" in schema["product_group"].reason
    assert str(schema["xprs"].role) == "identifier"  # nothing says of what: doctors' numbers are shared too
    assert "of those who treat" in schema["xprs"].reason


def test_labels_of_a_file_say_what_its_codes_do_not() -> None:
    from sfumato.inference import infer
    from sfumato.schema import Column, Kind, Schema

    rng = np.random.default_rng(8)
    table = pa.table({name: rng.integers(1, 3, 300) for name in ("er32000", "q7", "q8", "q9")})
    hints = Schema(
        (
            Column("er32000", Kind.NOMINAL, type="integer", description="Sex of individual"),
            Column("q7", Kind.NOMINAL, type="integer", labels={"1": "Male", "2": "Female"}),
            Column("q8", Kind.NOMINAL, type="integer", labels={"1": "Married", "2": "Never married"}),
            Column("q9", Kind.NOMINAL, type="integer", labels={"1": "Asthma", "2": "Diabetes"}),
        )
    )
    found = infer(table, hints=hints)
    assert [str(found[n].role) for n in ("er32000", "q7", "q8", "q9")] == ["quasi-identifier"] * 3 + [
        "sensitive"
    ]
    assert "the labels of its codes are sexes" in found["q7"].reason


def test_few_remarks_may_name_people_too() -> None:
    said = ["call her sister Anna", "seen again in May", "as agreed with Ms Li"] * 200
    schema = _survey({"age": np.arange(600) % 90, "comment": said})
    assert str(schema["comment"].role) == "identifier"


def test_words_that_nothing_explains_may_name_people_but_codes_do_not() -> None:
    spelt = ["".join("aeioulmnrst"[(i // 11**k) % 11] for k in range(4)) for i in range(600)]
    codes = [f"{'EV'[i % 2]}{i % 300:03d}" if i % 3 == 0 else f"{i * 7 % 5000:04d}" for i in range(600)]
    schema = _survey({"age": np.arange(600) % 90, "zz": spelt, "kk": codes})
    assert str(schema["zz"].role) == "identifier" and str(schema["kk"].role) != "identifier"
