package middleware

import (
	"runtime"
	"sync"
	"weak"

	"github.com/tegenaria/tegenaria"
)

// perPage keeps what was found out about a response for as long as the response is in use, so that a page with
// a thousand links is read once.
type perPage[T any] struct {
	mu    sync.Mutex // guards pages
	pages map[weak.Pointer[tegenaria.Response]]*pageOnce[T]
}

type pageOnce[T any] struct {
	once  sync.Once
	value T
}

// of returns what read finds, which is called once for each response.
func (p *perPage[T]) of(resp *tegenaria.Response, read func(*tegenaria.Response) T) T {
	key := weak.Make(resp)
	p.mu.Lock()
	page := p.pages[key]
	if page == nil {
		if p.pages == nil {
			p.pages = make(map[weak.Pointer[tegenaria.Response]]*pageOnce[T])
		}
		page = new(pageOnce[T])
		p.pages[key] = page
		runtime.AddCleanup(resp, p.forget, key)
	}
	p.mu.Unlock()
	page.once.Do(func() { page.value = read(resp) })
	return page.value
}

func (p *perPage[T]) forget(key weak.Pointer[tegenaria.Response]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pages, key)
}
