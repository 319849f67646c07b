package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Money reads an amount of money, with its sign and its currency. currency is what the reader expects, "" for any: the text may
// then name none, but no other one. Without it the text has to say which one it is: a pound sign and "USD" do, a dollar sign does not.
// The amount is canonical: without leading zeros, and with at least as many digits behind the point as the currency has
// (ISO 4217), further ones only if they are not all zero. If the currency has none, three digits behind a separator are a group,
// whatever the locale: "¥1.200" is 1200 yen.
func Money(text, currency string, in *Locale) (amount, code string, err error) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		return "", "", fmt.Errorf("an amount of %d bytes", len(text))
	}
	before, middle, after := cutNumber(text)
	if middle == "" {
		return "", "", errors.New("not an amount of money: it has no digit")
	}
	negative, before := minus(before)
	for _, none := range []string{",-", ",–", ",—", ".-", ".–", ".—"} { // "12,-" is how a round price is written
		if rest, ok := strings.CutPrefix(after, none); ok {
			after = rest
			break
		}
	}
	if code, err = oneCurrency(strings.TrimSpace(before), strings.TrimSpace(after), currency); err != nil {
		return "", "", err
	}
	if amount, err = decimal(middle, in, minorDigits(code) == 0); err != nil {
		return "", "", fmt.Errorf("not an amount of money: %w", err)
	}
	if negative {
		whole, fraction, _ := strings.Cut(amount, ".")
		amount = canonical(true, whole, fraction)
	}
	return withMinor(amount, code), code, nil
}

// cutNumber returns what stands before the first digit, from there to the last one, and behind it.
func cutNumber(text string) (before, number, after string) {
	first, end := -1, -1
	for i, r := range text {
		if _, ok := digit(r); ok {
			if first < 0 {
				first = i
			}
			end = i + len(string(r))
		}
	}
	if first < 0 {
		return text, "", ""
	}
	// A number may begin with its decimal point, but "Rs.5" and "kr.5" do not.
	if first > 0 && strings.ContainsRune(".,", rune(text[first-1])) && (first == 1 || !isWordEnd(text[:first-1])) {
		first--
	}
	return text[:first], text[first:end], text[end:]
}

func isWordEnd(text string) bool {
	r := []rune(text)
	return unicode.IsLetter(r[len(r)-1])
}

// minus takes a minus sign from either end of what stands before a number.
func minus(before string) (negative bool, rest string) {
	before = strings.TrimSpace(before)
	for _, mark := range []string{"-", "−"} {
		if rest, ok := strings.CutPrefix(before, mark); ok {
			return true, rest
		}
		if rest, ok := strings.CutSuffix(before, mark); ok {
			return true, rest
		}
	}
	return false, before
}

// oneCurrency returns the currency that the marks before and behind an amount mean.
func oneCurrency(before, after, expected string) (string, error) {
	var marks []string
	for _, mark := range []string{before, after} {
		if mark != "" {
			marks = append(marks, mark)
		}
	}
	if len(marks) == 0 {
		if expected == "" {
			return "", errors.New("it names no currency: say which one is meant, for example conv:\"money,EUR\"")
		}
		return expected, nil
	}
	var may []string
	for i, mark := range marks {
		list := meanings(mark)
		if list == nil {
			return "", fmt.Errorf("%q is not a currency", mark)
		}
		if i == 0 {
			may = list
		} else {
			may = slices.DeleteFunc(slices.Clone(may), func(c string) bool { return !slices.Contains(list, c) })
		}
	}
	switch {
	case expected != "" && slices.Contains(may, expected):
		return expected, nil
	case len(may) == 0:
		return "", fmt.Errorf("%q and %q are not the same currency", marks[0], marks[len(marks)-1])
	case expected != "":
		return "", fmt.Errorf("it is in %s, and not in %s", strings.Join(may, " or "), expected)
	case len(may) > 1 && marks[0] != "£":
		return "", fmt.Errorf("%q may be %s: say which one is meant, for example conv:\"money,%s\"", marks[0], strings.Join(may, ", "), may[0])
	}
	return may[0], nil
}

