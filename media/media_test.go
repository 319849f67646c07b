package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/media"
)

// stored checks that a result has its file, whole, and returns the file.
func stored(t *testing.T, dir string, r media.Result) []byte {
	t.Helper()
	if r.Status == media.Failed || r.Error != "" {
		t.Fatalf("%+v", r)
	}
	file, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.Path)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file)
	if hex.EncodeToString(sum[:]) != r.Checksum || int64(len(file)) != r.Size || !strings.HasPrefix(r.Path, "full/"+r.Checksum[:2]+"/"+r.Checksum) {
		t.Errorf("%+v is not that of the file, with %d bytes", r, len(file))
	}
	return file
}

// noTempFiles fails if something is left that was being written.
func noTempFiles(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(dir, ".tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// Each kind of answer ends as it should, and is asked for once, though two items want it.
func TestAnswers(t *testing.T) {
	g := newGallery(t)
	picture := paint(300, 200, 1)
	jpg := jpegOf(picture)
	g.files["/good.png"] = jpg // its name lies
	g.files["/turned.jpg"] = withEXIF(jpg, 6)
	g.files["/cut.jpg"] = jpg[:len(jpg)/2]
	g.files["/animated.gif"] = gifOf(60, 40)
	g.files["/huge.png"] = hugePNG(30_000, 30_000)
	g.files["/cmyk.jpg"] = cmykJPEG(t)
	g.files["/page.jpg"] = []byte("<html><body>This is not a picture.")
	g.files["/empty.jpg"] = []byte{}
	g.files["/document"] = []byte("%PDF-1.7 and so on")
	g.files["/clear.png"] = pngOf(image.NewNRGBA(image.Rect(0, 0, 50, 50)))
	g.serve["/broken.jpg"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(jpg)))
		_, _ = w.Write(jpg[:len(jpg)-100])
	}
	g.serve["/moved.jpg"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good.png", http.StatusFound) }
	g.serve["/large.bin"] = func(w http.ResponseWriter, _ *http.Request) {
		for range 10_000 {
			if _, err := w.Write(jpg); err != nil {
				return
			}
		}
	}
	dir := t.TempDir()
	tests := []struct {
		path, mediaType, ending string
		size                    image.Point
		wrong                   string
	}{
		{"/good.png", "image/jpeg", ".jpg", image.Pt(300, 200), ""},
		{"/turned.jpg", "image/jpeg", ".jpg", image.Pt(200, 300), ""},
		{"/moved.jpg", "image/jpeg", ".jpg", image.Pt(300, 200), ""},
		{"/animated.gif", "image/gif", ".gif", image.Pt(60, 40), ""},
		{"/cmyk.jpg", "image/jpeg", ".jpg", image.Pt(32, 16), ""},
		{"/clear.png", "image/png", ".png", image.Pt(50, 50), ""},
		{"/cut.jpg", "", "", image.Point{}, "the picture (image/jpeg) is damaged: "},
		{"/huge.png", "", "", image.Point{}, "900000000 pixels, more than 50000000, see Options.Pixels"},
		{"/page.jpg", "", "", image.Point{}, "the content is text/html, and no JPEG, PNG, GIF or WebP"},
		{"/document", "", "", image.Point{}, "the content is application/pdf, and no JPEG, PNG, GIF or WebP"},
		{"/empty.jpg", "", "", image.Point{}, "the file is empty"},
		{"/broken.jpg", "", "", image.Point{}, "broke off"},
		{"/large.bin", "", "", image.Point{}, "more than 1000000 bytes, see Options.Size"},
		{"/none.jpg", "", "", image.Point{}, "404"},
		{"http://[", "", "", image.Point{}, ""},
	}
	var urls []string
	for _, test := range tests {
		urls = append(urls, test.path)
	}
	p := media.New(media.Options{Dir: dir, Images: true, Size: 1_000_000, Thumbs: map[string]image.Point{"small": {X: 40, Y: 40}}})
	items, engine, err := crawl(t, g.URL, 2, func(int) []any { return []any{product{Images: urls, File: "/document"}} }, tegenaria.EngineWithPipelines(p))
	if err != nil {
		t.Fatal(err)
	}
	if s := engine.Stats(); s.ItemFailed != 0 || len(items) != 2 {
		t.Errorf("%d items, %+v", len(items), s)
	}
	for _, item := range items {
		got := item.(product)
		if filepath.Ext(got.Document.Path) != ".pdf" || string(stored(t, dir, got.Document)) != "%PDF-1.7 and so on" {
			t.Errorf("%+v", got.Document)
		}
		for i, test := range tests {
			r := got.Pictures[i]
			if test.mediaType == "" {
				if r.Status != media.Failed || !strings.Contains(r.Error, test.wrong) || r.Error == "" || r.Path != "" {
					t.Errorf("%s: %+v", test.path, r)
				}
				continue
			}
			stored(t, dir, r)
			if r.Type != test.mediaType || filepath.Ext(r.Path) != test.ending || image.Pt(r.Width, r.Height) != test.size || r.URL != g.URL+test.path || r.Thumbs["small"] == "" {
				t.Errorf("%s: %+v", test.path, r)
			}
		}
	}
	for _, test := range tests {
		if n := g.times(test.path); n > 1 && test.path != "/good.png" && test.path != "/document" || n > 2 {
			t.Errorf("%s was asked for %d times", test.path, n)
		}
	}
	noTempFiles(t, dir)
}

// cmykJPEG returns a picture in CMYK, which no encoder of Go writes.
func cmykJPEG(t *testing.T) []byte {
	file, err := os.ReadFile("testdata/cmyk.jpg")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A thumbnail is upright whatever the camera has noted.
func TestOrientation(t *testing.T) {
	g := newGallery(t)
	// The corners as they are shown: red, green, blue, white.
	shown := image.NewRGBA(image.Rect(0, 0, 80, 40))
	corners := []color.RGBA{{R: 255, A: 255}, {G: 255, A: 255}, {B: 255, A: 255}, {R: 255, G: 255, B: 255, A: 255}}
	for y := range 40 {
		for x := range 80 {
			shown.SetRGBA(x, y, corners[y/20*2+x/40])
		}
	}
	var urls []string
	for orientation := byte(1); orientation <= 8; orientation++ {
		raw := image.NewRGBA(image.Rect(0, 0, 80, 40))
		if orientation >= 5 {
			raw = image.NewRGBA(image.Rect(0, 0, 40, 80))
		}
		w, h := raw.Rect.Dx(), raw.Rect.Dy()
		for y := range h {
			for x := range w {
				// Where row 0 and column 0 of the file are shown, TIFF 6.0 page 36.
				at := map[byte]image.Point{1: {X: x, Y: y}, 2: {X: w - 1 - x, Y: y}, 3: {X: w - 1 - x, Y: h - 1 - y}, 4: {X: x, Y: h - 1 - y},
					5: {X: y, Y: x}, 6: {X: h - 1 - y, Y: x}, 7: {X: h - 1 - y, Y: w - 1 - x}, 8: {X: y, Y: w - 1 - x}}[orientation]
				raw.SetRGBA(x, y, shown.RGBAAt(at.X, at.Y))
			}
		}
		path := fmt.Sprintf("/%d.jpg", orientation)
		g.files[path] = withEXIF(jpegOf(raw), orientation)
		urls = append(urls, path)
	}
	dir := t.TempDir()
	p := media.New(media.Options{Dir: dir, Images: true, Convert: media.PNG, Thumbs: map[string]image.Point{"t": {X: 40, Y: 20}}})
	items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{product{Images: urls}} }, tegenaria.EngineWithPipelines(p))
	if err != nil || len(items) != 1 {
		t.Fatal(err, items)
	}
	for i, r := range items[0].(product).Pictures {
		for _, file := range [][]byte{stored(t, dir, r), read(t, dir, r.Thumbs["t"])} {
			got, _, err := image.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			w, h := got.Bounds().Dx(), got.Bounds().Dy()
			if w != 2*h || r.Width != 80 || r.Height != 40 {
				t.Errorf("orientation %d: %d × %d, %+v", i+1, w, h, r)
			}
			for n, want := range corners {
				at := color.RGBAModel.Convert(got.At(w/4+n%2*w/2, h/4+n/2*h/2)).(color.RGBA)
				if d := max(diff(at.R, want.R), diff(at.G, want.G), diff(at.B, want.B)); d > 40 {
					t.Errorf("orientation %d: corner %d is %v, want %v", i+1, n, at, want)
				}
			}
		}
		if r.Type != "image/png" || filepath.Ext(r.Path) != ".png" {
			t.Errorf("%+v", r)
		}
	}
}

