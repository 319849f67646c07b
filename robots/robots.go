// Package robots reads robots.txt files and decides which URLs a crawler may request: the Robots
// Exclusion Protocol of RFC 9309, with the common extensions Crawl-delay, Request-rate and Sitemap.
//
// The flow: [Parse] turns the bytes of a file into [Rules]; [Rules.Agent] selects the rules for
// one crawler and compiles them to a [Group]; [Group.Allowed] reports whether a URL may be requested. A crawler
// keeps one Group per origin (scheme, host and port, RFC 9309 §2.3): it holds only its
// own patterns, and the rest of the file can be discarded.
//
//	rules := robots.Parse(body)
//	group := rules.Agent("mybot/1.0 (+https://example.com/bot)")
//	if group.Allowed("/search?q=go") {
//		// fetch it
//	}
//
// The package fetches nothing. The caller decides what a status code or an unreachable server means for a
// crawl, and can use [AllowAll] and [DisallowAll] for it.
//
// # Beyond the RFC
//
// Files that do not follow the RFC's grammar are read as the largest crawlers do:
//   - a record may lack its colon ("Disallow /tmp"), and frequent misspellings of a record's name
//     are understood;
//   - "Allow: /dir/index.html" (or index.htm) also allows "/dir/" itself;
//   - UTF-16 with a byte order mark is decoded, and a bare sitemap URL on a line of its own counts;
//   - digits, which the RFC keeps out of product tokens, may be part of a name ([Rules.Agent]).
//
// A path that starts with neither "/" nor "*" is not valid by the RFC, and matches nothing.
package robots

import (
	"slices"
	"strings"
)

// MaxBytes is how much of a file is read: 500 KiB, the least that RFC 9309 §2.5 asks a crawler to
// parse. A fetcher need not download more than MaxBytes+1 bytes.
const MaxBytes = 500 << 10

// Rules is a parsed robots.txt. It never changes: any number of goroutines may use it at once. The
// zero Rules allows everything.
type Rules struct {
	records  []record
	sitemaps []string
}

// record is one understood line of the file; value is part of the file's text.
type record struct {
	kind  kind
	value string
}

// AllowAll returns rules that allow every crawler everything, as a robots.txt that is missing or
// answered with another 4xx status does (RFC 9309 §2.3.1.3).
func AllowAll() *Rules { return &Rules{} }

// DisallowAll returns rules that forbid every crawler everything but /robots.txt, as a server that
// cannot be reached or answers with a 5xx status does (RFC 9309 §2.3.1.4).
func DisallowAll() *Rules {
	return &Rules{records: []record{{agentRecord, "*"}, {disallowRecord, "/"}}}
}

// Parse reads a robots.txt. It never fails: what is not understood is skipped, so garbage gives
// rules that allow everything. Lines end with LF, CR or CRLF; byte order marks, NUL and invalid
// UTF-8 are tolerated. If a body is longer than [MaxBytes], only the whole lines within MaxBytes are read.
// Parse does not keep body.
func Parse(body []byte) *Rules {
	text := decode(body)
	r := &Rules{}
	sitemaps := make(map[string]bool)
	for len(text) > 0 {
		line := text
		if end := strings.IndexAny(text, "\r\n"); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = ""
		}
		rec := parseLine(line)
		switch rec.kind {
		case unknownRecord:
		case sitemapRecord:
			if rec.value != "" && !sitemaps[rec.value] {
				sitemaps[rec.value] = true
				r.sitemaps = append(r.sitemaps, strings.Clone(rec.value))
			}
		default:
			r.records = append(r.records, rec)
		}
	}
	return r
}

// Sitemaps returns the values of the Sitemap records, which concern every crawler wherever they
// stand: in the order of the file, each once, as written. They should be absolute URLs
// (sitemaps.org); one that is not is for the caller to resolve or drop. The slice is a copy.
func (r *Rules) Sitemaps() []string { return slices.Clone(r.sitemaps) }

// Agent returns what the file says to the crawler of this name, compiled for matching; nil is
// never returned. Agent compiles anew at each call: call it once per file and keep the group.
//
// The name is a product token or a whole User-Agent header that starts with it: of
// "mybot/1.0 (+https://example.com)" it is "mybot". If the header starts as that of a browser does, the token may follow
// "compatible;": of "Mozilla/5.0 (compatible; mybot/1.0; +https://example.com)" it is "mybot" too (RFC 9309 §2.2.1).
// Tokens are compared without regard to case, as
// a whole, not as substrings. All groups that name the token apply together; if there are none,
// those for "*" do; if there are none either, everything is allowed (RFC 9309 §2.2.1).
//
// By the RFC a token consists of letters, "-" and "_". Since some names have digits, a group for
// exactly the given name ("bot2" for "bot2/1.0") is preferred; without one, the digits and what
// follows them are left aside if only one of the two sides has them: a group for "bot" is for
// "bot2", and one for "bot2" is for "bot", but one for "bot2" is not for "bot3".
func (r *Rules) Agent(name string) *Group { return r.group(ProductToken(name), false) }

