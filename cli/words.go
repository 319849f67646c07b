package cli

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// The messages of the framework speak to programmers: their remedies name options of Go, and each begins with the name of the package.
// A command has flags instead. This file translates.

// inFlags are remedies that have no setting, but a flag of the command crawl.
var inFlags = strings.NewReplacer(
	"with a queue on disk, EngineWithCache and cache/disk, the same command goes on", "with --job DIR the same command goes on",
	"raise the limit or keep them on disk with cache/disk", "raise the limit or keep them on disk with --job DIR",
	"or keep the queue on disk with cache/disk", "or keep the queue on disk with --job DIR",
	"choose another directory, or start it over with disk.Fresh", "name another directory, or remove this one",
	"with spidertest.Parse, or give the engine EngineWithEmptyOK", "with the command parse, or give EngineWithEmptyOK",
	"remove the file, or choose Append or Overwrite", "remove the file, or overwrite it with -O",
	"Politeness.PerSlot, Delay", "Politeness.PerSlot, Politeness.Delay",
	"Politeness.Delay or AutoThrottle", "Politeness.Delay or Politeness.AutoThrottle",
)

// inOptions finds the options that are settings. One whose value follows is named without a flag, since it may come from a file.
var inOptions = regexp.MustCompile(`\b(?:EngineWith|Limits\.|Politeness\.|RequestWithTimeout)[A-Za-z]*( is | = )?`)

// settings are the settings by their names in Go: "Limits.Depth" is "limits.depth", "EngineWithGrace" is "grace".
func settings() map[string]string {
	names := make(map[string]string)
	for _, top := range reflect.VisibleFields(reflect.TypeFor[tegenaria.Settings]()) {
		key := top.Tag.Get("json")
		if top.Type.Kind() != reflect.Struct {
			names["EngineWith"+top.Name] = key
			continue
		}
		for _, f := range reflect.VisibleFields(top.Type) {
			names[top.Name+"."+f.Name] = key + "." + f.Tag.Get("json")
		}
	}
	return names
}

// words returns a func that says messages of the framework in the words of the command.
func (c *call) words() func(text string) string {
	names := settings()
	if _, has := c.flags["timeout"]; has {
		names["RequestWithTimeout"] = "timeout"
	}
	inFlag := func(option string) string {
		m := inOptions.FindStringSubmatch(option)
		key, known := names[strings.TrimSuffix(option, m[1])]
		flag, hasFlag := c.flags[key]
		switch {
		case !known:
			return option
		case m[1] != "":
			return key + m[1]
		case hasFlag:
			return flag
		}
		return "-s " + key
	}
	if _, has := c.flags["allowed_domains"]; has { // a crawl of a site has no other way to say it
		const other = " (or ScopeOptions.Domains)"
		return func(text string) string {
			return inOptions.ReplaceAllStringFunc(inFlags.Replace(strings.ReplaceAll(text, other, "")), inFlag)
		}
	}
	return func(text string) string { return inOptions.ReplaceAllStringFunc(inFlags.Replace(text), inFlag) }
}

// message is an error as the command prints it.
func (c *call) message(err error) string {
	lines := strings.Split(c.words()(err.Error()), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "tegenaria: ")
	}
	return printable(strings.Join(lines, "\n"))
}

// wordsHook says what is logged in the words of the command.
type wordsHook struct{ words func(text string) string }

// Levels are all.
func (wordsHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire changes the message of a line, which cannot steer a terminal then.
func (h wordsHook) Fire(line *logrus.Entry) error {
	line.Message = printable(h.words(line.Message))
	return nil
}
