package convert_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/convert"
	"github.com/tegenaria/tegenaria/internal/deep"
)

func TestDecimal(t *testing.T) {
	for _, tt := range []struct{ text, locale, want string }{ // want "" is an error
		{"7", "", "7"}, {"007", "", "7"}, {"-0", "", "0"}, {"-0.00", "", "0.00"}, {"+5", "", "5"}, {"−5,5", "", "-5.5"}, {" 12 ", "", "12"},
		{"1.234,56", "", "1234.56"}, {"1 234,56", "", "1234.56"}, {"1\u202f234,56", "", "1234.56"}, {"1,234.56", "", "1234.56"}, {"1'234.50", "", "1234.50"},
		{"1.234", "", ""}, {"1,234", "", ""}, {"12.345", "", ""}, {"123,456", "", ""},
		{"0.125", "", "0.125"}, {"1234.567", "", "1234.567"}, {"1.23", "", "1.23"}, {"1,2345", "", "1.2345"}, {".5", "", "0.5"}, {".125", "", "0.125"},
		{"1,234,567", "", "1234567"}, {"1.234.567,8", "", "1234567.8"}, {"12,34,567.5", "", "1234567.5"}, {"12,34,567", "", "1234567"},
		{"1,23", "en", ""}, {"1,234", "en", "1234"}, {"1.234", "en", "1.234"}, {"1.234", "de", "1234"}, {"1,234", "de", "1.234"}, {"1.23", "de", ""}, {"51,77", "en", ""}, {"1,23,45", "", ""},
		{"1 234", "fr", "1234"}, {"1.234", "fr", ""}, {"1'234.5", "de-CH", "1234.5"}, {"12,34,567.89", "en-IN", "1234567.89"}, {"1.234,5", "pt-BR", "1234.5"},
		{"٣٬٤٥٦٫٧", "ar", "3456.7"}, {"٣٫٥", "", "3.5"}, {"１２３", "", "123"}, {"𝟏𝟐", "", "12"},
		{"", "", ""}, {"-", "", ""}, {".", "", ""}, {"1.", "", ""}, {"1,", "", ""}, {"1..2", "", ""}, {"1. 2", "", ""}, {"1.2.3", "", ""}, {"1,234.567,8", "", ""},
		{"--5", "", ""}, {"5-", "", ""}, {"1e5", "", ""}, {"0x1f", "", ""}, {"NaN", "", ""}, {"∞", "", ""}, {"five", "", ""}, {"5 apples", "", ""}, {"½", "", ""},
		{"0,123,456", "", ""}, {"1,2,3", "", ""}, {"12,3456,789", "", ""}, {"1 2", "", ""}, {strings.Repeat("9", 600), "", ""},
	} {
		got, err := convert.Decimal(tt.text, convert.Find(tt.locale))
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q in %q: got %q, %v, want %q", tt.text, tt.locale, got, err, tt.want)
		}
	}
}

// A number that is written as a locale writes it is read as what it is. The witness is the way it was made.
func TestDecimalRoundTrip(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	styles := map[string][2]string{"en": {".", ","}, "de": {",", "."}, "fr": {",", "\u202f"}, "de-CH": {".", "’"}, "sv": {",", " "}, "ar": {"٫", "٬"}}
	for range 20_000 {
		for locale, marks := range styles {
			whole, fraction := fmt.Sprint(r.Int64N(1<<r.IntN(60))), ""
			if r.IntN(2) == 0 {
				fraction = fmt.Sprint(r.IntN(100_000))
			}
			want, text := whole, ""
			for i, d := range whole {
				if i > 0 && (len(whole)-i)%3 == 0 {
					text += marks[1]
				}
				text += string(d)
			}
			if fraction != "" {
				want, text = want+"."+fraction, text+marks[0]+fraction
			}
			if got, err := convert.Decimal(text, convert.Find(locale)); got != want {
				t.Fatalf("%q in %s: got %q, %v, want %q", text, locale, got, err, want)
			}
			// Without the locale it is read as the same, or is ambiguous.
			if got, err := convert.Decimal(text, nil); err == nil && got != want {
				t.Fatalf("%q without a locale: got %q, want %q", text, got, want)
			}
		}
	}
}

