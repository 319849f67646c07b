package convert

import (
	"slices"
	"strings"
	"sync"
)

// Locale is how a language, or a country, writes numbers and dates. It follows Unicode's CLDR.
type Locale struct {
	Name  string
	point string // decimal points
	group string // what stands between groups of digits, beside anyGroup
	names map[string]name
	ago   *agoWords // nil: relative times are not known
}

// name is what a word of a date stands for.
type name struct{ month, weekday int } // from 1; weekdays begin with Monday; 0: none

// Find returns a locale by its name, "de" or "de-CH"; nil if it is not known.
func Find(tag string) *Locale { return locales()[tag] }

// Locales returns the names of all locales, sorted.
func Locales() []string {
	var list []string
	for tag := range locales() {
		list = append(list, tag)
	}
	slices.Sort(list)
	return list
}

// English returns the locale that dates are read in if none is named.
func English() *Locale { return locales()["en"] }

// locales are made when the first text is read: programs that read none do not pay for them.
var locales = sync.OnceValue(makeLocales)

func makeLocales() map[string]*Locale {
	list := make(map[string]*Locale)
	// How numbers are written: the decimal points, then what stands between groups.
	for _, style := range []struct{ point, group, tags string }{
		{".", ",", "en en-GB en-US ja zh ko th he es-MX"},
		{".", ",", "en-IN hi"}, // groups of two are read everywhere
		{",", ".", "de de-DE es it nl da pt pt-BR ro tr el hr sl sr id vi de-AT"},
		{".", "", "de-CH"},
		{",", "", "fr fr-CH sv fi pl cs sk hu ru uk bg"},
		{",", ".", "nb no nn pt-PT fr-BE"},
		{"٫.", "٬,", "ar"},
	} {
		for tag := range strings.FieldsSeq(style.tags) {
			list[tag] = &Locale{Name: tag, point: style.point, group: style.group}
		}
	}
	for tag, l := range list {
		language, _, _ := strings.Cut(tag, "-")
		if language == "no" || language == "nn" {
			language = "nb"
		}
		l.names, l.ago = namesOf(words[language]), ago[language]
	}
	return list
}

// namesOf makes the table of the words of a language: months and days, each with all its forms.
func namesOf(text [2]string) map[string]name {
	names := make(map[string]name)
	for i, forms := range strings.Fields(text[0]) {
		for form := range strings.SplitSeq(forms, "/") {
			n := names[form]
			n.month = i + 1
			names[form] = n
		}
	}
	for i, forms := range strings.Fields(text[1]) {
		for form := range strings.SplitSeq(forms, "/") {
			n := names[form]
			n.weekday = i + 1
			names[form] = n
		}
	}
	return names
}

