package tegenaria

import (
	"errors"
	"fmt"
	"reflect"

	"golang.org/x/net/http/httpguts"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// mistaken is a part of this package's own making that knows what was wrong when it was made.
type mistaken interface{ mistake() error }

// mistakeOf returns what is wrong with a part, nil if nothing is known.
func mistakeOf(part any) error {
	if m, ok := part.(mistaken); ok {
		return m.mistake()
	}
	return nil
}

// mistakes lists the options that make no sense.
func (cfg *config) mistakes() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{
		{"EngineWithSchedulerNum", int(cfg.parseWorkers)}, {"EngineWithReadCacheNum", int(cfg.readers)},
		{"EngineWithConcurrency", cfg.concurrency}, {"EngineWithItemConcurrency", cfg.itemConcurrency},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%s is %d; it must be 1 or more", n.name, n.value))
		}
	}
	for _, n := range cfg.nilOptions {
		errs = append(errs, fmt.Errorf("engine option %d is nil; leave it out", n))
	}
	if cfg.grace < 0 {
		errs = append(errs, fmt.Errorf("EngineWithGrace is %s; it must not be negative", cfg.grace))
	}
	if cfg.politeness.PerIP > 0 && (cfg.downloader != nil || cfg.client != nil) {
		errs = append(errs, errors.New("Politeness.PerIP needs the default downloader and its own connections, which EngineWithDownloader and EngineWithHTTPClient replace: nobody else tells the addresses"))
	}
	for _, name := range cfg.secretHeaders {
		if !httpguts.ValidHeaderFieldName(name) {
			errs = append(errs, fmt.Errorf("EngineWithSecretHeaders: %q is no name of a header", name))
		}
	}
	switch {
	case cfg.downloader != nil && (cfg.client != nil || cfg.tls != nil):
		errs = append(errs, errors.New("EngineWithHTTPClient and EngineWithTLSConfig are for the default downloader, which EngineWithDownloader replaces"))
	case cfg.client != nil && cfg.tls != nil:
		errs = append(errs, errors.New("EngineWithTLSConfig is for the downloader's own connections, which EngineWithHTTPClient replaces; set it in the client's Transport"))
	}
	return errors.Join(errs...)
}

// notNil refuses nil parts, nil pointers in an interface too.
func notNil(part any, where string, i int) error {
	v := reflect.ValueOf(part)
	if part == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%s: argument %d is nil", where, i+1)
	}
	return nil
}

// findSpider returns the spider of that name.
func findSpider(spiders []SpiderInterface, name string) (SpiderInterface, error) {
	var errs []error
	byName := make(map[string]SpiderInterface, len(spiders))
	for i, s := range spiders {
		if err := notNil(s, "RegisterSpiders", i); err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := nameOf(s)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: %w", err))
		case n == "":
			errs = append(errs, fmt.Errorf("RegisterSpiders: spider %d has no name; set BaseSpider.Name", i+1))
		case byName[n] != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: two spiders are called %q", n))
		default:
			byName[n] = s
		}
	}
	switch spider := byName[name]; {
	case spider == nil:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	default:
		errs = append(errs, mistakeOf(spider))
	}
	return byName[name], errors.Join(errs...)
}

// nameOf asks a spider for its name, unless it lacks the BaseSpider that would answer.
func nameOf(s SpiderInterface) (name string, err error) {
	if lacksBase(reflect.ValueOf(s)) {
		return "", fmt.Errorf("the *BaseSpider embedded in %T is nil; set it: &tegenaria.BaseSpider{Name: …}, or embed BaseSpider by value", s)
	}
	if _, err := guard.Protect(func() error { name = s.GetName(); return nil }); err != nil {
		return "", fmt.Errorf("GetName of %T: %w", s, err)
	}
	return name, nil
}

// lacksBase reports whether a spider, or a struct that it embeds, embeds a *BaseSpider that is nil. What that
// promotes panics, StartRequest too.
func lacksBase(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v.Type() == reflect.TypeFor[*BaseSpider]()
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous && lacksBase(v.Field(i)) {
			return true
		}
	}
	return false
}
