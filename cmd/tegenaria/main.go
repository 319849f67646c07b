// Command tegenaria crawls without a program of one's own, and looks into pages and jobs:
//
//	go install github.com/tegenaria/tegenaria/cmd/tegenaria@latest
//	tegenaria fetch https://example.com/
//	tegenaria jobs status DIR
//
// Programs with spiders have the same commands by one line, see package cli. docs/command.md lists them.
package main

import "github.com/tegenaria/tegenaria/cli"

func main() { cli.Main() }
