// Package charset finds out which encoding a page is in and makes UTF-8 of it, by the WHATWG
// Encoding standard and the HTML standard, section 13.2.3, as browsers do.
//
// [Decode] does both. The flow: [Detect] asks, in this order, the byte order mark, the charset of
// the Content-Type, the page itself (a meta element or, in its first 1,024 bytes, what [Prescan]
// finds there), the media type (JSON and XML are UTF-8), whether all of it is valid UTF-8, and its
// bytes ([Source] says which of them answered). Then [Encoding.Decode] converts: what is UTF-8 already
// is returned as it is, without a copy, and what cannot be decoded becomes U+FFFD. There are no errors.
//
//	text, encoding, _ := charset.Decode(body, header.Get("Content-Type"))
//
// Beyond the standard is only what it leaves open (step 8 of its algorithm, "autodetect"): a page
// that declares nothing and is valid UTF-8 with a byte beyond ASCII is UTF-8; see [Detect] for the
// rest.
//
// Labels and encodings are those of the Encoding standard, section 4.2. The decoders are those of
// golang.org/x/text; docs/deviations.md lists where they differ from the standard's. All functions may
// be called concurrently.
package charset