func diff(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A required file that fails fails its item, with an error that has its URL; pointers and other types pass.
func TestRequired(t *testing.T) {
	type strict struct {
		File  string `media:"file,into=Files,required"`
		Files []media.Result
	}
	g := newGallery(t)
	g.files["/a.txt"] = []byte("a text")
	good := &strict{File: g.URL + "/a.txt#part"}
	items, engine, err := crawl(t, g.URL, 1, func(int) []any {
		return []any{strict{File: "/none"}, good, "a string", 7, (*strict)(nil), strict{}}
	}, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: t.TempDir()})))
	if s := engine.Stats(); err != nil || s.ItemFailed != 2 || len(items) != 4 {
		t.Errorf("%d items, %+v, %v", len(items), s, err)
	}
	if len(good.Files) != 1 || good.Files[0].URL != g.URL+"/a.txt" || good.Files[0].Status != media.Downloaded {
		t.Errorf("%+v", good)
	}
}

// A wrong tag ends the run, with nothing settled.
func TestTags(t *testing.T) {
	type noInto struct {
		A string `media:"image"`
	}
	type noField struct {
		A string `media:"image,into=B"`
	}
	type wrongKind struct {
		A string `media:"video,into=B"`
		B media.Result
	}
	type wrongType struct {
		A []string `media:"file,into=B"`
		B media.Result
	}
	type number struct {
		A int `media:"file,into=B"`
		B media.Result
	}
	type unknown struct {
		A string `media:"file,into=B,always"`
		B media.Result
	}
	g := newGallery(t)
	for _, item := range []any{noInto{}, noField{}, wrongKind{}, wrongType{}, number{}, &unknown{}} {
		items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{item} }, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: t.TempDir()})))
		var wrong *media.TagError
		if !errors.As(err, &wrong) || wrong.Field != "A" || len(items) != 0 {
			t.Errorf("%T: %v, %v", item, items, err)
		}
	}
}

