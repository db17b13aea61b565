"""Words of medicine told by their parts: Greek and Latin, so the same in most languages of Europe.

'hepatite', 'Hepatitis' and 'hepatitida' are one word with three endings; 'hiperglicemia' is too much of
something in the blood whatever the language. Drugs go by the stems that WHO gives their international names.
A part speaks only in words of six letters or more, and only where everyday words do not have it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sfumato.inference.vocabulary import word_set

# Endings of the international names of substances (WHO's stems): each a family of drugs.
_DRUG = re.compile(
    r"[a-z]{2,}(formin|glitazone|gliptin|gliflozin|glinide|glutide|glipton|vastatin|sartan|prazole|mycin|"
    r"cillin|cycline|"
    r"floxacin|azepam|azolam|oxetine|triptyline|dipine|olol|barbital|coxib|profen|setron|triptan|xaban|"
    r"gatran|"
    r"conazole|oxacin|thiazide|semide|butamide|propamide|azamide|examide|pizide|piride|buride|clazide|"
    r"arbose|glitol|"
    r"parin|tidine|zumab|tinib|ciclib|zolamide|caine|codone|morphone|morphine|lukast|terol|asone|solone|"
    r"fibrate|"
    r"[aeio]pril|rubicin|platin|taxel|vudine|navir|tegravir|ciclovir|buvir|asvir|ximab|limumab|lizumab|"
    r"dronate|thyroxine|tropium|grel|mustine|trexate|poside|bactam|penem)|cef[a-z]+(ime|xin[ae]?|zolin|clor|droxil|xitin|axone?|azidime?|tin)|sulfa[a-z]{3,}|"
    r"prednis[a-z]+"
)
_ORGAN = (
    r"(arthr|artr|hepat|epat|nephr|nefr|neur|cardi|kardi|gastr|enter|bronch|bronq|bronc|pneum|neum|pulm|"
    r"derm|dermat|oste|encephal|"
    r"encefal|mening|cyst|cist|zyst|pancreat|pankreat|thyr[eo]|tir[eo]|rhin|rin|laryng|laring|pharyng|"
    r"faring|trache|trach|phleb|fleb|"
    r"vascul|vaskul|h?[ae]*mat|leuk|leuc|erythr|eritr|lymph|limf|linf|psych|psic|psik|cephal|cefal|ophthalm|"
    r"oftalm|odont|gloss|spondyl|spondil|chondr|"
    r"condr|tend[io]n|burs|myel|miel|urethr|prostat|metr|hyster|oophor|salping|vagin|mast|gingiv|stomat|"
    r"sinus|tonsill|amygdal|append?ic|divertikul|diverticul|rect|proct|chol|colecist|perit[oi]n|peric?ard|"
    r"end?ocard|myocard|miocard|retin|cornea|kerat|cheilit|uve)"
)
_DISEASE = re.compile(
    rf"[a-z]*{_ORGAN}[a-z]{{0,3}}?(itis|itides|itide|ite|ites|iitt?i|itt|itida)|[a-z]{{4,}}itis|"
    r"[a-z]{3,}(aemia|aemie|emias?|emie|emi|algi[ae]s?|algija|pathy|pathie|pathies|patias?|opati|patija|"
    r"plegi[ae]|"
    r"pares[ie]s?|uri[ae]|peni[ae]|rrh?ea|rrh?oea|rrh?oe|rrhag[a-z]+|rragi[ae]|megal[a-z]{1,3}|malaci[ae]|"
    r"ectasi[ae]|d[iy]stro[pf][a-z]+|"
    r"pn[oe]+[ae]|phagi[ae]|sclero[sz][a-z]{1,2}|skleros[a-z]?|steno[sz][a-z]{1,2}|necro[sz][a-z]{1,2}|"
    r"fibro[sz][a-z]{1,2}|trombos[a-z]?|thrombos[a-z]{1,2}|"
    r"carcinom[a-z]?|karzinom[a-z]?|sarcom[a-z]?|sarkom[a-z]?|lymphom[a-z]?|linfom[a-z]?|melanom[a-z]?|"
    r"myelom[a-z]?|adenom[a-z]?|blastom[a-z]?|gliom[a-z]?|glaucom[a-z]?|glaukom[a-z]?|fibrom[a-z]?)|"
    r"(hyper|hypo|hiper|hipo|iper|ipo)(tens|tiro|thyr|gly|gli|chol|col|lip|kal|nat|cal|plas|tro[pf]|ton|"
    r"uric|pigment|vol|al|ox|therm)[a-z]*|"
    r"(cardiopat|cardiop|cardiovasc|kardiovask|cerebrovasc|neopla|neoplaz|malign|metast|leuk[ae]+m|leucem|"
    r"lymphaden|adenopat|linfad|immunsup|immunosup|inmunosup|imunosup|"
    r"insuffic|insuffis|insuffiz|insufic|kreft|krebs|schizo|esquizo|schyzo|bipol|depress|depresi|autis|"
    r"epilep|parkins|alzheim|demen[tcz]|"
    r"tubercul|tuberkul|pneumon|polmonit|neumon|asthma|asmati|diabet|zuckerkr|h[ae]+mophil|hemofil|coagul|"
    r"koagul|infec[ct]|infek|infez|sepsis|septic|"
    r"allerg|alerg|rheum|reum|osteopor|arthro[sz]|artro[sz]|psoria|eczem|ekzem|migr[ae]n|emicran|hernia|"
    r"anomal|malform|congenit|fractur|fraktur|frattur|amputat|"
    r"ulcer|ulkus|varic|hemorr|haemorr|emorr|embol|infar[ck]t|infart|ischem|ischaem|isquem|"
    r"arr?h?[iy]t[hm]*mi|fibrill|steato|cirrh|cirros|zirrho)[a-z]*"
)
_PROCEDURE = re.compile(
    r"[a-z]{3,}(ectom[a-z]{1,3}|ektom[a-z]{1,3}|otom(y|ie|ia)|ostom(y|ie|ia|i)|plast(y|ie|ia|ik|ies)|scop(y|"
    r"ie|ia|ies|ic)|skop(ie|i|ia)|"
    r"graph(y|ie)|graf(ia|ie|i)|centes[ie]s?|therap(y|ie|ies|ia)|terap(ia|i|ie)|lys[ie]s?e?)|"
    r"(angiogr|arteriogr|mammogr|sonogr|ecogr|echogr|tomogr|radiogr|electrocard|elektrokard|electroenc|"
    r"colonosc|coloskop|laparo|laparosk|endoscop|endoskop|bronchosc|"
    r"transplant|trasplant|trapiant|intub|mechvent|cathet|katheter|cateter|transfus|dialys|dialis|hemodial|"
    r"haemodial|chemoth|quimio|chimio|radiother|radioter|strahlenth|"
    r"resec[ct]|resekt|anest[eh]|anaesth|narkose|vaccin|vacun|vacin|immuni[sz]|psychoth|psicoter|rehabil|"
    r"riabil|physioth|fisiot|stent|pacemak|prothes|protes|implant)[a-z]*"
)
_LAB = re.compile(
    r"[a-z]{2,}(globin[a-z]?|globulin[a-z]?|protein[a-z]?|albumin[a-z]?|bilirub[a-z]*|ferrin[a-z]?|"
    r"ferritin[a-z]?|troponin[a-z]?|"
    r"(transfer|amin|lip|amyl|amil|kin|fosfat|phosphat|hydrogen|dehidrogen|elast|trypt|est)as[aei]|"
    r"steron[a-z]?|tropin[a-z]?|cortisol|dimer[a-z]?|"
    r"cytes?|cyten|zyten|cyter|citos|citi|cytes|cyty|krit|crit[eo]?|phils?|phile|filos|fili)|"
    r"(creatin|kreatin|glyc[eo]m|glic[eo]m|gluc[eo]|gluk[eo]|cholest|kolest|colest|triglyc|trigl|lipop|"
    r"hemogl|haemogl|emogl|h[ae]*matocr|hematokr|ematocr|leu[ck]oc|leu[ck]oz|"
    r"trombo[cz]|thrombo[cz]|eritro[cz]|erythro[cz]|lymphoc|linfoc|neutrop?h?[fi]|eosin|basoph|basof|"
    r"natr[ie]|kali[eu]m|potass|sodi[ou]|calc[ei]m|urea|ureum|"
    r"bilirr?ub|transamin|fosfatas|amilas|amylas|lipas|ferrit|fibrinog|protromb|prothromb|procalc|troponin|"
    r"lacta[tc]|bicarb|prolact|testost|estrad|"
    r"progest|thyrog|tireo[gt]|antibod|antik[oe]+rp|anticuer|anticorp|antigen|serolog|sorolog|genotyp|"
    r"genotip|mutaci|mutati|biopsi|citolog|cytolog|histol|bacterio|bakterio|viral)[a-z]*"
)
_SYMPTOM = re.compile(
    r"(dyspn|disn[eo]|cef[ae]l|cephal|mialg|myalg|artralg|arthralg|diarr|durchfall|vom[ie]t|nause|n[ae]use|"
    r"exantem|exanth|erup[ct]|prurit|icter|ikter|astenia|asthen|"
    r"edema|oedem|convuls|konvuls|cianos|cyanos|zyanos|hemopt|disfag|dysph|dysur|disur|fiebre|febbr|fieber|"
    r"febril|headach|backach|toothach|symptom|sintom|douleur|schmerz|"
    r"dolor[ei]?|anosm|ageus|palpit|insomn|fatig|rh?inorr|petequ|petech|sangram|sangrado|bleed)[a-z]*"
)
_LIFE = re.compile(
    r"(?!never|fever|lever|clever|sever|forever|however|whatever|whoever|wherever)[a-z]{2,6}ever"
)
_FAMILIES = (
    ("drug", _DRUG), ("disease", _DISEASE), ("procedure", _PROCEDURE), ("lab", _LAB), ("symptom", _SYMPTOM),
    ("behaviour", _LIFE),
)  # fmt: skip
_SHORTEST = 6
# Everyday words that have such a part.
_EVERYDAY = word_set(
    "academia macedonia media multimedia romania germania website favorite favourite satellite elite "
    "suite invite analysis analyse analyses photography geography biography demography demographie "
    "demografia geographie geografia topografia topographie topography typography bibliography program "
    "programme diagram telegram sympathy empathy description prescription infrastructure purchase "
    "database release increase decrease disease phase base case phrase lease colombia colorado college "
    "collect collected collection column columns color colour colegio colonia colony milieu mine mini "
    "minor minority minute migrant migration miles military mission mixed missing profile profil mobile "
    "akademie academie nostalgia hypothesis hyperlink hypertext hyphen calendar natural nature "
    "nationality native nation nations sodium potential uric urban urbana urbano urbanisation union "
    "university metro metropolitan metric meters method methods document documents tenure tendency "
    "rectangle retired retirement retraite original origin originaire risk risks interview internet "
    "internal interval intern otherwise other others optimism optimistic critical criteria criterion "
    "criterio criterios implantation implementation protest protestant protestante protestants"
)


@lru_cache(maxsize=8192)
def family_of(word: str) -> str:
    """What a word is about by its parts; nothing if they say nothing."""
    if len(word) < _SHORTEST or word in _EVERYDAY:
        return "drug" if is_drug(word) and word not in _EVERYDAY else ""
    return next((about for about, form in _FAMILIES if form.fullmatch(word)), "")


def is_drug(word: str) -> bool:
    """Whether a word ends as the international names of substances do."""
    return _DRUG.fullmatch(word) is not None
