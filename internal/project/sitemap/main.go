// Command sitemap is a project of spiders. Its commands are those of Tegenaria:
//
//	tegenaria list
//	tegenaria crawl products -O products.jsonl
//
// Without the command tegenaria, go run . list and go run . crawl products do the same.
package main

import (
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/cli/live"
)

func main() {
	app := cli.New(newProducts())
	app.With(live.Part()) // crawl --listen 127.0.0.1:0, to watch a crawl and change it
	app.Main()
}
