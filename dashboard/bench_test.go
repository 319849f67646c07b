package dashboard_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
)

// BenchmarkEvents measures what a board costs for each request and each item while nobody looks.
func BenchmarkEvents(b *testing.B) {
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
	defer board.Close()
	request := tegenaria.NewRequest("http://a.test/a/path/of/some/length?and=a&query=too", tegenaria.GET, nil)
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dashboard.Ended(board, tegenaria.RequestEnd{Request: request, Outcome: tegenaria.Fetched, Status: 200})
		}
	})
	b.Run("item", func(b *testing.B) {
		end := tegenaria.ItemEnd{Item: &tegenaria.ItemMeta{Item: Book{"a title", 7}}, Request: request, Outcome: "scraped"}
		b.ReportAllocs()
		for b.Loop() {
			dashboard.ItemEnded(board, end)
		}
	})
	b.Run("dropped item", func(b *testing.B) {
		end := tegenaria.ItemEnd{Item: &tegenaria.ItemMeta{Item: Book{"a title", 7}}, Request: request, Outcome: "dropped", Reason: "price: min", Err: errors.New("price: 0, the least is 1")}
		b.ReportAllocs()
		for b.Loop() {
			dashboard.ItemEnded(board, end)
		}
	})
}
