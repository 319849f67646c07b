package tegenaria

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// RFPDupeFilterInterface computes the identity of requests and can veto them. Fingerprint is the identity; the cache
// decides which identities were seen. Both methods may be called concurrently.
type RFPDupeFilterInterface interface {
	// Fingerprint returns the identity of the request: two requests are the same exactly if these bytes
	// are equal. Its error, or no bytes, fails the request.
	Fingerprint(request *Request) ([]byte, error)
	// DoDupeFilter reports whether the request is a duplicate (true), and remembers it if not, in one
	// step.
	DoDupeFilter(request *Request) (bool, error)
}

// RFPDupeFilter fingerprints requests and remembers which ones it saw. A fingerprint is the 128-bit murmur3 hash of
// method, canonical URL with Params merged, body and chosen headers, each preceded by its length; the variant of a
// request that has one is added (see [RequestWithVariant]). The URL's canonical form is that of RFC 3986 §6.2.2 with
// the query's pairs sorted and the fragment off; nothing else is removed.
//
// A Bloom filter alone loses pages silently, because it takes some new pages for known ones. Here it only answers
// "certainly new" quickly; an exact set decides about all others.
//
// An engine uses the fingerprints and hands the Bloom parameters to its cache, which decides what was
// seen; [RFPDupeFilter.DoDupeFilter] is for use without an engine. Set the filter up before its
// first use; after that all methods may be called concurrently.
type RFPDupeFilter struct {
	headers   []string // folded and sorted
	keepOrder bool
	seen      identity.Known // an engine uses its sizes alone
}

var _ RFPDupeFilterInterface = (*RFPDupeFilter)(nil)

// NewRFPDupeFilter makes a filter whose Bloom filter has that many bits and hash functions. With 10 bits for each
// expected request and 7 hashes, one look-up in a hundred goes to the exact set needlessly. A Bloom filter that is too
// small costs time, but never a request.
func NewRFPDupeFilter(bloomBits, bloomHashes uint) *RFPDupeFilter {
	return &RFPDupeFilter{seen: identity.Known{Bits: bloomBits, Hashes: bloomHashes}}
}

// IncludeHeaders makes these headers part of the identity: requests that differ in one of them are
// different. Names compare without regard to case and order, values exactly. By default no header
// counts. It returns the filter itself.
func (f *RFPDupeFilter) IncludeHeaders(names ...string) *RFPDupeFilter {
	for _, name := range names {
		f.headers = append(f.headers, strings.ToLower(name))
	}
	slices.Sort(f.headers)
	f.headers = slices.Compact(f.headers)
	return f
}

// KeepQueryOrder makes the order of the query's pairs part of the identity, for sites where ?a=1&b=2
// and ?b=2&a=1 are different pages. It returns the filter itself.
func (f *RFPDupeFilter) KeepQueryOrder() *RFPDupeFilter {
	f.keepOrder = true
	return f
}

// Fingerprint returns the request's 16 bytes. A BodyReader is read into Body first, up to the default of Limits.Body.
// The error is a [*RequestError] if the URL cannot be requested.
func (f *RFPDupeFilter) Fingerprint(request *Request) ([]byte, error) {
	key, err := f.keyer().request(request)
	if err != nil {
		return nil, err
	}
	return key[:], nil
}

// DoDupeFilter reports whether it was called with an equal request before. A request with DoNotFilter is never a
// duplicate and is not remembered.
func (f *RFPDupeFilter) DoDupeFilter(request *Request) (bool, error) {
	if request.doNotFilter {
		return false, nil
	}
	key, err := f.keyer().request(request)
	if err != nil {
		return false, err
	}
	return f.seen.TestAndAdd(key), nil
}

// keyer returns a new keyer with the filter's settings.
func (f *RFPDupeFilter) keyer() *keyer {
	return &keyer{keys: identity.Keyer{Headers: f.headers, KeepOrder: f.keepOrder}, bodyLimit: defaultBody}
}

// keyer makes the keys of requests. It is not safe for concurrent use.
type keyer struct {
	keys      identity.Keyer
	bodyLimit int64 // for a BodyReader that was not read yet
}

// request returns the key of a request.
func (k *keyer) request(r *Request) (Key, error) {
	if err := r.readBody(k.bodyLimit); err != nil {
		return Key{}, err
	}
	url := r.Url
	if len(r.Params) > 0 {
		url = urlx.MergeParams(url, r.Params)
	}
	key, err := k.keys.Request(r.method(), url, r.Body, r.Header)
	if err != nil {
		return Key{}, &RequestError{URL: url, Field: "Url", Err: err, Remedy: urlx.Remedy(url, err)}
	}
	if variant := r.extras().Variant; variant != "" {
		key = identity.Variant(key, variant)
	}
	if session := r.namedSession(); session != "" {
		key = identity.Variant(key, "session "+session)
	}
	return key, nil
}

// duplicates tells requests apart: by the keys of an [RFPDupeFilter], or by the fingerprints of a user's filter, whose
// word counts beside the cache's.
type duplicates struct {
	keys      *RFPDupeFilter         // nil if a user's filter computes them
	filter    RFPDupeFilterInterface // the user's; nil if there is none
	bodyLimit int64                  // Limits.Body, for keys
}

// The Bloom filter in front of an exact set on disk, for about a million requests.
const (
	defaultBloomBits   = 1 << 23
	defaultBloomHashes = 6
)

// newDuplicates takes the user's filter, or makes one if that is nil.
func newDuplicates(filter RFPDupeFilterInterface, bodyLimit int64) *duplicates {
	if filter == nil {
		filter = NewRFPDupeFilter(defaultBloomBits, defaultBloomHashes)
	}
	if keys, ok := filter.(*RFPDupeFilter); ok {
		return &duplicates{keys: keys, bodyLimit: bodyLimit}
	}
	return &duplicates{filter: filter}
}

// keyer returns a keyer for one goroutine; nil if a user's filter computes the keys.
func (d *duplicates) keyer() *keyer {
	if d.keys == nil {
		return nil
	}
	k := d.keys.keyer()
	k.bodyLimit = d.bodyLimit
	return k
}

// key returns the identity of a request.
func (d *duplicates) key(k *keyer, r *Request) (Key, error) {
	if k != nil {
		return k.request(r)
	}
	var key Key
	err := guard.Protect(func() error {
		sum, err := d.filter.Fingerprint(r)
		if err == nil && len(sum) == 0 {
			err = errors.New("the filter returned no bytes")
		}
		if err == nil {
			key = identity.Sum(sum)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("fingerprint: %w", err)
	}
	return key, err
}

// refusal refuses a request that has no identity: its URL is to blame, or the user's filter.
func (d *duplicates) refusal(r *Request, err error) *refusal {
	bad, isRequests := errors.AsType[*RequestError](err)
	switch {
	case d.keys == nil, isRequests && bad.Field != "Url":
		return &refusal{Failed, "accept", err}
	case !isRequests:
		err = urlError(r, err)
	}
	return &refusal{Filtered, "url", err}
}

// veto asks the user's filter, if there is one, whether it knows a request.
func (d *duplicates) veto(r *Request) *refusal {
	if d.filter == nil {
		return nil
	}
	var known bool
	err := guard.Protect(func() (err error) {
		known, err = d.filter.DoDupeFilter(r)
		return err
	})
	switch {
	case err != nil:
		return &refusal{Failed, "accept", err}
	case known:
		return refuse(Duplicate, "")
	}
	return nil
}
