package cli

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// logFlags say what is logged, and where to.
type logFlags struct {
	quiet               bool
	level, format, file string
}

var (
	logLevels  = []string{"debug", "info", "warning", "error"}
	logFormats = []string{"text", "json"}
)

func (l *logFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&l.quiet, "quiet", false, "log only warnings and errors, not how the crawl goes")
	flags.StringVar(&l.level, "log-level", "info", "`LEVEL` of what is logged at least: debug, info, warning or error")
	flags.StringVar(&l.format, "log-format", "text", "`FORMAT` of the log: text or json")
	flags.StringVar(&l.file, "log-file", "", "`FILE` that the log is appended to (default: standard error)")
}

// complete completes the values.
func (l *logFlags) complete(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(logFormats, cobra.ShellCompDirectiveNoFileComp)))
}

// must is for calls that fail by a mistake of this package alone.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (l *logFlags) check() error {
	var errs []error
	for _, f := range []struct {
		name, value string
		known       []string
	}{{"--log-level", l.level, logLevels}, {"--log-format", l.format, logFormats}} {
		if !slices.Contains(f.known, f.value) {
			errs = append(errs, usagef("%s is %q%s; it is one of %s", f.name, f.value, meant(f.value, f.known), listed(f.known)))
		}
	}
	return errors.Join(errs...)
}

// given reports whether a flag of these was given: then it decides, and not the code of the program.
func (l *logFlags) given(flags *pflag.FlagSet) bool {
	return flags.Changed("log-level") || flags.Changed("log-format") || flags.Changed("log-file")
}

// open makes the logger. isTerminal says what stderr is. Close the file, which is nil if there is none, when the crawl is over.
func (l *logFlags) open(stderr io.Writer, isTerminal bool) (logger *logrus.Logger, file *os.File, err error) {
	logger = logrus.New()
	logger.SetOutput(stderr)
	level, err := logrus.ParseLevel(l.level)
	if err != nil {
		return nil, nil, err
	}
	logger.SetLevel(level)
	logger.AddHook(printableHook{})
	switch {
	case l.format == "json":
		logger.SetFormatter(&logrus.JSONFormatter{})
	case os.Getenv("NO_COLOR") != "":
		logger.SetFormatter(&logrus.TextFormatter{DisableColors: true})
	case isTerminal && l.file == "":
		logger.SetFormatter(&logrus.TextFormatter{ForceColors: runtime.GOOS != "windows"}) // as logrus has it
	}
	if l.file != "" {
		if file, err = os.OpenFile(l.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err != nil {
			return nil, nil, err
		}
		logger.SetOutput(file)
	}
	return logger, file, nil
}
