package warc

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// www is what a host may begin with that makes it no other host.
var www = regexp.MustCompile(`^(https?://)www\d*\.`)

// surt returns the key by which an index is sorted (Sort-friendly URI Reordering Transform): the parts of the host in reverse, then path
// and sorted query, all in lower case: "com,example)/path?a=1&b=2". What is no URL of http or https stays as it is.
func surt(url string) string {
	if !strings.HasPrefix(url, "http:") && !strings.HasPrefix(url, "https:") {
		return url
	}
	parsed, err := urlx.Parse(strings.ToLower(www.ReplaceAllString(url, "$1")))
	if err != nil {
		return url
	}
	parsed, _ = urlx.CutFragment(parsed)
	_, rest, _ := strings.Cut(parsed, "://")
	path := ""
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		rest, path = rest[:at], rest[at:]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host, port := rest, ""
	if at := strings.LastIndexByte(rest, ':'); at > strings.LastIndexByte(rest, ']') {
		host, port = rest[:at], rest[at:]
	}
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	path, query, asks := strings.Cut(path, "?")
	key := strings.Join(parts, ",") + port + ")" + path
	if asks && query != "" {
		args := strings.Split(query, "&")
		slices.Sort(args)
		key += "?" + strings.Join(args, "&")
	}
	return key
}
