"""More words of column names: Polish, Czech, Hungarian, Romanian, Turkish, Finnish; other scripts.

As in `vocabulary`: small letters without accents. Names in other scripts are read by the parts they hold,
each put into an English word that `vocabulary` knows.
"""

from __future__ import annotations

OTHERS = {
    "direct": (
        "taj nev csaladnev keresztnev lakcim jmeno prijmeni rodnecislo rodne nume prenume cnp adresa imie "
        "imiona nazwisko pesel adres ulica komorka soyad soyadi adi adsoyad isim kimlik tckimlik tckn "
        "telefonu etunimi sukunimi nimi hetu henkilotunnus osoite puhelin sahkoposti imei mac macaddress"
    ),
    "number": "szam torzsszam cislo numar numer nr numara numarasi protokol tunnus numero serial sn",
    "person": (
        "beteg paciens pacient pacienta pacjent pacjenta hasta hastanin potilas henkilo device handset "
        "smartphone wearable"
    ),
    "record": (
        "chorobopis chorobopisu foaie observatie fo ksiega ksiegi historia choroby karta dosya basvuru "
        "yatis kaynti hoitojakso"
    ),
    "age": "kor eletkor vek varsta wiek yas yasi ika ikaryhma dage fage mage momage dadage",
    "sex": "neme pohlavi pohlavie plec cinsiyet cinsiyeti sukup sukupuoli fml",
    "birth": (
        "szuletesi szuletes narozeni narodenia nastere nasterii urodzenia urodzony dogum syntyma "
        "syntymaaika syntymavuosi"
    ),
    "race": "mig migrationsstatus rasa irk etnik",
    "marital": (
        "csaladi allapot divorced separated widowed nevermarried cohab rodinny stav staresivila starecivila "
        "civila stareacivila cywilny stancywilny medeni medenihal evli siviilisaaty sivs"
    ),
    "education": (
        "vegzettseg iskola vzdelani vzdelanie studii scoala wyksztalcenie egitim okul koulutus schooling "
        "yedu educdec"
    ),
    "work": (
        "foglalkozas munka zamestnani povolani ocupatie profesie loc zawod praca zatrudnienie meslek "
        "meslegi calisma ammatti tyo empl selfemp"
    ),
    "nation": (
        "allampolgarsag obcanstvi narodnost cetatenie nationalitate obywatelstwo narodowosc uyruk "
        "vatandaslik kansalaisuus"
    ),
    "language": "jezyk kieli aidinkieli",
    "religion": "nabozenstvi religie wyznanie uskonto",
    "family": "dzieci liczbadzieci cocuk lapset kids kidslt children",
    "place": (
        "lakhely megye telepules iranyitoszam varos villnum obec mesto kraj okres psc judet localitate oras "
        "comuna codpostal koord koordinate koordinaten coord coordinate coordinates rechtswert hochwert "
        "easting northing miejscowosc miasto wojewodztwo powiat gmina pocztowy kodpocztowy zamieszkania "
        "ilce mahalle posta postakodu sehir kunta kotikunta postinumero maakunta"
    ),
    "site": (
        "korhaz osztaly orvos nemocnice oddeleni lekar spital sectie szpital oddzial przychodnia lekarz "
        "poradnia hastane poliklinik doktor sairaala osasto laakari"
    ),
    "event": (
        "felvetel tavozas prijeti propusteni internarii externarii internare externare przyjecia wypisu "
        "wypis przyjecie yatis cikis taburcu muayene tulopvm lahtopvm tulo lahto"
    ),
    "death": "halal umrti deces decesului zgon zgonu olum vefat kuolema kuolpvm dth",
    "stay": "hoitopv pobytu dlugoscpobytu",
    "insurance": (
        "pojistovna asigurare ubezpieczenie ubezpieczenia ubezpieczyciel sigorta vakuutus payor payer"
    ),
    "diagnosis": (
        "bno diagnozis diagnoza diagnostic rozpoznanie rozpoznania tani tanisi diagnoosi pdgo dgn "
        "causeofdeath"
    ),
    "procedure": (
        "usedent vykon operace interventie tratament zabieg operacja leczenie ameliyat tedavi toimenpide "
        "treat trt arm treatment rx randomized"
    ),
    "drug": "medicament lieky steroids steroid leki ilac ilaci laake dawka doz annos dose dosage",
    "disease": (
        "choroba choroby cukrzyca nadcisnienie hastalik seker tansiyon sairaus verenpaine diabeetikko"
    ),
    "lab": (
        "vercukor eredmeny vysledek rezultat glicemie cholesterol measurement observation wynik badanie "
        "sonuc tahlil tulos abnormal reading assay"
    ),
    "vital": "vernyomas tlak tensiune cisnienie tetno nabiz syke verenpaine",
    "body": "suly magassag vaha vyska greutate inaltime waga wzrost paino pituus",
    "behaviour": (
        "dohanyzik dohanyzas alkohol kurak koureni fumator fumat palenie palacy sigara icki tupakointi "
        "tupakoi smk smoke smoker attempts"
    ),
    "health": (
        "teeth restorations extractions caries mallampati zdrowie saglik terveys karno karnofsky ecog"
    ),
    "outcome": "relapse recurrence recur survival survived censor censored",
    "money": (
        "koltseg castka naklady uhrada suma kwota koszt refundacji oplata ucret tutar fiyat maksu hinta"
    ),
    "income": "dochod gelir tulot",
    "date": "datuma datum dat rok data tarih tarihi tarihli paivamaara pvm pv",
    "count": "hours hrs per",
    "psu": "clust cluster",
    "stratum": "strat pstrat",
    "text": "uwagi opis notlar aciklama huomautus",
}  # fmt: skip