// words are the names of the months and of the days, from Monday on, in lower case and without the point of an abbreviation.
var words = map[string][2]string{
	"en": {"january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct " +
		"november/nov december/dec",
		"monday/mon tuesday/tue/tues wednesday/wed thursday/thu/thur/thurs friday/fri saturday/sat sunday/sun"},
	"de": {"januar/jänner/jan/jän februar/feber/feb märz/mär/mrz april/apr mai juni/jun juli/jul august/aug " +
		"september/sep/sept oktober/okt november/nov dezember/dez",
		"montag/mo dienstag/di mittwoch/mi donnerstag/do freitag/fr samstag/sonnabend/sa sonntag/so"},
	"fr": {"janvier/janv/jan février/févr/fév mars/mar avril/avr mai juin/jun juillet/juil/jul août/aoû " +
		"septembre/sept/sep octobre/oct novembre/nov décembre/déc",
		"lundi/lun mardi/mar mercredi/mer jeudi/jeu vendredi/ven samedi/sam dimanche/dim"},
	"es": {"enero/ene febrero/feb marzo/mar abril/abr mayo/may junio/jun julio/jul agosto/ago " +
		"septiembre/setiembre/sept/sep/set octubre/oct noviembre/nov diciembre/dic",
		"lunes/lun martes/mar miércoles/mié jueves/jue viernes/vie sábado/sáb domingo/dom"},
	"it": {"gennaio/gen febbraio/feb marzo/mar aprile/apr maggio/mag giugno/giu luglio/lug agosto/ago settembre/set/sett " +
		"ottobre/ott novembre/nov dicembre/dic",
		"lunedì/lun martedì/mar mercoledì/mer giovedì/gio venerdì/ven sabato/sab domenica/dom"},
	"pt": {"janeiro/jan fevereiro/fev março/mar abril/abr maio/mai junho/jun julho/jul agosto/ago setembro/set " +
		"outubro/out novembro/nov dezembro/dez",
		"segunda-feira/segunda/seg terça-feira/terça/ter quarta-feira/quarta/qua quinta-feira/quinta/qui " +
			"sexta-feira/sexta/sex sábado/sáb domingo/dom"},
	"nl": {"januari/jan februari/feb maart/mrt april/apr mei juni/jun juli/jul augustus/aug september/sep/sept " +
		"oktober/okt november/nov december/dec",
		"maandag/ma dinsdag/di woensdag/wo donderdag/do vrijdag/vr zaterdag/za zondag/zo"},
	"da": {"januar/jan februar/feb marts/mar april/apr maj juni/jun juli/jul august/aug september/sep/sept oktober/okt " +
		"november/nov december/dec",
		"mandag/man tirsdag/tir onsdag/ons torsdag/tor fredag/fre lørdag/lør søndag/søn"},
	"nb": {"januar/jan februar/feb mars/mar april/apr mai juni/jun juli/jul august/aug september/sep/sept oktober/okt " +
		"november/nov desember/des",
		"mandag/man tirsdag/tir onsdag/ons torsdag/tor fredag/fre lørdag/lør søndag/søn"},
	"sv": {"januari/jan februari/feb mars/mar april/apr maj juni/jun juli/jul augusti/aug september/sep/sept oktober/okt " +
		"november/nov december/dec",
		"måndag/mån tisdag/tis onsdag/ons torsdag/tors/tor fredag/fre lördag/lör söndag/sön"},
	"fi": {"tammikuu/tammikuuta/tammi helmikuu/helmikuuta/helmi maaliskuu/maaliskuuta/maalis huhtikuu/huhtikuuta/huhti " +
		"toukokuu/toukokuuta/touko kesäkuu/kesäkuuta/kesä heinäkuu/heinäkuuta/heinä elokuu/elokuuta/elo " +
		"syyskuu/syyskuuta/syys lokakuu/lokakuuta/loka marraskuu/marraskuuta/marras joulukuu/joulukuuta/joulu",
		"maanantai/ma tiistai/ti keskiviikko/ke torstai/to perjantai/pe lauantai/la sunnuntai/su"},
	"pl": {"styczeń/stycznia/sty luty/lutego/lut marzec/marca/mar kwiecień/kwietnia/kwi maj/maja czerwiec/czerwca/cze " +
		"lipiec/lipca/lip sierpień/sierpnia/sie wrzesień/września/wrz październik/października/paź listopad/listopada/lis grudzień/grudnia/gru",
		"poniedziałek/pon wtorek/wt środa/śr czwartek/czw piątek/pt sobota/sob niedziela/niedz/nd"},
	"cs": {"leden/ledna/led únor/února/úno březen/března/bře duben/dubna/dub květen/května/kvě červen/června/čvn " +
		"červenec/července/čvc srpen/srpna/srp září/zář říjen/října/říj listopad/listopadu/lis prosinec/prosince/pro",
		"pondělí/po úterý/út středa/st čtvrtek/čt pátek/pá sobota/so neděle/ne"},
	"ru": {"январь/января/янв февраль/февраля/фев/февр март/марта/мар апрель/апреля/апр май/мая июнь/июня/июн " +
		"июль/июля/июл август/августа/авг сентябрь/сентября/сен/сент октябрь/октября/окт ноябрь/ноября/ноя/нояб декабрь/декабря/дек",
		"понедельник/пн вторник/вт среда/ср четверг/чт пятница/пт суббота/сб воскресенье/вс"},
	"uk": {"січень/січня/січ лютий/лютого/лют березень/березня/бер квітень/квітня/квіт травень/травня/трав " +
		"червень/червня/черв липень/липня/лип серпень/серпня/серп вересень/вересня/вер жовтень/жовтня/жовт " +
		"листопад/листопада/лист грудень/грудня/груд",
		"понеділок/пн вівторок/вт середа/ср четвер/чт п'ятниця/пт субота/сб неділя/нд"},
	"tr": {"ocak/oca şubat/şub mart/mar nisan/nis mayıs/may haziran/haz temmuz/tem ağustos/ağu eylül/eyl ekim/eki kasım/kas aralık/ara",
		"pazartesi/pzt salı/sal çarşamba/çar perşembe/per cuma/cum cumartesi/cmt pazar/paz"},
	"hu": {"január/jan február/febr/feb március/márc/már április/ápr május/máj június/jún július/júl augusztus/aug " +
		"szeptember/szept október/okt november/nov december/dec",
		"hétfő kedd szerda csütörtök péntek szombat vasárnap"},
	"ro": {"ianuarie/ian februarie/feb martie/mar aprilie/apr mai iunie/iun iulie/iul august/aug septembrie/sept/sep " +
		"octombrie/oct noiembrie/nov decembrie/dec",
		"luni/lun marți/mar miercuri/mie joi vineri/vin sâmbătă/sâm duminică/dum"},
	"id": {"januari/jan februari/feb maret/mar april/apr mei juni/jun juli/jul agustus/agu september/sep oktober/okt " +
		"november/nov desember/des",
		"senin/sen selasa/sel rabu/rab kamis/kam jumat/jum sabtu/sab minggu/min"},
}
