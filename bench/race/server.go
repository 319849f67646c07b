//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"

	"github.com/tegenaria/tegenaria/bench/site"
)

// server is the process that serves the site, with its control URL.
type server struct {
	Port        string
	TLSPort     string `json:"tls_port"`
	Control     string
	Certificate string

	cmd   *exec.Cmd
	stdin io.Closer
}

// report is the server's log.
type report struct {
	site.Log
	Connections int64   `json:"connections"`
	CPUMicros   float64 `json:"cpu_micros"`
}

// serve starts the server.
func serve(program, cpu string) (*server, error) {
	command := append(pinned(cpu), program)
	s := &server{cmd: exec.Command(command[0], command[1:]...)}
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	s.cmd.Stderr = os.Stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(out).Decode(s); err != nil {
		return nil, errors.Join(fmt.Errorf("the server says no addresses: %w", err), s.close())
	}
	return s, nil
}

func (s *server) close() error { return errors.Join(s.stdin.Close(), s.cmd.Wait()) }

// url is that of the start page.
func (s *server) url(tls bool) string {
	if tls {
		return "https://127.0.0.1:" + s.TLSPort + "/"
	}
	return "http://127.0.0.1:" + s.Port + "/"
}

// plan makes the server serve a new site.
func (s *server) plan(p site.Plan) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.ask(context.Background(), http.MethodPost, "/plan", text, nil)
}

func (s *server) log() (r report, err error) {
	err = s.ask(context.Background(), http.MethodGet, "/log", nil, &r)
	return r, err
}

// hold lets so many requests for pages pass, in all.
func (s *server) hold(at int) error {
	return s.ask(context.Background(), http.MethodPost, fmt.Sprintf("/hold?at=%d", at), nil, nil)
}

// reached waits until so many requests for pages have passed.
func (s *server) reached(ctx context.Context, n int) error {
	return s.ask(ctx, http.MethodGet, fmt.Sprintf("/reached?n=%d", n), nil, nil)
}

func (s *server) ask(ctx context.Context, method, path string, body []byte, answer any) (err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Control+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server: %s %s: %s", method, path, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
