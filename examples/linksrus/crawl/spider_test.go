package crawl_test

import (
	"io"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// quiet keeps the engine's warnings out of the tests' output.
func quiet() tegenaria.EngineOption {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return tegenaria.EngineWithLogger(logger)
}
