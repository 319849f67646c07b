package tegenaria

import (
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html/charset"
)

// encodedRef writes the query of a reference as browsers do on a page in an encoding (URL standard §4.4).
func encodedRef(ref string, e charset.Encoding) string {
	if e == charset.UTF8 || !strings.ContainsFunc(ref, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return ref
	}
	return string(e.AppendReference(nil, ref))
}

// isHTML tells whether a Content-Type says HTML, or says nothing.
func isHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return contentType == "" || strings.Contains(strings.ToLower(media), "html")
}

// isXML tells whether a Content-Type says XML (MIME Sniffing standard, section 4.6) other than XHTML, which
// many servers announce and few write.
func isXML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml") && media != "application/xhtml+xml"
}

// headerValue looks a name up in a request's header, whatever its case.
func headerValue(header map[string]string, name string) (string, bool) {
	if v, ok := header[name]; ok {
		return v, true
	}
	for k, v := range header {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

// firstHeader looks a name up in a response's header, whatever its case.
func firstHeader(header map[string][]string, name string) string {
	if v := header[name]; len(v) > 0 {
		return v[0]
	}
	for k, v := range header {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return v[0]
		}
	}
	return ""
}
