package middleware

import (
	"hash/maphash"
	"slices"
	"sync"
)

// study is what the guard learns of a host that has given many pages: which kinds of its URLs lead to anything new, and
// which parameters of them matter. It takes about 170 KiB. What it forgets because there is no room counts as new, so that a large
// site is not taken for a trap.
type study struct {
	mu     sync.Mutex // guards the fields below
	begun  int        // answers of the host when it began
	judged int        // pages
	sign   int        // the latest page that was a sign of a trap, by the number of those judged; 0: none was
	credit int        // URLs that are asked for though they are of a kind that brings nothing new
	common wordCounts // of the host's pages
	pages  recent     // what pages said
	links  recent     // where they led, without random values
	linked recent     // URLs of their own kind that pages link to, with random values
	asked  recent     // URLs that were asked for, without parameters that do not matter
	rests  [4096]rest
	kinds  [64]kind
	words  kind // all URLs whose own kind is rare
	params [16]param
}

// kind counts the pages of URLs that have one pattern.
type kind struct {
	key     uint64
	n       int
	random  int // of them, URLs with random values
	same    int // pages that said nothing new, less what new ones make up for
	stale   int // pages that said nothing new and led nowhere new, likewise
	news    int // pages that said something new
	fresh   int // different URLs of the kind that its pages link to
	again   int // of them, those linked to more than once
	refused int
}

// param counts what another value of a part of the URL changes.
type param struct {
	name            uint64
	same, different int
	spread          int // URLs without it whose pages say the same, perhaps but for numbers
}

// rest is a URL without one of its parameters, and what its page said, with numbers and without.
type rest struct {
	key, page, words uint32
	spread           bool // it counts in param.spread
}

const (
	kindIsCommon = 32  // pages of a kind that is counted by itself
	kindIsAlive  = 100 // up to so many stale pages a kind is worth linking to
	creditMost   = 100
	deep         = 250 // links from a seed: so far down a page must have text of its own
	spreadIsWide = 8   // rests: of a single one the parameter may count what there is, as in ?product_id=17
	alarming     = 16  // pages of a kind or of a parameter: a sign of a trap
	calm         = 256 // pages without a sign: it is none
	mildly       = 10  // so many times as many pages must say nothing new where numbers tell the URLs apart
	manyLinks    = 512 // links that show whether pages link to the same URLs
	seldom       = 64  // of so many URLs at least one is linked to twice, unless the links are made up
)

// isWild reports whether the links between the pages of a kind are made up: hardly any URL is linked to by two pages. On a
// real site with N pages, two pages link to the same one before long: n links drawn at random meet about n²/2N times. With
// manyLinks and seldom that holds for sites up to some ten thousand pages of a kind whose links are drawn at random, and
// for larger ones whose pages link to their neighbours.
func (k *kind) isWild() bool { return k.fresh >= manyLinks && k.again*seldom < k.fresh }

// isNumbered reports whether numbers tell the URLs of a kind apart, so that their pages may have little else to say.
func (k *kind) isNumbered(u *trapURL) bool {
	return u.numbered && k.key == u.kind && 16*k.random <= k.n
}

// patience returns how many pages of a URL's kind may say nothing new.
func (k *kind) patience(u *trapURL, pages int) int {
	if k.isNumbered(u) && !k.isWild() {
		return pages * mildly
	}
	return pages
}

// isIdle reports whether the value of a parameter changes nothing.
func (p *param) isIdle() bool { return p.same >= 64 && p.same >= 16*p.different }

// recent remembers hashes, until others take their places: what it knows was there.
type recent [1024][4]uint32

// seen adds a hash and reports whether it was there.
func (r *recent) seen(hash uint64) bool {
	places, tag := &r[hash%uint64(len(r))], uint32(hash>>32)|1
	at, known := len(places)-1, false
	for i, other := range places {
		if other == tag {
			at, known = i, true
			break
		}
	}
	copy(places[1:at+1], places[:at]) // the one seen last in front
	places[0] = tag
	return known
}

// wordCounts counts in how many of the latest pages a word is.
type wordCounts struct {
	count, page [8192]uint16 // by the word's hash: pages, and the number of the last one
	number      uint16
	pages       int
	ofPage      int // words counted of this page
}

// Words counted of a page, and pages after which all counts are halved.
const (
	wordsOfPage  = 128
	pagesOfCount = 256
)