// A mistake in the options ends the run before its first request.
func TestOptions(t *testing.T) {
	g := newGallery(t)
	for _, o := range []media.Options{
		{}, {Dir: "x", Thumbs: map[string]image.Point{"a": {X: 1, Y: 1}}}, {Dir: "x", Convert: media.JPEG}, {Dir: "x", Images: true, Convert: "bmp"},
		{Dir: "x", Size: -1}, {Dir: "x", Time: -1}, {Dir: "x", Quality: 101}, {Dir: "x", Images: true, Thumbs: map[string]image.Point{"../a": {X: 1, Y: 1}}},
		{Dir: "x", Images: true, Thumbs: map[string]image.Point{"a": {X: 0, Y: 1}}},
	} {
		if _, _, err := crawl(t, g.URL, 1, func(int) []any { return nil }, tegenaria.EngineWithPipelines(media.New(o))); err == nil || !strings.Contains(err.Error(), "media: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if g.times("/page/0") > 0 {
		t.Error("a request was sent")
	}
	if _, err := os.Stat("x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// In JSON the fields have lower-case names, and are read in those of older documents, too.
func TestResultInJSON(t *testing.T) {
	full := media.Result{URL: "http://a.test/1", Path: "full/ab/ab34.jpg", Checksum: "ab34", Type: "image/jpeg", Size: 5, Width: 3, Height: 2,
		Thumbs: map[string]string{"small": "thumbs/small/ab/ab34.jpg"}, Status: media.Kept}
	for _, test := range []struct {
		name   string
		result media.Result
		want   string
	}{
		{"picture", full, `{"url":"http://a.test/1","path":"full/ab/ab34.jpg","checksum":"ab34","type":"image/jpeg","size":5,"width":3,"height":2,` +
			`"thumbs":{"small":"thumbs/small/ab/ab34.jpg"},"status":"kept"}`},
		{"failed", media.Result{URL: "http://a.test/2", Status: media.Failed, Error: "status 404"},
			`{"url":"http://a.test/2","path":"","checksum":"","type":"","size":0,"status":"failed","error":"status 404"}`},
	} {
		if got, err := json.Marshal(test.result); err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, got, err, test.want)
		}
	}
	const older = `{"URL":"http://a.test/1","Path":"full/ab/ab34.jpg","Checksum":"ab34","Type":"image/jpeg","Size":5,"Width":3,"Height":2,` +
		`"Thumbs":{"small":"thumbs/small/ab/ab34.jpg"},"Status":"kept"}`
	var got media.Result
	if err := json.Unmarshal([]byte(older), &got); err != nil || !reflect.DeepEqual(got, full) {
		t.Errorf("%+v, %v, want %+v", got, err, full)
	}
}
