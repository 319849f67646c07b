package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
)

var (
	spider = tegenaria.NewSpider("news", nil)
	dsn    = "postgres://crawler@db/crawls"
)

// One of several programs that crawl a job. Each has its own name, and its own file.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	options := cluster.Options{Worker: "one", Dir: "one.state"}
	err := cluster.Run(ctx, dsn, "news", options, func(ctx context.Context, cache *cluster.Cache) error {
		return tegenaria.NewSpiderEngine(
			tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithSpiders(spider),
			tegenaria.EngineWithPipelines(feed.JSONL("one.jsonl")),
			tegenaria.EngineWithSignals(), // SIGTERM ends this worker gracefully
		).Run(ctx, "news")
	})
	if err != nil {
		fmt.Println(err)
	}
}

// A job as another program sees it.
func ExampleDial() {
	ctx := context.Background()
	job, err := cluster.Dial(ctx, dsn, "news")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	status, err := job.Status(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, worker := range status.Workers {
		fmt.Println(worker.Name, worker.Alive, worker.Partitions)
	}
	fmt.Println(status.Queued, status.Outcomes["fetched"])
}

// The items of all workers lie in the database, and Collect writes them to one file.
func ExampleCollect() {
	ctx := context.Background()
	items := tegenaria.EngineWithPipelines(cluster.Items())
	_ = items // an option of the engine of each worker

	job, err := cluster.Dial(ctx, dsn, "news")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	collected, err := cluster.Collect(ctx, job, "all.jsonl")
	fmt.Println(collected.Items, collected.Finished, err)
}

// A worker has died for good, and its disk is still there.
func ExampleTrim() {
	ctx := context.Background()
	job, err := cluster.Dial(ctx, dsn, "news")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	err = cluster.Trim(ctx, job, "one.state", feed.JSONL("one.jsonl"))
	fmt.Println(err)
}
