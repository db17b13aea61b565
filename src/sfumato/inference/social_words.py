"""Words of what others know of a person, in many languages: who they are, how they live, what they earn.

As in `vocabulary`: small letters without accents, whole words. From the dictionaries of censuses, household
surveys and hospital registers; `register_words` has places, dates and designs.
"""

from __future__ import annotations

SOCIAL = {
    "direct": (
        "forename1 givennames patname patientname ptname pname clientname membername childname mothername "
        "fathername motherfname spousename headname hhheadname fullnames namesurname kinname guardianname "
        "contactname contactphone contactno phoneno phonenumber phone1 phone2 telno telephoneno mobileno "
        "mobilephone cellphone cellno whatsapp skype emailid mailid email1 emailadd homeaddress "
        "residentialaddress streetaddress address1 address2 addressline addressline1 addrline1 housenumber "
        "houseno hsno apartment flatno nationalid natid nationalidno idcard idnumber idcardno govid "
        "ssnlast4 ssn4 socialsecurity socsec sinnumber ohip phn healthcard healthcardno hcn medicarenumber "
        "medicareno medicaidid mbinum hicnum nhi nhinumber ihi ihinumber chinumber hcnumber personalnumber "
        "personalid rrn jumin passportno passportnumber passportid drivinglicence driverslicense vehicleid "
        "licenceplate platenumber regno accountno bankaccount cardnumber ccnumber policyholder holdername "
        "signature signedby interviewername enumerator physicianname doctorname nursename provname "
        "surgeonname versichertenid krankenversichertennummer krankenvers versichertennr ehic egk "
        "personalausweis numsecurite numeross nosecu securite immatriculation matriculesecu numident "
        "nomusuel nompatronymique nomnaissance nomfamille adressedomicile adresse1 numtel numerotel "
        "nombreapellidos primerapellido segundoapellido apellido1 apellido2 primernombre nombrecompleto "
        "nrodocumento numdocumento documentoidentidad cedula dui nacionalid telefonofijo telefonomovil "
        "tarjetasanitaria numtarjeta cipa nuss direccioncompleta nomepaciente nomemae nomepai nomecompleto "
        "nomesocial cartaosus cnspaciente nucns nrcpf nucpf logradouro nomlogradouro numresidencia "
        "telresidencia fone celular1 codfiscale codfisc numtelefono recapito tesserasanitaria voornamen "
        "tussenvoegsel geslachtsnaam patientnaam straatnaam huisnr mobielnummer personnamn tilltalsnamn "
        "personnummer12 fodselsnummer11 mobilnummer hemadress gatuadress1 imienazwisko numerpesel "
        "telefonkontaktowy numertelefonu osobnicislo nazwiskorodowe tcno tckimlikno tcnumarasi cepno "
        "ceptelefonu adsoyadi"
    ),
    "personnumber": (
        "ptid ptno ptnum ptnr patno patnum patkey patientnumber patientno patientcode patienthash "
        "patientuid patientkey patientnum encryptedid encid cryptid cryptedid pseudoid pseudid pseudonr "
        "pseudonymnr uniqueid uniquepatientid upi urn urno urnumber uhid uhidno hospno hospnum hospitalno "
        "hospitalnumber ipno opno ipdno opdno opdid regnumber registrationno registrationnumber artno "
        "artnumber tbno tbnumber cccnumber clientid clientcode clientno participantno participantcode "
        "participantnumber partid partno respid respno respondentid respnum personnr personkey persid "
        "persnum personuid indid individ indivno individualid individualno childid childno motherid mumid "
        "infantid twinid memid memberno memberkey membernumber subjectno subjectcode subjid2 subno subjno "
        "sid studyno studynumber studynr screenid screeningno randnr randomid randid enrollid enrolid "
        "efamid desynpuf benecryptid benesk benebid chartid chartnum chartnumber mrnno mrnid emrid ehrid "
        "ehrno lopnrindivid lopnummerperson pnrkryptert krypnr cprhash krpnr patientenid patientennum "
        "patientenpseudonym patpseudo fallpseudo versichertenpseudo idpaciente idpac codpaciente codpac "
        "numpac nropaciente numpaciente nrohistoria nhistoria historiaclinica nrohc hclinica codassistito "
        "idassistito idsoggetto codpaz idpaz codpaziente anonid anonimo idanonimo idpatient numpatient "
        "nopatient idbenef bennir bennirano benidtano numanonyme numano anonyme noanonyme patientident "
        "clientnr patnummer patientcd prontuario numprontuario idutente nrutente codutente numsus"
    ),
    "number": ("uid oid sno slno srno runningno objectid"),
    "age": (
        "ageatvisit ageadmission agediag ageyears agey agem agemo agemos agemth mthage chldage childage "
        "agechild mage fage motherage mothage matage ageofmother agemother fatherage spouseage headage "
        "agehead hhheadage agecalc agecalculated ageestimate ageband agebands agegr agegr1 agegrps agerange "
        "ageclass agebin agebracket agestrata age5 age10 age5yr agecat5 ageinyears ageinmonths ageindays "
        "agecont agefirst alterjahre altersklasse altersgr altersgrp altkl aufnahmealter alteraufnahme "
        "agepatient trancheage trage agean agejour agemois anneesage edadanos edadmeses grupoedad gredad "
        "gredades edadgrupo edadmadre edadpadre idademae idadepai idadepac nuidade nuidaden faixaidade "
        "grupoetario faixaet fxetaria etapaziente etaanni fasciaeta clasaeta classeeta etamadre etaingresso "
        "lft lftd lftcat lftklasse leeftijdjaar leeftijdopname aldersklasse aldergruppe aldersgr "
        "aldersklass alderinskr alderkat wiekpacjenta wiekgrupa grupawiekowa vekpacienta vekova eletev "
        "koreset varstaani grupavarsta grupaevarsta yasgrubu yasaraligi ikavuosi ikaluokka ikavuosina umur "
        "usia"
    ),
    "sex": (
        "irsex "
        "sexatbirth birthsex gendercode1 patientsex patsex ptsex sexf sexm isfemale ismale femalesex "
        "genderidentity pronoun pronouns cdsexe sexepatient cssexo sexopac sessopaz gesl1 konskod koenskode "
        "plecpacjenta cinskod jantina jeniskelamin jk gioitinh"
    ),
    "birth": (
        "birthmth birthcohort birthctry birthcountry countryofbirth countrybirth cob pob placeofbirth "
        "yearofbirth yearbirth monthofbirth dateofbirth dobirth ybirth mbirth brthmon bornin geburtsland "
        "gebj geburtsdat gebtag gebdatum1 geburtskohorte anneenaissance anneenais annaissance annais "
        "moisnaiss ddn paysnaissance lieunaissance communenaissance fechanacimiento fechanac fnac fnacim "
        "anonac anonacimiento mesnac paisnac lugarnac dtnascimento dtnascmae anonasc munnasc ufnasc "
        "codmunnasc locnasc comunenascita luogonascita annonascita mesenascita statonascita gebjaar "
        "geboortemaand fodselsmaned fodelsemanad fodelselan fodeselsar foedaar foedselsaar2 fodselskommune "
        "fodeland2 rokurodzenia miejsceurodzenia roknarozeni datumnarozeni szulido szuletesiev anulnasterii "
        "dogumtarihi dogumyili dogumyeri syntymapvm syntymamaa tgllahir tanggallahir lahir ngaysinh"
    ),
    "death": (
        "deathflag dateofdeath deathdttm deathplace placeofdeath deathind indeath hospitaldeath "
        "diedinhospital diedhosp deathinhosp inhospdeath hospdeath alivedead lastalive lstalvdt dtobito "
        "obitos fechadef fechafallecimiento fallec fechaexitus fecexitus anneedeces sterbejahr todestag "
        "todeszeitpunkt sterbemonat overlijdensjaar overldatum datumoverlijden dodsar dodsmanad datumumrti "
        "halalozas olumtarihi kuolinaika"
    ),
    "race": (
        "racegr racegr1 race1 race2 raceethnicity raceeth racewhite raceblack ethnos6 ethniccategory "
        "ethnicorigin caucasian nonhispanic hispanicorigin hispflag originhispanic maori pacific "
        "firstnations inuit metis aboriginality atsi torres religioncaste racacor racacormae cordapele "
        "csraca pueblo grupoetnico puebloindigena autoidentificacion hautfarbe volksgruppe origineethnique "
        "bevolkingsgroep herkomstgroep etnbak invandrarbakgrund landbakgrund narodowoscetn etnikum suku "
        "bangsa"
    ),
    "marital": (
        "irmarit marit sitfamiliale "
        "maritalst maritals marst maritstat mari civst civstat civilst partnered partnership "
        "livingarrangement livealone livingalone livesalone alleinlebend alleinstehend cohabit cohabitation "
        "cohabiting widow divorce singlestatus nevmar evermarried currmarr agefirstmarr husband wife "
        "conjoint situationfamiliale sitfam etatmatrimonial statutmarital situfam estcivil estciv estcivmae "
        "edocivil situacaoconjugal conjugal uniao statocivile stciv stcivile convivente partnerschaft ehe "
        "lebensform burgstaat burgst burglstaat samlivsstatus samliv civilstaand1 stancyw rodinnystav "
        "rodstav csaladiall starciv medenidurum medenidurumu statuskawin siviilis"
    ),
    "education": (
        "eduhigh eduhighcat hiqual nivest "
        "educlev edlevel edlev educyears yearsedu yearseduc eduyears yrseduc yschool yearsschool "
        "schoolyears schyrs highestgrade highgrade hgrade hgc literacy literate canread illiterate "
        "attainment qualification qualifications qual qualif diploma bachelor masters phd university "
        "degrees graduate gradschool schoolattend enrolled headedu hhheadedu mothereduc mothered matedu "
        "momeduc dadeduc fathereduc bildungsjahre schulbesuch hoechsterabschluss hoechster schulabschl "
        "bildungsklasse casmin niveauscolaire niveauetudes nivetudes nivetud dipl diplom bac formation "
        "scolaire nivelestudio nivestudios nivelinstruccion nivelinstr niveleducativo nived escolarid "
        "anosestudo escmae escpai csescoln codescol grauinstrucao instru grauesc instr titolodistudio "
        "titstudio livistr opleidingsnivo opln hoogstgenoten opleidingsduur utdniva utdanningsniva "
        "utbildningsniva utbniv hfudd uddannelsesniveau wykszt vzdel vzdelanost iskolaivegzettseg "
        "nivelstudii egitimdurumu egitimduzeyi tahsil okuryazar koulutusaste pendidikan fatheduc motheduc "
        "fathedu mothedu"
    ),
    "work": (
        "travnuit nuit nattarbete nachtarbeit wrkstat "
        "occcode occ occup1 jobtitle workstat worktype working works workhours workhrs wkhours hoursworked "
        "hrswork parttime selfemployed employst lfstatus labforce laborforce labourforce lforce "
        "econactivity economicactivity econstatus maineconomic activitystatus mainactivity mainact naics "
        "sic soc soc2010 isco08 isco88 nace naf nssec nssec8 socialclass socialgrade socclass headocc "
        "fatherocc motherocc occmother farmer student housewife homemaker unemp jobless pension pensioner "
        "retirement retirementstatus shift shiftwork nightshift commute telework firmsize enterprise "
        "supervisor managerial bluecollar whitecollar soldier army militaryrank servedarmed vet berufl "
        "beruflich berufsgruppe berufsstellung kldb erwerbsstat erwerbslos arbeitslos arbeitslosigkeit "
        "rentner rente schichtarbeit arbeitszeit professionnelle pcs2003 categoriesocio catsocpro catsp "
        "chomage chomeur situationprof statutpro situacionlaboral sitlaboral situlab ocupacionactual parado "
        "jubilado empleado cno cbo cbor codocupmae ocupmae idocupan codocup ocup ocupa situacaotrab "
        "desempregado aposentado vincprev posizprof condprof condizioneprofessionale pensionato disoccupato "
        "beroepscode arbeidsstatus arbeidssituatie werkloos werksituatie gepensioneerd uitkering sysselsatt "
        "arbetsloshet arbetslos arbetslivserfarenhet ssyk sni naring naeringskode yrkeskode stillingskode "
        "disco08 socio13 aktywnosczaw emeryt zamestnan povolanie foglalkozasa ocupatia loculdemunca "
        "isdurumu calisiyor emekli tyollisyys pekerjaan taetigkeit berufstaetigkeit"
    ),
    "nation": (
        "countrycit citizenofcountry immigr immigstat yearsinus yrsinus timeinus lengthresidence usborn "
        "usborncit bornus bornusa nativity nativeborn foreignb generation refugee asylum asyl asylstatus "
        "fluechtling refugie residencepermit aufenthaltsstatus aufenthaltstitel zuzug zuzugsjahr "
        "einreisejahr staatsang staatsangehoerigk migrationshg migrationhg mighintergrund "
        "nationalitepatient codnaz cittad permessosoggiorno paisorigen paisnacionalidad nacionalid nacional "
        "paisresid migracion migratorio verblijfsstatus inreisjaar generatie invandringsland fodelandgrupp "
        "invkat statsborg obywat obcanstvo statobc allampolg uyrugu kewarganegaraan passportcountry"
    ),
    "language": (
        "preferredlanguage langpref primarylanguage mainlanguage homelanguage langhome langathome "
        "spokenlanguage englishprof englishproficiency interpreter interpreterneeded speaks speakenglish "
        "sprachkenntnisse haussprache dolmetscher languematernelle interprete idiomaprincipal voertaal "
        "tolkbehov jezykojczysty bahasa"
    ),
    "religion": (
        "relig religaff religaffil religiousaffil denomination faith church churchattend attendchurch kerk "
        "agama"
    ),
    "family": (
        "enf enfcharge nbenfcharge "
        "hhmembers hhmem nhhmem nhh hhtot hhpers hhcomp hhcomposition famcomp nchild nchildren nkids kids5 "
        "kids18 children5 children18 under5 under15 over65 nunder5 childrenhh kidsathome livebirths "
        "livingchildren alivechildren childrenborn ceb sibs nsib nsibs siblingno birthorder borderch bord "
        "firstborn dependants dependents ndependents headhh hhhead headofhousehold relhead relationhead "
        "reltohead relhh relationtohead caretaker guardian guardianship mother father mothers fathers "
        "parent parents parental mum dad grandparents livewith liveswith livingwith orphan adopted foster "
        "roster haushaltsgr anzkinder anzahlkinder anzpers kinderanz kinderu18 personenimhaushalt hhgroesse "
        "nbenf nbenfant nbenfants nbpersonnes nbpers taillemenage tailmen typmen nhijos nrohijos tamhogar "
        "tamanohogar personashogar nummiembros nfilhos qtdfilhos qtdfilvivo numpessoas moradores nfigli "
        "nconviventi ncomponenti componentinucleo tipologiafamiliare aantalkinderen aantkind aantpers "
        "hhsamenst gezinssit antbarn antpers husstype barnantal hushtyp liczbaosob liczbadziec pocetdeti "
        "gyermekek nrcopii cocuksayisi hanehalki lapsia jumlahanak"
    ),
    "housing": (
        "tenure ownhome homeowner homeownership owns owner renting tenant rooms nrooms bedrooms bathrooms "
        "housetype hometype househeat roof roofing floor flooring floormaterial toilet latrine sanitation "
        "drinkingwater watersource water electricity electr fuel cookingfuel stove radio television "
        "refrigerator fridge car cars bicycle motorcycle livestock cattle goats landsize landown acres "
        "hectares internet computer slum shelter homelessness housed institutionalized wohnform wohnstatus "
        "wohnsituation wohnungsgroesse eigentum miete mietwohnung heimbewohner typelogement proprietaire "
        "locataire tipovivienda tenenciavivienda domicilioresid tipomoradia titologodimento casariposo "
        "woonvorm woonvormcode boform boendeform upplatelseform mieszkanie bydleni lakas locuinta konut "
        "asumismuoto"
    ),
    "money": (
        "totalcharge totalcharges totcharges totchrg chargeamt chargeamount totalcost totcost totcosts "
        "totalcosts totalpaid paidamt paidamount amtpaid amountpaid totpay allowed allowedamt allowedamount "
        "billed billedamt billedamount payamt paymentamount claimamt claimpaid netpay netpaid oop oopcost "
        "oopexp outofpocket copayamt coinsamt deductamt dedamt medexp medcost medcosts healthexp drugcost "
        "rxcost treatmentcost costusd tariff reimbursedamt subsidy fee fees gesamtkosten fallkosten "
        "drgerloes basisfallwert zusatzentgelt relativgewicht bewertungsrelation casemix kostenptl "
        "rechnungsbetrag coutsejour couttotal mntrem mntpres mntremb montantrembourse montantpaye "
        "prixunitaire tarifsejour costetotal costototal costetratamiento importetotal valortotal "
        "valorpagado valortot valuti valsh valsp valtot vlaprovado valaprovado ustot importoticket "
        "importototale importodrg tariffadrg remunerazione valorizzazione costoricovero kostentotaal "
        "totaalkosten declbedrag vergoed vergoedbedrag vergoeding eigenrisico kostnadtotal kostdrg drgvikt "
        "drgpoeng drgvaerdi takst egenandel egenavgift kosztleczenia kwotarefund wartosc cenacelkem "
        "bodyvykon koltsegft valoaredecontata tutartoplam faturatutari kustannus biaya tarifrs"
    ),
    "income": (
        "income2 incquart incomequintile incquintile incquint wealthindex wealthscore wealthquintile windex "
        "windex5 wquintile assetindex assetscore ses sesscore sep poor poorest povlevel povratio fpl "
        "povertyratio pir2 medianincome medincome hhmedinc benefits socialassistance foodstamps snap wic "
        "tanf ssi ssdi pensionincome netincome grossincome disposable equivincome equivalised consumption "
        "hhexp hhexpend savings debts mortgage bank financialstrain foodinsecurity foodsecure foodsec "
        "hunger haushaltseinkommen hheinkommen nettoek bruttoek aequivalenzeinkommen hartz buergergeld "
        "sozialstatus sozschicht revenumensuel revenumenage nivvie niveaudevie precarite ingresomensual "
        "ingresohogar ingresosmensuales nivelsocioeconomico nse rentafamiliar rendafamiliar rendamensal "
        "rendapercapita renda bolsafamilia isee redditofamiliare redditoannuo fasciareddito besteedbaar "
        "huishoudinkomen inkomenskl seswoa dispinc dispink disponibelinkomst kdisp famink bistand "
        "socialbidrag bruttoindk dochodnagl prijemdomacnosti jovedelem venitnet venit gelirduzeyi "
        "gelirdurumu ailegeliri kaytettavissaolevat penghasilan pendapatan ink inkkwintiel inkomenskwintiel"
    ),
}
