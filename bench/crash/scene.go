//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// scene is where one crawl happens.
type scene struct {
	folder string // where the program that faults befall has all that it keeps
	others string // and other workers of its cluster
	random *rand.Rand
	plan   site.Plan
	pages  *site.Site
	server server
	env    []string // of the programs
}

// newScene makes the site, the folder, and where there is to be one the database.
func newScene(ctx context.Context, e *entrant, database *pgtest.Server, seed uint64, handler func(*scene) http.Handler) (*scene, error) {
	folder, err := os.MkdirTemp("", "crash")
	if err != nil {
		return nil, err
	}
	s := &scene{folder: filepath.Join(folder, "befallen"), others: filepath.Join(folder, "others"), random: rand.New(rand.NewPCG(seed, 2)), plan: e.plan(), env: os.Environ()}
	s.pages = site.FromPlan(s.plan)
	if err := errors.Join(os.Mkdir(s.folder, 0o700), os.Mkdir(s.others, 0o700)); err != nil {
		return nil, err
	}
	if e.database {
		name := filepath.Base(folder)
		if err := createDatabase(ctx, database, name); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
		s.env = append(s.env, "PGHOST="+database.Host(), "PGUSER=tester", "PGDATABASE="+name)
	}
	s.server = server{handler: handler(s), address: "127.0.0.1:0"}
	if s.plan.Hosts > 1 {
		s.server.address = "0.0.0.0:0"
	}
	if err := s.server.up(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

func (s *scene) close() error {
	return errors.Join(s.server.down(), os.RemoveAll(filepath.Dir(s.folder)))
}

// url is the start page.
func (s *scene) url() string {
	_, port, _ := net.SplitHostPort(s.server.address) // as it was told by the listener
	return fmt.Sprintf("http://127.0.0.1:%s/", port)
}

// files are those of a worker of an entrant. Faults befall worker 1.
func (s *scene) files(e *entrant, worker int) contestant.Files {
	folder := s.folder
	if worker > 1 {
		folder = s.others
	}
	of := contestant.Files{Items: e.items}
	if filepath.Ext(e.items) != "" {
		of.Items = filepath.Join(folder, fmt.Sprintf("%d-%s", worker, e.items))
	}
	if e.IsGo() {
		of.Stats = filepath.Join(folder, fmt.Sprintf("stats-%d", worker))
	}
	if e.Durable {
		of.Dir = filepath.Join(folder, fmt.Sprintf("job%d", worker))
	}
	return of
}

// server is a web server that may be away.
type server struct {
	handler http.Handler
	address string // after up: the one it has

	mu     sync.Mutex // guards the field below
	runs   *http.Server
	serves sync.WaitGroup
}

// up has the server listen, at the address that it had before.
func (s *server) up() error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.address = listener.Addr().String()
	}
	runs := &http.Server{Handler: s.handler}
	s.runs = runs
	s.serves.Go(func() { _ = runs.Serve(listener) }) // until down
	return nil
}

// down ends the server, and its connections.
func (s *server) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.runs.Close()
	s.serves.Wait()
	return err
}
