package browser

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
)

// It fails if something that Chromium cannot send is left out silently.
func TestUnfitRequests(t *testing.T) {
	header := func(name string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: "x"})
	}
	for field, r := range map[string]*tegenaria.Request{
		"Method":         tegenaria.NewRequest("https://a.example/", "HEAD", nil),
		"Body":           tegenaria.NewRequest("https://a.example/", "GET", nil, tegenaria.RequestWithBody([]byte("x"))),
		"Proxy":          tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://p.example"})),
		"Header[Host]":   tegenaria.NewRequest("https://a.example/", "", nil, header("host")),
		"Header[Cookie]": tegenaria.NewRequest("https://a.example/", "", nil, header("Cookie")),
	} {
		_, err := newQuery(r)
		if unfit, ok := errors.AsType[*tegenaria.RequestError](err); !ok || unfit.Field != field || unfit.Remedy == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	stream := tegenaria.NewRequest("https://a.example/", "GET", nil)
	stream.BodyReader = bytes.NewReader(nil)
	if _, err := newQuery(stream); err == nil {
		t.Error("a BodyReader is sent")
	}
}

// It fails if the cookies of a page do not reach the responses of the engine, or if old ones look new.
func TestNewCookies(t *testing.T) {
	r := tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithRequestHeader(map[string]string{"Cookie": "sent=1; changed=1"}))
	q, err := newQuery(r)
	if err != nil {
		t.Fatal(err)
	}
	got := q.newCookies([]*network.Cookie{
		{Name: "sent", Value: "1", Path: "/"},
		{Name: "changed", Value: "2", Path: "/"},
		{Name: "server", Value: "3", Path: "/"},
		{Name: "script", Value: "4", Domain: ".a.example", Path: "/in", Secure: true, HTTPOnly: true},
	}, http.Header{"Set-Cookie": {"server=3; Path=/"}})
	want := []string{"changed=2; Path=/", "script=4; Path=/in; Domain=a.example; Secure; HttpOnly"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// It fails if actions are not read as they were written.
func TestStoredActions(t *testing.T) {
	q, err := newQuery(tegenaria.NewRequest("https://a.example/", "", nil, Do(Fill("#q", "ä\"\n"), ScrollUntil("li", 3).Within(time.Minute), Wait(time.Second), PDF("x"))))
	want := []step{{Do: "Fill", CSS: "#q", Text: "ä\"\n"}, {Do: "ScrollUntil", CSS: "li", Count: 3, Within: time.Minute}, {Do: "Wait", For: time.Second}, {Do: "PDF", Name: "x"}}
	if err != nil || !slices.Equal(q.plan.Do, want) {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err := newQuery(tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithVariant("browser"))); err != nil || len(q.plan.Do) > 0 {
		t.Errorf("another variant: %+v, %v", q, err)
	}
	_, err = newQuery(tegenaria.NewRequest("https://a.example/", "", nil, tegenaria.RequestWithVariant(variantOf+"[")))
	if unfit, ok := errors.AsType[*tegenaria.RequestError](err); !ok || unfit.Field != "Variant" {
		t.Errorf("broken: %v", err)
	}
}
