# The steps of .ci/run as targets; that script is where they are written down.

.PHONY: all test race fuzz conformance lint bench ci

all: lint test

test:
	go test ./...

race fuzz conformance:
	.ci/run $@

lint:
	.ci/run format vet tidy static
	@if command -v golangci-lint >/dev/null; then golangci-lint run; fi

# Compare two runs with benchstat: make bench >old.txt
bench:
	@go test -run '^$$' -bench . -benchmem -count 6 ./...

ci:
	.ci/run
