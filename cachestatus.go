package tegenaria

import "time"

// CacheState says what part an HTTP cache has had in a response.
type CacheState uint8

// The states.
const (
	CacheMiss        CacheState = iota // none: the response came over the network
	CacheHit                           // it is a stored one, and the site was not asked
	CacheRevalidated                   // it is a stored one, and the site has said that it is still right
	CacheStale                         // it is a stored one that may be out of date
)

// String returns "miss", "hit", "revalidated" or "stale".
func (s CacheState) String() string {
	if names := [...]string{"miss", "hit", "revalidated", "stale"}; int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// CacheStatus is what an HTTP cache says of a response. The zero value is a response that came over the network.
type CacheStatus struct {
	State CacheState
	Age   time.Duration // since the site has sent the response, or has said that it is still right
}

// cachedPage is the part of a cache in a response.
type cachedPage struct {
	status CacheStatus
	came   *RequestResult // over the network; nil: nothing was asked
}

// Cached returns the part that an HTTP cache has had in the response, as the cache has set it: no header field of the
// site is looked at.
func (r *Response) Cached() CacheStatus {
	if r.cached == nil {
		return CacheStatus{}
	}
	return r.cached.status
}

// SetCached notes that the response is a stored one. It is for an HTTP cache, which is a layer around the downloaders
// ([EngineWithDownloaderLayers]) and makes the response with [Context.Respond]. came is the result of the download that
// the cache has made for it, such as a response with status 304, or a failure: slot, AutoThrottle, Transfer and the
// counters of statuses and bytes see that instead of the stored page. It is nil if the site was not asked. SetCached is
// called before the response is handed out.
func (r *Response) SetCached(status CacheStatus, came *RequestResult) {
	r.cached = &cachedPage{status, came}
	if came != nil && came.Response != nil {
		r.transfer, r.Delay = came.Response.transfer, came.Response.Delay
	}
}

// overNetwork returns what came over the network for the result of a download: the result itself, unless a cache has put
// a stored response in its place. It is nil if nothing came.
func (result *RequestResult) overNetwork() *RequestResult {
	if result != nil && result.Response != nil && result.Response.cached != nil {
		return result.Response.cached.came
	}
	return result
}

// CacheStats are the counters of an HTTP cache in one run.
type CacheStats struct {
	Hits        int64 `json:"hits"`        // responses that were stored, and the site was not asked
	Revalidated int64 `json:"revalidated"` // responses that were stored, and the site has said that they are still right
	Stale       int64 `json:"stale"`       // responses that were stored and may be out of date
	Stored      int64 `json:"stored"`      // responses that were put into the cache, or replaced one there
	BytesSaved  int64 `json:"bytes_saved"` // of bodies that were not downloaded
	Passed      int64 `json:"passed"`      // responses of other downloaders, which the cache does not keep
	// what is wrong with the cache, such as a full disk; the log says it at the end
	Problems []string `json:"problems,omitempty"`
}

// add adds the counters of another cache.
func (s *CacheStats) add(o CacheStats) {
	s.Hits, s.Revalidated, s.Stale = s.Hits+o.Hits, s.Revalidated+o.Revalidated, s.Stale+o.Stale
	s.Stored, s.BytesSaved, s.Passed = s.Stored+o.Stored, s.BytesSaved+o.BytesSaved, s.Passed+o.Passed
	s.Problems = append(s.Problems, o.Problems...)
}

// CacheCounter is an optional interface of layers around downloaders: [Stats] and the end of the log show its
// CacheStats. CacheStats may be called at any time, also concurrently.
type CacheCounter interface{ CacheStats() CacheStats }
