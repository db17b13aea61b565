"""People of a hospital or an office, in column names: read by `staff`, beside what else the word is about."""

from __future__ import annotations

STAFF = (
    "physician physn physiciannpi doctor arzt aerztin hausarzt leichenschauarzt notarzt medecin surgeon "
    "medico medica dottore dottoressa huisarts practitioner consultant attending attendingnpi attphys "
    "atnpi opphys refphys referringphysician physid staffid staff prescripteur executant behandelaar "
    "hekim hekimid lanr arztnummer prescriber prscrbr operateur chirurg chirurgien cirujano chirurgo "
    "cirurgiao operatore investigator invnam vaccinator behandler clinician nurse fastlege laege lakare "
    "lijecnik doktor zdravnik gydytojas laeknir dokter dpjp bacsi daktari orvos lekar lekarz laakari "
    "enfermera enfermero enfermeiro infirmier infirmiere infermiere infermiera verpleegkundige pfleger "
    "pflegekraft krankenschwester sykepleier sjukskoterska sygeplejerske hemsire pielegniarka sestra "
    "midwife hebamme matrona ostetrica sagefemme verloskundige jordmor therapist therapeut dentist "
    "zahnarzt tandarts odontologo anaesthetist anesthetist anaesthesist radiologist pathologist "
    "interviewer enumerator enqueteur encuestador entrevistador intervistatore befrager sachbearbeiter "
    "caseworker coordinator colegiado medic provider pcp officer phlebotomist physio physiotherapist "
    "fysio fysiotherapeut kinesitherapeute fisioterapeuta pharmacist pharmacien apotheker farmaceutico "
    "farmacista technician laborant optometrist dietician dietitian psychologist psychologue psicologo "
    "psycholog socialworker paramedic sanitaeter ambulancier supervisor adjuster examiner inspector "
    "manager mgr obstetrician gynaecologist anaesthesiologist anesthesiologist cardiologist oncologist "
    "paediatrician pediatrician pediatra psychiatrist psychiater recorder transcriptionist porodnicar "
    "babica primalja akuszerka akusherka moasa katilo barnmorska jordemoder vroedvrouw parteira comadrona "
    "partera ebe szuleszno slaugytoja medmasa nover apolo asistenta enfermeira sairaanhoitaja hoitaja "
    "operater operator zdravotnik "
    "vacunador vaccinateur impfarzt befunder berater counsellor counselor audiologist assessor "
    "lege verfasser author consult onderzoeker embriologo researcher untersucher "
)
