package pipeline

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/pipeline/internal/journal"
)

// nearHeader begins the file of an index. A record is the hash in eight bytes, the size of the URL as a varint, and the URL.
const nearHeader = "tegenaria near 1\n"

// mostURL is how much of a URL is stored, in bytes.
const mostURL = 2048

// nearIndex knows the texts of a job: those that are stored, and those of requests that are not settled yet. Its caller holds a lock.
//
// A text is owned by the attempt that came with it. When another attempt relies on it, because its own item is like it, the text is
// stored with that attempt at the latest, before the texts of that attempt: so in the file a text comes after all that
// it is like. When its owner runs again, it finds its text by hash and URL, and is compared with older ones alone. So
// of two items that are alike one at least is not marked, whatever crashes in between.
type nearIndex struct {
	hashes  *content.Near
	at      []int64  // by id: where the record is, as far as it was appended; else it waits
	urls    []uint64 // by id: the hash of the URL
	waiting map[int]*nearText
	staged  map[string]*nearAttempt // by CtxId
	made    int64                   // texts that were ever added in this run
}

// isWaiting is the place of a text that is in memory alone.
const isWaiting = -1

// nearText is a text that is not stored yet.
type nearText struct {
	id    int
	url   string
	owner string    // CtxId; "": its attempt was discarded
	age   int64     // older texts have smaller ones
	like  *nearText // that waits too; it is stored first
	users int       // attempts that rely on it
}

// nearAttempt is what an attempt at a request has staged.
type nearAttempt struct {
	texts []*nearText  // that it owns
	needs []*nearText  // that it relies on
	own   map[int]bool // texts that it has found to be its own
}

// likeness is a text that another one is like.
type likeness struct {
	id, distance int
	url          string // "": it is at this place of the file
	at           int64
}

func newNearIndex(most int) *nearIndex {
	return &nearIndex{hashes: content.NewNear(most), waiting: make(map[int]*nearText), staged: make(map[string]*nearAttempt)}
}

func urlSum(url string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, url)
	return h.Sum64()
}

// set notes where a text is.
func (x *nearIndex) set(id int, at int64, url uint64) {
	if id == len(x.at) {
		x.at, x.urls = append(x.at, at), append(x.urls, url)
		return
	}
	x.at[id], x.urls[id] = at, url
}

// isOlder orders texts: those in the file by their places, before those that wait.
func (x *nearIndex) isOlder(a, b int) bool {
	s, t := x.waiting[a], x.waiting[b]
	switch {
	case s == nil && t == nil:
		return x.at[a] < x.at[b]
	case s != nil && t != nil:
		return s.age < t.age
	}
	return s == nil
}

// take finds the text that a new one is like, and adds the new one if none is, or if marked. id is the CtxId of its attempt.
func (x *nearIndex) take(hash uint64, url, id string, marks bool) (like likeness, found bool, err error) {
	url = url[:min(len(url), mostURL)]
	sum := urlSum(url)
	attempt := x.staged[id]
	var near []likeness
	self, isKnown := -1, false
	for other, distance := range x.hashes.Find(hash) {
		if distance == 0 && x.urls[other] == sum && !attempt.has(other, x.waiting[other], id) {
			self = other
			continue
		}
		near = append(near, likeness{id: other, distance: distance})
	}
	if attempt == nil {
		attempt = &nearAttempt{own: make(map[int]bool)}
		x.staged[id] = attempt
	}
	if self >= 0 {
		attempt.own[self] = true
		near = slices.DeleteFunc(near, func(l likeness) bool { return !x.isOlder(l.id, self) })
		if t := x.waiting[self]; t != nil && t.owner == "" {
			t.owner = id
			attempt.texts = append(attempt.texts, t)
		} else if t != nil { // the page is fetched twice at a time
			t.users++
			attempt.needs = append(attempt.needs, t)
		}
	}
	for i, l := range near {
		if i == 0 || l.distance < like.distance || l.distance == like.distance && x.isOlder(l.id, like.id) {
			like = l
		}
		isKnown = isKnown || l.distance == 0
	}
	found = len(near) > 0
	var needed *nearText
	if found {
		if needed = x.waiting[like.id]; needed != nil {
			like.url = needed.url
			needed.users++
			attempt.needs = append(attempt.needs, needed)
		} else {
			like.at = x.at[like.id]
		}
	}
	if self >= 0 || isKnown || found && !marks {
		return like, found, nil
	}
	added, err := x.hashes.Add(hash)
	if err != nil {
		return like, found, err
	}
	x.made++
	text := &nearText{id: added, url: url, owner: id, age: x.made, like: needed}
	x.set(added, isWaiting, sum)
	x.waiting[added] = text
	attempt.texts = append(attempt.texts, text)
	return like, found, nil
}

