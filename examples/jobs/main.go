// Command jobs shows how to inspect and change a durable crawl: it stops a small crawl in the middle, in a temporary directory, shows the
// output of the command jobs of package cli for it, puts a failed request back into the queue, and resumes the crawl.
//
//	go run ./examples/jobs
//
// The command for jobs of your own is tegenaria jobs, which every program with package cli has:
//
//	tegenaria jobs status DIR
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := show(context.Background(), out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}
