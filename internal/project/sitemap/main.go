// Command sitemap is a project of spiders. Its commands are those of Tegenaria:
//
//	tegenaria list
//	tegenaria crawl products -O products.jsonl
//
// Without the command tegenaria, go run . list and go run . crawl products do the same.
package main

import "github.com/tegenaria/tegenaria/cli"

func main() {
	cli.Main(newProducts())
}
