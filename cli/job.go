package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// task is what a crawl is to do. The directory of a job keeps the one that the job was begun with, so that no other one is
// taken for its continuation.
type task struct {
	Spider   string            `json:"spider,omitempty"`
	URLs     []string          `json:"urls,omitempty"`     // of a crawl of URLs, sorted, without logins
	Sitemaps bool              `json:"sitemaps,omitempty"` // such a crawl starts from them, too
	Args     map[string]string `json:"args,omitempty"`     // those that are not the default; "sha256:…" of the content of a file; no secrets
	Judged   bool              `json:"judged,omitempty"`   // the job has finished, its outputs are closed, and the rules were asked

	def *Definition // nil for a crawl of URLs
}

// taskOf describes the crawl with a spider of the program. An argument whose name says that it is a secret is no part of it: a
// login may change while a job lasts.
func taskOf(def *Definition, l *layers) task {
	t := task{Spider: def.name, Args: make(map[string]string), def: def}
	for _, a := range def.args {
		e, given := l.args[a.name]
		switch {
		case !given || isSecret(a.name) || a.same(e.text, a.def):
		case e.secret:
			t.Args[a.name] = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(e.text)))
		default:
			t.Args[a.name] = e.text
		}
	}
	return t
}

// name is the one that the counts of the last run are kept under.
func (t *task) name() string {
	if t.def != nil {
		return t.Spider
	}
	name := "site "
	if t.Sitemaps {
		name += "--sitemaps "
	}
	return name + strings.Join(t.URLs, " ")
}

// same reports whether two texts are the same value of an argument.
func (a *argument) same(x, y string) bool {
	if x == y {
		return true
	}
	v, w := reflect.New(a.typ).Elem(), reflect.New(a.typ).Elem()
	for text, to := range map[string]reflect.Value{x: v, y: w} {
		if text != "" && setting.Parse(to, text) != nil { // "" is the zero value of an argument that has no default
			return false
		}
	}
	return reflect.DeepEqual(v.Interface(), w.Interface())
}

// differs says what is not as it was when the job began: with which value it began, and with which it is asked to go on.
func (t *task) differs(began *task) error {
	var errs []error
	differ := func(what, before, now string) {
		errs = append(errs, fmt.Errorf("it was begun with %s, and is given %s", what+before, now))
	}
	switch {
	case t.Spider != began.Spider && began.Spider != "" && t.Spider != "":
		differ("the spider ", fmt.Sprintf("%q", began.Spider), fmt.Sprintf("%q", t.Spider))
	case t.Spider != began.Spider && t.Spider == "":
		differ("the spider ", fmt.Sprintf("%q", began.Spider), "URLs")
	case t.Spider != began.Spider:
		differ("URLs", "", fmt.Sprintf("the spider %q", t.Spider))
	case !slices.Equal(t.URLs, began.URLs):
		differ("", shown(began.URLs), shown(t.URLs))
	case t.Sitemaps != began.Sitemaps:
		with := map[bool]string{true: "--sitemaps", false: "no --sitemaps"}
		differ("", with[began.Sitemaps], with[t.Sitemaps])
	}
	if len(errs) > 0 || t.def == nil {
		return errors.Join(errs...)
	}
	for _, a := range t.def.args {
		before, hadOne := began.Args[a.name]
		now, hasOne := t.Args[a.name]
		if !isSecret(a.name) && (hadOne != hasOne || !a.same(before, now)) {
			differ("the argument ", argText(a, before, hadOne), argText(a, now, hasOne))
		}
	}
	return errors.Join(errs...)
}

// argText shows the value of an argument in a message.
func argText(a argument, text string, given bool) string {
	switch {
	case strings.HasPrefix(text, "sha256:"):
		return a.name + "=@FILE, with another content"
	case !given && a.def == "":
		return a.name + " left out"
	case !given:
		text = a.def
	}
	return a.name + "=" + text
}

// shown names the first URLs of a list.
func shown(urls []string) string {
	const most = 3
	var names []string
	for _, u := range urls[:min(most, len(urls))] {
		names = append(names, urlx.Redact(u))
	}
	text := strings.Join(names, " ")
	if len(urls) > most {
		text += fmt.Sprintf(" and %d more", len(urls)-most)
	}
	return text
}

