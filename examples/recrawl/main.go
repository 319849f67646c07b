// Command recrawl crawls a small shop on three days, and prints what has changed each day. The shop is served on loopback by the
// program itself; a page that has not changed is asked for, and not sent again.
//
//	go run ./examples/recrawl
//
//	day 1: 5 pages sent, 0 not modified; items: 4 new, 0 changed, 0 unchanged, 0 removed
//	  new apple
//	  new bread
//	  new cheese
//	  new dates
//	day 2: 3 pages sent, 3 not modified; items: 1 new, 1 changed, 3 unchanged, 0 removed
//	  changed apple: {"price":"1.00"} → {"name":"apple","price":"1.10"}
//	  new eggs
//	day 3: 2 pages sent, 3 not modified; items: 0 new, 1 changed, 3 unchanged, 1 removed
//	  changed cheese: {"price":"7.00"} → {"name":"cheese","price":"6.50"}
//	  removed dates: unreachable
//
// With --history DIR the command does the same: tegenaria crawl shop --history history, and then tegenaria changes history
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/revisit"
)

func main() {
	folder, err := os.MkdirTemp("", "recrawl")
	if err == nil {
		err = errors.Join(threeDays(context.Background(), folder, os.Stdout), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recrawl:", err)
		os.Exit(1)
	}
}

type product struct {
	Name  string `json:"name" key:"true"` // tells the products apart, the same each day
	Price string `json:"price"`
}

func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	if name := page.CSS("h1").Text(); name != "" {
		return out.Item(product{name, page.CSS("p.price").Text()})
	}
	return out.FollowLinks()
}

// threeDays crawls the shop once a day. Each day is a program of its own: it finds in the folder what the day before has left.
func threeDays(ctx context.Context, folder string, w io.Writer) error {
	shop := newShop()
	server := httptest.NewServer(shop)
	defer server.Close()
	for day := range shop.prices {
		shop.open(day)
		run, err := crawl(ctx, server.URL+"/", folder)
		if err != nil {
			return err
		}
		sent, same := shop.answers()
		fmt.Fprintf(w, "day %d: %d pages sent, %d not modified; items: %d new, %d changed, %d unchanged, %d removed\n",
			day+1, sent, same, run.New, run.Changed, run.Unchanged, run.Removed)
		if err := printChanges(w, filepath.Join(folder, "changes.jsonl"), run.Number); err != nil {
			return err
		}
	}
	return nil
}

// crawl crawls the shop, and returns what the run has found.
func crawl(ctx context.Context, url, folder string) (run revisit.Run, err error) {
	cache, err := httpcache.Open(filepath.Join(folder, "pages"), httpcache.Options{Policy: httpcache.Refresh})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	history, err := revisit.Open(folder, revisit.Options{})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, history.Close()) }()
	logger := logrus.New()
	logger.SetLevel(logrus.WarnLevel)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", tegenaria.Handle(parse), url)),
		tegenaria.EngineWithDownloaderLayers(cache.Layer),
		tegenaria.EngineWithPipelines(history.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl")))),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), // it is our own shop
		tegenaria.EngineWithLogger(logger),
	)
	if err := engine.Run(ctx, "shop"); err != nil {
		return run, err
	}
	runs, err := history.Runs()
	if err != nil {
		return run, err
	}
	return runs[len(runs)-1], nil
}

// printChanges prints the changes of a run, sorted.
func printChanges(w io.Writer, path string, run int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var lines []string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		var c revisit.Change
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			return err
		}
		if c.Run != run {
			continue
		}
		line := fmt.Sprintf("  %s %s", c.Op, c.Key)
		switch c.Op {
		case revisit.Changed:
			line += fmt.Sprintf(": %s → %s", c.Old, c.Item)
		case revisit.Removed:
			line += ": " + string(c.Proof)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, strings.Compare)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return scanner.Err()
}
