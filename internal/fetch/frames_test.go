package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2 is a server's side of an HTTP/2 connection, for one answer frame by frame.
type h2 struct {
	*http2.Framer
	conn   net.Conn
	stream uint32
}

// head sends the header of a 200; it is all of the response if last.
func (h *h2) head(last bool) {
	var block bytes.Buffer
	hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: last})
}

// serveH2 answers each request on a connection until it ends.
func serveH2(conn net.Conn, answer func(h *h2, path string)) {
	defer conn.Close()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				framer.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			answer(&h2{framer, conn, frame.StreamID}, frame.PseudoValue("path"))
		}
	}
}

var h2Answers = map[string]func(h *h2){
	"/good":  h2GoodAnswer,
	"/reset": func(h *h2) { h.WriteRSTStream(h.stream, http2.ErrCodeInternal) },
	"/data-reset": func(h *h2) {
		h.head(false)
		h.WriteData(h.stream, false, []byte("half"))
		h.WriteRSTStream(h.stream, http2.ErrCodeInternal)
	},
	"/goaway": func(h *h2) { h.WriteGoAway(h.stream, http2.ErrCodeEnhanceYourCalm, nil); h.conn.Close() },
	"/data-goaway": func(h *h2) {
		h.head(false)
		h.WriteData(h.stream, false, []byte("half"))
		h.WriteGoAway(h.stream, http2.ErrCodeInternal, nil)
		h.conn.Close()
	},
	"/large-frame": func(h *h2) {
		h.head(false)
		h.AllowIllegalWrites = true
		h.WriteData(h.stream, true, make([]byte, 16<<20-1))
	},
	"/unknown-frame": func(h *h2) {
		h.WriteRawFrame(0xbe, 0xff, h.stream, []byte("what is this?"))
		h2GoodAnswer(h)
	},
	"/unknown-many": func(h *h2) {
		for range 200 {
			h.WriteRawFrame(0xbe, 0, h.stream, make([]byte, 16<<10))
		}
		h2GoodAnswer(h)
	},
	"/header-field": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 2<<20)})
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Next(1 << 14)})
		for block.Len() > 0 {
			if h.WriteContinuation(h.stream, block.Len() <= 1<<14, block.Next(1<<14)) != nil {
				return
			}
		}
	},
	"/header-index": func(h *h2) { // a byte for each of 4 KB fields
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		for range 16_000 {
			encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 4000)})
		}
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Next(1 << 14)})
		for block.Len() > 0 {
			if h.WriteContinuation(h.stream, block.Len() <= 1<<14, block.Next(1<<14)) != nil {
				return
			}
		}
		h.WriteData(h.stream, true, []byte("whole"))
	},
	"/push": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x.example"}, {":path", "/pushed"}} {
			encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		h.WritePushPromise(http2.PushPromiseParam{StreamID: h.stream, PromiseID: 2, BlockFragment: block.Bytes(), EndHeaders: true})
		h2GoodAnswer(h)
	},
	"/length": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		encoder.WriteField(hpack.HeaderField{Name: "content-length", Value: "10"})
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Bytes(), EndHeaders: true})
		h.WriteData(h.stream, true, []byte("half"))
	},
}

func h2GoodAnswer(h *h2) {
	h.head(false)
	h.WriteData(h.stream, true, []byte("whole"))
}

// What a server may do wrong in HTTP/2 costs the request, and not the next one.
func TestAnswersInFrames(t *testing.T) {
	var said strings.Builder // log.Logger writes under its lock
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	server := newH2Server(t, func(conn net.Conn) { serveH2(conn, func(h *h2, path string) { h2Answers[path](h) }) })
	d := server.client(t)
	for _, test := range []struct {
		path, body string // "": no response
		fails      bool
	}{
		{"/good", "whole", false},
		{"/reset", "", true},
		{"/data-reset", "half", true},
		{"/goaway", "", true},
		{"/data-goaway", "half", true},
		{"/large-frame", "", true},
		{"/unknown-frame", "whole", false},
		{"/unknown-many", "whole", false},
		{"/header-field", "", true},
		{"/header-index", "", true},
		{"/push", "", true},
		{"/length", "half", true},
	} {
		t.Run(test.path, func(t *testing.T) {
			result := download(d, request(server.url+test.path, http.MethodGet, withTimeout(time.Minute)))
			var late *TimeoutError
			if err := result.Error; (err != nil) != test.fails || err != nil && errors.As(err, &late) {
				t.Errorf("error %v", result.Error)
			}
			if strings.HasPrefix(test.path, "/header") && !strings.Contains(fmt.Sprint(result.Error), "Limits.Header") {
				t.Errorf("error %v", result.Error)
			}
			got := ""
			if result.Response != nil {
				got = string(result.Response.Body)
			}
			if got != test.body {
				t.Errorf("body %q, want %q", got, test.body)
			}
			if got == "half" {
				wantError[*TruncatedBodyError](t, result)
			}
			if resp := mustDownload(t, d, request(server.url+"/good", http.MethodGet)); string(resp.Body) != "whole" {
				t.Errorf("the next request got %q", resp.Body)
			}
		})
	}
	d.Close()
	server.close()
	for line := range strings.Lines(said.String()) {
		if !strings.Contains(line, "unhandled response frame type") { // net/http says so of each unknown frame
			t.Errorf("to the process's log: %s", line)
		}
	}
}