func TestMoney(t *testing.T) {
	for _, tt := range []struct{ text, currency, locale, want string }{
		{"£51.77", "", "", "51.77 GBP"}, {"£51.77", "GBP", "", "51.77 GBP"}, {"51.77", "GBP", "", "51.77 GBP"}, {"51.77", "", "", ""}, {"£5", "", "", "5.00 GBP"},
		{"£5.5", "", "", "5.50 GBP"}, {"£5.500", "", "en", "5.50 GBP"}, {"£5.125", "", "en", "5.125 GBP"}, {"£", "", "", ""}, {"free", "GBP", "", ""},
		{"51,77 €", "", "", "51.77 EUR"}, {"€ 1.299,00", "", "", "1299.00 EUR"}, {"1.299 €", "", "", ""}, {"1.299 €", "", "de", "1299.00 EUR"}, {"12,- €", "", "", "12.00 EUR"},
		{"$5", "", "", ""}, {"$5", "USD", "", "5.00 USD"}, {"$5", "CAD", "", "5.00 CAD"}, {"$5", "EUR", "", ""}, {"US$ 5", "", "", "5.00 USD"}, {"US$ 5", "CAD", "", ""},
		{"5 usd", "", "", "5.00 USD"}, {"USD 5 USD", "", "", "5.00 USD"}, {"USD 5 EUR", "", "", ""}, {"$5 CAD", "", "", "5.00 CAD"}, {"¥1200", "JPY", "", "1200 JPY"},
		{"¥1,200", "JPY", "en", "1200 JPY"}, {"KWD 1.5", "", "", "1.500 KWD"}, {"-£5", "", "", "-5.00 GBP"}, {"£-5", "", "", "-5.00 GBP"}, {"−5 £", "", "", "-5.00 GBP"},
		{"Rs.500", "INR", "", "500.00 INR"}, {"kr. 99", "DKK", "", "99.00 DKK"}, {"99 kr", "", "", ""}, {"CHF 1'299.00", "", "", "1299.00 CHF"}, {"Fr. 5.50", "", "", "5.50 CHF"},
		{"1 299,00 zł", "", "", "1299.00 PLN"}, {"5–7 £", "", "", ""}, {"£5 £6", "", "", ""}, {"£5 off", "", "", ""}, {"from £5", "", "", ""}, {"£0", "", "", "0.00 GBP"},
		{"₩1,200", "", "", "1200 KRW"}, {"₩1.200", "", "", "1200 KRW"}, {"1,200円", "", "", "1200 JPY"}, {"25.000 ₫", "", "", "25000 VND"}, {"1.200", "JPY", "", "1200 JPY"},
		{"¥1.200", "JPY", "en", "1200 JPY"}, {"1,200 円", "", "de", "1200 JPY"}, {"1,200 円", "", "fr", "1200 JPY"}, {"$1.200", "CLP", "", "1200 CLP"}, {"-₩1.200", "", "", "-1200 KRW"},
		{"₩1,234,567", "", "", "1234567 KRW"}, {"₫1.234.567", "", "en", "1234567 VND"}, {"¥1,200.00", "JPY", "", "1200 JPY"}, {"¥0.125", "JPY", "", "0.125 JPY"}, {"¥1200.5", "JPY", "", "1200.5 JPY"},
		{"KWD 1.250", "", "", ""}, {"KWD 1.250", "", "en", "1.250 KWD"}, {"KWD 1,250", "", "en", "1250.000 KWD"}, {"KWD 0.750", "", "", "0.750 KWD"}, {"1,234.500 OMR", "", "", "1234.500 OMR"},
		{"12,50 $ CA", "", "", "12.50 CAD"}, {"12,50 $US", "", "", "12.50 USD"}, {"$US 5", "", "", "5.00 USD"}, {"US $5", "", "", "5.00 USD"}, {"CA $ 5", "", "", "5.00 CAD"}, {"5 $ AU", "", "", "5.00 AUD"},
		{"5 $CAN", "", "", "5.00 CAD"}, {"CAD$5", "", "", "5.00 CAD"}, {"$ MX 5", "", "", "5.00 MXN"}, {"5 $ US", "CAD", "", ""}, {"5 $ XX", "", "", ""}, {"5 $$", "USD", "", ""}, {"EUR$5", "", "", ""},
		{"-£0.00", "", "", "0.00 GBP"}, {"-£0.50", "", "", "-0.50 GBP"}, {strings.Repeat("£", 1000), "", "", ""},
	} {
		amount, code, err := convert.Money(tt.text, tt.currency, convert.Find(tt.locale))
		got := strings.TrimSpace(amount + " " + code)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q as %q in %q: got %q, %v, want %q", tt.text, tt.currency, tt.locale, got, err, tt.want)
		}
	}
}

