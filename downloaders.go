package tegenaria

import (
	"fmt"
	"net/netip"

	"github.com/tegenaria/tegenaria/module"
)

// downloaderModule is a downloader that is counted.
type downloaderModule struct {
	*module.Base
	Downloader
}

// downloaderSet finds the downloader of a request: several may be registered under one name, then the one
// that is least loaded and healthiest gets the next request.
type downloaderSet struct {
	named map[string]*module.Registrar[*downloaderModule]
	only  map[string]*downloaderModule // names with one downloader
	all   []*downloaderModule          // in order of registration, the default one first
}

// newDownloaderSet counts the default downloader as the one named "".
func newDownloaderSet(fallback Downloader, named []namedDownloader) (*downloaderSet, error) {
	s := &downloaderSet{
		named: make(map[string]*module.Registrar[*downloaderModule]),
		only:  make(map[string]*downloaderModule),
	}
	for i, d := range append([]namedDownloader{{"", fallback}}, named...) {
		mid, err := module.GenMID(module.TypeDownloader, uint64(i+1), netip.AddrPort{})
		if err != nil {
			return nil, err
		}
		base, err := module.NewBase(mid, nil)
		if err != nil {
			return nil, err
		}
		m := &downloaderModule{base, d.downloader}
		registrar := s.named[d.name]
		if registrar == nil {
			registrar = module.NewRegistrar[*downloaderModule]()
			s.named[d.name] = registrar
			s.only[d.name] = m
		} else {
			delete(s.only, d.name)
		}
		if _, err := registrar.Register(m); err != nil {
			return nil, err
		}
		s.all = append(s.all, m)
	}
	return s, nil
}

// pick returns the downloader that a request by this name goes to.
func (s *downloaderSet) pick(name string) (*downloaderModule, error) {
	if m := s.only[name]; m != nil {
		return m, nil
	}
	registrar := s.named[name]
	if registrar == nil {
		return nil, fmt.Errorf("no downloader is registered as %q; use RegisterDownloader", name)
	}
	return registrar.Get(module.TypeDownloader)
}
