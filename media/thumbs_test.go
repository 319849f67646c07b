package media_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/draw"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/media"
)

var convert = flag.String("convert", "", "program convert of ImageMagick")

// imageMagick returns the program, or skips the test.
func imageMagick(t *testing.T) string {
	t.Helper()
	if *convert == "" {
		t.Skip("ImageMagick is not part of the project; name its program with -convert PATH")
	}
	out, err := exec.CommandContext(t.Context(), *convert, "-version").Output()
	if err != nil || !strings.Contains(string(out), "Version: ImageMagick") {
		t.Fatalf("%s -version: %v\n%s", *convert, err, out)
	}
	return *convert
}

// psnr returns the peak signal-to-noise ratio of two pictures on white, in dB, and how large they are.
func psnr(a, b image.Image) float64 {
	size := a.Bounds().Size()
	if size != b.Bounds().Size() {
		return 0
	}
	onWhite := func(p image.Image) *image.RGBA {
		flat := image.NewRGBA(image.Rectangle{Max: size})
		draw.Draw(flat, flat.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
		draw.Draw(flat, flat.Rect, p, p.Bounds().Min, draw.Over)
		return flat
	}
	fa, fb := onWhite(a), onWhite(b)
	sum := 0.0
	for i := range fa.Pix {
		d := float64(fa.Pix[i]) - float64(fb.Pix[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(fa.Pix))/math.Max(sum, 1))
}

// Thumbnails are those that ImageMagick makes, of pictures of all formats that it has written.
func TestImageMagick(t *testing.T) {
	program := imageMagick(t)
	g, dir, sources := newGallery(t), t.TempDir(), t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	// The plasma is a picture that has detail at all scales.
	drawn := []string{"-seed", "7", "-size", "640x400", "plasma:red-blue", "-fill", "white", "-draw", "circle 320,200 400,260", "-fill", "black", "-pointsize", "60", "-draw", "rectangle 20,20 90,300"}
	for name, args := range map[string][]string{
		"baseline.jpg": {"-quality", "92"}, "progressive.jpg": {"-quality", "92", "-interlace", "JPEG"}, "444.jpg": {"-sampling-factor", "4:4:4"},
		"gray.jpg": {"-colorspace", "Gray"}, "cmyk.jpg": {"-colorspace", "CMYK"}, "plain.png": nil, "deep.png": {"-depth", "16"},
		"interlaced.png": {"-interlace", "PNG"}, "gray.png": {"-colorspace", "Gray"}, "palette.png": {"-colors", "64"},
		"alpha.png": {"-alpha", "set", "-channel", "A", "-evaluate", "multiply", "0.6", "+channel"}, "picture.gif": {"-colors", "200"}, "lossy.webp": {"-quality", "90"},
		"lossless.webp": {"-define", "webp:lossless=true"}, "turned.jpg": {"-orient", "RightTop"},
	} {
		path := filepath.Join(sources, name)
		run(append(append(append([]string{}, drawn...), args...), path)...)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "turned.jpg" {
			if file = withEXIF(file, 6); os.WriteFile(path, file, 0o600) != nil {
				t.Fatal("cannot write")
			}
		}
		g.files["/"+name] = file
	}
	var names []string
	for path := range g.files {
		names = append(names, path)
	}
	boxes := map[string]image.Point{"small": {X: 120, Y: 120}, "whole": {X: 2000, Y: 2000}}
	p := media.New(media.Options{Dir: dir, Images: true, Quality: 95, Thumbs: boxes})
	items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{product{Images: names}} }, tegenaria.EngineWithPipelines(p))
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	for i, r := range items[0].(product).Pictures {
		stored(t, dir, r)
		for name, box := range boxes {
			theirs := filepath.Join(sources, "thumb.png")
			run(filepath.Join(sources, names[i]), "-auto-orient", "-colorspace", "sRGB", "-filter", "Catrom", "-resize", fmt.Sprintf("%dx%d>", box.X, box.Y), "-depth", "8", "-type", "TrueColorAlpha", theirs)
			file, err := os.ReadFile(theirs)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := image.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := image.Decode(bytes.NewReader(read(t, dir, r.Thumbs[name])))
			if err != nil {
				t.Fatal(err)
			}
			if db := psnr(got, want); db < 29 {
				t.Errorf("%s, %s: %.1f dB, %v, want %v", names[i], name, db, got.Bounds(), want.Bounds())
			} else {
				t.Logf("%s, %s: %.1f dB", names[i], name, db)
			}
		}
	}
}
