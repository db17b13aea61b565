"""More words of column names: Polish, Czech, Hungarian, Romanian, Turkish, Finnish.

As in `vocabulary`: small letters without accents.
"""

from __future__ import annotations

OTHERS = {
    "direct": (
        "logradouro logrado endereco taj nev csaladnev keresztnev lakcim jmeno prijmeni "
        "rodnecislo rodne nume prenume cnp adresa imie "
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
    "sex": "nem neme pohlavi pohlavie plec cinsiyet cinsiyeti sukup sukupuoli fml",
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
        "sido sigungu sgg lakhely megye telepules iranyitoszam "
        "varos villnum obec mesto kraj okres psc judet localitate oras "
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
        "affected "
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
