package main

import (
	"testing"

	"github.com/tegenaria/tegenaria/spidertest"
)

// TestExample runs the spider on its saved pages in testdata, without a network.
func TestExample(t *testing.T) { spidertest.Fixtures(t, newExample(), "testdata") }
