"""Words of column names, by what they are about: English, German, French, Spanish, Italian, Dutch.

Small letters without accents (ä is ae, ñ is n), abbreviations among them; a word may be about several
things.
Words of three letters or more also make up longer ones ('Fallnummer', 'geboortedatum'), see `names`.
"""

from __future__ import annotations

from sfumato.inference.clinical_words import CLINICAL
from sfumato.inference.further_words import FURTHER
from sfumato.inference.other_words import OTHERS
from sfumato.inference.register_words import REGISTER
from sfumato.inference.social_words import SOCIAL
from sfumato.inference.staff_words import STAFF
from sfumato.inference.world_words import WORLD


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_ABOUT = {
    # -- what leads to a person or a record ------------------------------------------------------------
    "direct": (
        "mrn ssn name names surname firstname lastname forename fullname givenname maiden email mail "
        "emailaddress phone telephone mobile fax address street passport username login initials licence "
        "license drivers vin ipaddress photo fingerprint iban creditcard accountnumber nhs nhsno newnhsno "
        "nhsnumber hicn mbi homeadd aadhaar cpf cpr fodselsnummer personnummer pesel vorname nachname "
        "familienname geburtsname zuname rufname telefon telefonnummer telnr tel handy handynummer "
        "adresse anschrift strasse hausnummer hausnr reisepass ausweis ausweisnummer "
        "sozialversicherungsnummer svnr sozialversicherungsnr versichertennummer versichertennr versnr "
        "kvnr ahv ahvnr rentenversicherungsnummer steuerid steuernummer kontonummer nom noms prenom "
        "prenoms rue nir nss insee numsecu secu securitesociale courriel ipp passeport nombre apellido "
        "apellidos nombres calle domicilio direccion correo dni nie nif cip curp rfc pasaporte celular "
        "movil nuhsa nass nhc nome cognome nominativo indirizzo cellulare codicefiscale fiscale "
        "passaporto telefono naam voornaam achternaam familienaam roepnaam adres straat huisnummer "
        "telefoon telefoonnummer mobiel bsn burgerservicenummer paspoort kenteken rekeningnummer ssin "
        "serienr seriennr seriennummer serienummer serialnumber serialno serialnr numserie nserie "
        "fname lname mname middlename contact kontakt contactperson nextofkin kin emergencycontact addr "
        "addr1 addr2 domicile"
    ),
    "number": (
        "id ids nr nbr no num number nmbr nummer numero numer key identifier ident identifiant "
        "identificador identificativo identificatie identificatienummer kennung kennzeichen kennz uuid "
        "guid pseudonym pseudonyme pseudoniem seudonimo token hash rownames rowname rownum clave codigo "
        "codice matricule matricola volgnr volgnummer lfdnr lfd laufnummer laufnr laufendenummer serial "
        "seq seqn seqno index idx"
    ),
    "person": (
        "patient patients pat pt person persons pers member subject subj beneficiary bene versicherter "
        "versicherte assure individu individual personne participant respondent resp proband probanden "
        "enrollee client mitglied teilnehmer enfant resident patienten versicherten paciente persona "
        "personas afiliado asegurado beneficiario encuestado paziente pazienti assistito assistiti "
        "persoon deelnemer verzekerde"
    ),
    "personnumber": (
        "patientid personid memberid subjectid subjid usubjid dupersid patid patnr patientennummer "
        "patientennr pid persnr personennummer beneid medrecno panelid caseid mergeid pidp pubcsnum "
        "patientnummer patientnr uniquepid hesid eid"
    ),
    "household": (
        "household hh hhid haushalt hid cid menage hogar famiglia nucleo huishouden duid dwelling fmx hhx"
    ),
    "record": (
        "case cases record rec encounter encntr visit stay claim clm episode epi epikey chart admission "
        "adm admsn hadm sample specimen accession order event segment session appointment policy contract "
        "invoice bill file row line obs observation entry spell transaction prescription referral study "
        "exam fall faelle akte aufnahme aufenthalt behandlungsfall rechnung auftrag probe police vorgang "
        "sejour dossier passage consultation venue facture cas rss rsa expediente caso ingreso episodio "
        "registro consulta factura muestra historia cartella ricovero pratica scheda nosologico campione "
        "accesso opname behandeling polis monster bezoek geval registratie"
    ),
    "thing": (
        "type typ tipo soort source origin disposition status category cat kind drug medication product "
        "test lab plan column variable version batch mode modus modalita concept class klasse classe "
        "grade level group gruppe groupe scale item question day days week month year code unit "
        "method quelle origen origine herkomst art grund motivo motif reden description desc grad niveau "
        "nivel livello plate well barcode lane flowcell adapter sequencer"
    ),
    # -- what others may know --------------------------------------------------------------------------
    "age": (
        "age ages agegroup agegrp agecat agecl agep ageg alter altersgruppe lebensalter lebensjahre edad "
        "edades eta anni annieta leeftijd leeftijdsgroep agedecade startage endage agelast aged anchorage "
        "ridageyr ridagemn ageday agemn ageyr"
    ),
    "sex": (
        "sex gender gendr geschlecht sexe genre sexo genero sesso genere geslacht female male fem "
        "weiblich maennlich femme homme mujer hombre riagendr sx"
    ),
    "birth": (
        "birth birthdate birthday birthyear birthplace birthdt dob dobmm dobyy yob mob born brth brthdt "
        "brthyr bday mydob geburt geburtsdatum geburtsjahr geburtsmonat geburtstag geburtsort geb gebdat "
        "gebjahr gebmonat geboren naissance nais datnais ne nee annais nacimiento nac fecnac nacido "
        "nascita nato nata datanascita geboorte geboortedatum geboortejaar geboorteplaats geboorteland "
        "gebdatum"
    ),
    "race": (
        "race races racial raceth racethx ethnicity ethnic ethnos eth ethn reth ethnie ethnizitaet "
        "hispanic hisp hispan hispanx latino black white asian afam afroamerican nonwhite etnia etnico "
        "african american caucasian "
        "raza razza etnicita etniciteit ras indigenous aboriginal tribe caste indigena indig ridreth "
        "nhiade migrant migrante migback migration migrationshintergrund"
    ),
    "marital": (
        "marital marriage married marry mar maristat marstat martl maritl spouse familienstand famstand "
        "famstd zivilstand matrimonial matrimoniale civil civilstatus verheiratet matrimonio casado "
        "casada celibe coniugale coniugato burgerlijke gehuwd huwelijk relationship"
    ),
    "education": (
        "education educational educ educa edu educyr school schooling college highschool highsch degree "
        "hideg bildung bildungsstand schulabschluss schulbildung isced diplome etudes scolarite "
        "instruction educacion educativo estudios escolaridad istruzione studio titolostudio scolarita "
        "opleiding opleidingsniveau onderwijs scholing bildungsgrad bildungsabschluss bildungsniveau "
        "abschluss ausbildung schule studium"
    ),
    "work": (
        "occupation occup occupational job workclass employment employed employ employer emp unemploy "
        "unemployed retire retired profession industry industria indus beruf berufs erwerb erwerbstaetig "
        "arbeit arbeitgeber taetigkeit stellung isco metier emploi travail csp ocupacion empleo trabajo "
        "occupazione professione lavoro impiego beroep werk arbeid werkgever veteran military retraite "
        "pensionne company firm firma unternehmen entreprise empresa azienda bedrijf angestellt "
        "berufsstatus erwerbsstatus employmentstatus manufacturing construction agriculture"
    ),
    "nation": (
        "nationality nationalitaet nation staatsangehoerigkeit staatsbuergerschaft nationalite "
        "citizenship citizen citz citzn nacionalidad nacion nazionalita cittadinanza nationaliteit "
        "immigrant immigration herkunft herkunftsland corigin usa foreign foreignborn bornabroad"
    ),
    "language": "language languages sprache muttersprache langue idioma lengua lingua taal moedertaal",
    "religion": (
        "religion religious konfession glaube religione culto godsdienst geloof catholic protestant muslim "
        "hindu jewish buddhist christian orthodox evangelical atheist"
    ),
    "family": (
        "famsize famsze hhsize hhsiz hhgr familysize householdsize haushaltsgroesse kinder kinderzahl "
        "children child kids siblings parity babies numadult adults enfants fratrie hijos hermanos figli "
        "componenti kinderen gezin gezinsgrootte huishoudgrootte family menage hogar famiglia household "
        "scholarship familie familien fam famille familia"
    ),
    "housing": "rent renthom homeown housing wohnung logement vivienda abitazione woning",
    "place": (
        "zip zipcode zcta postal postcode postalcode postdist plz postleitzahl postale codepostal codpost "
        "cp county counties cnty cty landkreis kreis departement region reg state bundesland bula "
        "province provincie provincia provinz canton kanton city town stadt ville ort wohnort commune "
        "municipality municipio gemeinde gemeente comune country land staat pays pais paese residence "
        "residential "
        "residenz residenza residencia res domicile district distrito distretto arrondissement msa fips "
        "census tract blockgroup nuts location metro metropolitan urban rural urbanrural urbanicity hsa "
        "hrr nchs lsoa msoa ward neighbourhood neighborhood barrio quartier quartiere wijk woonplaats "
        "estado ccaa comunidad autonoma entidad regione cap localita area latitude longitude lat lon lng "
        "geo geocode gps coordinates place midwest mwest south northeast northe west rpl ruca division "
        "lugar ubicacion localidad departamento parroquia colonia ciudad pueblo poblacion lieu localite "
        "luogo citta plaats stad regio ortsteil stadtteil bezirk heimatort herkunftsort suburb borough "
        "township parish prefecture"
    ),
    "site": (
        "hospital hosp facility provider prvdr provnum prov clinic klinik krankenhaus spital hopital "
        "clinique physician physn physiciannpi doctor arzt aerztin hausarzt medecin surgeon station "
        "fachabteilung abteilung etablissement finess centro medico dottore struttura istituto presidio "
        "ospedale reparto ziekenhuis huisarts arts specialist instelling afdeling ward unit department "
        "dept site caresite center centre practice practitioner gp gpprac pharmacy apotheke pharmacie "
        "farmacia procode sitetret organization organisation hospitalid consult consultant attending "
        "servicio service ik ipress"
    ),
    "event": (
        "admission admit admitted admsn admi adm admittime aufnahme aufnahmedatum einweisung discharge "
        "dischtime discharged dschrg disch dis dischg entlassung entlass sortie dispo entree "
        "hospitalisation ingreso ing fecing fecalt alta egreso ricovero dimissione ingresso accettazione "
        "opname ontslag visit appointment scheduled encounter service surgery operation interview survey "
        "consultation onset symptom sintomas start stop begin end from thru through epistart epiend "
        "injury accident unfall vaccination vaccine registration enrolment enrollment transfer procedure "
        "specimen collection"
    ),
    "death": (
        "death dod decease deceased died dead expire expired vitalstatus deathdt deathdate mortality "
        "todesdatum sterbedatum tod verstorben gestorben deces decede mort defuncion def fallecimiento "
        "fallecido muerte exitus decesso morte deceduto overlijden overlijdens overlijdensdatum overleden "
        "sterfte alive survival"
    ),
    "stay": (
        "los lengthofstay staydays verweildauer liegedauer aufenthaltsdauer dureesejour duree estancia "
        "degenza giornate ligduur verpleegduur speldur spelldur"
    ),
    "insurance": (
        "insurance insured insure insurer ins payer payor pay1 paytype hmo medicare medicaid coverage "
        "inscov hlthpln versicherung krankenkasse kasse kostentraeger assurance mutuelle seguro "
        "aseguradora regfin regimen assicurazione verzekering verzekeraar private privatehealth suppins"
    ),
    # -- what somebody would like to know --------------------------------------------------------------
    "diagnosis": (
        "diagnosis diagnoses diag diags dx dxs icd icd9 icd10 icd10cm dgns dgn diagnose diagnosen "
        "hauptdiagnose nebendiagnose nebendiagnosen diagnostic diagnostics diagnostico diagnosi "
        "hoofddiagnose nevendiagnose snomed loinc befund morphology histology histo histo3v beho primsite "
        "primarysite tumor tumour ccs ccsr phecode reasoncode metastasis staging topography "
        "reasondescription"
    ),
    "procedure": (
        "procedure procedures prcdr proc prozedur prozeduren opertn operation operations surgery ops ccam "
        "acte actes cpt hcpcs drg drgs msdrg aprdrg mdc apc ghm ghs grd intervention interventi "
        "intervento procedura procedimiento procedimientos ingreep verrichting zorgactiviteit dbc "
        "zorgproduct goae ebm gop severity sev illness gravedad gravita treatment therapy therapie "
        "behandlung behandeling traitement tratamiento terapia radiation chemo intubado intubated ventilator "
        "ventilation beatmung beatmungsstunden icu uci"
    ),
    "drug": (
        "drug drugs medication medications medicine med meds medikament medikamente wirkstoff arznei "
        "arzneimittel medicament medicaments medicamento farmaco farmaci farmaceutico medicijn medicijnen "
        "medicatie geneesmiddel rx atc ndc pzn rxnorm dose dosage dosis dosierung posologie insulin "
        "metformin statin antibiotic opioid opioids prescription prescriptions rezept verordnung "
        "ordonnance receta ricetta recept diabetesmed vaccine"
    ),
    "disease": (
        "disease diseases disorder krankheit erkrankung maladie enfermedad malattia ziekte illness "
        "condition conditions chronic chron chronique cronica cronico cronisch comorbidity comorbidities "
        "komorbiditaet comorbidita totchr nchronic lchronic ndisease hiv aids vih sida cancer canc cncr "
        "krebs kanker tumore tumor cancro diabetes diabete diab diabetic diq chf copd epoc bpco esrd ckd "
        "renal kidney kidny kidn niere depression depressn depressed depress depr adde stroke strk strke "
        "ictus asthma asth asthme asma astma hypertension hypertensive hipertension hipertensa "
        "ipertensione bluthochdruck hibp highbp bphigh bluthdruck heart herz coeur cardio cardiovascular "
        "cardiac chd angina angi infarction infarct cvdinfr cvdcrhd cvdstrk cvd ami mi ohrt emph "
        "emphysema arthritis arth havarth arthrose osteoporosis osteoprs osteo alzheimer alzhdmta "
        "dementia demenz schizophrenia bipolar anxiety ansia adhd adhdad autism epilepsy parkinson ms "
        "tuberculosis tb hepatitis malaria covid sarscov pneumonia neumonia polmonite influenza sepsis "
        "septic shock infection infektion obesity obese obesidad obesita adipositas allergy allergie "
        "allergia anemia anaemia ischmcht ischemic ischaemic immunosuppressed inmusupr syphilis chlamydia "
        "gonorrhea std sti endometriosis psoriasis lupus mcq chcs chco chcscncr chcocncr chccopd chckidn "
        "chckidny toldhi highchol comorb history anamnese anamnesi antecedents antecedentes "
        "voorgeschiedenis charlson elixhauser apache ill sick krank malade enfermo malato ziek chrn tia "
        "oa ra raoa heartattack attack hyp htn hypertens hyperlipidemia hyperlip cvdisease cad pad afib "
        "dvt infected infeccion infezione infectie hx famhx anamnesis krankheiten erkrankungen "
        "enfermedades maladies malattie ziekten"
    ),
    "symptom": (
        "symptom symptoms symptome pain schmerz schmerzen douleur dolor dolore pijn fever fieber fievre "
        "fiebre febbre koorts injury injuries verletzung blessure lesion trauma fracture wound suicide "
        "suicidal inj selfharm sleeptrouble fatigue phq gad apgar gcs sofa"
    ),
    "lab": (
        "lab labs result results resultat ergebnis resultado risultato glucose glu glycemie glucemia "
        "glicemia glukose hba1c a1c a1cresult gh cholesterol chol totchol cholesterin colesterol "
        "colesterolo ldl hdl triglycerides triglyceride serum insulinlevel creatinine creat kreatinin "
        "creatinina hemoglobin haemoglobin hgb hct wbc rbc platelets albumin bilirubin sodium potassium "
        "calcium crp troponin lactate bun egfr psa tsh testosterone urine urin urinevol blood blut sangre "
        "sangue bloed viral cd4 genotype genetic mutation biopsy finding lbx lbd lbxglu lbxtc lbxgh "
        "antibody pedigree testresult clasificacion"
    ),
    "vital": (
        "bmi bodymass imc blutdruck bloodpressure systolic diastolic bp bps sbp dbp bpsys bpdia bpx bpxsy "
        "bpxdi tension presion pressione bloeddruck pressure pulse puls pouls pulso polso hartslag "
        "heartrate hr temperature temperatur spo2 oxygen respiratory resprate gravidity bmxbmi bmx waist "
        "skinfold skin skinthickness bloeddruk"
    ),
    "body": (
        "height hoehe groesse koerpergroesse taille talla altezza lengte length headcirc htin ht"
    ),
    "behaviour": (
        "smoking smoker smoke smoked smokes smok smk cigarette cigarettes tobacco rauchen raucher tabac "
        "fumeur fumador tabaco tabaquismo fumo fumatore roken rookt alcohol alkohol alcool alcoholism "
        "alcoholgebruik alc drink drinking drinks drnk avedrnk marijuana marij cannabis cocaine heroin "
        "harddrugs substance addiction abuse gambling exercise diet physactivity partner partners partn "
        "sexual orientation orient sexorient samesex sexever contraception contraceptive smq alq duq sxq "
        "adsmok fruits veggies hivtst abortion crime arrest prison violence cig cigs packyears vaping "
        "snus binge drunk sober drogas drogue drogen droga"
    ),
    "health": (
        "health hlth genhlth gesundheit gesundheitszustand sante salud salute gezondheid phstat mnhpoor "
        "mental ment menthlth physhlth mnhlth rthlth mcs pcs mcs12 pcs12 wellbeing qol limitation "
        "limitations limit anylimit phylim physlim actlim difficulty diffwalk disability disabled "
        "handicap handicape handcap behinderung schwerbehinderung pflegegrad pflegestufe discapacidad "
        "disabilita invalidita beperking handicapped adl iadl functional frailty dpq hsq"
    ),
    "pregnancy": (
        "pregnant pregnancy pregnancies pregnt preg npregnancies schwanger schwangerschaft grossesse "
        "enceinte embarazo embarazada gravidanza incinta zwanger zwangerschap gestation gestational "
        "gravida menopause breastfeeding ridexprg menarche menar menop menopausal menopausa hrt"
    ),
    "outcome": (
        "outcome readmitted readmission readmit reha relapse remission recurrence toxicity adverse "
        "complication complications komplikation deathrisk deathcause causeofdeath todesursache codpub"
    ),
    "money": (
        "cost costs kosten cout couts coste costes costo costi charge charges totchg chg payment payments "
        "paid pmt pymt pppymt pay amount amt montant betrag importe importo bedrag reimb medreimb benres "
        "reimbursement rembourse remboursement expenditure expenditures expend expenses expense exp "
        "totexp ltotexp totslf slf iptexp rxexp expendip expendop depenses depense gasto gastos spesa "
        "spese tariffa tarifa tarif uitgaven price prix precio prezzo prijs preis erloes erloese entgelt "
        "entgeltbetrag umsatz honorar declaratie declaratiebedrag debt ddctbl deductible copay "
        "coinsurance coinsrnc lblty liability ticket claimamount usd eur"
    ),
    "income": (
        "income incomes inc faminc hhinc hhincome hhincomemid ttlp earnings salary salaries wage wages "
        "incom rincom brutto wealth asset assets poverty povcat pir zipinc hghinc linc einkommen gehalt "
        "lohn bruttolohn "
        "nettolohn vermoegen pglabgro pglabnet revenu revenus salaire patrimoine ingresos renta sueldo "
        "salario reddito stipendio inkomen salaris vermogen welfare sozialhilfe indhhin indfmpir capital"
    ),
    # -- how a table is made ---------------------------------------------------------------------------
    "date": (
        "date dates dt dat datum day tag jour year yr jahr annee month monat mois mon time zeit when "
        "fecha fec ano mes dia data anno mese giorno jaar maand dag datetime timestamp admidate disdate "
        "quarter qtr dqtr week iyear imonth iday idate birthdatetime"
    ),
    "months": (
        "month months mon mons mos mth mths monat monate monaten mois mes meses mese mesi maand maanden "
        "agemonths agemn"
    ),
    "days": "day days tag tage tagen jour jours dia dias giorno giorni dag dagen ageday agedays",
    "count": (
        "count cnt number num n anzahl nombre numero aantal nvisits visits times freq frequency total "
        "quantity qty services stays besuche visites"
    ),
    "weightname": (
        "fnlwgt perwt finalwt finalwgt pweight sampwt svywt survwt hhwt wtmec wtint llcpwt discwt wtfa "
        "hochrechnungsfaktor gewichtungsfaktor designgewicht ponderation pond ponderacion ponderador "
        "sampleweight surveyweight samplingweight phrf hhrf weegfactor weging wegingsfactor "
        "factorexpansion expansion expansionfactor fexp pesocampionario pesofinale coefpond wgtp pwgtp "
        "hrf extrapolationsfaktor statweight"
    ),
    "weight": "weight weights wt wgt wts gewicht gewichtung poids peso pesi w kg",
    "survey": (
        "survey final sample sampling person household replicate design calibrated calibration exam "
        "interview stat analysis full probability inverse llcp umfrage stichprobe enquete sondage "
        "encuesta muestra muestral campionario campione indagine steekproef hh pers 2yr 4yr factor"
    ),
    "stratum": (
        "stratum strata strat str varstr ststr ststrata sdmvstra nisstratum schicht strate estrato "
        "estratos strato strati sudaan stratid"
    ),
    "psu": (
        "psu varpsu ppsu sdmvpsu cluster clusters klumpen grappe conglomerado upm usm ea grappolo "
        "primaryunit"
    ),
    "replicate": "repwt repwgt replicate replicates brr bsw rw jkw jackknife bootstrap bootwt wrep fay",
    "text": (
        "comment comments note notes remark remarks narrative bemerkung bemerkungen kommentar anmerkung "
        "freitext commentaire remarque observaciones observacion comentario osservazioni commento "
        "opmerking opmerkingen toelichting"
    ),
}  # fmt: skip

