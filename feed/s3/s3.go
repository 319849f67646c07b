// Package s3 sends the finished files of a feed to a bucket that speaks the protocol of Amazon S3.
//
//	bucket, err := s3.New(s3.Options{Endpoint: "https://s3.example.com", Bucket: "books", Region: "eu-1", Key: key, Secret: secret})
//	feed.CSV("out/books-{part}.csv.gz", feed.Rotate(…), feed.To(bucket))
//
// A file is one object, put there in one request, which an object of up to 5 GiB allows. The request has the SHA-256 sum of the
// file, by which the server refuses what has changed on the way, and the object is asked for its size and that sum before the
// file counts as sent.
package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/feed"
)

// Options name the bucket and the credentials.
type Options struct {
	Endpoint  string // "https://s3.eu-central-1.amazonaws.com"; without a bucket
	Bucket    string
	Region    string // "": "us-east-1", which most other servers take
	Key       string // of access
	Secret    string // of access
	Token     string // of a session; "" for none
	Prefix    string // before the name of each object: "crawls/"
	PathStyle bool   // the bucket is in the path, and not in the name of the host: most servers but Amazon's want it
	// Client makes the requests (nil: one of its own, which waits a minute for an answer).
	Client *http.Client
}

// Bucket is a [feed.Target]. It may be used by several feeds at once.
type Bucket struct {
	options Options
	base    *url.URL
	client  *http.Client
	clock   func() time.Time
}

var _ feed.Target = (*Bucket)(nil)

// largest is how large an object may be that is put in one request.
const largest = 5 << 30

// StatusError is an answer of a bucket that is no success.
type StatusError struct {
	Name   string // of the object
	Status int
	Code   string // of the answer's XML, "NoSuchBucket"; "" if it has none
	Text   string // its message
}

// Error says what the server said.
func (e *StatusError) Error() string {
	what := fmt.Sprintf("s3: %s: status %d", e.Name, e.Status)
	if e.Code != "" {
		what += " " + e.Code
	}
	if e.Text != "" {
		what += ": " + e.Text
	}
	switch e.Code {
	case "":
		if e.Refused() {
			what += "; check Options.Key, Secret and Token, and that the key may write objects and read them"
		}
	case "NoSuchBucket", "InvalidBucketName":
		what += "; create the bucket, or check Options.Bucket and Options.PathStyle"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "InvalidToken", "AuthorizationHeaderMalformed", "PermanentRedirect":
		what += "; check Options.Key, Secret, Token and Region, and what the key may do"
	case "ExpiredToken":
		what += "; make a new Options.Token, and start the same job again"
	case "RequestTimeTooSkewed":
		what += "; set the clock of this machine"
	}
	return what
}

// Refused reports whether the same request would be answered so again until somebody changes a key, the bucket or the clock.
func (e *StatusError) Refused() bool {
	switch e.Code {
	case "NoSuchBucket", "InvalidBucketName", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "InvalidToken", "ExpiredToken",
		"AuthorizationHeaderMalformed", "PermanentRedirect", "RequestTimeTooSkewed", "EntityTooLarge":
		return true
	}
	return e.Code == "" && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// ChangedError says that an object is not what was sent.
type ChangedError struct {
	Name      string
	Size      int64 // of the object
	Sum       string
	WantSize  int64
	WantSum   string
	IsMissing bool
}

// Error says what differs.
func (e *ChangedError) Error() string {
	if e.IsMissing {
		return fmt.Sprintf("s3: %s is not there after it was sent", e.Name)
	}
	return fmt.Sprintf("s3: %s has %d bytes and the sum %q after it was sent; want %d and %q", e.Name, e.Size, e.Sum, e.WantSize, e.WantSum)
}

// New returns a bucket. It asks for nothing: an error is one of the options.
func New(o Options) (*Bucket, error) {
	base, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("s3: Options.Endpoint is %q; write https:// and the name of the host", o.Endpoint)
	case strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.User != nil:
		return nil, errors.New("s3: Options.Endpoint has more than a host; the bucket goes into Options.Bucket, and the " +
			"login into Key and Secret")
	case o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?#"):
		return nil, fmt.Errorf("s3: Options.Bucket is %q, which is no name of a bucket", o.Bucket)
	case o.Key == "" || o.Secret == "":
		return nil, errors.New("s3: Options.Key or Options.Secret is empty")
	}
	o.Region = cmp.Or(o.Region, "us-east-1")
	b := &Bucket{options: o, base: base, client: o.Client, clock: time.Now}
	if b.client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		b.client = &http.Client{Transport: transport}
	}
	return b, nil
}