// next begins a page.
func (w *wordCounts) next() {
	w.number++
	w.ofPage = 0
	if w.pages++; w.pages >= pagesOfCount {
		w.pages /= 2
		for i := range w.count {
			w.count[i] /= 2
		}
	}
}

// add counts a word and reports whether a quarter of the pages have it, or this one had it before.
func (w *wordCounts) add(hash uint64) bool {
	if w.ofPage >= wordsOfPage {
		return false
	}
	i := hash >> 16 % uint64(len(w.count))
	if w.page[i] == w.number {
		return true
	}
	w.ofPage++
	w.page[i] = w.number
	w.count[i]++
	return int(w.count[i])*4 > w.pages
}

// judge takes note of a page.
func (s *study) judge(seed maphash.Seed, u *trapURL, depth int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.common.next()
	p := trapPage{seed: seed, url: u, words: s.common.add}
	p.read(body)
	if len(p.links) == 0 {
		return // it leads nowhere
	}
	s.judged++
	own := s.count(u.kind)
	k := s.kind(u.kind)
	if own != nil && u.random {
		own.random++
	}
	leads := s.leads(seed, u, k, p.links)
	hasText := p.rare > rareWords
	words, said := p.path, p.path
	finite := k == own && !k.isWild()
	if hasText || finite || k.isNumbered(u) {
		words = mix(words, p.text)
		said = words
	}
	if k.isNumbered(u) || finite && u.random {
		said = mix(words, p.numbers)
	}
	isNew := !s.pages.seen(said)
	for _, value := range p.query {
		if !s.pages.seen(mix(value, 1)) {
			isNew = true
		}
		said += value
		words += value
	}
	if depth >= deep && !hasText {
		isNew = false
	}
	if depth >= deep && !isNew && !leads {
		k.stale += 2 // a chain is slower than a tree
	}
	if isNew && k == &s.words {
		s.credit = min(s.credit+20, creditMost)
	}
	if own == nil || own == k || !own.isAlive() { // a few good pages say nothing of those without end
		k.learn(isNew, leads)
	}
	if own != nil && own != k {
		own.learn(isNew, leads)
	}
	for i := range u.parts {
		s.compare(u, &u.parts[i], uint32(said>>32), uint32(words>>32), leads)
	}
	if k.stale >= alarming {
		s.sign = s.judged
	}
}

// looksAt reports whether the page of an answer is to be judged, which takes longer than all else that a page costs. If there was a sign
// of a trap, each is; otherwise an eighth of the first ones, and then a few in a row now and then: pages that differ in a parameter
// come one after the other.
func (s *study) looksAt(answer int) bool {
	const first, every, period, row = 1024, 8, 2048, 32
	s.mu.Lock()
	defer s.mu.Unlock()
	n := answer - s.begun
	switch {
	case s.sign > 0 && s.judged-s.sign < calm:
		return true
	case n < first:
		return n%every == 0
	}
	return n%period < row
}

// learn counts a page of the kind. A page that is new makes up for a quarter of those that were not; among URLs made up
// at random, where words of the URL and of the text may meet by chance, for less.
func (k *kind) learn(isNew, leads bool) {
	share := 4
	if k.isWild() {
		share = 16
	}
	if isNew {
		k.news++
		k.same -= (k.same + share - 1) / share
	} else {
		k.same++
	}
	if isNew || leads {
		k.stale -= (k.stale + share - 1) / share
	} else {
		k.stale++
	}
}

// leads reports whether a page links to anything new that is not of its own kind, nor of one that says nothing new. It
// counts the links to the page's own kind, see isWild.
func (s *study) leads(seed maphash.Seed, u *trapURL, own *kind, links [][]byte) (leads bool) {
	for _, ref := range links {
		path, query, host, ok := u.resolve(string(ref))
		if !ok {
			continue
		}
		link := lookAt(seed, host, path, query)
		if host == u.host {
			k := s.kind(link.kind)
			if k == own {
				k.link(&s.linked, mix(maphash.String(seed, path), maphash.String(seed, query)))
			}
			if k == own || k.same >= k.patience(&link, kindIsAlive) {
				continue
			}
		}
		if !s.links.seen(mix(link.base, maphash.String(seed, host))) {
			leads = true
		}
	}
	return leads
}