_SCRIPTS = """
name 姓名 氏名 名前 이름 성명 фамилия имя όνομα επώνυμο الاسم שם
patient 患者 病人 환자 пациент ασθενής
passport 身份证 身分證 护照 주민등록 паспорт снилс αμκα
number 编号 番号 號碼 号码 번호 номер αριθμός
caseid 住院号 病案号 病历号 病歷號 カルテ
telephone 电话 手机 電話 전화 телефон τηλέφωνο
address 地址 住所 주소 адрес διεύθυνση
email 邮箱 メール 이메일
sex 性别 性別 성별 пол φύλο
age 年龄 年齡 年齢 연령 나이 возраст ηλικία
birth 出生 生年 생년 рождения γέννησης
date 日期 年月日 날짜 일자 дата ημερομηνία
admission 入院 입원 поступления εισαγωγή
discharge 出院 退院 퇴원 выписки εξιτήριο
diagnosis 诊断 診断 診斷 病名 진단 диагноз διάγνωση
ethnicity 民族 民族别
birthplace 籍贯 出身地
marital 婚姻 婚姻状况 결혼 семейное οικογενειακή
occupation 职业 職業 직업 профессия επάγγελμα
education 学历 文化程度 学歴 학력 образование εκπαίδευση
nationality 国籍 국적 гражданство υπηκοότητα
cost 费用 費用 金额 비용 стоимость κόστος
bloodpressure 血压 血圧 收缩压 舒张压 혈압 давление πίεση
glucose 血糖 혈당 глюкоза γλυκόζη
drug 药 薬 藥 약물 лекарство препарат φάρμακο
surgery 手术 手術 수술 операция επέμβαση
death 死亡 사망 смерти θανάτου
hospital 医院 病院 醫院 병원 больница νοσοκομείο
doctor 医生 医師 醫師 의사 врач ιατρός
ward 科室 診療科 진료과 отделение κλινική
region 省 市 県 區 지역 область город район περιφέρεια πόλη
postcode 邮编 郵便 우편 индекс
smoking 吸烟 喫煙 흡연 курение κάπνισμα
alcohol 饮酒 飲酒 음주 алкоголь αλκοόλ
result 结果 結果 결과 результат αποτέλεσμα
insurance 保险 保険 보험 страховка ασφάλιση
height 身高 身長 키 рост ύψος
weight 体重 체중 вес βάρος
symptom 症状 증상 симптом жалобы σύμπτωμα
history 病史 既往 병력 анамнез ιστορικό
"""
_PARTS = tuple(
    (part, word)
    for word, *parts in (line.split() for line in _SCRIPTS.strip().splitlines())
    for part in parts
)


def in_english(name: str) -> str:
    """The English words for the parts of a name in another script; the name itself in ours."""
    small = name.lower()
    if small.isascii() or all(ord(c) < 0x250 for c in small):
        return name
    return " ".join(word for part, word in _PARTS if part in small)
