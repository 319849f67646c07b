package tegenaria

// NewMemoryCache lets the black-box tests have the default cache.
func NewMemoryCache() CacheInterface { return newMemoryCache() }
