"""Names that a survey's dictionary gives a meaning: letters and numbers that say nothing by themselves.

A dictionary counts as found when several columns of the table carry names of its form; then its own names are
read as what they are about (the words of `vocabulary`). Facts from the published codebooks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST = 3  # columns of its form, for a dictionary to be taken as the one that was used


@dataclass(frozen=True)
class Dictionary:
    """One survey: what its names look like, and what some of them are about."""

    name: str
    form: re.Pattern[str]
    entries: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]


def _dictionary(name: str, form: str, table: str) -> Dictionary:
    entries = []
    for line in table.strip().splitlines():
        pattern, _, about = line.strip().partition(": ")
        entries.append((re.compile(pattern, re.IGNORECASE), tuple(about.split())))
    return Dictionary(name, re.compile(form, re.IGNORECASE), tuple(entries))


# What the names of a clinical trial's columns end in, after two letters for the table they belong to.
_SDTM = (
    "(TERM|DECOD|SEV|SER|REL|OUT|TRT|DOSE|ORRES|STRES[NC]|TEST|TESTCD|BODSYS|INDC|NRIND|STAT|CAT|SCAT|"
    "LLT|HLT|HLGT|SOC|PT|ACN|TOXGR|SCAN|SCONG|SDISAB|SDTH|SHOSP|SLIFE|SOD|SMIE|CLAS|DOSFRQ|DOSFRM|ROUTE|"
    "PRESP|OCCUR|LOC|LAT)"
)
_DICTIONARIES = (
    _dictionary("MICS", r"(HH|HL|WM|WB|UF|UB)\d{1,2}[A-Z]?|WMINT|windex\w+|(wm|hh|ch)weight|[wh]elevel", """
        hh1|wm1|uf1: psu
        hh2|wm2|uf2|ln|wm3|uf[34]|hl1: household
        wmint|hhint|ufint|wm[45]|uf[56]|hh[34]: staff number
        wm6[dmy]|hh5[dmy]|uf7[dmy]|wdoi|hhdoi: event date
        hh6[a-z]?|hh7[a-z]?: place
        wb3[my]|hl5[my]|ub1[dmy]|bh4[dmy]|wdob: birth
        wb4|hl6|ub2|wage: age
        hl4|bh3: sex
        wb5|wb6[ab]|wb7|welevel|helevel\\w*|melevel|ed\\d+[a-z]?: education
        ma\\d+[a-z]?|mstatus: marital
        windex\\w*|wscore\\w*: income
        (cm|bh)\\d+[a-z]*: family
        (cp|un|mn|pn|db)\\d+[a-z]*: pregnancy
        (dv|sb|ha|ta|fg|hs)\\d+[a-z]*: behaviour
        (ls|af|uf?cf|ucd|an|bd|ca|im|vt)\\d+[a-z]*: health
    """),
    _dictionary("DHS", r"(m?v|hv|s|b|m|hc|ha|hml)\d{2,3}[a-z]?(_\d+)?|caseid|hhid", """
        caseid|hhid: number record
        m?v001|m?v021|hv001|hv021|hv004|m?v004: psu
        m?v002|hv002|m?v003|hv003: household
        m?v005|hv005|d005: weightname
        m?v00[678]|hv00[678]: event date
        m?v009|m?v01[01]|b[123]|hv105d: birth
        m?v01[23]|hv105|hc1|ha1: age
        hv104|b4|hc27: sex
        m?v02[23]|hv02[23]: stratum
        m?v02[456]|m?v10[12345]|hv02[456]|m?v139|m?v140: place
        m?v106|m?v107|m?v133|m?v149|m?v155|hv10[6789]: education
        m?v130: religion
        m?v131: race
        m?v13[5678]|hv009|hv01[0-4]|m?v201|m?v20[2-9]|m?v21[89]|m?v220|m?v150|hv101: family
        m?v190a?|m?v191a?|hv27[01]a?: income
        m?v50[1-9]|hv115: marital
        m?v71[4-9]|m?v70[145]: work
        m?v21[3-5]|m?v21[67]|m?v22[1-9]: pregnancy
        m?v3\\d\\d[a-z]?|m?v46\\d[a-z]?|m?v5[2-3]\\d|m?v7[5-9]\\d[a-z]?|m?v8\\d\\d: behaviour
        m?v4[0-5]\\d[a-z]?|hc\\d+|ha\\d+|hml\\d+|hiv\\d+: health
    """),
    _dictionary("EU-SILC", r"[DHPR][ABCEHLSXY]\d{3}[GNT]?(_F)?", """
        [DHPR]X?B010: date
        [DHPR]B020|DB040|RB031: place
        [PR]B030|R[AB]0?30|PX030: number person
        [DH][BX]030|RX030: household number
        PB040|PB06[0-9]|DB090|RB05[0-9]|RB060|RL070|DB080: weightname
        DB05[0-9]: stratum
        DB06[0-9]|DB070: psu
        DB100: place
        PB110|PB120|PB100|PB130|PB140|RB070|RB080: birth
        PX020|RX0[12]0|RB08[12]: age
        PB150|RB090: sex
        PB1[67]0|PB180|RB2[234]0: family
        PB190|PB200|RB24\\d: marital
        PB2[123]0[AB]?|RB2[89]0: nation
        PE0\\d\\d: education
        PL\\d{3}[A-Z]?|PX050|RB210: work
        PH0\\d\\d: health
        PY\\d{3}[GN]?|HY\\d{3}[GN]?|HX\\d{3}|HS\\d{3}|PX010: income
        HH\\d{3}[A-Z]?|HX0[456]0: housing
    """),
    _dictionary("NHANES", r"(RI[AD]|DMD|IND|SDMV|WT|LBX|LBD|URX|BPX|BMX|DIQ|SMQ|ALQ|MCQ|DPQ|SXQ|HIQ|DUQ|HSQ|"
                r"RXD|OHX|KIQ|PAQ|RHQ|HUQ|DXX|PFQ|SLQ|CDQ|BPQ|DBQ|OCQ|HEQ)[A-Z0-9_]*|SEQN|SDDSRVYR", """
        SEQN: number person
        RIDAGE.*|RIDEXAG.*|DMDHRAG.*: age
        RIAGENDR|DMDHRGND: sex
        RIDRETH\\d: race
        DMDBORN.*|DMDHRBR.*: nation
        DMDCITZN|DMDYRS.*: nation
        DMDEDUC.*|DMDHRED.*|DMDHSED.*: education
        DMDMARTL|DMDHRMA.*|DMDMARTZ: marital
        DMDHHSI.|DMDFMSI.|DMDHHZ.*: family
        DMQMILI.|OCQ.*|OCD.*: work
        RIDEXMON|RIDSTATR|SDDSRVYR|SIA.*|FIA.*|MIA.*: survey
        RIDEXPRG|RHQ.*|RHD.*: pregnancy
        IND.*: income
        WT[A-Z0-9_]+: weightname
        SDMVPSU: psu
        SDMVSTRA: stratum
        LB[XD].*|UR[XD].*|SS[A-Z]{2,}.*: lab
        BPX.*|BPQ.*|BMXBMI|BMXWAIST|DXX.*|OHX.*: vital
        BMX.*: body
        DIQ.*|MCQ.*|KIQ.*|CDQ.*|HEQ.*: disease
        SMQ.*|SMD.*|ALQ.*|DUQ.*|SXQ.*|DBQ.*|PAQ.*: behaviour
        DPQ.*|HSQ.*|HUQ.*|PFQ.*|SLQ.*|HSD.*: health
        RXD.*|RXQ.*: drug
        HIQ.*: insurance
    """),
    _dictionary("SOEP", r"(pg|hg|pl[a-j]|hl[a-f]|[deilmw]111)[a-z0-9]+|syear|[ph]hrf|hid|cid|pid", """
        pid|pnr|persnr: number person
        hid|cid|hhnr|hhnrakt: household number
        syear|welle|erhebj: date
        phrf\\w*|hhrf\\w*|w111\\w+: weightname
        gebjahr|gebmonat|ple0010_h: birth
        d11101: age
        d11102ll|sex: sex
        d11103|d11112ll|migback|corigin|pgnation\\w*: race
        d11104|pgfamstd\\w*|pgpartz: marital
        d1110[67]|hhgr|h11101|d11105: family
        d1110[89]|pgisced\\w*|pgpsbil\\w*|pgpbbil\\w*|pgbilzt|pgcasmin: education
        bula\\w*|l111\\w+|sampreg: place
        pgisco\\w*|pgstib|pgemplst|pgnace\\w*|pglfs|e111\\w+|pgsiops\\w*: work
        pglab\\w+|hghinc|hginc\\w*|i111\\w+|pgimp\\w*: income
        ple\\w+|m111\\w+: health
        strat\\w*|strata\\w*: stratum
        psu|intid: psu
    """),
    _dictionary("SHARE", r"(dn|ph|mh|br|ep|as|hc|sp|ch|gv_|cv|xt)\d{3}[a-z0-9_]*|mergeid|hhid\d|cciw_w\d", """
        mergeid: number person
        hhid\\d|coupleid\\d: household number
        dn00[23]_?|dn004_?.*|dn005.*: birth
        dn042_?: sex
        dn014_?: marital
        dn010.*|dn012.*: education
        dn007.*|dn008.*: nation
        c[ci][id]w_w\\d: weightname
        ph\\d+.*|mh\\d+.*|hc\\d+.*: health
        br\\d+.*: behaviour
        ep\\d+.*: work
        as\\d+.*: income
        ch\\d+.*: family
    """),
    _dictionary("HRS", r"[RSH]\d+[A-Z][A-Z0-9_]*|RA(GENDER|BYEAR|BMONTH|RACEM|HISPAN|EDUC)|HHIDPN", """
        HHIDPN: number person
        HHID|H\\d+HHID.*: household number
        PN|RAEHSAMP|INW\\d+: psu
        RAESTRAT: stratum
        [RSH]\\d+WT[A-Z]+: weightname
        [RS]\\d+AGE[YM].*: age
        (RA|S\\d+)GENDER: sex
        (RA|S\\d+)(BYEAR|BMONTH|BDATE|BPLACE): birth
        (RA|S\\d+)(DYEAR|DMONTH|DDATE|NYEAR|NMONTH): death
        (RA|S\\d+)(RACEM|HISPAN): race
        (RA|S\\d+)(EDUC|EDYRS|EDEGRM|MEDUC|FEDUC): education
        [RS]\\d+(MSTAT|MPART|MRCT|MCURLN): marital
        RARELIG: religion
        [RS]\\d+(CENREG|CENDIV|URBRUR): place
        [RSH]\\d+(CHILD|HHRES|LIVSIB|LIVPAR): family
        [RS]\\d+(WORK|LBRF|SLFEMP|JCOCC|JCIND|SAYRET).*: work
        [RSH]\\d+(ITOT|IEARN|ATOT|AHOUS|ISRET|IPENA|AIRA|ADEBT|OOPMD|TOTMD).*: income
        [RS]\\d+(SHLT|CESD|ADL|IADL|MOBILA|BMI|HIBP|DIAB|CANCR|LUNG|HEART|STROK).*: health
        [RS]\\d+(PSYCH|ARTHR|MEMRY|COND|HOSP|NRSHOM|DOCTOR|HOMCAR|DRUGS).*: health
        [RS]\\d+(SMOK|DRINK|VIGACT).*: behaviour
        [RS]\\d+(HIGOV|COVR|HILTC|HIOTHP).*: insurance
    """),
    _dictionary("CDISC", rf"[A-Z]{{2}}{_SDTM}|RF\w{{2,6}}DTC|USUBJID|STUDYID|BRTHDTC|DTHDTC|ARMCD", f"""
        USUBJID|SUBJID: number person
        STUDYID|DOMAIN|EPOCH|VISIT\\w*|[A-Z]{{2}}(ORRES|STRES)U|AGEU: thing
        [A-Z]{{2}}(SEQ|SPID|GRPID|REFID|DOSU|ENRTPT|ENRF|STRF): thing
        SITEID: site
        INVID|INVNAM: staff
        BRTHDTC: birth
        DTH(DTC|FL|DY): death
        [A-Z]{{2}}\\w*DTC: event date
        ARM|ARMCD|ACTARM|EX{_SDTM}|PR{_SDTM}: procedure
        AE{_SDTM}|MH{_SDTM}|DS{_SDTM}|FA{_SDTM}|DV{_SDTM}|CE{_SDTM}: disease
        TRT(\\d\\d)?[AP]N?: procedure
        PARAM\\w*|PARCAT\\d|AVALC?|AVALCAT\\d|CRIT\\d\\w*|BASEC?|P?CHG|[AB]NRIND: lab
        CM{_SDTM}: drug
        LB{_SDTM}|EG{_SDTM}|TR{_SDTM}|TU{_SDTM}|RS{_SDTM}: lab
        VS{_SDTM}: vital
        QS{_SDTM}: health
        SU{_SDTM}: behaviour
    """),
    _dictionary("NSDUH", r"(IR|II)[A-Z]+\d*(_\d)?|QUESTID2?|ANALWT.*|VESTR|VEREP|CATAG\d|NEWRACE\d|"
                r"EDUHIGHCAT|PDEN\d\d|COUTYP\d", """
        QUESTID2?: number person
        CATAG\\d|AGE2: age
        IRSEX: sex
        NEWRACE\\d: race
        EDUHIGHCAT|EDUSCHGRD2: education
        IRMARIT: marital
        IRWRKSTAT\\d*|SERVICE|WRKSTATWK2: work
        IRHHSIZ2|IRKI17_2|IRHH65_2: family
        PDEN\\d\\d|COUTYP\\d: place
        IRMEDICR|IRMCDCHP|IRPRVHLT|ANYHLTI2: insurance
        ANALWT.*: weightname
        VESTR: stratum
        VEREP: psu
    """),
    _dictionary("UKHLS", r"pidp|[a-p]_\w+_dv|[a-p]_(hidp|pno|health|jbstat|indinus\w*)", """
        pidp|[a-p]_hidp: number person
        [a-p]_(dvage|age_dv|doby_dv|birthy): age
        [a-p]_(sex|sex_dv): sex
        [a-p]_(gor_dv|urban_dv|country): place
        [a-p]_(racel_dv|ethn_dv|ukborn|plbornc): race
        [a-p]_(marstat_dv|mastat_dv|livesp_dv): marital
        [a-p]_(hiqual_dv|qfhigh_dv|nhiqual_dv): education
        [a-p]_(jb\\w+|employ|cjob|retdate): work
        [a-p]_(nchild_dv|hhsize|hhtype_dv|nkids_dv): family
        [a-p]_(tenure_dv|hsownd): housing
        [a-p]_(fim\\w+|fih\\w+|finnow): income
        [a-p]_(health|sf\\w+|scghq\\w+|hcond\\w+|disdif\\w+|bmi_dv|scl\\w+|hosp\\w*|hl\\w+): health
        [a-p]_(sm\\w+|nc\\w+|auditc\\w*|dklm): behaviour
        [a-p]_(ind|hhd|psn)\\w+_(xw|lw|xd|li): weightname
        [a-p]_psu: psu
        [a-p]_strata: stratum
    """),
    _dictionary("ESS", r"agea|gndr|cntry|idno|essround|eisced|mnactic|marital[ab]?|rlgdnm|hinctnta|dweight|"
                r"pspwght|pweight|yrbrn|brncntr|ctzcntr|hhmmb|domicil|health|hlthhmp|happy|region", """
        idno: number person
        essround|edition|proddate|name: thing
        agea: age
        yrbrn: birth
        gndr: sex
        cntry|region|domicil: place
        eisced|eduyrs|edulvlb: education
        mnactic|isco08|nacer2|emplrel|uemp\\w+|wrkctra: work
        marital[ab]?|rshpsts|maritalb: marital
        rlg\\w+|relig: religion
        hinctnta|hincfel: income
        brncntr|ctzcntr|facntr|mocntr|blgetmg|feethngr|cntbrthd: nation
        hhmmb|chldhhe: family
        health|hlth\\w+|flt\\w+|slprl|happy|wrhpp|enjlf|cldgng|dprs\\w*: health
        cgt\\w+|alc\\w+|dosprt|etfruit|eatveg: behaviour
        dweight|pspwght|pweight|anweight: weightname
        psu: psu
        stratum: stratum
    """),
    _dictionary("OMOP", r"\w+_concept_id|\w+_source_value|\w+_occurrence_id|value_as_\w+|"
                r"(year|month|day)_of_birth", """
        person_id|person_source_value: number person
        provider_\\w+: staff number
        care_site_\\w+: site
        location_\\w+: place
        (visit|condition|procedure)_(occurrence|detail)_id|(drug|device)_exposure_id: number record
        (measurement|observation|note|specimen)_id: number record
        \\w+_type_concept_id|unit_\\w+|operator_concept_id|range_(low|high)|\\w+_field_concept_id: thing
        gender_\\w+: sex
        (race|ethnicity)_\\w+: race
        (year|month|day)_of_birth|birth_datetime: birth
        condition_(source_value|\\w*concept_id)|cause_\\w+: diagnosis
        (drug|dose_unit|route)_(source_value|\\w*concept_id)|quantity|days_supply|refills|sig: drug
        (procedure|device|modifier)_(source_value|\\w*concept_id): procedure
        (measurement|value_as)_(source_value|\\w*concept_id|number|string)|value_source_value: lab
        observation_(source_value|\\w*concept_id)|qualifier_\\w+: health
        payer_\\w+|plan_\\w+: insurance
    """),
    _dictionary("UK Biobank", r"f?\.?\d{2,6}[-._]\d+[-._]\d+|eid|f\.eid", """
        f?\\.?eid: number person
        f?\\.?31\\D.*: sex
        f?\\.?(34|52|33)\\D.*: birth
        f?\\.?(21003|21022)\\D.*: age
        f?\\.?21000\\D.*: race
        f?\\.?(53|40000)\\D.*: event date
        f?\\.?54\\D.*: place
        f?\\.?(41\\d{3}|4000[16]|130\\d{3}|131\\d{3})\\D.*: diagnosis
        f?\\.?(300\\d\\d|30[1-9]\\d\\d|23[34]\\d\\d)\\D.*: lab
    """),
)  # fmt: skip


def dictionaries(names: Sequence[str]) -> tuple[Dictionary, ...]:
    """The dictionaries whose form several of these names have."""
    return tuple(d for d in _DICTIONARIES if sum(d.form.fullmatch(n) is not None for n in names) >= _LEAST)


def meaning(name: str, found: Sequence[Dictionary]) -> tuple[str, tuple[str, ...]]:
    """The survey, and what its dictionary says a column of this name is about."""
    for dictionary in found:
        for pattern, about in dictionary.entries:
            if pattern.fullmatch(name):
                return dictionary.name, about
    return "", ()
