package convert

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is the longest text of a number or a time, in bytes. Nobody writes longer ones.
const longest = 512

// Separators between groups of digits that no locale uses as a decimal point.
const anyGroup = " \u00a0\u2007\u2009\u202f'’"

// The decimal points and the separators of groups that are used anywhere, beside those of anyGroup.
const someSeparator = ".,٫٬"

// Decimal reads a number that is written in a locale; nil for none that is known. It returns it as digits with a decimal point
// if there is a fraction, and a minus sign if it is less than zero. Digits of all scripts are read. Without a locale, one comma
// or point with three digits behind it is ambiguous, and an error; "1,234,567", "1.234,5" and "0.125" are not ambiguous.
func Decimal(text string, in *Locale) (string, error) { return decimal(text, in, false) }

// decimal is Decimal for a number that may be whole: three digits behind its only separator are a group then.
func decimal(text string, in *Locale, whole bool) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > longest {
		return "", fmt.Errorf("a number of %d bytes", len(text))
	}
	negative, rest := sign(text)
	n, err := split(rest)
	if err != nil {
		return "", err
	}
	point := -1
	if whole && n.mayBeGroup() {
		in = nil // the separator is that of no locale in particular
	} else if point, err = n.point(in); err != nil {
		return "", err
	}
	before, fraction := n.digits, []byte(nil)
	if point >= 0 {
		at := n.at[point]
		before, fraction = n.digits[:at], n.digits[at:]
		n.separators, n.at = n.separators[:point], n.at[:point]
	}
	if err := n.grouped(len(before), in); err != nil {
		return "", err
	}
	return canonical(negative, string(before), string(fraction)), nil
}

// sign returns the text without its sign, and reports whether that is a minus.
func sign(text string) (negative bool, rest string) {
	for _, mark := range []string{"-", "−", "+"} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return mark != "+", rest
		}
	}
	return false, text
}

// canonical returns a number without leading zeros. Zero has no sign.
func canonical(negative bool, whole, fraction string) string {
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	if negative && strings.Trim(whole+fraction, "0.") != "" {
		whole = "-" + whole
	}
	return whole + fraction
}

// number is a number as it is written.
type number struct {
	digits     []byte // "0" to "9"
	separators []rune
	at         []int // how many digits stand before each separator
}

var errNoNumber = errors.New("not a number")

// split takes the digits and separators of a text apart.
func split(text string) (n number, err error) {
	if text == "" {
		return n, errNoNumber
	}
	apart := true // the last rune is no digit
	for i, r := range text {
		if d, ok := digit(r); ok {
			n.digits = append(n.digits, d)
			apart = false
			continue
		}
		// Only a decimal point may begin a number.
		if !strings.ContainsRune(anyGroup+someSeparator, r) || apart && (i > 0 || !strings.ContainsRune(".,٫", r)) {
			return n, errNoNumber
		}
		n.separators, n.at = append(n.separators, r), append(n.at, len(n.digits))
		apart = true
	}
	if apart {
		return n, errNoNumber
	}
	return n, nil
}

// digit returns the ASCII digit that a digit of any script stands for.
func digit(r rune) (byte, bool) {
	if r < utf8.RuneSelf {
		return byte(r), '0' <= r && r <= '9'
	}
	if !unicode.IsDigit(r) {
		return 0, false
	}
	// The digits of each script are ten in a row; several rows may follow each other, as in mathematical fonts.
	row := r
	for unicode.IsDigit(row - 1) {
		row--
	}
	return '0' + byte((r-row)%10), true
}

// point returns the number of the separator that is the decimal point, or -1.
func (n *number) point(in *Locale) (int, error) {
	last := len(n.separators) - 1
	if last < 0 {
		return -1, nil
	}
	mark, before := n.separators[last], n.at[last]
	if in != nil {
		if strings.ContainsRune(in.point, mark) {
			return last, nil
		}
		return -1, nil
	}
	switch {
	case mark == '٫':
		return last, nil
	case !strings.ContainsRune(".,", mark):
		return -1, nil
	case last > 0 && n.separators[last-1] == mark: // 1,234,567
		return -1, nil
	case last > 0: // 1.234,567
		return last, nil
	case !n.mayBeGroup():
		return last, nil
	}
	return -1, fmt.Errorf("is that %s%s or %s.%s? Name the locale, for example %q or %q",
		n.digits[:before], n.digits[before:], n.digits[:before], n.digits[before:], "en", "de")
}

// mayBeGroup reports whether there are three digits behind the last separator that may be a group: the others, if there are any, are the same.
func (n *number) mayBeGroup() bool {
	last := len(n.at) - 1
	return last >= 0 && len(n.digits)-n.at[last] == 3 && n.at[0] > 0 && n.at[0] <= 3 && n.digits[0] != '0' &&
		strings.Count(string(n.separators), string(n.separators[0])) == len(n.separators)
}

// grouped checks that the separators that are left stand where those between groups may stand.
func (n *number) grouped(digits int, in *Locale) error {
	if len(n.separators) == 0 {
		return nil
	}
	allowed := anyGroup + someSeparator
	if in != nil {
		allowed = anyGroup + in.group
	}
	mark := n.separators[0]
	for _, other := range n.separators {
		if other != mark || !strings.ContainsRune(allowed, other) {
			if in != nil {
				return fmt.Errorf("%q is not a separator of groups in the locale %s", other, in.Name)
			}
			return errNoNumber
		}
	}
	// Groups have three digits. In India all but the last have two.
	three, two := n.at[0] <= 3, n.at[0] <= 2
	for i := range n.at {
		end := digits
		if i+1 < len(n.at) {
			end = n.at[i+1]
		}
		size := end - n.at[i]
		three = three && size == 3
		if i+1 < len(n.at) {
			two = two && size == 2
		} else {
			two = two && size == 3
		}
	}
	if !three && !two || n.at[0] == 0 || n.digits[0] == '0' {
		return errors.New("the groups of its digits have a wrong size")
	}
	return nil
}