func TestTime(t *testing.T) {
	now := time.Date(2021, 5, 5, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		format []string
		text   string
		want   string // RFC 3339, "" is an error
	}{
		{nil, "2021-03-03", "2021-03-03T00:00:00Z"}, {nil, "2021-03-03T10:00:00+02:00", "2021-03-03T10:00:00+02:00"}, {nil, "2021-03-03T10:00Z", "2021-03-03T10:00:00Z"},
		{nil, "2021-03-03 10:00", "2021-03-03T10:00:00Z"}, {nil, "Wed, 03 Mar 2021 10:00:00 GMT", "2021-03-03T10:00:00Z"}, {nil, "03/04/2021", ""}, {nil, "2021-13-01", ""},
		{[]string{"2 January 2006", "Europe/London"}, "1 July 2021", "2021-07-01T00:00:00+01:00"}, {[]string{"2 January 2006"}, "30 February 2021", ""},
		{[]string{"2. January 2006", "de"}, "3. März 2021", "2021-03-03T00:00:00Z"}, {[]string{"2. Jan 2006", "de"}, "3. Okt. 2021", "2021-10-03T00:00:00Z"},
		{[]string{"2 January 2006", "fr"}, "1er août 2021", "2021-08-01T00:00:00Z"}, {[]string{"2 January 2006", "ru"}, "5 мая 2021", "2021-05-05T00:00:00Z"},
		{[]string{"Monday, 2 de January de 2006", "es"}, "martes, 2 de marzo de 2021", "2021-03-02T00:00:00Z"}, {[]string{"Mon 2 Jan 2006", "it"}, "mar 2 mar 2021", "2021-03-02T00:00:00Z"},
		{[]string{"January 2, 2006"}, "March 3rd, 2021", "2021-03-03T00:00:00Z"}, {[]string{"Jan 2, 2006", "02/01/2006"}, "03/04/2021", "2021-04-03T00:00:00Z"},
		{[]string{"Jan 2, 2006"}, "Sept. 3, 2021", "2021-09-03T00:00:00Z"}, {[]string{"2 January 2006", "de"}, "3 March 2021", "2021-03-03T00:00:00Z"},
		{[]string{"unix"}, "86400", "1970-01-02T00:00:00Z"}, {[]string{"unixms"}, "86400500", "1970-01-02T00:00:00Z"}, {[]string{"unix"}, "9223372036854775807", ""}, {[]string{"unix"}, "x", ""},
		{[]string{"relative"}, "3 hours ago", "2021-05-05T09:00:00Z"}, {[]string{"relative"}, "an hour ago", "2021-05-05T11:00:00Z"}, {[]string{"relative"}, "just now", "2021-05-05T12:00:00Z"},
		{[]string{"relative"}, "yesterday at 14:30", "2021-05-04T14:30:00Z"}, {[]string{"relative"}, "today", "2021-05-05T00:00:00Z"}, {[]string{"relative"}, "2h ago", "2021-05-05T10:00:00Z"},
		{[]string{"relative", "de"}, "vor 2 Tagen", "2021-05-03T12:00:00Z"}, {[]string{"relative", "fr"}, "il y a un mois", "2021-04-05T12:00:00Z"}, {[]string{"relative", "es"}, "hace 3 semanas", "2021-04-14T12:00:00Z"},
		{[]string{"relative", "it"}, "2 anni fa", "2019-05-05T12:00:00Z"}, {[]string{"relative", "pt"}, "há 5 minutos", "2021-05-05T11:55:00Z"}, {[]string{"relative", "nl"}, "10 seconden geleden", "2021-05-05T11:59:50Z"},
		{[]string{"relative", "fr"}, "aujourd’hui", "2021-05-05T00:00:00Z"}, {[]string{"relative", "fr"}, "aujourd'hui", "2021-05-05T00:00:00Z"}, {[]string{"relative", "fr"}, "à l’instant", "2021-05-05T12:00:00Z"},
		{[]string{"relative", "it"}, "un’ora fa", "2021-05-05T11:00:00Z"}, {[]string{"relative", "it"}, "un'ora fa", "2021-05-05T11:00:00Z"}, {[]string{"relative", "it"}, "un' ora fa", "2021-05-05T11:00:00Z"},
		{[]string{"Monday 2 January 2006", "uk"}, "п’ятниця 5 березня 2021", "2021-03-05T00:00:00Z"}, {[]string{"2 January 2006", "it"}, "1º aprile 2021", "2021-04-01T00:00:00Z"}, {[]string{"2 January 2006", "it"}, "1° aprile 2021", "2021-04-01T00:00:00Z"},
		{[]string{"2 de January de 2006", "pt"}, "1.º de abril de 2021", "2021-04-01T00:00:00Z"}, {[]string{"2 January 2006", "ru"}, "1-го мая 2021", "2021-05-01T00:00:00Z"}, {[]string{"2 January 2006", "nl"}, "1e mei 2021", "2021-05-01T00:00:00Z"},
		{[]string{"2 January 2006", "fr"}, "1ER avril 2021", "2021-04-01T00:00:00Z"}, {[]string{"2. January 2006", "de"}, "1. Mai 2021", "2021-05-01T00:00:00Z"}, {[]string{"2 de January de 2006", "es"}, "2 de mayo de 2021", "2021-05-02T00:00:00Z"},
		{[]string{"2 January 2006", "fr"}, "1eravril 2021", ""},
		{[]string{"relative"}, "3 hours", ""}, {[]string{"relative"}, "hours ago", ""}, {[]string{"relative"}, "ago", ""}, {[]string{"relative"}, "99999999999999999999 hours ago", ""}, {[]string{"relative"}, "soon", ""},
		{[]string{"relative", "2 January 2006"}, "3 March 2021", "2021-03-03T00:00:00Z"},
	} {
		f, err := convert.NewTimeFormat(tt.format...)
		if err != nil {
			t.Errorf("%q: %v", tt.format, err)
			continue
		}
		at, err := f.Time(tt.text, now)
		got := ""
		if err == nil {
			got = at.Format(time.RFC3339)
		}
		if got != tt.want {
			t.Errorf("%q as %q: got %q, %v, want %q", tt.text, tt.format, got, err, tt.want)
		}
	}
	for _, wrong := range [][]string{{""}, {"January 2"}, {"Atlantis/Town"}, {"relative", "fi"}} {
		if _, err := convert.NewTimeFormat(wrong...); err == nil {
			t.Errorf("the format %q is none", wrong)
		}
	}
	f, err := convert.NewTimeFormat("relative")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Time("3 hours ago", time.Time{}); err == nil {
		t.Error("a relative time without that of the page is no error")
	}
}

