package main

import (
	"testing"

	"github.com/tegenaria/tegenaria/spidertest"
)

// TestQuotes runs the spider on its saved pages, the folders in testdata, without a network. When the spider is to find something else
// from now on, tegenaria check --update saves that.
func TestQuotes(t *testing.T) { spidertest.Fixtures(t, newQuotes(), "testdata") }
