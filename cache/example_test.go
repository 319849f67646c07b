package cache_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/cache"
)

// Page is what these examples queue.
type Page struct {
	Depth uint64
	Path  string
}

// PageCodec writes the depth as a uvarint and then the path.
type PageCodec struct{}

func (PageCodec) Append(dst []byte, p Page) []byte {
	return append(binary.AppendUvarint(dst, p.Depth), p.Path...)
}

func (PageCodec) Decode(src []byte) (Page, error) {
	depth, n := binary.Uvarint(src)
	if n <= 0 {
		return Page{}, errors.New("page without a depth")
	}
	return Page{Depth: depth, Path: string(src[n:])}, nil
}

func ExampleQueue() {
	q := cache.NewQueue[Page](PageCodec{})
	q.Enqueue("example.com", 0, Page{1, "/a"})
	q.Enqueue("example.com", 0, Page{1, "/b"})
	q.Enqueue("example.com", 5, Page{0, "/"})
	q.Enqueue("example.org", 0, Page{0, "/"})
	for {
		page, priority, ok, err := q.Dequeue("example.com")
		if err != nil || !ok {
			break
		}
		fmt.Println(priority, page.Path, page.Depth)
	}
	fmt.Println(q.Len(), "left")
	// Output:
	// 5 / 0
	// 0 /a 1
	// 0 /b 1
	// 1 left
}

func ExampleDue() {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	d := cache.NewDue[Page](PageCodec{})
	d.Add(now.Add(time.Hour), Page{0, "/later"})
	d.Add(now.Add(time.Minute), Page{0, "/soon"})

	page, ok, _ := d.Pop(now)
	fmt.Println(ok)
	at, _ := d.Next()
	page, ok, _ = d.Pop(at)
	fmt.Println(ok, page.Path)
	// Output:
	// false
	// true /soon
}
