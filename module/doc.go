// Package module lets several workers of one kind share the load: it names them, counts what they
// do, scores them, and hands out the one that has the least to do.
//
// A module is anything that embeds a [Base], which counts, and is registered with a [Registrar],
// which chooses:
//
//	type downloader struct {
//		*module.Base
//		client *http.Client
//	}
//
//	mid, err := module.GenMID(module.TypeDownloader, sn.Get(), netip.AddrPort{})
//	base, err := module.NewBase(mid, nil)
//	downloaders := module.NewRegistrar[*downloader]()
//	ok, err := downloaders.Register(&downloader{base, client})
//	…
//	d, err := downloaders.Get(module.TypeDownloader) // the least loaded one
//	err = d.Call(nil, func() error { return d.fetch(request) })
//
// Nothing here is global: each owner has its own registrar and its own [SNGenerator].
package module

import (
	"errors"
	"fmt"
)

// ErrNotFoundModuleInstance is what a [*NotFoundError] unwraps to.
var ErrNotFoundModuleInstance = errors.New("no module instance found")

// NotFoundError reports that no module of a type is registered.
type NotFoundError struct {
	Type Type
}

// Error says what was not found.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("module: %s: %v", e.Type, ErrNotFoundModuleInstance)
}

// Unwrap returns [ErrNotFoundModuleInstance].
func (e *NotFoundError) Unwrap() error { return ErrNotFoundModuleInstance }

// IllegalParameterError reports that an argument cannot be: a wrong ID, a wrong type, nil.
type IllegalParameterError struct {
	Name  string // the parameter
	Value string // what was given
	Why   string // what is wrong with it
}

// Error names the parameter.
func (e *IllegalParameterError) Error() string {
	return fmt.Sprintf("module: illegal parameter: %s %q: %s", e.Name, e.Value, e.Why)
}
