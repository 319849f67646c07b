package tegenaria

// RaceEnabled tells that the race detector is on.
const RaceEnabled = raceEnabled

// NewMemoryCache lets the black-box tests have the default cache.
func NewMemoryCache() CacheInterface { return newMemoryCache() }