// has reports whether a text came with this attempt already. waiting is the text, if it waits; id is the CtxId of the attempt.
func (a *nearAttempt) has(text int, waiting *nearText, id string) bool {
	return a != nil && a.own[text] || waiting != nil && waiting.owner == id
}

// commit appends what these attempts have staged, and what they rely on.
func (x *nearIndex) commit(ids []string, file *journal.File) {
	for _, id := range ids {
		attempt := x.staged[id]
		if attempt == nil {
			continue
		}
		for _, t := range attempt.needs {
			x.store(t, file)
			t.users--
		}
		for _, t := range attempt.texts {
			x.store(t, file)
		}
		delete(x.staged, id)
	}
}

// store appends a text, after those that it is like.
func (x *nearIndex) store(t *nearText, file *journal.File) {
	var chain []*nearText
	for ; t != nil && x.waiting[t.id] == t; t = t.like {
		chain = append(chain, t)
	}
	for _, t := range slices.Backward(chain) {
		record := binary.LittleEndian.AppendUint64(nil, x.hashes.Hash(t.id))
		record = append(binary.AppendUvarint(record, uint64(len(t.url))), t.url...)
		x.at[t.id] = file.Append(record)
		delete(x.waiting, t.id)
		t.like = nil
	}
}

// discard forgets what an attempt has staged, except for texts that others rely on.
func (x *nearIndex) discard(id string) {
	attempt := x.staged[id]
	if attempt == nil {
		return
	}
	delete(x.staged, id)
	for _, t := range attempt.texts {
		t.owner = ""
	}
	for _, t := range attempt.needs {
		t.users--
	}
	for _, t := range slices.Concat(attempt.texts, attempt.needs) {
		if t.owner == "" && t.users == 0 && x.waiting[t.id] == t {
			x.hashes.Remove(t.id)
			delete(x.waiting, t.id)
		}
	}
}

// read reads the texts of a job.
func (x *nearIndex) read(file *journal.File) error {
	r := bufio.NewReaderSize(file.Records(len(nearHeader)), 64<<10)
	at := int64(len(nearHeader))
	for {
		var hash [8]byte
		if _, err := io.ReadFull(r, hash[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("pipeline: reading %s: %w", file.Path(), err)
		}
		size, err := binary.ReadUvarint(r)
		if err != nil || size > mostURL {
			return &journal.CorruptError{Path: file.Path(), Err: fmt.Errorf("the record at byte %d is none", at)}
		}
		url := make([]byte, size)
		if _, err := io.ReadFull(r, url); err != nil {
			return fmt.Errorf("pipeline: reading %s: %w", file.Path(), err)
		}
		id, err := x.hashes.Add(binary.LittleEndian.Uint64(hash[:]))
		if err != nil {
			return err
		}
		x.set(id, at, urlSum(string(url)))
		at += int64(8 + len(binary.AppendUvarint(nil, size)) + len(url))
	}
}

// readNear reads the URL of a record.
func readNear(file *journal.File, at int64) (string, error) {
	buf := make([]byte, 8+binary.MaxVarintLen64+mostURL)
	n, err := file.ReadAt(buf, at)
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("pipeline: reading %s: %w", file.Path(), err)
	}
	if n < 9 {
		return "", fmt.Errorf("pipeline: reading %s: %w", file.Path(), io.ErrUnexpectedEOF)
	}
	size, width := binary.Uvarint(buf[8:n])
	if width <= 0 || uint64(n-8-width) < size {
		return "", &journal.CorruptError{Path: file.Path(), Err: fmt.Errorf("the record at byte %d is cut", at)}
	}
	return string(buf[8+width:][:size]), nil
}
