package middleware

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// ReferrerPolicy says how much of a page's URL is sent with requests for its links (W3C Referrer Policy §3).
type ReferrerPolicy string

// The policies.
const (
	NoReferrer                  ReferrerPolicy = "no-referrer"
	NoReferrerWhenDowngrade     ReferrerPolicy = "no-referrer-when-downgrade"
	SameOrigin                  ReferrerPolicy = "same-origin"
	Origin                      ReferrerPolicy = "origin"
	StrictOrigin                ReferrerPolicy = "strict-origin"
	OriginWhenCrossOrigin       ReferrerPolicy = "origin-when-cross-origin"
	StrictOriginWhenCrossOrigin ReferrerPolicy = "strict-origin-when-cross-origin"
	UnsafeURL                   ReferrerPolicy = "unsafe-url"
)

// known reports whether p is one of the eight.
func (p ReferrerPolicy) known() bool {
	switch p {
	case NoReferrer, NoReferrerWhenDowngrade, SameOrigin, Origin, StrictOrigin, OriginWhenCrossOrigin, StrictOriginWhenCrossOrigin, UnsafeURL:
		return true
	}
	return false
}

// Referrer returns the value of the Referer header for a request to the URL target that comes from the page at source,
// "" if there is none: §8.3 of the standard. Both are absolute http or https URLs; for any other source
// the value is "". An unknown policy is an error.
func (p ReferrerPolicy) Referrer(source, target string) (string, error) {
	if !p.known() {
		return "", fmt.Errorf("middleware: %q is no referrer policy", string(p))
	}
	return p.referrer(source, target), nil
}

func (p ReferrerPolicy) referrer(source, target string) string {
	full, origin := stripReferrer(source)
	if full == "" || p == NoReferrer {
		return ""
	}
	if len(full) > 4096 {
		full = origin + "/" // §8.3 step 6
	}
	same := origin == urlx.Origin(target)
	downgrade := isTrustworthy(source) && !isTrustworthy(target)
	switch p {
	case Origin:
		return origin + "/"
	case UnsafeURL:
		return full
	case StrictOrigin:
		if downgrade {
			return ""
		}
		return origin + "/"
	case StrictOriginWhenCrossOrigin:
		switch {
		case same:
			return full
		case downgrade:
			return ""
		}
		return origin + "/"
	case SameOrigin:
		if same {
			return full
		}
		return ""
	case OriginWhenCrossOrigin:
		if same {
			return full
		}
		return origin + "/"
	}
	if downgrade { // NoReferrerWhenDowngrade
		return ""
	}
	return full
}

// stripReferrer removes credentials and fragment (§8.4). Both are empty for a URL that is not http or https.
func stripReferrer(source string) (full, origin string) {
	url, err := urlx.Parse(source)
	if err != nil {
		return "", ""
	}
	if scheme := urlx.Scheme(url); scheme != "http" && scheme != "https" {
		return "", ""
	}
	origin = urlx.Origin(url)
	return origin + urlx.Path(url), origin
}

// isTrustworthy reports whether a URL is potentially trustworthy (W3C Secure Contexts §3.1): https, or a host that can
// only be this one.
func isTrustworthy(url string) bool {
	if urlx.Scheme(url) == "https" {
		return true
	}
	host := urlx.Hostname(url)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// headerPolicy reads a Referrer-Policy header: the last policy that is known (§8.1). "" if there is none.
func headerPolicy(values []string) (policy ReferrerPolicy) {
	for _, value := range values {
		for token := range strings.SplitSeq(value, ",") {
			if p := ReferrerPolicy(strings.ToLower(strings.TrimSpace(token))); p.known() {
				policy = p
			}
		}
	}
	return policy
}

// metaPolicy reads the content of <meta name=referrer>, the old keywords too (HTML standard §4.2.5.1).
func metaPolicy(content string) ReferrerPolicy {
	switch p := strings.ToLower(strings.TrimSpace(content)); p {
	case "never":
		return NoReferrer
	case "default":
		return StrictOriginWhenCrossOrigin
	case "always":
		return UnsafeURL
	case "origin-when-crossorigin":
		return OriginWhenCrossOrigin
	default:
		if ReferrerPolicy(p).known() {
			return ReferrerPolicy(p)
		}
	}
	return ""
}
