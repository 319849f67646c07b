package tegenaria

// NewMemoryCache lets the black-box tests have the default cache.
func NewMemoryCache() CacheInterface { return newMemoryCache() }

// AddEvents returns what two options EngineWithEvents make.
func AddEvents(first, second Events) Events { return first.and(second) }

// WithTransfer gives a response the phases of a download that the engine's own downloader would have measured.
func WithTransfer(r *Response, t Transfer) *Response {
	r.transfer = &t
	r.Delay = (t.Lookup + t.Connect + t.Handshake + t.FirstByte + t.Body).Seconds()
	return r
}
