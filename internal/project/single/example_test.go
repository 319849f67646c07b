package main

import (
	"testing"

	"github.com/tegenaria/tegenaria/spidertest"
)

// TestExample runs the spider on its saved pages in testdata, without a network. When the spider is to find something else from now on,
// tegenaria check --update saves that.
func TestExample(t *testing.T) { spidertest.Fixtures(t, newExample(), "testdata") }