# Whole words that hold others and are about none of them.
NEUTRAL = word_set(
    "percentage percent stage package average usage message image storage voltage mileage postage "
    "damage manage passage essex sussex middlesex wessex racetrack zipper identity landing island "
    "statement estate notebook showcase update landscape important report agent tissue "
    "battery firmware extension component components"
)

# Words that say what kind of thing a column is, not what about: a status may be a marriage's or a tumour's.
GENERIC = word_set(
    "type typ tipo soort status state category cat kategori kategorie categoria categorie kind class klasse "
    "classe stage grade grad level niveau nivel livello group grp gruppe groupe gruppo scale item question "
    "code mode modus modalita source quelle origin description desc art grund motif motivo reden concept "
    "flag value score index panel priority bewertung plan product method test position"
)

WORDS: dict[str, frozenset[str]] = {}
_LISTS = (_ABOUT, FURTHER, OTHERS, CLINICAL, SOCIAL, REGISTER, WORLD)
for _concept, _text in (entry for words in _LISTS for entry in words.items()):
    for _word in _text.split():
        WORDS[_word] = WORDS.get(_word, frozenset()) | {_concept}
for _word in STAFF.split():
    WORDS[_word] = WORDS.get(_word, frozenset()) | {"staff"}

CONCEPTS = frozenset(_ABOUT) | {"staff"}
_OTHERWISE = frozenset(w for words in _LISTS[:-1] for text in words.values() for w in text.split())
_FOREIGN = frozenset(WORDS) - _OTHERWISE
# Short words of scores and laboratories stand alone: 'ast' is no part of 'plaster'.
_OLD = frozenset(word for text in _ABOUT.values() for word in text.split())
_COMPOUND = frozenset(w for words in (SOCIAL, REGISTER) for text in words.values() for w in text.split())
# Words that others may be short for, or be written together from; compounds of registers are not.
PLAIN = (_OTHERWISE | frozenset(w for w in STAFF.split() if len(w) > 7)) - (
    _COMPOUND - frozenset(w for t in (_ABOUT, FURTHER, OTHERS) for x in t.values() for w in x.split())
)
_SHORT = frozenset(w for words in (CLINICAL, SOCIAL, REGISTER) for x in words.values() for w in x.split())
WHOLE_ONLY = (
    frozenset(w for w in WORDS if len(w) <= 3 or (len(w) == 4 and w in _SHORT)) - _OLD | _FOREIGN | {"amt"}
)


def words_of(*concepts: str) -> frozenset[str]:
    """All words about one of these."""
    return frozenset(word for word, about in WORDS.items() if about.intersection(concepts))
