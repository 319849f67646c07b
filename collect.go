package tegenaria

import (
	"context"
	"errors"
	"iter"
)

// errLeft keeps an item that the loop of Crawl did not take from being counted.
var errLeft = errors.New("the loop was left")

// Crawl runs a spider and yields its items of type T after they have passed the pipelines; other items
// are not yielded. The error of Run, if there is one, comes last, with a zero T. Leaving the loop stops
// the crawl and waits until it is over.
//
//	for quote, err := range tegenaria.Crawl[Quote](ctx, spider) {
func Crawl[T any](ctx context.Context, spider SpiderInterface, opts ...EngineOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		items, result := make(chan T), make(chan error, 1)
		left := make(chan struct{}) // closed when the loop was left
		e := NewSpiderEngine(opts...)
		name := ""
		if spider != nil {
			e.RegisterSpiders(spider)
			protect(func() error { name = spider.GetName(); return nil })
		}
		check := newTypeCheck[T]("Crawl")
		e.config.collected = check
		e.config.collect = func(ctx context.Context, item *ItemMeta) error {
			v, ok := item.Item.(T)
			check.saw(item.Item, ok)
			if !ok {
				return nil
			}
			select {
			case items <- v:
				return nil
			case <-left:
				return errLeft
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		go func() { // ends with the crawl; waited for below
			result <- e.Run(ctx, name)
		}()
		for {
			select {
			case v := <-items:
				if yield(v, nil) {
					continue
				}
				close(left)
				cancel()
				<-result
				return
			case err := <-result:
				if err != nil {
					var none T
					yield(none, err)
				}
				return
			}
		}
	}
}
