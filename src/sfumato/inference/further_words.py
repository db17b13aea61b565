"""More words of column names, by what they are about: Portuguese, Swedish, Norwegian, Danish; abbreviations.

As in `vocabulary`: small letters without accents, å is a, ø and ö are o or oe. Instruments and scores go by
their published names.
"""

from __future__ import annotations

FURTHER = {
    "direct": (
        "fodselsnr foedselsnummer fnr dnummer personnr personnumret cprnr cprnummer navn fornavn "
        "etternavn efternavn fornamn efternamn namn gateadresse gatuadress adress telefonnr mobilnr epost "
        "epostadresse passnummer kontonr nipc contribuinte niss utente nutente numutente cidadao "
        "cartaocidadao cartao apelido apelidos sobrenome morada endereco telemovel telefone correio "
        "matricula rg cns nis pis subjinit initial nok ctin nin kaiser sozversnr svnummer mrnumber pan "
        "acct bankacct ifsc cell tessera tesserasan licenseplate driverlicense homephone nm "
        "insurednm respname burgerservicenr"
    ),
    "number": (
        "lopenr loepenr lopnr lopnummer loebenr lobenr nokkel nyckel noegle kode cert certno randno "
        "barcode ref reference referentie referencia riferimento referens"
    ),
    "person": (
        "pasient pasienten patienter deltaker deltagare deltager borger innbygger utente utentes doente "
        "doentes cidadao pessoa individuo participante inquirido user users account customer tester mbr "
        "mem subscriber assistido usager adherent ayant patpseudonym pseudonymid deltakere foersoks donor "
        "spender donneur donante donatore couple soggetto sujet sujeto indiv insured applicant holder "
        "clientnummer"
    ),
    "personnumber": (
        "deviceid userid accountid mbrsk mbrid pasientid pasientnr hhidpn studyid participantid "
        "subjectnumber cpf nprid lopnrperson rekvirent chartno mpi empi clientnummer pnr donorid "
        "coupleref usrdsid indivn"
    ),
    "household": "husstand hushall hushold agregado familiar husholdning",
    "record": (
        "processo internamento vardtillfalle sykehusopphold opphold innleggelse indlaeggelse kontakt "
        "henvisning utskrivning atendimento guia recnum certificate cert certidao atestado sterbebuch "
        "leichenschau melding anmeldelse screening rand randomization randomisation"
    ),
    "thing": (
        "enhet enhed einheit eenheid unite unidad unidade unita uom artikkel kategori kategorie categoria "
        "categorie build app seqnum bewertung material referenz referenzbereich consent zustimmung split "
        "fold subset partition train priority flag panel segment value units wave round encoding lot lote "
        "lotto charge chargennummer freezer position rack barcodetype paymode tooth bonus"
    ),
    "age": (
        "alder alderar aldersgruppe aldersgrupp idade idades faixaetaria etaria mager fagecomb agey agedx "
        "ageadm ageonadm alderaar"
    ),
    "sex": "kjonn kjoenn kon koen gesl geschl gesch mann kvinne kvinna kvinde feminino masculino",
    "birth": (
        "fodt foedt fodsel fodselsdato fodselsaar fodselsar fodselsdag fodelsedatum fodelsear fodelsedag "
        "fodelseland foedselsdato foedselsaar fodelse foedsel nascimento nasc nascido datanasc dtnasc "
        "naturalidade byear bmonth byr naiss nasct brthdtc"
    ),
    "race": "etnisitet etnicitet raca cor mbrace frace racem racepr mrace etnicidade",
    "marital": (
        "sivilstand sivilstatus civilstand civilstaand estadocivil gift ugift skilt enke solteiro viuvo "
        "divorciado dmar mstat etatmat statociv etatcivil famstatus matri statutmatri maritalb relation "
        "verwandtschaft parente parentesco couple"
    ),
    "education": (
        "utdanning utdannelse utbildning uddannelse skole skola escolaridade habilitacoes habilitacao "
        "instrucao educacao literarias meduc feduc titstud titolo scuola nivestud nivelestudios utbniva "
        "eisced diplomes niveauetude"
    ),
    "work": (
        "yrke yrkesgruppe jobb arbete arbejde erhverv stilling sysselsetting sysselsattning "
        "beskaeftigelse profissao ocupacao emprego trabalho desemprego empst workstatus "
        "situacaoprofissional empcur situpro situationpro activite actif beschaeftigung berufstaetig "
        "mnactic"
    ),
    "nation": (
        "statsborgerskap statsborgerskab medborgarskap statsborger fodeland fodelandskode innvandrer "
        "invandrare indvandrer landbakgrunn nacionalidade cidadania pais naturalidade staatsang "
        "staatsangeh cittadin herkomstland landvanherkomst ancestry abstammung ascendance brncntr "
        "bornhere invandringsar"
    ),
    "language": "sprak spraak sprog lang linguagem tolk timezone sprachcode",
    "religion": "trossamfunn konfesjon religiao rlgdnm",
    "family": (
        "antallbarn barn sosken soesken soskende husstandsstorrelse hushallsstorlek filhos irmaos "
        "agregado familiar priorlive parite huishoudsamenstelling gezinssamenstelling haushaltstyp hhmmb "
        "menages antalbarn enfant nbenfants"
    ),
    "housing": (
        "bolig bostad habitacao alojamento homeless obdachlos wohnungslos ehpad carehome nursinghome"
    ),
    "place": (
        "kommune kommuner kommunenr bostedskommune bosted bostadsort bopael hemkommun fylke fylkesnr lan "
        "laan lansdel landsdel amt amtskommune postnr postnummer poststed postort bydel sogn forsamling "
        "distrikt concelho freguesia codigopostal codpostal localidade morada naturalidade pc4 pc6 pcode "
        "pcodesector wohngemeinde wohnkanton wohngebiet gemeindeschluessel gemeindekennziffer ags "
        "kreisschluessel dauid lsoa11 oa11 imd imddecile comres zona mrcnty stcounty deprivation "
        "remoteness sa1 sa2 iris sterbeort lieudec depdec comdom uf cep bairro sektor grunnkrets stadsdel "
        "dagmar wohnkt pincode pin scene long gemeentecode wohnlage woonsituatie agglo townsend "
        "deprivationindex network"
    ),
    "site": (
        "sykehus sjukhus sygehus sgh helseforetak avdeling avdelning klinikk mottagning vardcentral "
        "vaardcentral legekontor legesenter fastlege laege lege lakare lakarmottagning apotek hospitais "
        "hospitalar centrosaude centrodesaude usf aces ars enfermaria servico einsender einweiser "
        "zuweiser ueberweiser bsnr lanr betriebsstaette arztnummer kostenstelle kostenstellen betrieb "
        "inst institution institut istit codist asl ulss aziendasanitaria repdim agb uzovi prescriber "
        "prscrbr phrmcy pharmacynpi zimmer room bed bett betten chambre habitacion cama letto camera "
        "kamer seng ods odscode conscode wardcd gppractice operateur chirurg operatore medcertif "
        "investigator invnam siteid vaccinator behandler treating huisartsenpraktijk vardenhet enhet "
        "mottagare clinician nurse destfacility lotto"
    ),
    "event": (
        "inndato utdato innlagt utskrevet innleggelsesdato utskrivningsdato indatum utdatum inskrivning "
        "utskrivning inddto uddto indlagt udskrevet admissao saida entrada consulta cirurgia vacinacao "
        "vaksinasjon vaksinedato vaccinationsdatum aufndat entldat eintritt austritt eintrittsdatum "
        "austrittsdatum fill filled dispensed dispensing abgabedatum verordnungsdatum soins adhesion tci "
        "rfstdtc rfendtc admdttm disdttm abgabe verordnung einsendung charttime storetime collected "
        "received reported idate imonth iyear collecttime incident dispatch arrival ankomst llegada "
        "arrivo aankomst indicatie somministrazione somm termin termine appuntamento cita afspraak "
        "rendezvous scene call"
    ),
    "death": (
        "doed dodsdato dodsdag doedsdato dodsdatum avliden avlidit avdod obito falecimento falecido "
        "faleceu sterbetag sterbedat datdec dthfl dth dthdtc mors vitalstat"
    ),
    "stay": (
        "liggetid liggedogn liggedager vardtid vaardtid vardager sengedage sengdage indlaeggelsestid "
        "diasinternamento diasinternacao permanencia staylength hospdays verweildauertage"
    ),
    "insurance": (
        "forsikring forsakring forsikringsselskap trygd sygesikring seguradora subsistema convenio "
        "seguradoras aseguramiento hauptkostentraeger ktr lob payrec insrec uzovi caisse affiliation cmu "
        "mutuelles mutualidad entidadfinanciadora krankenkassen liegeklasse versichertenstatus formule "
        "garantie"
    ),
    "diagnosis": (
        "hoveddiagnose bidiagnose bidiagnoser diagnoser adiag bdiag hdia bdia huvuddiagnos bidiagnos "
        "diagnos diagnosticos diagprincipal diagsecundario gdh icpc icpc2 ciap ciap2 icdo icdo3 "
        "morfologia morfologi morphologie topographie topografia grundleiden todesursache dodsorsak "
        "dodsarsag doedsaarsag dodsaarsak causabasica causamorte causa causini causes mrdx diaprin diasec "
        "hrg tnm ptnm ctnm uicc ajcc stadium stadio stade estadio stage stagegroup grading figo gleason "
        "dukes binet annarbor breslow clark lateral laterality seitenlokalisation residualstatus her2 "
        "ki67 nodes oncotree aedecod aeterm mhterm mhdecod sykdom sjukdom sygdom bedoemning bepaling ald "
        "ald30 esenzione exemption todesart unfallkategorie unfall obduktion autopsie autopsy "
        "clinicalrisk riskgroup impression schluessel triage triaje triagem triagekategorie zzp "
        "zorgprofiel phenotype fenotype hpo befundcode presenting complaint chiefcomplaint bezwaren "
        "ziektebeeld patologia pathologie pathology tumorart cancersite lesion cie cie10 cid cid10 dsm "
        "infertility infertilidad lymph metastases zahn zahnbefund"
    ),
    "procedure": (
        "prosedyre prosedyrekode prosedyrer kirurgi atgard atgaerd aatgard kva opr oprkode "
        "behandlingskode procedimento procedimentos intervencao cirurgia chop cci intprin ops1 cmg tiss "
        "tiss28 saps saps2 sapsii radiatn bestrahlung strahlentherapie chemotherapie transplant "
        "transplantation dialyse dialysis dialise ventilated beatmungsstd behandlungsart arm actarm trt "
        "trta trtp dnr resuscitation serie sesiones seances leistung leistungsziffer gebuehrenziffer "
        "honorarziffer prestation prestacion prestazione ziffer narcan resus defib rxgroup accesstype "
        "vascularaccess modality"
    ),
    "drug": (
        "legemiddel legemidler lakemedel laegemiddel medisin medicin preparat virkestoff atckode "
        "medicacao farmacos prescricao receituario vaksine vaccin vacina vaccineproduct ddd generic gnrc "
        "brand brandname drugname cmtrt cmdecod voorschrift zinummer zindex gpk hpk prk suply supply "
        "dayssupply dyssply dspnsd packungsgroesse packung dosesequence doser medicacion"
    ),
    "disease": (
        "pdiab gdiab phype ghype diabe diabetese hibpe cancre hearte lunge arthre psyche memrye hibpdx "
        "chddx cancerdx asthdx kreft cancersygdom hjerte hjarta hjerteinfarkt slagtilfaelde kols lunger "
        "hoytblodtrykk hypertensjon diabetiker doenca doencas enfarte avc dpoc hipertensao diabetico "
        "depressao imunodeficiencia tuberculose chckdny ckdny covidpos covid19 deaf blind deafness "
        "blindness hearing vision decide migraine migraene migrane gicht gout celiac coeliac crohn "
        "colitis cirrhosis thyroid schilddruese eczema ekzem cataract glaucoma metabolic syndrome ptsd "
        "ocd eating bulimia anorexia insomnia apnea apnoea aandoening aandoeningen alergia alergias "
        "allergien allergieen allergi dementie demencia demens hartfalen heartfailure insuficiencia "
        "cardiopatia epilepsie epilepsia sclerosis esclerosis kidneydisease chronisch chroniques "
        "chronicite crónica cronicas mal fragile fragilita immune immunosuppression frail"
    ),
    "symptom": (
        "smerte smerter smarta feber dor febre tos cough husten toux hosten tosse dyspnea dyspnoe nausea "
        "vomiting headache kopfschmerz dizziness rash aesev aeser aerel cesd k6sum phq9 phq2 phq242 gad7 "
        "hads epds bdi moca mmse mood humor stimmung barthel fim ecog karnofsky who5 eq5d sf12 sf36 news2 "
        "mews qsofa rass braden morse norton nrs vas adverseevent adversereaction reaction nihss mrs asa "
        "curb65 ess auditc glasgow seizure overdose bleeding blutung haemorrhage triagescore katz stress "
        "distress loneliness lonely anger worry sadness"
    ),
    "lab": (
        "prove prover provesvar provsvar analyse analys analyt resultater resultados uitslag messwert "
        "messwerte labwert laborwert befundwert meetwaarde valeur valor valore waarde valuenum lborres "
        "lbstresn lbstresc lbtest orres stresn hb natrium kalium sodio potassio ferritin fibrinogen inr "
        "ptt ddimer procalcitonin pct ntprobnp bnp ck ckmb alt ast ggt alp ldh lipase amylase urea "
        "harnstoff uric phosphate magnesium zinc iron vitamin b12 folate ph pco2 po2 bicarbonate "
        "viralload titer titre ctvalue pcr antigen igg igm seropositive positive testresultat tacrolimus "
        "amh sperm oocytes embryos embryo semen saturation sat sato2 o2sat glucemias colest trigl creatin "
        "apoe allele allel variant snp genotyp polygenic prs hemoglobina hematocrito leucocitos plaquetas "
        "leukocytes leukozyten thrombozyten natremie kaliemie varde vaerdi verdi"
    ),
    "vital": (
        "blodtrykk blodtryk blodtryck temp temperatura tensao arterial frequencia cardiaca kmi tas tad "
        "pas ta rr vsorres vsstresn vsstresc restinghr vekt gewichtsverlust hipcirc muac bsa lvef ef fev1 "
        "fvc vo2max visus iop refraction frec frequence frequenz card fc fr hartfrequentie ademfrequentie "
        "pols tempc"
    ),
    "body": "hoyde hoejde langd laengd altura estatura vikt vekt vaegt lengthcm heightcm htm",
    "behaviour": (
        "royk royker roking rokning rokare roker rygning ryger rygestatus tabagismo tabagica fuma tobakk "
        "tobak alkoholbruk audit fysisk aktivitet mosjon motion exercicio smoken smokev smoke100 drinkd "
        "cig0 rauchstatus raucherstatus tabagique consumo prevtabaco vape ecig sexpartners condom "
        "homosexual bisexual lgbt rok rokstatus rokvanor smokingstatus cgtsmok alcfreq naloxone "
        "activiteit"
    ),
    "health": (
        "helse halsa haelsa sundhed saude shlt poorhlth nedsatt ufore ufor sykemeldt sjukskriven "
        "foertidspension deficiencia invalidez incapacidade krankenstand arbeitsunfaehig au sleep "
        "sleepminutes sovn somn schlaf sommeil sueno sonno slaap steps wohlbefinden lifesat bedfast "
        "sjukskrivning sjukskrivningsdagar sickleave arbeidsongeschikt ziekteverzuim percu wellness "
        "mantelzorger zelfredzaamheid dependencia dipendenza autosufficienza risiko risk risque riesgo "
        "rischio risico"
    ),
    "pregnancy": (
        "gravid graviditet svangerskap havandeskap gravidez parto partos gestrec gestacao gestacional "
        "combgest cycle cycleday zyklus cyklus svangerskapsuke semanasgestacao amning aleitamento rout "
        "merout delivery deliveries sectio caesarean cesarean entbindung accouchement"
    ),
    "outcome": (
        "utfall udfald desfecho surv survmonths survivaltime eventfree progression screenfail miscarriage "
        "stillbirth livebirth ungeboren fehlgeburt aborto totgeburt fausse readmissions survived"
    ),
    "money": (
        "kostnad kostnader omkostning omkostninger belop beloep pris priser taxa betaling betalt custo "
        "custos despesa despesas valorpago pagamento preco encargos cst cpay cpayamt rembours montants "
        "bruttobetrag nettobetrag zuzahlung eigenanteil beitrag cotisation cotisations prime premie "
        "premium ingrdnt imptot itot atotb honoraires kostenbetrag fatura taxamoderadora riw cmi sum "
        "insuredsum sumassured inr chf gbp nok sek dkk bijdrage eigenbijdrage punktwert solde saldo "
        "balance deposit"
    ),
    "income": (
        "inntekt inntekter inkomst indkomst lonn loenn formue formogenhet rendimento rendimentos "
        "inkomensklasse einkommensklasse gehaltsgruppe inkomensgroep income3 incomecat nettoeinkommen ses "
        "wealthq hinctnta einkommensgruppe"
    ),
    "date": (
        "dato datoer maned maaned manad aar tid tidspunkt klokkeslett hora ts dtc dttm dtm tidpunkt uke "
        "vecka"
    ),
    "months": "maneder maaneder manader",
    "days": "dager dage dagar",
    "count": "antall antal quantidade nb nbr fjoldi visitnum refill seqnum",
    "weightname": (
        "wtresp wtcrnh wthh pesoamostral vekting vaegtning designvekt cciw dw dweight pspwght wtssall"
    ),
    "weight": "vekt vikt vaegt pondus",
    "survey": "undersokelse undersoegelse undersokning inquerito amostra amostral utvalg urval",
    "stratum": "stratumid estrat raestrat",
    "psu": "klynge ehsamp raehsamp upa conglomerat",
    "text": (
        "notat kommentarer anteckning anteckningar bemaerkning nota notas observacoes comentarios "
        "freetext epikrise arztbrief brief anamnesetext verlauf verlaufsnotiz memo freitexte"
    ),
}  # fmt: skip
