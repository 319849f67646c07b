package main

import "github.com/tegenaria/tegenaria"

// language asks for pages in one language: it adds a header to every request.
type language struct{ tag string }

// GetName names the middleware in messages.
func (l *language) GetName() string { return "language" }

// GetPriority is its place: smaller numbers are nearer to the scheduler.
func (l *language) GetPriority() int { return 100 }

// ProcessRequest sees each request before it is sent.
func (l *language) ProcessRequest(ctx *tegenaria.Context) error {
	ctx.Request.Header["Accept-Language"] = l.tag
	return nil
}

// ProcessResponse sees each response before it is parsed.
func (l *language) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	return nil
}