// GoogleAgent is [Rules.Agent] as Google's own parser reads a file, for those who want to know what one of its
// crawlers may ask for. It differs from RFC 9309 in this: the name has to be a product token and nothing else,
// or only the groups for "*" apply; and URLs are compared as they are written, so that they must have been
// percent-encoded before, and "/%62az" in a file is not "/baz" (§2.2.2 says that it is). It differs from Google's parser in this:
// that one cuts a line after 16,664 bytes and knows fewer misspellings, and it reads neither UTF-16 nor more than one byte order mark.
func (r *Rules) GoogleAgent(token string) *Group {
	if productToken(token) != token {
		token = ""
	}
	return r.group(token, true)
}

func (r *Rules) group(name string, asWritten bool) *Group {
	level := noAgent
	for _, rec := range r.records {
		if rec.kind == agentRecord {
			level = max(level, agentLevel(rec.value, name))
		}
	}
	if level == noAgent {
		return &everything
	}
	b := builder{g: Group{asWritten: asWritten}}
	r.collect(&b, name, level)
	return b.group()
}

// collect merges the groups that address name at this level.
//
// Only rules end a run of User-agent lines; any other record may stand between the lines (RFC 9309
// §2.2.4). A delay, however, is for the agents named since the last delay: in "a, delay 1, b,
// delay 2, rules" the rules are shared, the delays are not.
func (r *Rules) collect(b *builder, name string, level int) {
	var (
		afterRule, afterGap bool
		rules, pace         bool // what comes next is for us
	)
	for _, rec := range r.records {
		switch rec.kind {
		case agentRecord:
			if afterRule {
				rules = false
			}
			if afterRule || afterGap {
				pace = false
			}
			afterRule, afterGap = false, false
			if agentLevel(rec.value, name) == level {
				rules, pace = true, true
			}
		case allowRecord, disallowRecord:
			afterRule = true
			if rules {
				b.add(rec.value, rec.kind == allowRecord)
			}
		case delayRecord, rateRecord:
			afterGap = true
			if pace {
				b.slow(rec)
			}
		}
	}
}

// The levels at which a User-agent line addresses a crawler; only the highest one found counts.
const (
	noAgent = iota
	anyAgent
	similarAgent // equal except for digits
	exactAgent
)

// agentLevel says how a User-agent line addresses the crawler of this name.
func agentLevel(line, name string) int {
	if strings.HasPrefix(line, "*") {
		if rest := line[1:]; rest == "" || rest != trimBlank(rest) {
			return anyAgent
		}
		return noAgent
	}
	line = agentName(line)
	if line == "" || name == "" {
		return noAgent
	}
	if strings.EqualFold(line, name) {
		return exactAgent
	}
	lineToken, nameToken := productToken(line), productToken(name)
	if nameToken != "" && strings.EqualFold(lineToken, nameToken) && (lineToken == line || nameToken == name) {
		return similarAgent
	}
	return noAgent
}

// compatible stands before the name of a crawler that introduces itself as a browser does.
const compatible = "compatible;"

// ProductToken returns the name that [Rules.Agent] compares with a file, of a product token or a whole User-Agent header. It is "" for a
// header that has none.
func ProductToken(agent string) string {
	token := agentName(agent)
	if !strings.EqualFold(token, "Mozilla") {
		return token
	}
	if i := strings.Index(strings.ToLower(agent), compatible); i >= 0 {
		rest := strings.TrimLeft(agent[i+len(compatible):], " \t")
		if name := agentName(rest); name != "" && strings.HasPrefix(rest[len(name):], "/") {
			return name
		}
	}
	return token
}

// agentName is what s starts with: a product token that may have digits.
func agentName(s string) string {
	s = strings.TrimLeft(s, " \t")
	for i := range len(s) {
		if c := s[i]; !isTokenByte(c) && (c < '0' || c > '9') {
			return s[:i]
		}
	}
	return s
}

// productToken is what s starts with: a product token as in RFC 9309 §2.2.1.
func productToken(s string) string {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return s[:i]
		}
	}
	return s
}

func isTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}
