"""Column names in other scripts: Greek, Cyrillic, Arabic, Hebrew, those of India, Thai, East Asia.

Each part of such a name is put into an English word that `vocabulary` knows; what is in Latin letters stays.
Where words are written apart, a part must be a word or begin one ('діагнозу'); where they are not, it may
stand anywhere ('患者番号'). The longest part wins: a policy ('полис') is no sex ('пол').
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SCRIPTS = """
name 姓名 氏名 名前 フリガナ ふりがな カナ氏名 이름 성명 фамилия фамилии имя отчество фио піб прізвище
name ім'я імя презиме име нэр овог аты тегі όνομα επώνυμο ονοματεπώνυμο πατρώνυμο اسم الاسم لقب اللقب
name نام שם ชื่อ นามสกุล नाम নাম பெயர் పేరు ಹೆಸರು പേര് ਨਾਮ નામ නම სახელი გვარი անուն ազգանուն ስም ឈ្មោះ
name အမည် ຊື່
patient 患者 病人 환자 пациент пацієнт ασθενής مريض بیمار מטופל חולה ผู้ป่วย रोगी मरीज রোগী
passport 身份证 身分證 护照 旅券 マイナンバー 주민등록 여권 паспорт снилс рнокпп іпн егн јмбг ембг иин
passport жсн регистр αμκα αφμ ταυτότητας διαβατήριο هويه جواز اقامه كد_ملي كدملي شناسنامه شناختي_كارڈ
passport זהות דרכון บัตรประชาชน เลขประจำตัว आधार পরিচয়পত্র პირადი_ნომერი
ssn ת.ז ת"ז
insuranceid 被保険者 медполис полис поліс полиса
number 编号 番号 號碼 号码 記号 번호 номер № αριθμός رقم شماره מספר หมายเลข เลขที่ संख्या क्रमांक নম্বর
number ნომერი
caseid 住院号 病案号 病历号 病歷號 カルテ ملف پرونده תיק μητρώου
telephone 电话 手机 電話 携帯 전화 휴대폰 телефон τηλέφωνο κινητό هاتف جوال موبايل تلفون تلفن همراه فون
telephone טלפון נייד โทรศัพท์ เบอร์ मोबाइल फोन মোবাইল ফোন ტელეფონი հեռախոս ስልክ
address 地址 住所 주소 адрес адреса улица вулиця διεύθυνση οδός عنوان شارع ادرس نشاني پته כתובת רחוב
address ที่อยู่ पता ঠিকানা მისამართი հասցե አድራሻ хаяг
email 邮箱 メール 이메일 почта пошта بريد ايميل דוא"ל מייל อีเมล
sex 性别 性別 성별 пол стать пола хүйс жынысы φύλο الجنس جنس جنسيت מין เพศ लिंग লিঙ্গ பாலினம் სქესი սեռ
sex ጾታ
male 男 남성 мужской чоловіча чоловік άρρεν άνδρας ذكر زكر مرد זכר ชาย पुरुष পুরুষ
female 女 여성 женский жіноча жінка θήλυ γυναίκα انثي زن נקבה หญิง महिला মহিলা
age 年龄 年齡 年齢 연령 나이 возраст вік ηλικία عمر العمر سن גיל อายุ आयु उम्र বয়স வயது వయస్సు ასაკი
age տարիք ዕድሜ възраст старост насны жасы
birth 出生日期 生年月日
birth 出生 生年 生まれ 생년 рождения народження раждане рођења төрсөн туған γέννησης γεννήσεως ميلاد
birth ولاده تولد پيدائش לידה วันเกิด เกิด जन्म জন্ম დაბადების ծննդյան
date 日期 年月日 날짜 일자 дата ημερομηνία ημ/νία تاريخ תאריך วันที่ तिथि दिनांक तारीख তারিখ თარიღი
admission 入院 입원 поступления госпитализации госпіталізації постъпване εισαγωγή εισαγωγής دخول بستري
admission קבלה รับเข้า भर्ती
discharge 出院 退院 퇴원 выписки виписки изписване εξιτήριο εξόδου خروج ترخيص שחרור จำหน่าย
diagnosis 诊断 診断 診斷 病名 傷病名 진단 диагноз діагноз диагноза дијагноза мкб мкх διάγνωση تشخيص
diagnosis אבחנה วินิจฉัย निदान დიაგნოზი ախտորոշում
disease 疾病 疾患 질병 заболевание захворювання хвороби болезнь νόσος ασθένεια مرض بيماري מחלה โรค रोग
disease बीमारी রোগ
ethnicity 民族 民族别 인종 национальность національність εθνικότητα عرق قوميت לאום เชื้อชาติ जाति
birthplace 籍贯 出身地 本籍
marital 婚姻 婚姻状况 婚姻歴 배우자 결혼 혼인 семейное сімейний сімейне οικογενειακή اجتماعيه زوجيه تاهل
marital משפחתי สถานภาพ वैवाहिक বৈবাহিক
occupation 职业 職業 職種 직업 профессия професія работы занятость занимање επάγγελμα مهنه وظيفه عمل شغل
occupation מקצוע עיסוק อาชีพ व्यवसाय पेशा পেশা
education 学历 學歷 文化程度 学歴 학력 교육 образование освіта образовање εκπαίδευση μόρφωση تعليم
education تعليمي مؤهل تحصيلات השכלה การศึกษา शिक्षा শিক্ষা
nationality 国籍 국적 гражданство громадянство υπηκοότητα جنسيه تابعيت אזרחות สัญชาติ राष्ट्रीयता
religion 宗教 종교 вероисповедание θρήσκευμα ديانه مذهب دين דת ศาสนา धर्म ধর্ম
language 言語 语言 언어 язык мова γλώσσα لغه زبان שפה ภาษา भाषा
cost 费用 費用 金额 金額 비용 진료비 стоимость вартість κόστος δαπάνη تكلفه مبلغ هزينه עלות ค่าใช้จ่าย
cost राशि
income 收入 年収 소득 доход дохід зарплата εισόδημα دخل درامد הכנסה รายได้ आय আয়
bloodpressure 血压 血圧 收缩压 舒张压 혈압 давление тиск πίεση ضغط فشار לחץ ความดัน रक्तचाप
bloodgroup 血型 血液型 혈액형 крови крові ομάδα_αίματος فصيله دم
glucose 血糖 혈당 глюкоза γλυκόζη سكر סוכר น้ำตาล
vaccine 疫苗 疫苗名称 ワクチン 백신 вакцина вакцини
symptom 不良反应 不良反應 副反応 이상반응
drug 药 薬 藥 약물 лекарство ліки препарат φάρμακο دواء ادويه دارو תרופה ยา दवा ঔষধ
treatment 治疗 治療 치료 лечение лікування θεραπεία علاج درمان טיפול รักษา उपचार
surgery 手术 手術 수술 операция операція επέμβαση عمليه جراحه جراحي ניתוח ผ่าตัด
death 死亡 사망 смерти смерть θανάτου θάνατος وفاه فوت פטירה เสียชีวิต मृत्यु মৃত্যু
hospital 医院 病院 醫院 병원 больница лікарня болница νοσοκομείο مستشفي بيمارستان בית_חולים โรงพยาบาล
hospital अस्पताल হাসপাতাল
doctor 医生 医師 醫師 의사 врач лікар лекар ιατρός γιατρός طبيب پزشك רופא แพทย์ चिकित्सक ডাক্তার
ward 科室 診療科 진료과 отделение відділення отделения κλινική τμήμα قسم بخش מחלקה แผนก विभाग
region 省 市 県 都道府県 區 지역 시도 область город місто град район село община општина место
region проживання проживания населений населенный край περιφέρεια πόλη νομός δήμος περιοχή مدينه محافظه
region منطقه حي ولايه دوله شهر استان ضلع עיר יישוב מחוז จังหวัด อำเภอ ตำบล जिला राज्य गांव ग्राम शहर
region জেলা গ্রাম ქალაქი քաղաք аймаг сум
postcode 邮编 邮政 郵便 우편 индекс індекс ταχ τ.κ ταχυδρομικός κώδικας بريدي پستي מיקוד ไปรษณีย์
postcode पिन_कोड
smoking 吸烟 喫煙 흡연 курение куріння κάπνισμα تدخين עישון สูบบุหรี่
alcohol 饮酒 飲酒 음주 алкоголь αλκοόλ كحول אלכוהול
result 结果 結果 결과 результат αποτέλεσμα نتيجه תוצאה ผลตรวจ परिणाम
insurance 保险 保険 健保 보험 страховка страхування страховая ασφάλιση ασφαλιστικός φορέας تامين بيمه
insurance ביטוח קופת ประกัน बीमा
height 身高 身長 키 рост зріст ύψος طول قد גובה ส่วนสูง ऊंचाई
weight 体重 체중 вес вага βάρος وزن משקל น้ำหนัก वजन ওজন
symptom 症状 증상 симптом жалобы скарги σύμπτωμα اعراض תסמינים อาการ लक्षण
history 病史 既往 병력 анамнез ιστορικό
comment 备注 備考 비고 примечание примітки σχόλια παρατηρήσεις ملاحظات توضيحات הערות หมายเหตุ टिप्पणी
"""
# Words in Latin letters that are others without their marks: Vietnamese, and a Turkish province.
_MARKED = {
    "tên": "name", "họ": "surname", "mã": "number", "tuổi": "age", "bệnh": "disease", "tỉnh": "province",
    "i\u0307l": "province",
}  # fmt: skip
_ONE_LETTER = str.maketrans("أإآٱةىیکۀھہ", "اااا" + "هييكههه")  # one letter written in several ways
_TOGETHER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SEVERAL = 4  # letters of a part that may begin a longer word
_APART = re.compile(r"[\s_()\[\],:;-]+")
_ARTICLES = ("وال", "ال", "لل", "ה")


def _even(text: str) -> str:
    """Small letters, without the accents of Greek and Cyrillic, and each Arabic letter written one way."""
    apart = unicodedata.normalize("NFD", text.lower().replace("’", "'"))
    plain = "".join(c for c in apart if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", plain).translate(_ONE_LETTER)


_PARTS: dict[str, str] = {}
for _line in _SCRIPTS.strip().splitlines():
    _english, *_several = _line.split()
    for _part in _several:
        _PARTS.setdefault(_even(_part).replace("_", " "), _english)
_BY_LENGTH = sorted(_PARTS, key=len, reverse=True)
_ANYWHERE = [part for part in _BY_LENGTH if _TOGETHER.search(part) or " " in part]
_LONG = [part for part in _BY_LENGTH if len(part) >= _SEVERAL and part not in _ANYWHERE]


@lru_cache(maxsize=8192)
def in_english(name: str) -> str:
    """The English words for the parts of a name in another script; the name itself in ours."""
    if name.isascii():
        return name
    if all(_is_latin(c) for c in name):
        return " ".join(
            _MARKED.get(unicodedata.normalize("NFC", w.lower()), w) for w in re.split(r"[\s_]+", name)
        )
    rest, found = _even(name), []
    for part in _ANYWHERE:
        if part in rest:
            found.append((name.lower().find(part), _PARTS[part]))
            rest = rest.replace(part, " ")
    for token in filter(None, _APART.split(rest)):
        word = next((w for w in map(_word, _without_article(token)) if w), "")
        found.append((len(name) + rest.find(token), word))
    own = re.findall(r"[A-Za-z]+|\d+", name)
    return " ".join([*dict.fromkeys(word for _, word in sorted(found, key=lambda f: f[0]) if word), *own])


def _is_latin(sign: str) -> bool:
    return ord(sign) < 0x370 or 0x1E00 <= ord(sign) < 0x1F00 or not sign.isalpha()


def _without_article(token: str) -> tuple[str, ...]:
    """The word, and what is left of it without an article written before it."""
    return (
        token,
        *(token.removeprefix(a) for a in _ARTICLES if token.startswith(a) and len(token) > len(a) + 1),
    )


def _word(token: str) -> str:
    """The English word for this one: it is known, or begins with a known one of some letters."""
    if token in _PARTS:
        return _PARTS[token]
    token = token.strip(".'\"/")
    return _PARTS.get(token) or next((_PARTS[part] for part in _LONG if token.startswith(part)), "")