// link counts a link to a URL of the kind. A URL that all pages link to counts as one URL linked to twice.
func (k *kind) link(linked *recent, url uint64) {
	switch {
	case !linked.seen(url):
		k.fresh++
	case !linked.seen(mix(url, 2)):
		k.again++
	}
	if k.fresh >= 4096 {
		k.fresh, k.again = k.fresh/2, k.again/2
	}
}

// compare learns whether another value of a part of the URL makes another page.
func (s *study) compare(u *trapURL, part *urlPart, page, words uint32, leads bool) {
	p := s.param(part.name)
	if p == nil {
		return
	}
	key := mix(u.base-part.hash, part.name)
	r := &s.rests[key%uint64(len(s.rests))]
	if tag := uint32(key>>32) | 1; r.key != tag {
		*r = rest{key: tag, page: page, words: words}
		return
	}
	wasIdle := p.isIdle()
	switch equal := !leads && (r.page == page || r.words == words); {
	case !equal:
		p.different++
	case !r.spread:
		r.spread = true
		p.spread++
	case p.spread >= spreadIsWide:
		p.same++
		if p.same >= alarming {
			s.sign = s.judged
		}
	}
	r.page, r.words = page, words
	if p.same+p.different >= 4096 {
		p.same, p.different = p.same/2, p.different/2
	}
	if p.isIdle() && !wasIdle { // then it is the parameter's fault that nothing was new
		for i := range s.kinds {
			s.kinds[i].stale = 0
		}
		s.words.stale = 0
	}
}

// param returns the counts of a parameter; nil if there are too many.
func (s *study) param(name uint64) *param {
	for i := range s.params {
		switch p := &s.params[i]; p.name {
		case name:
			return p
		case 0:
			p.name = name
			return p
		}
	}
	return nil
}

// kind returns the counts of a kind of URLs, or of the rare ones together.
func (s *study) kind(key uint64) *kind {
	if k := s.own(key); k != nil && k.n >= kindIsCommon {
		return k
	}
	return &s.words
}

// own returns the counts of a kind, however rare it is; nil if there is no room for it.
func (s *study) own(key uint64) *kind {
	for i := range s.kinds {
		if k := &s.kinds[i]; k.key == key && k.n > 0 {
			return k
		}
	}
	return nil
}

// isAlive reports whether a kind, though rare, has shown several pages and not too many in vain.
func (k *kind) isAlive() bool { return k.n >= 3 && k.stale <= 2+k.n/4 }

// count returns the counts of the kind of a page that has come; nil if there is no room for them.
func (s *study) count(key uint64) *kind {
	if k := s.own(key); k != nil {
		k.n++
		return k
	}
	for i := range s.kinds {
		if k := &s.kinds[i]; k.n == 0 {
			*k = kind{key: key, n: 1}
			return k
		}
	}
	for i := range s.kinds { // as in heavy: what comes seldom makes room
		if k := &s.kinds[i]; k.n < kindIsCommon && !k.isAlive() {
			k.n--
		}
	}
	return nil
}

// refuse returns why a URL is not worth asking for; "" if it is.
func (s *study) refuse(u *trapURL, depth, most int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	bare, idle, known := u.base, 0, false
	reason := trapParameter
	for i := range u.parts {
		part := &u.parts[i]
		n := slices.IndexFunc(s.params[:], func(p param) bool { return p.name == part.name })
		if n < 0 || !s.params[n].isIdle() {
			continue
		}
		key := mix(u.base-part.hash, part.name)
		known = s.rests[key%uint64(len(s.rests))].key == uint32(key>>32)|1
		bare -= part.hash
		if idle++; part.session {
			reason = trapSession
		}
	}
	if idle > 0 {
		if s.asked.seen(bare) || idle == 1 && known {
			return reason
		}
	}
	k := s.kind(u.kind)
	own := s.own(u.kind)
	if depth < deep {
		most = k.patience(u, most)
	}
	if k.stale < most || own != nil && own != k && own.isAlive() {
		return ""
	}
	if s.credit > 0 && k == &s.words && u.counts && (own == nil || own.n < 3 || own.news > 0) {
		s.credit-- // it may be one of a few pages that are counted, among URLs of words without end, or one of the last of them
		return ""
	}
	if k.refused++; k.refused&(k.refused-1) == 0 {
		return "" // now and then one is asked for: the kind may have come to life
	}
	switch {
	case u.dated:
		return trapCalendar
	case u.repeats:
		return trapRepeats
	}
	return trapNothingNew
}
