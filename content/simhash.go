package content

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// shingleWords is how many words in a row are one feature of a text.
const shingleWords = 3

// Simhash returns a hash of a text that is close to those of similar texts: see [Distance]. Its features are all runs of three words,
// which are compared without regard to case, punctuation and white space; a character of a script without spaces between its words, such as
// Chinese, is a word of its own. A text that is not empty but has fewer words is one feature.
//
// shingles is the number of features. The fewer there are, the more bits one edit changes: hashes of texts with fewer than about
// 50 say little. A text without words has the hash 0 and no shingles.
//
// The hash of a text is the same on all machines, and stays the same: it can be stored. Simhash takes time in proportion to the text,
// allocates nothing, and accepts any bytes; those that are not UTF-8 separate words.
//
// The method is that of M. Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (2002), as used for pages by
// G. Manku, A. Jain and A. Das Sarma, "Detecting Near-Duplicates for Web Crawling" (2007).
func Simhash(text string) (hash uint64, shingles int) {
	var s shingler
	var word, open uint64 // open has all bits while a word goes on, and none between words
	k := 0                // words in s.buffer
	for i := 0; i < len(text); {
		if k == len(s.buffer) {
			s.add(k)
			k = 0
		}
		c := text[i]
		if c < utf8.RuneSelf { // without branches: nobody can predict where a word ends
			letter := asciiWords[c]
			mask := uint64(-int64(letter) >> 63)
			s.buffer[k&(len(s.buffer)-1)] = word
			k += int(open &^ mask & 1)
			word, open = (bits.RotateLeft64(word, wordShift)+letter)&mask, mask
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		kind := kindOf(r)
		if kind == inWord {
			word, open = bits.RotateLeft64(word, wordShift)+uint64(unicode.ToLower(r)), ^uint64(0)
			i += size
			continue
		}
		if open != 0 {
			s.buffer[k] = word
			k++
			word, open = 0, 0
			continue // with this character again, since the buffer may be full
		}
		if kind == ownWord {
			s.buffer[k] = uint64(r)
			k++
		}
		i += size
	}
	s.add(k)
	if open != 0 {
		s.buffer[0] = word
		s.add(1)
	}
	return s.end()
}

// Distance returns in how many bits two hashes differ, from 0 to 64. Texts whose hashes differ in at most [MaxDistance] are nearly
// the same.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// wordShift and the numbers of spread and mix make the hashes that are stored: they stay.
const wordShift = 7

// asciiWords has the lower case of the ASCII characters that words consist of, and 0 for the others.
var asciiWords = func() (table [utf8.RuneSelf]uint64) {
	for c := range table {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z':
			table[c] = uint64(c)
		case 'A' <= c && c <= 'Z':
			table[c] = uint64(c) + 'a' - 'A'
		}
	}
	return table
}()

// kind says what a character is in a text.
type kind uint8

const (
	betweenWords kind = iota
	inWord
	ownWord // of a script that has no spaces between its words
)

func kindOf(r rune) kind {
	switch {
	case r < 0x0e00: // most alphabets
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return ownWord
	}
	if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
		return inWord
	}
	return betweenWords
}

// shingler makes features of words, and counts how many of them have each bit.
type shingler struct {
	buffer [64]uint64               // words, of which the characters are added up
	last   [shingleWords - 1]uint64 // the words before, the newest first
	words  int
	votes  votes
}

// add takes the first words of the buffer.
func (s *shingler) add(n int) {
	a, b := s.last[0], s.last[1]
	for _, word := range s.buffer[:n] {
		word = spread(word)
		if s.words++; s.words >= shingleWords {
			s.votes.add(mix(word, a, b))
		}
		a, b = word, a
	}
	s.last[0], s.last[1] = a, b
}

func (s *shingler) end() (hash uint64, shingles int) {
	if s.words > 0 && s.words < shingleWords {
		s.votes.add(mix(s.last[0], s.last[1], 0))
	}
	return s.votes.majority(), s.votes.n
}

// spread makes each bit depend on all characters of a word.
func spread(word uint64) uint64 {
	word *= 0x9e3779b97f4a7c15
	word = (word ^ word>>32) * 0xd6e8feb86659fd93
	return word ^ word>>32
}

// mix returns the hash of three words in this order.
func mix(a, b, c uint64) uint64 {
	h := (a + bits.RotateLeft64(b, 21) + bits.RotateLeft64(c, 42)) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// votes counts for each of the 64 bits how many hashes have it. The counts lie across: bit i of planes[k] is bit k of the count of bit
// i, so that one operation counts for all bits. Eight hashes at a time are added up before they reach the planes.
type votes struct {
	planes [40]uint64
	few    [8]uint64
	n      int
}

func (v *votes) add(hash uint64) {
	at := v.n & 7
	v.few[at] = hash
	if v.n++; at < 7 {
		return
	}
	p, f := &v.planes, &v.few
	var a, b, c, d, e, g uint64
	p[0], a = sum(p[0], f[0], f[1])
	p[0], b = sum(p[0], f[2], f[3])
	p[1], e = sum(p[1], a, b)
	p[0], c = sum(p[0], f[4], f[5])
	p[0], d = sum(p[0], f[6], f[7])
	p[1], g = sum(p[1], c, d)
	p[2], e = sum(p[2], e, g)
	v.carry(e, 3)
}

// sum adds three bits in each of 64 places.
func sum(a, b, c uint64) (low, high uint64) {
	x := a ^ b
	return x ^ c, a&b | x&c
}

// carry adds a hash to the planes from one on.
func (v *votes) carry(hash uint64, plane int) {
	for ; hash != 0; plane++ {
		v.planes[plane], hash = v.planes[plane]^hash, v.planes[plane]&hash
	}
}

// majority returns the bits that more than half of the hashes have.
func (v *votes) majority() (hash uint64) {
	for _, h := range v.few[:v.n&7] {
		v.carry(h, 0)
	}
	top := bits.Len(uint(v.n))
	for i := range 64 {
		count := 0
		for k := range top {
			count |= int(v.planes[k]>>i&1) << k
		}
		if 2*count > v.n {
			hash |= 1 << i
		}
	}
	return hash
}
