package rfc9111

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Range is a part of a body.
type Range struct{ Start, Length int64 }

// contentRange is the value of the Content-Range of a part of a body (RFC 9110 §14.4).
func (r Range) contentRange(whole int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", r.Start, r.Start+r.Length-1, whole)
}

// rangeFor returns the part of the stored body that a request asks for (RFC 9110 §14.2), and nil where the whole is the answer: one
// without Range, with several parts, with a part that the body does not have, or whose If-Range does not hold.
func (e Entry) rangeFor(r Request) *Range {
	lines := r.Header["Range"]
	if len(lines) != 1 || r.Method != http.MethodGet || e.Status != http.StatusOK || !e.holdsIfRange(r) {
		return nil
	}
	unit, spec, _ := strings.Cut(lines[0], "=")
	first, last, ok := strings.Cut(strings.Trim(spec, " \t"), "-")
	if !strings.EqualFold(unit, "bytes") || !ok {
		return nil
	}
	if first == "" { // the last bytes
		n, err := strconv.ParseUint(last, 10, 63)
		if length := min(int64(n), e.Length); err == nil && length > 0 {
			return &Range{e.Length - length, length}
		}
		return nil
	}
	start, err := strconv.ParseUint(first, 10, 63)
	if err != nil || int64(start) >= e.Length {
		return nil
	}
	end := uint64(e.Length - 1)
	if last != "" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil || n < start {
			return nil
		}
		end = min(end, n)
	}
	return &Range{int64(start), int64(end-start) + 1}
}

// holdsIfRange reports whether a request has no If-Range, or one that names the stored response (RFC 9110 §13.1.5): by a strong tag,
// or by its Last-Modified to the letter.
func (e Entry) holdsIfRange(r Request) bool {
	lines := r.Header["If-Range"]
	if len(lines) == 0 {
		return true
	}
	if strings.HasSuffix(lines[0], `"`) {
		return lines[0] == e.etag() && lines[0][0] == '"'
	}
	return lines[0] == e.lastModified()
}
