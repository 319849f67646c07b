package charset

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// The indexes (Encoding standard, section 5) are asked of golang.org/x/text, which holds them in
// its code, once each and only when a page needs them: 96 KB and about 2 ms for one.

// pairs is what each two bytes of an encoding mean, 0 for nothing.
type pairs [pairLeads * pairTrails]rune

const (
	firstLead, lastLead   = 0x81, 0xfe
	firstTrail, lastTrail = 0x40, 0xfe
	pairLeads             = lastLead - firstLead + 1
	pairTrails            = lastTrail - firstTrail + 1
)

// at returns the meaning of a pair, U+FFFD if it has none. lead is not 0x80 or 0xff.
func (p *pairs) at(lead, trail byte) rune {
	if trail < firstTrail || trail > lastTrail {
		return replacement
	}
	if r := p[int(lead-firstLead)*pairTrails+int(trail-firstTrail)]; r != 0 {
		return r
	}
	return replacement
}

var (
	gb18030Pairs  = indexOf(simplifiedchinese.GB18030, "", fillGB18030)
	big5Pairs     = indexOf(traditionalchinese.Big5, "", nil)
	eucKRPairs    = indexOf(korean.EUCKR, "", nil)
	shiftJISPairs = indexOf(japanese.ShiftJIS, "", nil)
	jis0208Pairs  = indexOf(japanese.EUCJP, "", nil)
	jis0212Pairs  = indexOf(japanese.EUCJP, "\x8f", nil)
)

// indexOf returns a func that makes the pairs of an encoding when it is first called. What stands
// before each pair is prefix; fill adds what golang.org/x/text leaves out.
func indexOf(e encoding.Encoding, prefix string, fill func(*pairs)) func() *pairs {
	return sync.OnceValue(func() *pairs {
		var b []byte
		for lead := firstLead; lead <= lastLead; lead++ {
			for trail := firstTrail; trail <= lastTrail; trail++ {
				b = append(append(b, prefix...), byte(lead), byte(trail), '\n')
			}
		}
		p := new(pairs)
		eachMeaning(e, b, func(i int, r rune) { p[i] = r })
		if fill != nil {
			fill(p)
		}
		return p
	})
}

// eachMeaning decodes lines and calls f for those that are one character.
func eachMeaning(e encoding.Encoding, lines []byte, f func(i int, r rune)) {
	decoded, _ := e.NewDecoder().Bytes(lines) // decoders replace what is malformed
	i := 0
	for line := range bytes.Lines(decoded) {
		if r, size := utf8.DecodeRune(line); r != replacement && size == len(line)-1 {
			f(i, r)
		}
		i++
	}
}

// gb18030Ranges is how many characters of four bytes are in the basic multilingual plane.
const gb18030Ranges = 39420

var gb18030Fours = sync.OnceValue(func() *[gb18030Ranges]rune {
	b := make([]byte, 0, gb18030Ranges*5)
	for i := range gb18030Ranges {
		b = append(b, byte(0x81+i/12600), byte('0'+i/1260%10), byte(0x81+i/10%126), byte('0'+i%10), '\n')
	}
	four := new([gb18030Ranges]rune)
	for i := range four {
		four[i] = replacement
	}
	eachMeaning(simplifiedchinese.GB18030, b, func(i int, r rune) { four[i] = r })
	return four
})

// single returns what the bytes from 0x80 of a single-byte encoding mean.
func (e Encoding) single() *[128]rune {
	m := e.text().(*charmap.Charmap)
	var high [128]rune
	for i := range high {
		high[i] = m.DecodeByte(byte(0x80 + i))
		if i < 0x20 && high[i] == replacement {
			high[i] = rune(0x80 + i) // a control character, which golang.org/x/text leaves out
		}
	}
	return &high
}

// text returns the encoding as golang.org/x/text has it; UTF-8 for those that are not written.
func (e Encoding) text() encoding.Encoding {
	switch e {
	case IBM866:
		return charmap.CodePage866
	case ISO8859_2:
		return charmap.ISO8859_2
	case ISO8859_3:
		return charmap.ISO8859_3
	case ISO8859_4:
		return charmap.ISO8859_4
	case ISO8859_5:
		return charmap.ISO8859_5
	case ISO8859_6:
		return charmap.ISO8859_6
	case ISO8859_7:
		return charmap.ISO8859_7
	case ISO8859_8, ISO8859_8I:
		return charmap.ISO8859_8
	case ISO8859_10:
		return charmap.ISO8859_10
	case ISO8859_13:
		return charmap.ISO8859_13
	case ISO8859_14:
		return charmap.ISO8859_14
	case ISO8859_15:
		return charmap.ISO8859_15
	case ISO8859_16:
		return charmap.ISO8859_16
	case KOI8R:
		return charmap.KOI8R
	case KOI8U:
		return charmap.KOI8U
	case Macintosh:
		return charmap.Macintosh
	case Windows874:
		return charmap.Windows874
	case Windows1250:
		return charmap.Windows1250
	case Windows1251:
		return charmap.Windows1251
	case Windows1252:
		return charmap.Windows1252
	case Windows1253:
		return charmap.Windows1253
	case Windows1254:
		return charmap.Windows1254
	case Windows1255:
		return charmap.Windows1255
	case Windows1256:
		return charmap.Windows1256
	case Windows1257:
		return charmap.Windows1257
	case Windows1258:
		return charmap.Windows1258
	case XMacCyrillic:
		return charmap.MacintoshCyrillic
	case GBK:
		return simplifiedchinese.GBK
	case GB18030:
		return simplifiedchinese.GB18030
	case Big5:
		return traditionalchinese.Big5
	case EUCJP:
		return japanese.EUCJP
	case ISO2022JP:
		return japanese.ISO2022JP
	case ShiftJIS:
		return japanese.ShiftJIS
	case EUCKR:
		return korean.EUCKR
	case XUserDefined:
		return charmap.XUserDefined
	}
	return unicode.UTF8
}
