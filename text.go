package tegenaria

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// decodeText converts a body to UTF-8. Plain UTF-8 is returned as it is, without a copy.
func decodeText(body []byte, contentType string) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(body, utf8BOM); ok {
		return rest, nil
	}
	if saysUTF8(contentType) && !hasUTF16BOM(body) && utf8.Valid(body) {
		return body, nil
	}
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" || !certain && utf8.Valid(body) {
		if utf8.Valid(body) {
			return body, nil
		}
		return bytes.ToValidUTF8(body, []byte("\uFFFD")), nil
	}
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return nil, fmt.Errorf("tegenaria: decoding %s text: %w", name, err)
	}
	return text, nil
}

// saysUTF8 recognises what most Content-Types look like. It need not know them all.
func saysUTF8(contentType string) bool {
	_, parameters, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(parameters), "charset=utf-8")
}

// hasUTF16BOM tells whether a body begins with a byte order mark that overrules its Content-Type.
func hasUTF16BOM(body []byte) bool {
	return len(body) >= 2 && (body[0] == 0xfe && body[1] == 0xff || body[0] == 0xff && body[1] == 0xfe)
}

// isHTML tells whether a Content-Type says HTML, or says nothing.
func isHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return contentType == "" || strings.Contains(strings.ToLower(media), "html")
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

// redact hides the password of an URL that is about to be printed.
func redact(raw string) string {
	if !strings.Contains(raw, "@") {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		at := strings.LastIndexByte(raw, '@')
		scheme, _, ok := strings.Cut(raw[:at], "//")
		if !ok {
			return "…" + raw[at:]
		}
		return scheme + "//…" + raw[at:]
	}
	return u.Redacted()
}
