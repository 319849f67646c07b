# The steps of .ci/run and .ci/deep as targets; these scripts are where they are written down.

.PHONY: all test race servers conformance fuzz lint bench site gate deep

all: lint test

test:
	go test ./...

race servers conformance:
	.ci/run $@

fuzz:
	.ci/deep $@

lint:
	.ci/run format vet tidy static
	@if command -v golangci-lint >/dev/null; then golangci-lint run; fi

# Compare two runs with benchstat: make bench >old.txt
bench:
	@for module in . e2e examples/linksrus; do go -C $$module test -run '^$$' -bench . -benchmem -count 6 ./... || exit 1; done

# The documents as a site, in the folder site. It takes the Debian packages mkdocs and mkdocs-material.
site:
	mkdocs build --strict --quiet --site-dir site

# Before a change lands.
gate:
	.ci/run

# Now and then; .ci/deep --changed BASE runs what concerns a change.
deep:
	.ci/deep
