"""What the name of a column says about its role, in English, German and French.

Names are cut into words (`BENE_BIRTH_DT` -> bene, birth, dt; `patientId` -> patient, id) and whole words
are compared: 'sex' is not in 'essex', nor 'age' in 'percentage'.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_CUT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHARP = str.maketrans({"ß": "ss", "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names of people and what leads straight to them.
DIRECT = _set(
    "mrn ssn name vorname nachname familienname surname firstname lastname forename fullname email "
    "mail phone telephone telefon telefonnummer tel mobile handy fax address adresse street strasse "
    "rue iban passport reisepass ausweis sozialversicherungsnummer svnr ahv nir nss prenom nom "
    "courriel username login ip licence license versichertennummer kvnr nhs medicareid insee"
)
# Words that say a number stands for something.
NUMBERING = _set(
    "id ids nr nbr no num number nummer numero key identifier ident identifiant kennung kennzeichen "
    "uuid guid pid pseudonym pseudonyme token hash rownames rowname rownum"
)
PERSON = _set(
    "patient patients person pers member subject beneficiary bene versicherter versicherte assure "
    "individu personne participant respondent proband enrollee client mitglied teilnehmer enfant kind "
    "resident"
)
PERSON_ALONE = _set(
    "patientid personid memberid subjectid subjid usubjid dupersid patid patnr patientennummer "
    "patientennr pid persnr personennummer beneid medrecno panelid"
)
# Numbers of these do not name a person: they are places, files and lists.
NOT_A_PERSON = _set(
    "provider prvdr hospital facility clinic klinik krankenhaus hopital clinique physician physn "
    "doctor arzt aerztin medecin npi drug medication product test lab type source disposition status "
    "category file column variable plan payer department ward station county state city region "
    "country household group level code site centre center school event visit segment version batch"
)
_PLACE = _set(
    "zip zipcode zcta postal postcode postalcode plz postleitzahl postale county counties landkreis "
    "kreis departement department region state bundesland province provinz canton kanton city town "
    "stadt ville ort wohnort commune municipality gemeinde country land staat pays residence residenz "
    "domicile district msa fips census tract nuts location metro hsa hrr"
)
_PERSONAL = _set(
    "age ages alter sex gender geschlecht sexe genre birth birthdate birthday birthyear dob yob born "
    "geburt geburtsdatum geburtsjahr geburtstag naissance nee nationality nationalitaet "
    "staatsangehoerigkeit nationalite citizenship race races ethnicity ethnic ethnie ethnizitaet "
    "hispanic hisp marital marriage married marry maristat familienstand zivilstand matrimonial "
    "matrimoniale civil education educ educyr bildung schulabschluss diplome etudes occupation occup "
    "job beruf profession metier workclass employment employer relationship religion konfession "
    "language sprache langue famsize famsze female male veteran death dod decease deceased died "
    "todesdatum sterbedatum deces tod haushaltsgroesse"
)
_EVENT = _set("admission admit admsn aufnahme discharge dschrg entlassung sortie dispo entree")
_CARE_SITE = _set(
    "hospital facility provider prvdr clinic klinik krankenhaus spital hopital clinique physician "
    "physn npi doctor arzt medecin surgeon station etablissement"
)
_DATE_WORD = _set("date dates dt datum day tag jour year jahr annee month monat mois time zeit")
SENSITIVE = _set(
    "diagnosis diagnoses diag dx dxs icd dgns diagnose diagnosen diagnostic diagnostics drug drugs "
    "medication medications medikament medikamente medicament medicaments rx atc ndc disease diseases "
    "krankheit erkrankung maladie condition conditions comorbidity komorbiditaet cost costs kosten "
    "cout couts charge charges payment payments pmt pymt pppymt amount amt montant betrag reimb "
    "medreimb reimbursement expenditure expenditures expend exp totexp depenses depense income "
    "incomes einkommen salaire revenu revenus salary gehalt lohn wage wages capital hiv aids cancer "
    "krebs cncr diabetes diabete chf copd esrd ckd depression depressn stroke asthma hypertension "
    "procedure procedures prcdr prozedur acte ops drg ccsr hcpcs cpt result results resultat ergebnis "
    "outcome glucose glu serum bmi cholesterol insulin hba1c readmitted readmission readmit smoking "
    "smoker rauchen tabac alcohol alkohol alcool mental therapy therapie treatment behandlung "
    "traitement severity mortality deathrisk pregnant pregnancy pregnancies schwanger schwangerschaft "
    "grossesse disability behinderung handicap injury symptom symptoms allergy allergie debt "
    "deathcause todesursache illness"
)
_WEIGHT_NAMES = _set(
    "fnlwgt perwt finalwt finalwgt pweight sampwt svywt survwt hhwt wtmec wtint llcpwt "
    "hochrechnungsfaktor gewichtungsfaktor ponderation pond sampleweight surveyweight"
)
_WEIGHT = _set("weight weights wt wgt wts gewicht gewichtung poids")
_SURVEY = _set(
    "survey final sample sampling person household replicate design calibrated calibration exam "
    "interview stat analysis full probability inverse llcp umfrage stichprobe enquete sondage"
)
# A number under such a name is a code for something, not a quantity.
CODED = (
    _PLACE
    | NUMBERING
    | _set(
        "sex gender geschlecht sexe race ethnicity marital maristat code cd codes type typ cat category "
        "status class drg icd icd9 icd10 dx diag npi apc ccsr hcpcs cpt ndc atc occupation beruf "
        "profession workclass ident"
    )
) - _set("no num number")


def words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters and without accents."""
    plain = unicodedata.normalize("NFKD", name.translate(_SHARP)).encode("ascii", "ignore").decode()
    return tuple(part.lower() for part in _CUT.findall(plain))


def is_about(name: str, vocabulary: frozenset[str]) -> str:
    """The first word of the name that is in the vocabulary; two words count as one if written together."""
    parts = words(name)
    joined = ("".join(pair) for pair in pairwise(parts))
    return next((word for word in (*parts, *joined) if word in vocabulary), "")


def codes_for(name: str) -> str:
    """The last word of the name, numbers aside, if it says that a number is a code."""
    last = next((word for word in reversed(words(name)) if not word.isdigit()), "")
    return last if last in CODED else ""


def quasi_identifier(name: str) -> str:
    """Why an intruder may know the column, or nothing."""
    personal = is_about(name, _PERSONAL)
    if personal:
        return f"'{personal}' is known about people"
    place = is_about(name, _PLACE)
    if place:
        return f"'{place}' is a place"
    event = is_about(name, _EVENT)
    if event and is_about(name, _DATE_WORD):
        return f"'{event}' is an event others notice"
    site = is_about(name, _CARE_SITE)
    return f"'{site}' is a place of care" if site else ""


def weight(name: str) -> str:
    """'survey' if the name says survey weight, 'unclear' if it may be the weight of a body, or nothing."""
    if is_about(name, _WEIGHT_NAMES):
        return "survey"
    if is_about(name, _WEIGHT):
        return "survey" if is_about(name, _SURVEY) else "unclear"
    return ""
