package module

// Set finds modules by name. Several may have one name: then the one that is least loaded and healthiest is picked. Make one
// with [NewSet], and add all modules before it is used; Pick may be called concurrently.
type Set[M Module] struct {
	named map[string]*Registrar[M]
	only  map[string]M // names with one module
	all   []M
}

// NewSet returns a Set without modules.
func NewSet[M Module]() *Set[M] {
	return &Set[M]{named: make(map[string]*Registrar[M]), only: make(map[string]M)}
}

// Add gives a module a name. One that has this name already is not added again. The error is that of [Registrar.Register].
func (s *Set[M]) Add(name string, m M) error {
	registrar := s.named[name]
	if registrar == nil {
		registrar = NewRegistrar[M]()
		s.named[name] = registrar
		s.only[name] = m
	} else {
		delete(s.only, name)
	}
	if added, err := registrar.Register(m); !added {
		return err
	}
	s.all = append(s.all, m)
	return nil
}

// Pick returns the module of that name that is to do the next piece of work. known is false if no module has the name; the error
// is that of [Registrar.Get].
func (s *Set[M]) Pick(t Type, name string) (m M, known bool, err error) {
	if m, one := s.only[name]; one {
		return m, true, nil
	}
	registrar := s.named[name]
	if registrar == nil {
		return m, false, nil
	}
	m, err = registrar.Get(t)
	return m, true, err
}

// All returns the modules in the order in which they were added. The slice is the Set's own.
func (s *Set[M]) All() []M { return s.all }