// taskFile is the name of the file in the directory of a job that holds its task.
const taskFile = "COMMAND"

// readTask reads the task that a job was begun with; nil if it does not say.
func readTask(dir string) (*task, error) {
	path := filepath.Join(dir, taskFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	began := &task{}
	if err == nil {
		err = json.Unmarshal(text, began)
	}
	if err != nil {
		return nil, fmt.Errorf("what the job %s was begun with, in %s: %w; remove the file to go on without it", dir, path, err)
	}
	return began, nil
}

// write writes the task in one step. Called with the job locked, which has no other files than those that package disk knows.
func (t *task) write(dir string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, taskFile)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// finishedError is the end of a run that has found its job finished.
type finishedError struct {
	dir  string
	dead int64 // requests that have failed
	name string
}

func (e *finishedError) Error() string {
	text := fmt.Sprintf("the job %s was finished before, and nothing is crawled: name another directory, or give "+
		"--if-finished fresh to begin it anew", e.dir)
	if e.dead > 0 {
		text += fmt.Sprintf("; %s failed: %s jobs requeue %s lets them run again", counted(int(e.dead), "request"), e.name, e.dir)
	}
	return text
}

// What --if-finished says.
const (
	finishedIsOK  = "ok"
	finishedFresh = "fresh"
)

// job is the durable job of a crawl.
type job struct {
	cache *disk.Cache
	dir   string
	task  *task
	isNew bool // it did not say what it was begun with
}

// checkJob finds mistakes of the flags about the job.
func (f *crawlFlags) checkJob() error {
	switch {
	case f.ifFinished != "" && f.ifFinished != finishedIsOK && f.ifFinished != finishedFresh:
		return usagef("--if-finished is %q%s; it is one of %s", f.ifFinished, meant(f.ifFinished, []string{finishedIsOK, finishedFresh}), listed([]string{finishedIsOK, finishedFresh}))
	case f.ifFinished != "" && f.job == "":
		return usagef("--if-finished is about a --job, and there is none")
	}
	return nil
}

// openJob opens the job of --job for a task. The error is a [*finishedError] if nothing is left to do.
func (c *call) openJob(f *crawlFlags, t *task) (j *job, err error) {
	cache, err := disk.Open(f.job)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cache.Close())
		}
	}()
	began, err := readTask(f.job)
	if err != nil {
		return nil, err
	}
	finished := cache.IsFinished() && (began == nil || began.Judged) // or else outputs are not closed, or rules were not asked
	anew := finished && f.ifFinished == finishedFresh
	if began != nil && !(anew && t.Spider == began.Spider) {
		if err := t.differs(began); err != nil {
			return nil, usagef("the job %s: %w; name another directory for this crawl", f.job, err)
		}
	}
	if finished && !anew {
		status, err := cache.Status(context.Background())
		return nil, errors.Join(err, &finishedError{f.job, status.Dead, c.name})
	}
	if anew {
		if err := cache.Close(); err != nil {
			return nil, err
		}
		if cache, err = disk.Open(f.job, disk.Fresh()); err != nil {
			return nil, err
		}
	}
	return &job{cache, f.job, t, began == nil || anew}, t.write(f.job)
}

// close closes the job after a run that has ended with an error or nil.
func (j *job) close(err error) error {
	var failed error
	switch code := codeOf(err); {
	case code == codeUsage && j.isNew: // it has not begun
		failed = os.Remove(filepath.Join(j.dir, taskFile))
	case j.cache.IsFinished() && isJudgement(err):
		j.task.Judged = true
		failed = j.task.write(j.dir)
	}
	return errors.Join(failed, j.cache.Close())
}

// isJudgement reports whether an error, or nil, is about a crawl that has finished and whose parts are all closed.
func isJudgement(err error) bool {
	switch err := err.(type) {
	case nil, *brokenError, *tegenaria.NothingError:
		return true
	case interface{ Unwrap() []error }: // of errors.Join
		list := err.Unwrap()
		return len(list) == 1 && isJudgement(list[0])
	}
	return false
}
