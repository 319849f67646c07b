package yardstick

import (
	"strings"
	"unicode"
)

// Words returns the words of a text: runs of letters, digits, marks and underscores.
func Words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && !unicode.IsMark(r)
	})
}

// shingles counts the sequences of n words.
func shingles(s string, n int) map[string]int {
	w, m := Words(s), map[string]int{}
	if len(w) > 0 && len(w) < n {
		m[strings.Join(w, " ")]++
	}
	for i := 0; i+n <= len(w); i++ {
		m[strings.Join(w[i:i+n], " ")]++
	}
	return m
}

// Compare returns how much of a text is in the text that was wanted (precision), and how much of that is in the text (recall). Both are
// compared by their sequences of n words.
func Compare(want, got string, n int) (precision, recall float64) {
	a, b := shingles(want, n), shingles(got, n)
	tp, fp, fn := 0.0, 0.0, 0.0
	for k, x := range a {
		y := b[k]
		tp += float64(min(x, y))
		fn += float64(max(0, x-y))
	}
	for k, y := range b {
		fp += float64(max(0, y-a[k]))
	}
	part := func(wrong float64) float64 {
		switch {
		case fp == 0 && fn == 0:
			return 1
		case tp == 0:
			return 0
		}
		return tp / (tp + wrong)
	}
	return part(fp), part(fn)
}

// F1 returns the harmonic mean of precision and recall.
func F1(p, r float64) float64 {
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

// Bag compares texts by their words, in any order: how many there are of the text that was wanted, how many of them are not in the text,
// and how many the text has that were not wanted.
func Bag(want, got string) (words, lost, added int) {
	a, b := shingles(want, 1), shingles(got, 1)
	for k, n := range a {
		words += n
		lost += max(0, n-b[k])
	}
	for k, n := range b {
		added += max(0, n-a[k])
	}
	return words, lost, added
}
