package e2e_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/tegenaria/tegenaria"
)

// frameEnds are the ends of the frames of h2Answer.
func frameEnds(answer []byte) (ends []int) {
	for at := 0; at < len(answer); ends = append(ends, at) {
		at += 9 + int(answer[at])<<16 + int(answer[at+1])<<8 + int(answer[at+2])
	}
	return ends
}

// h2Answer is a response in HTTP/2: a header in two frames, data, a trailer.
func h2Answer(stream uint32) []byte {
	var answer, head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	encoder.WriteField(hpack.HeaderField{Name: "x-name", Value: "value"})
	framer := http2.NewFramer(&answer, nil)
	framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Next(5)})
	framer.WriteContinuation(stream, true, head.Bytes())
	framer.WriteData(stream, false, []byte("whole page"))
	head.Reset()
	encoder.WriteField(hpack.HeaderField{Name: "x-end", Value: "trailer"})
	framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
	return answer.Bytes()
}

// serveCutH2 serves an HTTP/2 connection as a cutServer does one of HTTP/1.1. "goaway" says that before it ends.
func (s *cutServer) serveCutH2(below net.Conn) {
	defer below.Close()
	conn := tls.Server(below, s.secure)
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
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
		request, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		path := request.PseudoValue("path")
		n, how, first := s.cut(path)
		answer := h2Answer(request.StreamID)
		if !first {
			conn.Write(answer)
			continue
		}
		conn.Write(answer[:n])
		switch how {
		case "rst":
			below.(*net.TCPConn).SetLinger(0)
		case "bye":
			conn.Close()
		case "goaway":
			framer.WriteGoAway(request.StreamID, http2.ErrCodeNo, nil)
		}
		return
	}
}

// In HTTP/2, too, an answer that ends too soon is asked for again, wherever its frames are cut and whether the server
// says that it goes away. It fails when Retry does not know what net/http says of the end of such a connection.
func TestCutFramesAreRetried(t *testing.T) {
	ours, theirs := certified()
	ours.NextProtos = []string{"h2"}
	server := newCutServer(t, ours, "")
	site := "https://" + server.listener.Addr().String()
	var requests []*tegenaria.Request
	add := func(at int, how string) {
		requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/%d/%s", site, at, how), "GET", nil))
	}
	answer := h2Answer(1)
	for at := range answer {
		add(at, "fin")
		add(at, "rst")
		add(at, "bye")
	}
	for _, at := range append([]int{0}, frameEnds(answer)[1:3]...) {
		add(at, "goaway")
	}
	seen := newFailures()
	ends := newWitness(requests...).crawl(t, tegenaria.EngineWithMiddlewares(seen), theirs,
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	for _, r := range requests {
		u, _ := url.Parse(r.Url)
		if n := server.timesAsked(u.Path); n != 2 || ends[r.Url].outcome != tegenaria.Fetched || ends[r.Url].resp.String() != "whole page" {
			t.Errorf("%s: asked for %d times, %v; at first %v", u.Path, n, ends[r.Url], seen.first[r.Url])
		}
		var body *tegenaria.TruncatedBodyError
		at, _ := strconv.Atoi(strings.Split(u.Path, "/")[1])
		if inBody := errors.As(seen.first[r.Url], &body); inBody && at < frameEnds(answer)[1] {
			t.Errorf("%s: %v", u.Path, seen.first[r.Url])
		}
	}
}
