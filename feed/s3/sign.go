package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// emptySum is the SHA-256 sum of nothing.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign signs a request after "Signature Version 4" of Amazon, with the sum of its body.
func sign(req *http.Request, o Options, sum string, now time.Time) {
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Content-Sha256", sum)
	if o.Token != "" {
		req.Header.Set("X-Amz-Security-Token", o.Token)
	}
	names, header := signedHeader(req)
	canonical := strings.Join([]string{req.Method, req.URL.EscapedPath(), "", header, names, sum}, "\n")
	scope := day + "/" + o.Region + "/s3/aws4_request"
	hash := sha256.Sum256([]byte(canonical))
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	key := []byte("AWS4" + o.Secret)
	for _, part := range []string{day, o.Region, "s3", "aws4_request", text} {
		key = sumOf(key, part)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", o.Key, scope, names, key))
}

func sumOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signedHeader returns the names of the fields that are signed, and the fields in the form in which they are.
func signedHeader(req *http.Request) (names, fields string) {
	list := []string{"host"}
	for name := range req.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || name == "content-type" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	var b strings.Builder
	for _, name := range list {
		value := req.Header.Get(name)
		if name == "host" {
			value = req.URL.Host
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return strings.Join(list, ";"), b.String()
}

// escapePath writes a path as the signature wants it: every byte in percent form but letters, digits, - . _ ~ and slashes.
func escapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