// sumHeader holds the SHA-256 sum of the file with its object.
const sumHeader = "X-Amz-Meta-Sha256"

// Send is part of [feed.Target]. Its errors are a [*StatusError], a [*ChangedError], or those of the network.
func (b *Bucket) Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error {
	name = b.options.Prefix + strings.TrimPrefix(name, "/")
	if size > largest {
		return fmt.Errorf("s3: %s has %d bytes, and an object that is put in one request at most %d: set feed.Rotation.Bytes", name, size, int64(largest))
	}
	hash := sha256.New()
	if n, err := io.Copy(hash, file); err != nil || n != size {
		return fmt.Errorf("s3: reading %s: %d bytes of %d: %w", name, n, size, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("s3: reading %s: %w", name, err)
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if err := b.put(ctx, name, file, size, sum); err != nil {
		return err
	}
	return b.verify(ctx, name, size, sum)
}

func (b *Bucket) put(ctx context.Context, name string, body io.Reader, size int64, sum string) error {
	req, err := b.request(ctx, http.MethodPut, name, io.LimitReader(body, size))
	if err != nil {
		return err
	}
	req.ContentLength = size
	if size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set(sumHeader, sum)
	resp, err := b.do(req, sum)
	if err != nil {
		return fmt.Errorf("s3: sending %s: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError(name, resp)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, mostAnswer))
	return err
}

// verify asks for what was sent.
func (b *Bucket) verify(ctx context.Context, name string, size int64, sum string) error {
	req, err := b.request(ctx, http.MethodHead, name, nil)
	if err != nil {
		return err
	}
	resp, err := b.do(req, emptySum)
	if err != nil {
		return fmt.Errorf("s3: asking for %s: %w", name, err)
	}
	defer resp.Body.Close()
	found, _ := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64)
	switch got := resp.Header.Get(sumHeader); {
	case resp.StatusCode == http.StatusNotFound:
		return &ChangedError{Name: name, IsMissing: true}
	case resp.StatusCode != http.StatusOK:
		return statusError(name, resp)
	case found != size || got != sum:
		return &ChangedError{Name: name, Size: found, Sum: got, WantSize: size, WantSum: sum}
	}
	return nil
}

func (b *Bucket) request(ctx context.Context, method, name string, body io.Reader) (*http.Request, error) {
	target := *b.base
	path := "/" + name
	if b.options.PathStyle {
		path = "/" + b.options.Bucket + path
	} else {
		target.Host = b.options.Bucket + "." + target.Host
	}
	target.Path, target.RawPath = path, escapePath(path)
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("s3: %s: %w", name, err)
	}
	return req, nil
}

func (b *Bucket) do(req *http.Request, sum string) (*http.Response, error) {
	sign(req, b.options, sum, b.clock().UTC())
	resp, err := b.client.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return resp, err
}

// mostAnswer is how many bytes of an answer are read.
const mostAnswer = 64 << 10

// statusError reads what the server says.
func statusError(name string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostAnswer)) // the status is what counts
	return &StatusError{Name: name, Status: resp.StatusCode, Code: element(string(text), "Code"), Text: strings.TrimSuffix(element(string(text), "Message"), ".")}
}

// element returns the text of an element of a small XML document.
func element(text, name string) string {
	_, after, _ := strings.Cut(text, "<"+name+">")
	inner, _, ok := strings.Cut(after, "</"+name+">")
	if !ok || len(inner) > 500 {
		return ""
	}
	return inner
}
