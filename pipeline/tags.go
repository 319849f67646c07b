package pipeline

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// tagPair is one of the pairs of a struct tag.
type tagPair struct{ key, value string }

func (p tagPair) String() string { return p.key + ":" + strconv.Quote(p.value) }

var errTagForm = errors.New("it is not of the form key:\"value\", with a space between pairs; use backquotes around it")

// pairsOf takes a struct tag apart. reflect.StructTag skips what is malformed, in silence.
func pairsOf(tag reflect.StructTag) (pairs []tagPair, err error) {
	rest := strings.TrimLeft(string(tag), " ")
	for rest != "" {
		key, after, ok := strings.Cut(rest, ":")
		if !ok || key == "" || strings.ContainsAny(key, " ,\"") || !strings.HasPrefix(after, `"`) {
			return pairs, errTagForm
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return pairs, errTagForm
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return pairs, errTagForm
		}
		pairs = append(pairs, tagPair{key, value})
		rest = strings.TrimLeft(after[len(quoted):], " ")
	}
	return pairs, nil
}

// likeOneOf returns the word that a key was meant to be, if it is none of the words but only a slip away from one.
func likeOneOf(key string, words []string) (word string, ok bool) {
	for _, w := range words {
		if key == w {
			return "", false
		}
	}
	for _, w := range words {
		if strings.EqualFold(key, w) || isSlip(strings.ToLower(key), w) {
			return w, true
		}
	}
	return "", false
}

// isSlip reports whether a key is a word with two letters swapped, one doubled or one missing; of words with five
// letters also with one letter too many, or another one that is not the first. Short words are like too many keys of
// others.
func isSlip(key, word string) bool {
	n := 0 // equal at the beginning
	for n < len(key) && n < len(word) && key[n] == word[n] {
		n++
	}
	a, b := key[n:], word[n:]
	switch len(key) - len(word) {
	case 0:
		swapped := len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
		return swapped || n > 0 && len(word) >= 5 && a != "" && a[1:] == b[1:]
	case 1:
		doubled := n > 0 && a[0] == key[n-1]
		return a[1:] == b && (doubled || len(word) >= 5)
	case -1:
		return a == b[1:]
	}
	return false
}

// wordsHint names the words that a tag may have.
func wordsHint(word string) error { return fmt.Errorf("there is no such word; is it %s?", word) }

// jsonName returns the name of a field in JSON, and whether JSON leaves a zero value out.
func jsonName(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	for option := range strings.SplitSeq(options, ",") {
		if option == "omitempty" || option == "omitzero" {
			optional = true
		}
	}
	if name == "" || name == "-" {
		name = f.Name
	}
	return name, optional
}
