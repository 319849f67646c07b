// Command list is a project of spiders. Its commands are those of Tegenaria:
//
//	tegenaria list
//	tegenaria crawl quotes -O quotes.jsonl
//
// Without the command tegenaria, go run . list and go run . crawl quotes do the same.
package main

import "github.com/tegenaria/tegenaria/cli"

func main() {
	cli.Main(newQuotes())
}
