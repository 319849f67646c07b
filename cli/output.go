package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/warc"
)

// ours are the formats that need no part.
func ours() []Ending {
	var list []Ending
	for _, f := range []struct {
		suffix, help string
		make         func(path string, opts ...feed.Option) *feed.Feed
	}{
		{".jsonl", "a line of JSON for each item", feed.JSONL},
		{".json", "a list in JSON", feed.JSON},
		{".csv", "CSV", feed.CSV},
		{".xml", "XML", feed.XML},
	} {
		open := func(_ *Run, out Output) (tegenaria.EngineOption, error) {
			how := feed.Append()
			if out.Overwrite {
				how = feed.Overwrite()
			}
			return tegenaria.EngineWithPipelines(f.make(out.Path, how)), nil
		}
		for _, packed := range []string{"", ".gz", ".zst"} {
			list = append(list, Ending{Suffix: f.suffix + packed, Help: f.help, Open: open})
		}
	}
	for _, suffix := range []string{".warc", ".warc.gz"} {
		list = append(list, Ending{Suffix: suffix, Help: "a web archive of all that is sent and received; a new file", Open: openArchive})
	}
	return list
}

// openArchive records the crawl. An archive is never appended to, nor overwritten: feeds are made anew by another crawl, archives are not.
func openArchive(_ *Run, out Output) (tegenaria.EngineOption, error) {
	if out.Overwrite {
		return nil, usagef("-O %s: an archive is not overwritten; remove it, or name a new one, for which {start} in the "+
			"name stands for the time", out.Path)
	}
	archive, err := warc.Create(out.Path, warc.Options{})
	if err != nil {
		return nil, err
	}
	return tegenaria.EngineWithDownloaderLayers(archive.Layer), nil
}

// endings are the formats that this program has.
func (a *App) endings() []Ending {
	list := ours()
	for _, part := range a.parts {
		if more, ok := part.(EndingPart); ok {
			list = append(list, more.Endings()...)
		}
	}
	return list
}

// ending finds the format of a file.
func (a *App) ending(path string) (found Ending, err error) {
	name := filepath.Base(path)
	var known []string
	for _, e := range a.endings() {
		if strings.HasSuffix(name, e.Suffix) && len(e.Suffix) > len(found.Suffix) {
			found = e
		}
		if !isPacked(e.Suffix) {
			known = append(known, e.Suffix)
		}
	}
	if found.Suffix == "" {
		if remedy := moreEndings[filepath.Ext(name)]; remedy != "" {
			return found, fmt.Errorf("this program cannot write %q: a project does it by %s; outside of projects, "+
				"tegenaria crawl URL -O %s does", path, remedy, name)
		}
		return found, fmt.Errorf("no format belongs to the ending of %q: use one of %s, some also with .gz or .zst, or - "+
			"for lines of JSON on the standard output", path, strings.Join(known, ", "))
	}
	return found, nil
}

// moreEndings are those that the command tegenaria knows outside of projects, with what writes them in a project.
var moreEndings = map[string]string{
	".parquet": "package feed/parquet in its code, see docs/guides/parquet.md",
	".db":      "package feed/sqlite in its code, see docs/guides/databases.md",
}

func isPacked(suffix string) bool {
	return strings.HasSuffix(suffix, ".gz") || strings.HasSuffix(suffix, ".zst")
}

// outputs checks the flags -o and -O.
func (a *App) outputs(appended, overwritten []string) ([]Output, error) {
	var list []Output
	var errs []error
	known := make(map[string]bool)
	for i, path := range slices.Concat(appended, overwritten) {
		out := Output{Path: path, Overwrite: i >= len(appended)}
		if known[path] {
			errs = append(errs, fmt.Errorf("-o and -O: %q is given twice", path))
		}
		known[path] = true
		if path == "-" {
			out.Overwrite = false
		} else if _, err := a.ending(path); err != nil {
			errs = append(errs, err)
		}
		list = append(list, out)
	}
	if len(list) == 0 {
		list = []Output{{Path: "-"}}
	}
	return list, errors.Join(errs...)
}

// printableLines writes lines of JSON to a terminal: what JSON lets stand and a terminal obeys is escaped, as JSON may have it too.
type printableLines struct{ terminal io.Writer }

func (w printableLines) Write(lines []byte) (int, error) {
	if _, err := io.WriteString(w.terminal, printable(string(lines))); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// addOutputs gives the run its feeds.
func (a *App) addOutputs(run *Run, list []Output, stdout io.Writer) error {
	for _, out := range list {
		if out.Path == "-" {
			run.Add(tegenaria.EngineWithPipelines(feed.JSONLTo(stdout, feed.Key("cli:stdout"))))
			continue
		}
		e, err := a.ending(out.Path)
		if err != nil {
			return err
		}
		option, err := e.Open(run, out)
		if err != nil {
			return err
		}
		run.Add(option)
	}
	return nil
}
