// Command jobs shows how a durable crawl is looked into and changed: it stops a small crawl of its own in the middle, in a temporary
// directory, asks the command jobs of package cli about it, lets a failed request run again, and resumes the crawl.
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
