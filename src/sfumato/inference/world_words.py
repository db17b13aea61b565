"""More words of column names: of the Balkans, the Baltic, Iceland, Catalonia; Malay, Vietnamese, Swahili.

As in `vocabulary`: small letters without accents. Each is looked up as a whole word only: it makes up no
longer one, and nothing is short for it, as many of them are short and mean something else elsewhere.
"""

from __future__ import annotations

WORLD = {
    "direct": (
        "ime imeiprezime prezime imeprezime prezimeime ocevoime djevojackoprezime oib jmbg mbo emso "
        "priimek naslov meno priezvisko bydlisko rodnecislo ulica ulicaibroj egn lnch imie nazwisko "
        "telefonas telefonai vardas pavarde asmenskodas asmens adresas gyvenamoji vards uzvards "
        "personaskods adrese talrunis eesnimi perekonnanimi perenimi isikukood aadress telefoninumber "
        "nafn fornafn eftirnafn kennitala heimilisfang simi simanumer netfang emri mbiemri emer adresa "
        "nid cognom cognoms llinatges adreca correu izena abizena abizenak helbidea telefonoa enderezo "
        "enw cyfenw cyfeiriad ffon ainm sloinne seoladh isem kunjom indirizz nama namapasien namalengkap "
        "namadepan namaayah namaibu namasuami nik nonik noktp ktp nokk kartukeluarga nobpjs nokartu "
        "alamat alamatrumah telepon notelp notelepon nohp hanphone telefon mykad nokp kadpengenalan "
        "pengenalan pangalan apelyido tirahan kinaroroonan philhealth hoten hovaten tenbenhnhan "
        "tennguoibenh sodienthoai dienthoai sdt diachi diachinha cmnd cccd cancuoc socmnd socccd sobhyt "
        "thebhyt mathebhyt mabhyt nguoithan jina majina jinalaukoo simu namba nambayasimu anwani "
        "kitambulisho nida adisoyadi adivesoyadi soyadi soyisim ismi tcno tckimlikno ceptel ceptelefonu "
        "evadresi asanimza familiya sharif sharifi otasi insuranceid cedula cedulaidentidad cidentidad "
        "ruc rut cui dui nit nuip clavedeelector jmeno prijmeni rodne rodnacisla bydliste"
    ),
    "number": (
        "broj sifra stevilka kodas numurs kods kood numer nro nomor soma maso sobenhan bilangan "
        "nomborpendaftaran"
    ),
    "person": (
        "bolesnik bolesnika pacijent pacijenta bolnik bolnika pacientas paciento pacients pacienta "
        "patsient patsiendi sjuklingur sjuklings pacientit pacienti malalt pasien pesakit pasyente "
        "benhnhan nguoibenh mgonjwa mteja osiguranik osiguranika"
    ),
    "personnumber": (
        "hn idcode idcod personcode mabenhnhan mabn maysteria norm norekammedis rekammedis nomorrekammedis "
        "nopasien sobenhan mayte"
    ),
    "household": "kucanstvo kaya kkeluarga hogare",
    "record": (
        "maticni maticnibroj povijestbolesti otpusnica protokol protokola rekam pendaftaran noregistrasi "
        "registrasi hosobenhan"
    ),
    "age": (
        "starost amzius vecums vanus aldur mosha edat adina idade oed aois umur usia tuoi umri gulang "
        "godine"
    ),
    "sex": (
        "spol pol pohlavie lytis dzimums sugu kyn gjinia sexe sexua sexo rhyw kelamin jeniskelamin jk "
        "jantina kasarian gioitinh gioi jinsia jinsi cins cinsi"
    ),
    "birth": (
        "rodjenja rodenja rodenje rodendan datumrodenja godiste rojstva rojstni narodenia gimimo "
        "dzimsanas sunniaeg sunnikuupaev sunniaasta sunnipaev faedingardagur faedingardagsetning "
        "faedingarar datelindja datelindjes naixement jaiotze jaiotzedata nacemento geni lahir tgllahir "
        "tanggallahir tempatlahir ttl tarikhlahir kapanganakan kaarawan ngaysinh namsinh sinh kuzaliwa "
        "dogumtarihi dogumyeri tugilgan"
    ),
    "race": "suku bangsa etnis nacionalnost tautybe tautiba rahvus dantoc kabila etnia rasa",
    "marital": (
        "bracno bracnostanje bracnistatus zakonski zakonskistan stan seimine seiminepadetis "
        "gimenesstavoklis perekonnaseis hjuskaparstada estatcivil egoerazibila kawin perkawinan "
        "statuskawin statusperkawinan pernikahan perkahwinan sibil honnhan tinhtranghonnhan ndoa "
        "haliyandoa medenidurum medenidurumu medenihali"
    ),
    "education": (
        "sprema skolskasprema strucnasprema izobrazba obrazovanje issilavinimas izglitiba haridus "
        "haridustase menntun arsimi nivellestudis ikasketak pendidikan pendidikanterakhir edukasyon "
        "hocvan trinhdo trinhdohocvan elimu egitimdurumu ogrenim ogrenimdurumu"
    ),
    "work": (
        "zanimanje poklic radnostatus zaposlenje profesija darbas darbs amet tookoht starf vinna "
        "profesioni puna professio lanbidea pekerjaan trabaho nghenghiep nghe kazi mesleki meslegi"
    ),
    "nation": (
        "drzavljanstvo pilietybe pilsoniba kodakondsus rikisfang nacionalitat kewarganegaraan warganegara "
        "quoctich uraia uyrugu"
    ),
    "language": "jezik kalba valoda emakeel tungumal bahasa ngonngu lugha llengua hizkuntza",
    "religion": "vjera vjeroispovijest religija agama dini tongiao relihiyon",
    "family": "djece djeca brojdjece vaikai berni lapsed anak jumlahanak jumlahtanggungan socon watoto",
    "place": (
        "zupanija opcina opstina obcina naselje mjesto mjestostanovanja mjestorodenja mesto drzava "
        "postanski postanskibroj postni postna mestobydliska kraj miestas savivaldybe apskritis "
        "pastokodas pilseta novads pagasts maakond vald linn postiindeks sveitarfelag postnumer baer "
        "qyteti rrethi komuna municipi poblacio comarca codipostal herria probintzia concello tref "
        "kecamatan kelurahan kabupaten kabkota kota provinsi propinsi desa dusun kodepos negeri daerah "
        "poskod mukim barangay brgy lungsod probinsya phuong huyen quan tinh thanhpho province tinhthanh "
        "quanhuyen phuongxa kijiji wilaya mkoa mtaa tarafa jimbo ilcesi mahallesi semt postakodu viloyat "
        "tuman rayon"
    ),
    "site": (
        "bolnica odjel odjeljenje lijecnik lijecnika doktor klinika ustanova bolnisnica oddelek zdravnik "
        "ligonine skyrius gydytojas slimnica nodala arsts haigla osakond arst spitali hjukrunarheimili "
        "deild laeknir rumahsakit ruang ruangan bangsal poli poliklinik dokter dpjp klinik puskesmas "
        "faskes wad pesakitluar benhvien khoa khoaphong bacsi hospitali wodi daktari zahanati kituo "
        "servis klinigi hastanesi"
    ),
    "event": (
        "prijema prijem otpusta otpust otpustanja sprejema odpusta hospitalizacije priemimo isvykimo "
        "uznemsanas saabumine lahkumine innlogn utskrift ingres masuk tglmasuk tanggalmasuk keluar "
        "tglkeluar kunjungan tglkunjungan kemasukan discaj ngayvaovien ngayravien vaovien ravien nhapvien "
        "xuatvien ngaykham kulazwa yatistarihi cikistarihi taburcutarihi"
    ),
    "death": (
        "smrti smrt mirties navesanas surma surmaaeg andlat vdekjes defuncio meninggal kematian tuvong "
        "kifo olumtarihi vefattarihi"
    ),
    "insurance": (
        "osiguranje osiguranja zavarovanje draudimas apdrosinasana kindlustus trygging penjamin carabayar "
        "jaminan asuransi pembayar baohiem bima sosyalguvence asseguranca"
    ),
    "diagnosis": (
        "dijagnoza dijagnoze diagnoze diagnozes diagnoos greining diagnoza diagnosa diagnosautama "
        "diagnosis diyagnosis chandoan chandoanchinh mabenh maicd utambuzi tanikodu tanisi teshis mkb "
        "mkb10 tlk tlk10 rhk bhc"
    ),
    "procedure": (
        "lijecenje lijecenja zahvat postupak operacija gydymas arstesana ravi medferd tractament tindakan "
        "rawatan prosedur phauthuat dieutri matibabu upasuaji tretman"
    ),
    "drug": (
        "lijek lijekovi terapija zdravilo vaistas vaistai zales ravim ravimid lyf medikament obat ubat "
        "gamot thuoc dawa"
    ),
    "disease": (
        "bolest bolesti bolezen liga ligos slimiba haigus sjukdomur semundja malaltia gaixotasuna "
        "penyakit sakit ugonjwa benh hastaligi"
    ),
    "lab": (
        "nalaz rezultat rezultati izvid hasil hasillab ketqua xetnghiem matokeo sonuclar bloodgroup "
        "golongandarah goldarah krvnagrupa"
    ),
    "vital": "krvnitlak tlak tekanandarah tekanan nadi suhu huyetap nhietdo shinikizo",
    "body": (
        "tjelesnamasa masa visina tezina svoris ugis kaal pikkus haed thyngd alcada beratbadan "
        "tinggibadan berat tinggi cannang chieucao uzito urefu"
    ),
    "behaviour": (
        "pusac pusenje alkohol rukymas smekesana suitsetamine reykingar merokok rokok hutthuoc uongruou "
        "sigara"
    ),
    "symptom": "simptomi simptom keluhan gejala trieuchung dalili sikayet sikayeti",
    "health": (
        "zdravlje zdravstveno sveikata veseliba tervis heilsa salut osasuna kesehatan kesihatan kalusugan "
        "suckhoe afya"
    ),
    "outcome": "ishod ishodlijecenja keadaankeluar kondisikeluar ketquadieutri matokeoyamgonjwa",
    "money": (
        "trosak troskovi cijena iznos stroski kaina suma maksumus kostnadur biaya totalbiaya harga gastos "
        "chiphi tongtien gharama faturatutari"
    ),
    "income": (
        "dohodak placa prihod prihodi pajamos ienakumi sissetulek tekjur ardhurat ingressos penghasilan "
        "pendapatan gaji thunhap luong kipato mshahara aylikgelir"
    ),
    "date": "datum datums kuupaev dagsetning tgl tanggal tarikh ngay thang tarehe mwaka mwezi petsa",
    "weightname": "fwt finalwght indwgt intwgt pwgt hhwgt wgtfinal bobot penimbang wghtp",
    "text": (
        "napomena primjedba opomba pastabos piezimes markus athugasemd verejtje observacions keterangan "
        "catatan ghichu maelezo"
    ),
}  # fmt: skip
