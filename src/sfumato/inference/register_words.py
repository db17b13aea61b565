"""Words of registers and surveys in many languages: places, places of care, dates, insurances, designs.

As in `vocabulary`: small letters without accents, whole words. From the dictionaries of hospital registers
and household surveys.
"""

from __future__ import annotations

REGISTER = {
    "record": (
        "encid icustay icustayid epid formid formno questionnaire quest hhquest notification notificationno "
        "notifid notific fallkennung fallzahl einsendenummer auftragsnr probennr probennummer ndossier "
        "nroepisodio folio nofolio nrofolio numaih naih aih numdo numdn nudeclaracao nuatestado progressivo "
        "progricovero numericovero trajectnr dbctraject subtraject vardkontakt vtfid vtf forlopsid "
        "episodeid2 oppholdsid szpitalny hospitalizacji"
    ),
    "place": (
        "community communityid ces "
        "zip3 zip5 zip9 zip4 zip5digit pzip patientzip ptzip homezip zipcode5 zipcode3 postcode4 postcode3 "
        "pcode2 postcodedistrict postcodearea postalarea outcode fsa plz3 plz2 plz5 plzgebiet fips5 "
        "statefips countyfips stateab usstate stateres ressate residencestate stcode cbsa cbsacode puma "
        "pumas metsize urbrur urbcode rucc ruccode ruca1 rururb urb rur reside residearea censusregion "
        "censusdiv censtract blockcode village villageid villagename vill hamlet constituency constit "
        "subcounty sublocation chiefdom distcode admin1 admin2 admin3 adm1 adm2 adm3 adm0 region1 region4 "
        "macroregion geoarea geographic geography catchment zone zonecode healthzone healthdistrict "
        "governorate oblast raion rayon gubernia krai voivodeship wojew upazila thana taluk tehsil mandal "
        "block panchayat sido sigungu todofuken lga localgov citytown citysize towncity localityname "
        "locality altitude elevation elev latlong latlon xcoord ycoord coordx coordy xkoord ykoord utmx "
        "utmy geohash gridcell gridref oa lsoa21 lad ladcode ladcd lacode laname localauthority ccg icb stp "
        "pct sha nhsregion healthauthority healthboard datazone intzone simd imd2015 imd2019 imdquintile "
        "imdrank imdscore depriv depcat carstairs carstair townsendscore wimd nzdep seifa irsd arcode krs "
        "landkr regbez regierungsbezirk landesteil blcode blnr gemnr gkz ortsgroesse siedlungsstruktur "
        "raumordnung stadtland ostwest gebietsstand wohnortplz plzwohnort patplz codegeo codpos "
        "codpostalres codecommune codecom codcom communeresidence comresidence depresidence depres deptres "
        "departementres regres regionres codedep zipmen tuu trancheunite ruralite cantonresidence provres "
        "provresid provinciaresid codmun codmunic municres municmov munic munres munresidencia codmunres "
        "codmunocor munresid idmunicip sguf sgufnot coufinf ufres ufresid ufzi estadores regiaosaude "
        "zonares zonaresid tipozona sitdomicilio areares cveent cvemun entres munresi entidadres ubigeo "
        "dpto deptocode codepto coddpto codmpio mpio parroquiares cantonres provinciares comunares "
        "comunaresid comres1 provresidenza regresidenza regioneres istatcomune comuneresidenza capresidenza "
        "aslresidenza aslres distrettoasl zonaaltimetrica gemcode gemeentenaam corop coropgebied buurtcode "
        "buurt postcode4cijfers pc4woon woongemeente stedelijkheid sted stedgem kommnr komnr bydelsnr "
        "sentralitet kommunkod lkf lkfkod lanskod hemlan hemort tatort bopkom bopaelskommune bopaelregion "
        "terytkod teryt kodteryt nuts1 nuts2 nuts3 kodobce irsz telepulestipus siruta mediu mediul "
        "rezidenta ilkodu ikamet ikametil bolge kuntanro maakuntakoodi sairaanhoitopiiri kabupaten "
        "kecamatan kelurahan desa provinsi tinh quan huyen phuong meldelandkreis meldekreis"
    ),
    "site": (
        "inst facid facname hfid hfname healthfacility healthcentre healthcenter healthunit siteid1 "
        "studysite store storenbr gpsurgery "
        "studycenter studycentre invsite provnpi providernpi npinumber attendingnpi attphys atnpi opphys "
        "refphys referring referringphysician physid staffid gpcode1 pracid pracode praccode orgcode "
        "careproviderid specialty speciality specialite specialita especialidad especialidade specialism "
        "specialisme fachrichtung facharzt specialitykode specialtycode mainspef tretspef fachabt fab "
        "fachabteilungscode fachabteilungsschluessel entlassabteilung aufnahmeabteilung standort "
        "standortnummer khid betriebsnr betriebsstaettennr bsnrnbsnr aerzte labornr etabl etabid etablis "
        "finessgeo finessj codefiness idetab unitemedicale prescripteur executant centrosalud codestab "
        "codestablecimiento establecimiento estab estabelecimento cnes codcnes coduni unidadesaude unidade "
        "puericultura clues eess eessid codstrutt stabilimento reparti repdimissione repammissione discdim "
        "disciplina zkhs zkh agbpraktijk agbhuisarts instellingscode specialismecode specmedewerker "
        "behandelaar sjukhusnamn vardgivare mvo afdkode afdelingskode shak reshid institusjon institusjonid "
        "avdelingskode kodoswiadczeniodawcy swiadczeniodawca icz icp odbornost zarizeni medicid hekim "
        "hekimid servis brans klinikadi yksikko toimipaikka rumahsakit puskesmas faskes gesundheitsamt "
        "einrichtung instit"
    ),
    "event": (
        "dateofadmission doa doad datadm dateofdischarge dodischarge dateofvisit encdate svcdate dos "
        "dateofservice statementfrom todate enrolldate enroldate dateenrol exitdate dateregistered intdate "
        "intmonth intyear intvdate screendate trtsdt trtedt trtstart trtend surgdate opdate specdate "
        "collectdate dateofcollection reportdate dateofonset dateofdiagnosis followupdate fupdate "
        "lastcontact lastseen lastvisit nextvisit apptdate vaccdate vaxdate dosedate1 notificationdate "
        "notifdate notifieddate yearadm yeardx yearofdiagnosis aufnahmedat aufnahmetag aufnahmemonat "
        "aufnahmezeit aufnzeit entlassungsdatum entlassdat entlassungsjahr entldatum behandlungsdatum "
        "behandlungsbeginn behandlungsende leistungsdatum verordnungsdat opdatum untersuchungsdatum "
        "erhebungsdatum einsendedatum eingangsdatum erstdiagnose erstdiagnosedatum impfdatum datentree "
        "dateent datesor dateadmission1 datehospi datesoin dateprelevement prelevement dateinclusion "
        "inclusion datevisite datedebut datefin anneesortie moissortie debutsejour finsejour fechaingreso "
        "fecingreso fingreso fechaalta fecalta falta fechaegreso fecegreso fechaconsulta fechaatencion "
        "fecatencion fechasintomas fecsintomas fechainicio fecinicio fechafin fechacirugia fecint "
        "fechaintervencion fechatoma fechamuestra fecharesultado fechanotificacion fecnot fechavacuna "
        "fchalta fchingreso fch dtinternacao dtinterna dtinter dtsaida dtalta dtadmissao dtatend dtnotific "
        "dtsinpri dtobito1 dtencerra dtinvest dtcoleta dtatendimento dataprelievo dataesame datavisita "
        "dataeroga dataerogazione annoricovero annodimissione annodim opndat datumopname ontsldat "
        "datumontslag behandeldatum operatiedatum verrichtingsdatum einddatum diagnosedatum1 openingsdatum "
        "sluitingsdatum inndatotid utdatotid innskrivingsdato utskrivingsdato besoksdatum inskrivningsdatum "
        "utskrivningsdatum insdat utsdat inddato uddato indldato udskrdato datazabiegu datawizyty "
        "datumprijeti datumpropusteni elbocsatas yatistarihi cikistarihi basvurutarihi muayenetarihi "
        "kabultarihi tulopaiva lahtopaiva kayntipvm tglmasuk tglkeluar admitsource admissionsource "
        "modeentree modentree modesortie modsortie modeadmission dischargedisposition dischargeto dischdest "
        "destination provenance provenienza procedencia tipoingreso tipoalta circunstanciaalta motivoalta "
        "modalitadim modadim modingresso onereassistenza aufnahmeart aufnahmeanlass aufnahmegrundcode "
        "entlassgrund entlassungsgrund entlassungsart entlassart urgentie opnamewijze ontslagbestemming "
        "opnamesoort innmate tilhast inskrivningssatt utskrivningssatt utskrtill indm udm"
    ),
    "stay": (
        "loshours loslen hoslos hosplos iculos actuallos hospitallos icustaylos lenstay lenofstay staylen "
        "lengthstay daysinhospital daysinhosp inpatientdays numdaysstay vwd vwdauer verweild liegetage "
        "belegungstage pflegetage krankenhaustage dureeduse dureesej dureehospit nbjours nbjour nbnuits "
        "diasestancia diasest estanc destancia diasperm diasinter diashosp qtdiarias permanencia1 "
        "tempointernamento ggdegenza giornatedegenza gdegenza duratadegenza ligdag ligdagen verpleegdagen "
        "opnameduur vtid vtd vardtillfdagar liggedg liggetider sengedag dniopobytu liczbadni delkahospit "
        "hospnapok apolasinap zilespit zilespitalizare yatissuresi yatisgun hoitopaivat lamarawat"
    ),
    "insurance": (
        "insurtype insurstat insplan insurancecompany healthinsurance hinsurance hlthins healthplan "
        "healthcov payor1 primarypayer primpay secpayer payer1 payer2 paysource paymentsource sourcepay "
        "sourceofpayment expectedpayer fundingsource funding funder finclass financialclass tricare champus "
        "schip chip selfpay uninsured insur uninsrd privins privinsur pubins publicins mcaid mcare "
        "dualeligible dualelig dual medicaidelig partd partb partc hmocoverage metallevel benefitplan "
        "kassenart kassennr kasseik kassenik kostentraegerkennung kostentraegerik versart versichertenart "
        "versstatus privatversichert gkv pkv zuzahlungsbefreit regimeass regimesecu codregime caisseaff "
        "cmuc ame exoneration exticm organismeassurance tipoaseguramiento tiposeguro derechohabiencia "
        "derechohab afiliacion epscode previsionsalud fonasa isapre obrasocial obrasoc financiador "
        "financiamiento garante tipofinanc gestaofinanc planosaude operadora esente esenzioneticket "
        "ticketesente oneredegenza verzekeringssoort aanvullend verzsoort zorgverzekeraar forsikringstype "
        "fritak frikort platnik nfzoddzial kodplatnika zdravpoj biztosito caas tipasigurare sgk "
        "sosyalguvence guvence kelakorvaus bpjs jaminan penjamin"
    ),
    "weightname": (
        "factoradulto poidssond analwt pesoadulto factorelevacion "
        "wgtfinal finalweight sweight svyweight surveywt surveywgt personweight personwt perswt perweight "
        "pwt pwgt hhweight hhwgt hweight indwt indweight indivweight respwt respweight popwt popweight "
        "wtpop expwt expfactor factorexp factorex fexpan fac500a facexp popweights analysisweight anwt "
        "analwt normwt normweight rakedwt rakewt trimwt poststrat postwt pswt selectionweight selwt basewt "
        "baseweight designwt desweight dwgt ipw iptw ipcw samplingwt sampwgt samplewt sampleweights trendwt "
        "panelwt longwt crosswt lngwt xwgt wtssnr wtssps v005 wgthog calibwt calwt hochrechnung hrfaktor "
        "gewichtungsf poidsfinal poidsindiv coefred coefexp coefponderation factorpond fpond "
        "factordeexpansion factorelev pesoamostra pesopes pesoriporto coefin coefindividuale ponderatie "
        "eindgewicht weegcoeff vektvar kalvikt kalibreringsvikt vaegt2 agirlik wegfact wstep1 wstep2 wstep3 "
        "wtstep"
    ),
    "replicate": (
        "repwgt1 repwt1 brrwt brr1 jkwgt wgtrep bootstrapwt bsweight bsw1 rwgt pwgtp1 repweight repweights "
        "repwts wrwt jkrep jkzone varzone"
    ),
    "stratum": (
        "strata1 varstrat varstrata ststr1 sestrat samplestrat hstrata schichtung estratodis estratif "
        "estratomuestral warstwa"
    ),
    "psu": ("varunit enumarea enumerationarea varunitcode conglome samplepoint samplingpoint secu"),
    "thing": (
        "questionnaireversion formversion sourcefile uploaddate createdby updatedby modifiedby createdat "
        "updatedat entryuser enteredby interviewer interviewerid enumid enumeratorid fieldworker operatorid "
        "deviceserial redcapevent redcap instance instrument interviewmode phase visitlabel timepoint "
        "relday dayrel offset runno kit kitno analyzer analyser normalrange refrange refrangelow "
        "refrangehigh lln uln loq lod complete completed completeness validated verified qcflag qc imputed "
        "imputation typeofbill formstatus consented consentgiven eligibility eligible inclusioncrit cohort "
        "cohortgroup grouping trialname protocol protocolno projectid project program programme scheme "
        "campaign"
    ),
}
