#!/bin/sh
# Makes docs/images/terminal.svg: the terminal after a crawl of the demo site with the program of README.md. To be run in the root of the
# repository, on Linux, with script (of util-linux) and awk.
set -eu
work=$(mktemp -d)
trap 'kill $site 2>/dev/null; rm -r "$work"' EXIT
go build -o "$work/" ./cmd/tegenaria ./examples/demosite/serve
"$work/serve" 127.0.0.1:8080 >"$work/serving" &
site=$!
awk '/^```$/ { on = 0 } on; /^```go$/ { on = 1 }' README.md |
	sed 's#https://quotes.toscrape.com/#http://127.0.0.1:8080/quotes/#' >"$work/quotes.go"
cd "$work"
until grep -q http serving; do sleep 0.1; done
./tegenaria crawl quotes.go -O quotes.jsonl >/dev/null 2>&1 # builds it
script -qec 'stty cols 120; ./tegenaria crawl quotes.go -O quotes.jsonl' /dev/null >said
{
	echo '$ tegenaria crawl quotes.go -O quotes.jsonl'
	sed 's/\r*$//; s/.*\r//; s/\x1b\[[0-9;]*m//g; s/ *spider=quotes$//' said | grep INFO
	echo '$ head -n 2 quotes.jsonl'
	head -n 2 quotes.jsonl | cut -c -105 | sed 's/$/…/'
} >lines
cd "$OLDPWD"
awk '
	{ gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;"); line[NR] = $0 }
	END {
		height = 22 * NR + 28
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 %d\" role=\"img\" aria-label=\"A crawl in a terminal\">\n", height
		printf "<rect width=\"900\" height=\"%d\" rx=\"8\" fill=\"#1e1e2e\"/>\n", height
		print "<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13.5\" xml:space=\"preserve\">"
		for (i = 1; i <= NR; i++) {
			colour = line[i] ~ /^\$/ ? "#ffffff" : "#bac2de"
			printf "<text x=\"16\" y=\"%d\" fill=\"%s\">%s</text>\n", 22 * i + 8, colour, line[i]
		}
		print "</g>\n</svg>"
	}' "$work/lines" >docs/images/terminal.svg
