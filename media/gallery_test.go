package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/media"
)

// product is an item with files.
type product struct {
	Name     string
	Image    string   `media:"image,into=Picture"`
	Images   []string `media:"image,into=Pictures"`
	File     string   `media:"file,into=Document"`
	Picture  media.Result
	Pictures []media.Result
	Document media.Result
}

// paint returns a picture without noise.
func paint(w, h, seed int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			p.SetRGBA(x, y, color.RGBA{R: byte(x*255/w + seed), G: byte(y * 255 / h), B: byte((x + y + seed*7) * 3), A: 255})
		}
	}
	return p
}

func jpegOf(p image.Image) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, p, &jpeg.Options{Quality: 95}) // into memory
	return b.Bytes()
}

func pngOf(p image.Image) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, p)
	return b.Bytes()
}

// gifOf returns an animation of two frames.
func gifOf(w, h int) []byte {
	var b bytes.Buffer
	frame := func(n byte) *image.Paletted {
		p := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.RGBA{R: 200, A: 255}, color.RGBA{B: 200, A: 255}})
		for i := range p.Pix {
			p.Pix[i] = n
		}
		return p
	}
	_ = gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame(1), frame(2)}, Delay: []int{5, 5}})
	return b.Bytes()
}

// hugePNG returns a small file that says that it has w × h pixels.
func hugePNG(w, h int) []byte {
	file := pngOf(image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(file[16:], uint32(w))
	binary.BigEndian.PutUint32(file[20:], uint32(h))
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	return file
}

// withEXIF puts an orientation into a JPEG.
func withEXIF(file []byte, orientation byte) []byte {
	block := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00"
	return fmt.Appendf(nil, "\xff\xd8\xff\xe1%c%c%s%s", rune(0), rune(len(block)+2), block, file[2:])
}

// gallery is a site whose pages have files. It logs what it is asked for.
type gallery struct {
	*httptest.Server
	files map[string][]byte // by path
	serve map[string]http.HandlerFunc

	mu    sync.Mutex
	asked map[string]int // by path
	sent  map[string]int // with status 200
}

func newGallery(t testing.TB) *gallery {
	g := &gallery{files: make(map[string][]byte), serve: make(map[string]http.HandlerFunc), asked: make(map[string]int), sent: make(map[string]int)}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gallery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked[r.URL.Path]++
	g.mu.Unlock()
	if serve := g.serve[r.URL.Path]; serve != nil {
		serve(w, r)
		return
	}
	if file, ok := g.files[r.URL.Path]; ok {
		tag := `"` + strconv.Itoa(int(crc32.ChecksumIEEE(file))) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		g.mu.Lock()
		g.sent[r.URL.Path]++
		g.mu.Unlock()
		_, _ = w.Write(file)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/page") {
		fmt.Fprint(w, "<html><title>a page</title>")
		return
	}
	http.NotFound(w, r)
}

// times returns how often a path was asked for.
func (g *gallery) times(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[path]
}

// crawl has each page of a site yield what items returns for it, and returns what came out of the pipelines.
func crawl(t testing.TB, base string, pages int, items func(page int) []any, opts ...tegenaria.EngineOption) ([]any, *tegenaria.SpiderEngine, error) {
	t.Helper()
	collect := &collector{}
	engine := newEngine(base, pages, items, append(opts, tegenaria.EngineWithPipelines(collect))...)
	err := engine.Run(t.Context(), "gallery")
	return collect.items, engine, err
}

func newEngine(base string, pages int, items func(page int) []any, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	var seeds []*tegenaria.Request
	for n := range pages {
		seeds = append(seeds, tegenaria.NewRequest(fmt.Sprint(base, "/page/", n), "GET", nil))
	}
	parse := func(ctx *tegenaria.Context, out chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		var n int
		if _, err := fmt.Sscanf(ctx.Request.Url[len(base):], "/page/%d", &n); err != nil {
			return err
		}
		for _, item := range items(n) {
			out <- tegenaria.NewItem(ctx, item)
		}
		return nil
	}
	return tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("gallery", parse, seeds...)),
		tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)), tegenaria.EngineWithItemConcurrency(8),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 8}),
	}, opts...)...)
}

// collector keeps the items that came out, as a Committer behind media's.
type collector struct {
	mu    sync.Mutex
	items []any
}

func (c *collector) GetPriority() int { return 0 }

func (c *collector) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = append(c.items, item.Item)
	return nil
}

func (c *collector) CommitKey() string                                 { return "collector" }
func (c *collector) Restore(context.Context, []byte) error             { return nil }
func (c *collector) Prepare(context.Context, []string) ([]byte, error) { return []byte{}, nil }
func (c *collector) Discard(string)                                    {}
