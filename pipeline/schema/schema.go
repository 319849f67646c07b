// Package schema has an item pipeline that checks items by a JSON Schema: of what JSON shows of an item, so it is the
// schema that readers of the feeds can use too.
//
//	item → encoding/json → the schema → the next pipeline, or a *pipeline.InvalidError
//
// A short example:
//
//	//go:embed book.schema.json
//	var bookSchema string
//
//	tegenaria.EngineWithPipelines(schema.Validate[Book](bookSchema, schema.Options{}), feed.JSONL("books.jsonl"))
//
// It stands on github.com/santhosh-tekuri/jsonschema/v6, which a program that does not import this package does not compile.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
)

// Priority is the place of [Validate] unless its options say another one.
const Priority = 310

// mostFaults is how many faults of an item are reported.
const mostFaults = 100

// Options say where a [Validate] stands, and what becomes of items that are not valid.
type Options struct {
	// Priority is its place (0: Priority).
	Priority int
	// Drop drops items that are not valid. By default they fail, and the ErrorHandlers are called.
	Drop bool
	// Formats asserts "format" also where the draft of the schema says that it is an annotation: in 2019-09 and 2020-12.
	Formats bool
	// Resources are further schemas that the schema refers to, by their URL. No others are loaded, neither from the disk nor from the network.
	Resources map[string]string
}

// Validate makes a pipeline that checks items of type T by a JSON Schema, of draft 4, 6, 7, 2019-09 or 2020-12; 2020-12
// if the schema does not say. Items of other types pass unchanged. The error of an item is a [*pipeline.InvalidError],
// whose rules are the keywords of the schema; an item that has no JSON fails with the error of encoding/json. The time
// that a check takes is that of the schema's author: regular expressions are those of Go, which take time in proportion
// to the text.
//
// A schema that is not valid, or refers to one that is not in Resources, is an error of Run before the first request.
func Validate[T any](source string, o Options) tegenaria.PipelinesInterface {
	if o.Priority == 0 {
		o.Priority = Priority
	}
	t := reflect.TypeFor[T]().String()
	compiled, err := compile(source, o)
	if err != nil {
		return mistaken{o.Priority, fmt.Errorf("schema: Validate[%s]: %w", t, err)}
	}
	return tegenaria.PipelineFunc(o.Priority, func(_ context.Context, item T) (T, error) {
		err := check(compiled, item, t)
		var invalid *pipeline.InvalidError
		if o.Drop && errors.As(err, &invalid) {
			err = tegenaria.DropItem(err)
		}
		return item, err
	})
}

// mistaken is a pipeline whose schema cannot be used.
type mistaken struct {
	priority int
	err      error
}

// GetPriority is part of tegenaria.PipelinesInterface.
func (m mistaken) GetPriority() int { return m.priority }

// Mistake returns the error, with which the engine refuses to begin.
func (m mistaken) Mistake() error { return m.err }

// ProcessItem fails.
func (m mistaken) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return m.err }

// place is the URL of the schema itself.
const place = "mem:///schema.json"

// noLoader refuses what is not in the Resources.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it is not loaded: give it in Options.Resources[%q]", url)
}

func compile(source string, o Options) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if o.Formats {
		c.AssertFormat()
	}
	var errs []error
	add := func(url, name, text string) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = c.AddResource(url, doc)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is no JSON: %w", name, err))
		}
	}
	add(place, "the schema", source)
	for url, text := range o.Resources {
		add(url, fmt.Sprintf("Resources[%q]", url), text)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	return compiled, nil
}

// check returns what is wrong with an item.
func check(compiled *jsonschema.Schema, item any, t string) error {
	text, err := json.Marshal(item)
	if err != nil {
		return fmt.Errorf("schema: an item of type %s has no JSON: %w", t, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("schema: reading the JSON of an item of type %s: %w", t, err)
	}
	var found *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &found) {
		invalid := &pipeline.InvalidError{Type: t}
		collect(found, message.NewPrinter(language.English), invalid)
		return invalid
	} else if err != nil {
		return fmt.Errorf("schema: an item of type %s: %w", t, err)
	}
	return nil
}

// collect lists the innermost causes of an error.
func collect(e *jsonschema.ValidationError, p *message.Printer, to *pipeline.InvalidError) {
	for _, cause := range e.Causes {
		collect(cause, p, to)
	}
	if len(e.Causes) > 0 || len(to.Faults) >= mostFaults {
		return
	}
	rule := ""
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		rule = path[len(path)-1]
	}
	to.Faults = append(to.Faults, pipeline.Fault{Field: fieldOf(e.InstanceLocation), Rule: rule, Text: e.ErrorKind.LocalizedString(p)})
}

// fieldOf writes a place in JSON as the tags of package pipeline do: offers[2].price.
func fieldOf(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}
