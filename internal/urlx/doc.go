// Package urlx is the URL machine of a crawler: it resolves references as browsers do, makes the
// key by which two URLs count as one page, and takes URLs apart.
//
// The rules are those of the WHATWG URL standard (https://url.spec.whatwg.org), not of net/url,
// which refuses or misreads many an href that browsers follow. A page's base is parsed once
// ([ParseBase]); each reference on the page is then resolved into the caller's buffer
// ([Base.Resolve]), made into a dedupe key ([AppendKey]) and grouped by host ([Hostname],
// [RegistrableDomain]). What is to be fetched becomes a net/url value that sends the same bytes
// ([HTTP]).
//
// Common references take a fast path that allocates nothing. Unusual ones (credentials,
// international host names, odd numbers as hosts, backslashes, tabs inside, other schemes with an
// authority) go to github.com/nlnwa/whatwg-url. Both paths give the same bytes, the difference is
// time only; a fuzz test compares them. One exception: a host name in ASCII with an xn-- label that
// IDNA rejects is valid to browsers and to the fast path, but not to the library.
//
//	base, err := urlx.ParseBase("https://example.com/a/b")
//	...
//	url, err := base.Resolve(buf[:0], "../c?q=1#top") // https://example.com/c?q=1#top
//	key, err := urlx.AppendKey(key[:0], string(url), false) // https://example.com/c?q=1
//
// All functions may be called concurrently.
package urlx
