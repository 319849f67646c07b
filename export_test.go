package tegenaria

// NewMemoryCache lets the black-box tests have the default cache.
func NewMemoryCache() CacheInterface { return newMemoryCache() }

// AddEvents returns what two options EngineWithEvents make.
func AddEvents(first, second Events) Events { return first.and(second) }
