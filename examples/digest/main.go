// Command digest prints the MD5 sum of every regular file below a directory, sorted by path, as
// md5sum does:
//
//	go run ./examples/digest [-mode serial|parallel|bounded] [dir]
//
// It shows package stage with a small task. The source lists the files, one stage computes the sums,
// and the sink is a slice. The three modes differ only in the runner of the stage. The tests show how
// this pipeline can be developed from a loop, step by step.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0, 1 if the digest is not complete, 2 for wrong arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("digest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	mode := flags.String("mode", "bounded", "how many files are read at a time: serial (1), bounded (20) or parallel (up to 256)")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: digest [-mode serial|parallel|bounded] [dir]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	runner, ok := modes[*mode]
	if !ok || flags.NArg() > 1 {
		flags.Usage()
		return 2
	}
	dir := cmp.Or(flags.Arg(0), ".")

	var sums []Sum
	err := Digest(ctx, os.DirFS(dir), runner, func(s Sum) error {
		sums = append(sums, s)
		return nil
	})
	slices.SortFunc(sums, func(a, b Sum) int { return cmp.Compare(a.Path, b.Path) })
	for _, s := range sums {
		fmt.Fprintf(stdout, "%x  %s\n", s.MD5, filepath.Join(dir, filepath.FromSlash(s.Path)))
	}
	if err != nil {
		fmt.Fprintln(stderr, "digest:", err)
		return 1
	}
	return 0
}
