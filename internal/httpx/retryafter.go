package httpx

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that RetryAfter returns.
const maxRetryAfter = (1 << 31) * time.Second

// RetryAfter reads a Retry-After field (RFC 9110 §10.2.3): seconds, or a date in one of the three forms of §5.6.7. A
// date that has passed is no wait. What is above 2³¹ seconds counts as that. ok is false for a value that is neither a
// number nor a date.
func RetryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds := time.Duration(0)
		for _, digit := range []byte(value) {
			seconds = min(seconds*10+time.Duration(digit-'0'), maxRetryAfter/time.Second)
		}
		return seconds * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(date.Sub(now), 0), maxRetryAfter), true
}