// A month ago is the same day of the month before, or its last day; so are years on the 29th of February.
func TestMonthsAgo(t *testing.T) {
	for _, tt := range []struct{ now, locale, text, want string }{
		{"2021-03-31", "en", "1 month ago", "2021-02-28"}, {"2024-03-31", "en", "1 month ago", "2024-02-29"}, {"2021-05-31", "de", "vor 1 Monat", "2021-04-30"},
		{"2021-03-30", "fr", "il y a un mois", "2021-02-28"}, {"2021-07-31", "es", "hace 2 meses", "2021-05-31"}, {"2021-01-31", "it", "2 mesi fa", "2020-11-30"},
		{"2021-12-31", "pt", "há 10 meses", "2021-02-28"}, {"2024-02-29", "nl", "1 jaar geleden", "2023-02-28"}, {"2024-02-29", "en", "4 years ago", "2020-02-29"},
		{"2024-02-29", "en", "12 months ago", "2023-02-28"}, {"2021-03-28", "en", "1 month ago", "2021-02-28"}, {"2021-03-31", "en", "0 months ago", "2021-03-31"},
		{"2021-03-31", "en", "5 weeks ago", "2021-02-24"},
	} {
		f, err := convert.NewTimeFormat("relative", tt.locale)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.DateOnly, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Time(tt.text, now); err != nil || got.Format(time.DateOnly) != tt.want {
			t.Errorf("%s on %s is %s, %v, want %s", tt.text, tt.now, got, err, tt.want)
		}
	}
}

