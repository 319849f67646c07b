package tegenaria

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/spaolacci/murmur3"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// keyVersion is the version of the rules by which keys are made. A durable cache stores it and
// refuses another one's data.
const keyVersion = 1

// keyer makes keys. It is scratch space: not safe for concurrent use, and it allocates next to
// nothing from its second key on.
//
// What is hashed is a list of fields, each preceded by its length in four bytes, so that no value can
// pass for a neighbour: method, canonical URL, the body's own hash, then name and value of each chosen
// header that the request has.
type keyer struct {
	headers   []string // folded and sorted
	keepOrder bool
	bodyLimit int64 // for a BodyReader that nobody has read yet

	buf    []byte
	values []string
}

// request returns the key of a request.
func (k *keyer) request(r *Request) (Key, error) {
	if r.BodyReader != nil {
		if err := r.readBody(k.bodyLimit); err != nil {
			return Key{}, err
		}
	}
	abs := r.Url
	if len(r.Params) > 0 {
		abs = urlx.MergeParams(abs, r.Params)
	}
	if err := k.begin(r.method(), abs); err != nil {
		return Key{}, err
	}
	k.body(r.Body)
	if len(k.headers) > 0 && len(r.Header) > 0 {
		k.chosen(r.Header)
	}
	return k.sum(), nil
}

// resolved returns the key of a GET request for a resolved http or https URL without its fragment, without body or
// chosen headers.
// It allocates nothing.
func (k *keyer) resolved(url []byte) Key {
	k.buf = k.buf[:0]
	addField(k, GET)
	at := k.skipLength()
	k.buf = urlx.AppendResolvedKey(k.buf, url, k.keepOrder)
	k.setLength(at)
	k.body(nil)
	return k.sum()
}

// skipLength leaves room for the length of a field.
func (k *keyer) skipLength() (at int) {
	k.buf = append(k.buf, 0, 0, 0, 0)
	return len(k.buf)
}

// setLength writes the length of the field that begins at at.
func (k *keyer) setLength(at int) {
	binary.LittleEndian.PutUint32(k.buf[at-4:], uint32(len(k.buf)-at))
}

// begin starts with method and URL.
func (k *keyer) begin(method, abs string) error {
	k.buf = k.buf[:0]
	addField(k, strings.ToUpper(method))
	at := k.skipLength()
	buf, err := urlx.AppendKey(k.buf, abs, k.keepOrder)
	if err != nil {
		return &RequestError{URL: abs, Field: "Url", Err: err}
	}
	k.buf = buf
	k.setLength(at)
	return nil
}

// chosen adds the headers that count, by folded name; the values of a name that the map has in
// several spellings are sorted.
func (k *keyer) chosen(header map[string]string) {
	for _, name := range k.headers {
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
func (k *keyer) body(body []byte) {
	if len(body) == 0 {
		addField(k, "")
		return
	}
	sum := hashKey(body)
	addField(k, sum[:])
}

func addField[S []byte | string](k *keyer, s S) {
	k.buf = append(binary.LittleEndian.AppendUint32(k.buf, uint32(len(s))), s...)
}

func (k *keyer) sum() Key {
	key := hashKey(k.buf)
	if cap(k.buf) > 64<<10 {
		k.buf = nil // one giant URL shall not stay for ever
	}
	return key
}

// unfilteredKey returns the key of the k-th unfiltered request that parent has emitted: a parent that
// runs again makes the same keys again.
func unfilteredKey(parent, fp Key, k uint64) Key {
	var buf [44]byte
	// No method is that long: the first field of a filtered key cannot look like this.
	binary.LittleEndian.PutUint32(buf[:], 1<<32-1)
	copy(buf[4:], parent[:])
	copy(buf[20:], fp[:])
	binary.LittleEndian.PutUint64(buf[36:], k)
	return hashKey(buf[:])
}

// hashKey makes a key of any bytes, such as those that a user's Fingerprint returned.
func hashKey(data []byte) (key Key) {
	h1, h2 := murmur3.Sum128(data)
	binary.BigEndian.PutUint64(key[:8], h1)
	binary.BigEndian.PutUint64(key[8:], h2)
	return key
}