// meanings returns the currencies that a mark may mean, nil if it is none.
func meanings(mark string) []string {
	if list := symbols()[strings.ToLower(mark)]; list != nil {
		return list
	}
	if list := symbols()[strings.ToLower(strings.TrimSuffix(mark, "."))]; list != nil {
		return list
	}
	if code := strings.ToUpper(mark); IsCurrency(code) {
		return []string{code}
	}
	if country := strings.ToLower(strings.Join(strings.Fields(mark), "")); strings.Count(country, "$") == 1 && country != "$" { // "$ CA", as in French
		country = strings.Replace(country, "$", "", 1)
		if list := symbols()[country+"$"]; list != nil {
			return list
		}
		if code := strings.ToUpper(country); IsCurrency(code) && slices.Contains(symbols()["$"], code) { // "CAD$"
			return []string{code}
		}
	}
	return nil
}

// IsCurrency reports whether a text is the code of a currency (ISO 4217).
func IsCurrency(code string) bool { return len(code) == 3 && currencies()[code] }

// withMinor gives an amount as many digits behind the point as the currency has.
func withMinor(amount, code string) string {
	digits := minorDigits(code)
	whole, fraction, _ := strings.Cut(amount, ".")
	for len(fraction) > digits && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) < digits {
		fraction += strings.Repeat("0", digits-len(fraction))
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// minorDigits returns how many digits behind the point a currency has.
func minorDigits(code string) int {
	switch {
	case strings.Contains(noMinor, code):
		return 0
	case strings.Contains(threeMinor, code):
		return 3
	}
	return 2
}

// Currencies that have no smaller unit, or a thousandth part.
const (
	noMinor    = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
	threeMinor = "BHD IQD JOD KWD LYD OMR TND"
)

var currencies = sync.OnceValue(func() map[string]bool {
	return setOf(`AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR
ILS INR IQD IRR ISK JMD JOD
JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR
MZN NAD NGN NIO NOK NPR NZD
OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB
TJS TMT TND TOP TRY TTD TWD
TZS UAH UGX USD UYI UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL`)
})

func setOf(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// symbols are the marks of currencies in lower case, with what they may mean.
var symbols = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"£": {"GBP", "EGP", "FKP", "GIP", "LBP", "SHP", "SSP", "SYP"}, // the first one, if no other is expected
		"€": {"EUR"}, "euro": {"EUR"}, "euros": {"EUR"},
		"$": {"USD", "AUD", "BBD", "BMD", "BND", "BSD", "BZD", "CAD", "CLP", "COP", "FJD", "GYD", "HKD", "JMD", "KYD",
			"LRD", "MXN", "NAD", "NZD", "ARS", "SGD", "SRD", "TTD", "TWD", "UYU", "XCD"},
		"us$": {"USD"}, "ca$": {"CAD"}, "can$": {"CAD"}, "c$": {"CAD"}, "a$": {"AUD"}, "au$": {"AUD"}, "nz$": {"NZD"},
		"hk$": {"HKD"}, "s$": {"SGD"}, "sg$": {"SGD"},
		"nt$": {"TWD"}, "mx$": {"MXN"}, "mex$": {"MXN"}, "r$": {"BRL"},
		"¥": {"JPY", "CNY"}, "￥": {"JPY", "CNY"}, "円": {"JPY"}, "元": {"CNY"}, "cn¥": {"CNY"}, "jp¥": {"JPY"}, "rmb": {"CNY"},
		"kr": {"DKK", "ISK", "NOK", "SEK"}, "fr": {"CHF"}, "sfr": {"CHF"},
		"rs": {"INR", "LKR", "MUR", "NPR", "PKR", "SCR"}, "₨": {"INR", "LKR", "MUR", "NPR", "PKR", "SCR"}, "₹": {"INR"},
		"r": {"ZAR"}, "zł": {"PLN"}, "kč": {"CZK"}, "ft": {"HUF"}, "lei": {"RON", "MDL"}, "лв": {"BGN"},
		"₽": {"RUB"}, "руб": {"RUB"}, "₴": {"UAH"}, "грн": {"UAH"}, "₺": {"TRY"}, "tl": {"TRY"}, "₩": {"KRW"}, "원": {"KRW"},
		"₪": {"ILS"}, "฿": {"THB"}, "₫": {"VND"}, "đ": {"VND"}, "₱": {"PHP"}, "₦": {"NGN"}, "₵": {"GHS"}, "rm": {"MYR"}, "rp": {"IDR"},
		"₸": {"KZT"}, "₾": {"GEL"}, "֏": {"AMD"}, "₼": {"AZN"},
	}
})
