// Package identity makes the keys by which requests are the same or not, keeps those that were sent or passed on a chain of
// redirects, and keeps the names of hosts.
//
//	Keyer.Request(method, url, body, header) → the fields, each with its length → murmur3 → Key
//
// A short example:
//
//	k := identity.Keyer{Headers: []string{"accept"}}
//	key, err := k.Request("GET", "http://a.example/?b=1&a=2", nil, nil)
//
// Keys are stored for years: the rules by which they are made must not change unless [Version] does.
package identity

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/spaolacci/murmur3"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Version is the version of the rules by which keys are made. A durable cache stores it and refuses another one's data.
const Version = 1

// Key is the identity of a request.
type Key = [16]byte

// Keyer makes keys. It is scratch space: not safe for concurrent use, and it allocates next to nothing from its second
// key on.
//
// A key is the hash of a list of fields, each preceded by its length in four bytes, so that no value can pass for a
// neighbour: method, canonical URL, the body's own hash, then name and value of each of Headers that the request has.
type Keyer struct {
	Headers   []string // that count: in lower case, sorted
	KeepOrder bool     // the order of a query's pairs counts

	buf    []byte
	values []string
}

// Request returns the key of a request for an absolute http or https URL. The error is that of the URL.
func (k *Keyer) Request(method, url string, body []byte, header map[string]string) (Key, error) {
	k.buf = k.buf[:0]
	addField(k, strings.ToUpper(method))
	at := k.skipLength()
	buf, err := urlx.AppendKey(k.buf, url, k.KeepOrder)
	if err != nil {
		return Key{}, err
	}
	k.buf = buf
	k.setLength(at)
	k.body(body)
	if len(k.Headers) > 0 && len(header) > 0 {
		k.chosen(header)
	}
	return k.sum(), nil
}

// Resolved returns the key of a GET request without body for a URL that package urlx has resolved, without its fragment:
// the one that Request returns, without an allocation.
func (k *Keyer) Resolved(url []byte) Key {
	k.buf = k.buf[:0]
	addField(k, "GET")
	at := k.skipLength()
	k.buf = urlx.AppendResolvedKey(k.buf, url, k.KeepOrder)
	k.setLength(at)
	k.body(nil)
	return k.sum()
}

// Sent returns a key of what is sent for a request: method, URL as it is spelled, and body. It differs from the keys of all
// requests.
func (k *Keyer) Sent(method, url string, body []byte) Key {
	if serialised, err := urlx.Parse(url); err == nil {
		url, _ = urlx.CutFragment(serialised)
	}
	k.buf = binary.LittleEndian.AppendUint32(k.buf[:0], markSent)
	addField(k, strings.ToUpper(method))
	addField(k, url)
	k.body(body)
	return k.sum()
}

// skipLength leaves room for the length of a field.
func (k *Keyer) skipLength() (at int) {
	k.buf = append(k.buf, 0, 0, 0, 0)
	return len(k.buf)
}

// setLength writes the length of the field that begins at at.
func (k *Keyer) setLength(at int) {
	binary.LittleEndian.PutUint32(k.buf[at-4:], uint32(len(k.buf)-at))
}

// chosen adds the headers that count, by folded name; the values of a name that the map has in
// several spellings are sorted.
func (k *Keyer) chosen(header map[string]string) {
	for _, name := range k.Headers {
		k.values = k.values[:0]
		for n, v := range header {
			if strings.EqualFold(n, name) {
				k.values = append(k.values, v)
			}
		}
		slices.Sort(k.values)
		for _, v := range k.values {
			addField(k, name)
			addField(k, v)
		}
	}
	clear(k.values[:cap(k.values)])
}

// body adds the hash of a body, nothing for none: large ones are not copied.
func (k *Keyer) body(body []byte) {
	if len(body) == 0 {
		addField(k, "")
		return
	}
	sum := Sum(body)
	addField(k, sum[:])
}

func addField[S []byte | string](k *Keyer, s S) {
	k.buf = append(binary.LittleEndian.AppendUint32(k.buf, uint32(len(s))), s...)
}

func (k *Keyer) sum() Key {
	key := Sum(k.buf)
	if cap(k.buf) > 64<<10 {
		k.buf = nil // one giant URL shall not stay for ever
	}
	return key
}

// The first bytes of what is hashed for keys of other kinds. No method is that long: the first field of a request's key cannot
// look like them.
const (
	markUnfiltered = 1<<32 - 1
	markSent       = 1<<32 - 2
	markVariant    = 1<<32 - 3
)

// Unfiltered returns the key of the k-th request with the key fp that parent has emitted to be asked for again and again: a
// parent that runs again makes the same keys again.
func Unfiltered(parent, fp Key, k uint64) Key {
	var buf [44]byte
	binary.LittleEndian.PutUint32(buf[:], markUnfiltered)
	copy(buf[4:], parent[:])
	copy(buf[20:], fp[:])
	binary.LittleEndian.PutUint64(buf[36:], k)
	return Sum(buf[:])
}

// Variant returns the key of a request whose key would be fp if it had no variant.
func Variant(fp Key, variant string) Key {
	buf := binary.LittleEndian.AppendUint32(make([]byte, 0, 20+len(variant)), markVariant)
	return Sum(append(append(buf, fp[:]...), variant...))
}

// Sum makes a key of any bytes.
func Sum(data []byte) (key Key) {
	h1, h2 := murmur3.Sum128(data)
	binary.BigEndian.PutUint64(key[:8], h1)
	binary.BigEndian.PutUint64(key[8:], h2)
	return key
}
