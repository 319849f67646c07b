//go:build unix

// Command broken is a durable crawl of ours with a mistake: its items go to a file that knows nothing of the job. What it has written
// when it is killed is written again; or, if the environment has MISTAKE=early, the file is written at the end alone, so that requests
// are settled before their items are anywhere. The judge of the crash race has to see that.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/cache/disk"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	cache, err := disk.Open(j.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	file, err := os.OpenFile(j.Out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	early := bufio.NewWriterSize(file, 1<<20)
	defer func() { err = errors.Join(err, early.Flush(), file.Close()) }()
	write := tegenaria.PipelineFunc(1, func(_ context.Context, it site.Item) (site.Item, error) {
		line, err := json.Marshal(it)
		if err != nil {
			return it, err
		}
		line = append(line, '\n')
		if os.Getenv("MISTAKE") == "early" {
			mu.Lock()
			defer mu.Unlock()
			_, err = early.Write(line)
		} else {
			_, err = file.Write(line)
		}
		return it, err
	})
	engine := tegenaria.NewSpiderEngine(append(options, tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSpiders(ours.Spider(j)), tegenaria.EngineWithPipelines(write))...)
	return engine.Run(context.Background(), "race")
}
