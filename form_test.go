package tegenaria_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/forms"
)

func ExampleResponse_Form() {
	body := []byte(`<form id=login action=/in method=post><input name=user><input type=password name=password><input type=hidden name=token value=t7></form>`)
	page := tegenaria.NewResponse(tegenaria.NewRequest("https://shop.example/login", tegenaria.GET, nil), 200, http.Header{"Content-Type": {"text/html"}}, body)
	form, err := page.Form("form#login")
	if err != nil {
		fmt.Println(err)
		return
	}
	form.Set("user", "ada")
	form.Set("password", "open sesame")
	r, err := form.Request(tegenaria.RequestWithParserName("in"))
	fmt.Println(r.Method, r.Url, string(r.Body), err)
	fmt.Println(form.Set("usr", "ada"))
	// Output:
	// POST https://shop.example/in user=ada&password=open+sesame&token=t7 <nil>
	// forms: form#login of https://shop.example/login: "usr": no control has this name; Add sends a field that the form lacks; there are: "user", "password", "token"
}

func ExampleRequestFromCurl() {
	request, err := tegenaria.RequestFromCurl(`curl 'https://shop.example/api?page=2' \
  -H 'Accept: application/json' -b 'session=abc' --data-raw '{"q":"tea"}' --compressed`,
		tegenaria.RequestWithParserName("api"))
	fmt.Println(request.Method, request.Url, string(request.Body), request.Cookies, request.ParserName(), err)
	fmt.Println(request.CurlRedacted())
	_, err = tegenaria.RequestFromCurl("curl -k https://shop.example/")
	fmt.Println(strings.Contains(err.Error(), "option -k: certificates are always verified"))
	// Output:
	// POST https://shop.example/api?page=2 {"q":"tea"} map[session:abc] api <nil>
	// curl 'https://shop.example/api?page=2' -H 'Accept: application/json' -b 'session=…' --data-raw '…'
	// true
}

// What is exported gives the request back.
func TestCurlRoundTrip(t *testing.T) {
	for _, want := range []*tegenaria.Request{
		tegenaria.NewRequest("https://a.example/?b[]=1&c={x}#f", "GET", nil),
		tegenaria.NewRequest("https://a.example/", "HEAD", nil, tegenaria.RequestWithAllowRedirects(false)),
		tegenaria.NewRequest("https://a.example/", "PATCH", nil, tegenaria.RequestWithJSON(map[string]string{"a": "it's \n \"x\""}), tegenaria.RequestWithMaxRedirects(3)),
		tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithBody([]byte{0, 255, '@', 10}), tegenaria.RequestWithRequestHeader(map[string]string{"X-A": "b: c; d", "X-Empty": ""})),
		tegenaria.NewRequest("https://a.example/", "GET", nil, tegenaria.RequestWithRequestCookies(map[string]string{"a": "1", "b": "2"}), tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://u:p@proxy.example:3128"})),
		tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithMultipart(forms.Text("a", "1"), forms.Upload("f", forms.File{Name: "x.bin", Data: []byte{0, 1}}))),
	} {
		got, err := tegenaria.RequestFromCurl(want.Curl())
		if err != nil {
			t.Errorf("%s: %v", want.Curl(), err)
			continue
		}
		proxies := got.Proxy == nil && want.Proxy == nil || got.Proxy != nil && want.Proxy != nil && *got.Proxy == *want.Proxy
		if got.Url != want.Url || got.Method != want.Method || !bytes.Equal(got.Body, want.Body) || !maps.Equal(got.Header, want.Header) || !maps.Equal(got.Cookies, want.Cookies) ||
			got.AllowRedirects != want.AllowRedirects || got.MaxRedirects != want.MaxRedirects || !proxies {
			t.Errorf("%s\ngives %+v\nwant  %+v", want.Curl(), got, want)
		}
	}
}

// The cookies that a page has set or was asked with are looked at, and its form must be there.
func TestPageOfALogin(t *testing.T) {
	r := tegenaria.NewRequest("https://a.example/", tegenaria.GET, nil, tegenaria.RequestWithRequestHeader(map[string]string{"cookie": "csrftoken=old; a=b"}))
	page := tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html"}, "set-cookie": {"csrftoken=new; Path=/"}}, []byte("<p>no form"))
	if got := page.CSRF(); got.Token != "new" || got.Headers()["X-CSRFToken"] != "new" {
		t.Errorf("CSRF = %+v", got)
	}
	_, err := page.Form("form")
	var wrong *tegenaria.FormError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "the page has no form") {
		t.Errorf("Form: %v", err)
	}
}

// Files are not in memory until the request is sent.
func TestUploadIsAStream(t *testing.T) {
	opened := 0
	file := forms.File{Name: "a.txt", Open: func() (io.ReadCloser, error) { opened++; return io.NopCloser(strings.NewReader("content")), nil }}
	r := tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithMultipart(forms.Upload("f", file)))
	if r.Method != tegenaria.POST || r.Body != nil || r.BodyReader == nil || opened != 1 {
		t.Fatalf("%s, a body of %d bytes, opened %d times", r.Method, len(r.Body), opened)
	}
	body, err := io.ReadAll(r.BodyReader)
	if err != nil || !strings.Contains(string(body), "\r\n\r\ncontent\r\n") {
		t.Errorf("%q, %v", body, err)
	}
}
