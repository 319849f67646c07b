package charset

import "unicode/utf8"

// guessed is how many bytes a guess looks at, from the first one that is not ASCII.
const guessed = 64 << 10

// guess tells an encoding by the frequencies of its bytes, if they are clear (HTML standard, section
// 13.2.3.2, step 8). What it looks for is what texts in that encoding cannot do without: kana in
// Japanese, the common syllables in Korean, the first of the two levels of characters in Chinese, the
// vowels in Russian and its kin. UTF-8 with mistakes in it looks like some of them, so it is asked for first.
func guess(b []byte) (Encoding, bool) {
	switch good, bad := count(b); {
	case good >= 2*bad && good > 0:
		return UTF8, true
	case good > bad:
		return 0, false
	}
	b = b[:min(len(b), guessed)]
	if e, ok := guessPairs(b); ok {
		return e, true
	}
	return guessCyrillic(b)
}

// count returns how many characters beyond ASCII are well-formed in UTF-8, and how many are not. One that is cut
// off at the end is neither. Of a text in another encoding, whatever its language, a third is well-formed at most, if it has more than a
// few characters.
func count(b []byte) (good, bad int) {
	for len(b) > 0 {
		if n := asciiLen(b); n > 0 {
			b = b[n:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r != utf8.RuneError || size > 1:
			good++
		case utf8.FullRune(b):
			bad++
			size = shapeLen(b)
		default:
			return good, bad
		}
		b = b[size:]
	}
	return good, bad
}

// shapeLen is the length of the malformed character that b begins with, by its first byte: half of a surrogate pair is one
// mistake.
func shapeLen(b []byte) int {
	most := 1
	switch c := b[0]; {
	case c >= 0xf0:
		most = 4
	case c >= 0xe0:
		most = 3
	case c >= 0xc0:
		most = 2
	}
	n := 1
	for ; n < min(most, len(b)) && !utf8.RuneStart(b[n]); n++ {
	}
	return n
}

// minPairs and minLetters are what it takes to speak of frequencies at all.
const (
	minPairs   = 8
	minLetters = 24
)

// guessPairs tells the encodings of two bytes a character.
func guessPairs(b []byte) (Encoding, bool) {
	if s := census(b, shiftJISLead, 0x40); s.clean() && s.share(0x82, 0x83) >= 15 {
		return ShiftJIS, true
	}
	if s := census(b, eucLead, 0xa1); s.clean() {
		switch {
		case s.share(0xa4, 0xa5) >= 15: // hiragana, katakana
			return EUCJP, true
		case s.share(0xb0, 0xc8) >= 80: // Hangul
			return EUCKR, true
		case s.share(0xb0, 0xd7) >= 60: // level 1 of GB 2312
			return GBK, true
		}
	}
	s := census(b, eucLead, 0x40)
	switch {
	case !s.clean():
	case s.share(0xa4, 0xc6) >= 60 && s.low*100 >= s.pairs*15: // level 1 of Big5
		return Big5, true
	case s.share(0xb0, 0xd7) >= 60:
		return GBK, true
	}
	return 0, false
}

// survey counts the pairs of a text read as one of the encodings of two bytes a character.
type survey struct {
	pairs, broken int
	low           int // pairs whose second byte is below 0x80
	leads         [256]int
}

// clean reports whether there are enough pairs, and as good as nothing but pairs.
func (s *survey) clean() bool { return s.pairs >= minPairs && s.broken*100 <= s.pairs }

// share returns how many of 100 pairs begin with a byte from first to last.
func (s *survey) share(first, last byte) int {
	n := 0
	for _, count := range s.leads[first : int(last)+1] {
		n += count
	}
	return n * 100 / s.pairs
}

// What a byte beyond ASCII begins.
type leadKind uint8

const (
	brokenLead leadKind = iota
	pairLead
	aloneLead
)

func shiftJISLead(c byte) leadKind {
	switch {
	case 0xa1 <= c && c <= 0xdf:
		return aloneLead // half-width katakana
	case 0x81 <= c && c <= 0x9f, 0xe0 <= c && c <= 0xfc:
		return pairLead
	}
	return brokenLead
}

func eucLead(c byte) leadKind {
	if 0x81 <= c && c <= 0xfe {
		return pairLead
	}
	return brokenLead
}

// census reads a text whose second bytes begin at firstTrail.
func census(b []byte, kind func(byte) leadKind, firstTrail byte) *survey {
	var s survey
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < 0x80 {
			continue
		}
		switch kind(c) {
		case brokenLead:
			s.broken++
		case pairLead:
			if i+1 == len(b) {
				break // cut off by whoever chose the sample
			}
			if t := b[i+1]; t < firstTrail || t == 0x7f || t == 0xff {
				s.broken++
				break
			}
			i++
			s.pairs++
			s.leads[c]++
			if b[i] < 0x80 {
				s.low++
			}
		}
	}
	return &s
}

// guessCyrillic tells windows-1251 from KOI8-R, and both from everything else: nearly all bytes are
// letters, they stand in words, and о, а, е, и make a fifth of them, as well as some я.
func guessCyrillic(b []byte) (Encoding, bool) {
	var counts [256]int
	high, letters, inWords := 0, 0, 0
	for i, c := range b {
		if c < 0x80 {
			continue
		}
		high++
		counts[c]++
		if c >= 0xc0 {
			letters++
			if i > 0 && b[i-1] >= 0xc0 || i+1 < len(b) && b[i+1] >= 0xc0 {
				inWords++
			}
		}
	}
	if letters < minLetters || letters*100 < high*85 || inWords*100 < letters*85 {
		return 0, false
	}
	spells := func(o, a, e, i, ya byte) bool {
		vowels := counts[o] + counts[a] + counts[e] + counts[i]
		return vowels*100 >= letters*20 && counts[ya]*200 >= letters
	}
	switch {
	case spells(0xee, 0xe0, 0xe5, 0xe8, 0xff):
		return Windows1251, true
	case spells(0xcf, 0xc1, 0xc5, 0xc9, 0xd1):
		return KOI8R, true
	}
	return 0, false
}