// Every month of every locale, in each of its forms, is read as the month that it is.
func TestMonths(t *testing.T) {
	f, err := convert.NewTimeFormat("2 January 2006", "de")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember") {
		at, err := f.Time("7 "+name+" 2021", time.Time{})
		if err != nil || int(at.Month()) != i+1 {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
	for _, locale := range convert.Locales() {
		if convert.Find(locale) == nil {
			t.Error(locale)
		}
	}
}

// FuzzDecimal checks that what is read is canonical, and reads again as itself.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"1.234,56", "1 234,56", "12,34,567.8", "٣٫٥", "-0", "1'234", ".5"} {
		f.Add(text, "")
		f.Add(text, "de")
	}
	english := convert.Find("en")
	f.Fuzz(func(t *testing.T, text, locale string) {
		got, err := convert.Decimal(text, convert.Find(locale))
		if err != nil {
			return
		}
		if again, err := convert.Decimal(got, english); err != nil || again != got {
			t.Errorf("%q is %q, and that is %q, %v", text, got, again, err)
		}
	})
}

// FuzzMoney checks that an amount that is printed reads again as itself.
func FuzzMoney(f *testing.F) {
	for _, text := range []string{"£51.77", "1.299,00 €", "US$ 5", "12,- €", "-£5", "KWD 1.5", "Rs.5"} {
		f.Add(text, "")
	}
	english := convert.Find("en")
	f.Fuzz(func(t *testing.T, text, currency string) {
		if !convert.IsCurrency(currency) {
			currency = ""
		}
		amount, code, err := convert.Money(text, currency, nil)
		if err != nil {
			return
		}
		again, same, err := convert.Money(amount+" "+code, "", english)
		if err != nil || again != amount || same != code {
			t.Errorf("%q is %s %s, and that is %s %s, %v", text, amount, code, again, same, err)
		}
	})
}

// FuzzTime checks that a time that is printed in a layout reads again as itself.
func FuzzTime(f *testing.F) {
	f.Add("2 January 2006", "3 March 2021", int64(1))
	f.Add("relative", "3 hours ago", int64(1e9))
	f.Add("Monday, 2 Jan 06 15:04", "x", int64(1e9))
	f.Fuzz(func(t *testing.T, layout, text string, seconds int64) {
		format, err := convert.NewTimeFormat(layout)
		if err != nil {
			return
		}
		_, _ = format.Time(text, time.Unix(1e9, 0)) // it must not panic
		if !strings.Contains(layout, "2006") {
			return
		}
		at := time.Unix(seconds%4e9, 0).UTC()
		printed := at.Format(layout)
		if strings.Join(strings.Fields(printed), " ") != printed || len(printed) > 500 {
			return
		}
		want, err := time.Parse(layout, printed)
		if err != nil {
			return
		}
		if got, err := format.Time(printed, time.Time{}); err != nil || !got.Equal(want) {
			t.Errorf("%q of %q: got %v, %v, want %v", printed, layout, got, err, want)
		}
	})
}

func ExampleDecimal() {
	fmt.Println(convert.Decimal("1.234,56", nil))
	fmt.Println(convert.Decimal("1.234", convert.Find("de")))
	_, err := convert.Decimal("1.234", nil)
	fmt.Println(err)
	// Output:
	// 1234.56 <nil>
	// 1234 <nil>
	// is that 1234 or 1.234? Name the locale, for example "en" or "de"
}
