// Command tegenaria crawls without a program of one's own, looks into pages and jobs, and makes projects:
//
//	go install github.com/tegenaria/tegenaria/cmd/tegenaria@latest
//	tegenaria new shop
//	tegenaria fetch https://example.com/
//	tegenaria crawl spider.go
//	tegenaria jobs status DIR
//
// In the folder of a project, the one with a tegenaria.yaml, and below it, it builds the program of that project and becomes it, so
// that tegenaria crawl NAME runs the spider NAME. Programs with spiders have the same commands by one line, see package cli.
// docs/command.md lists them.
package main

import "os"

func main() {
	if code, done := become(os.Args, os.Stderr); done {
		os.Exit(code)
	}
	app().Main()
}
