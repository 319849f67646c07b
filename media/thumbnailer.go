package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// thumbnailer decodes pictures, makes their thumbnails and converts them. It bounds how many it works on at the same
// time, and the memory that they take.
type thumbnailer struct {
	options     *Options
	workers     chan struct{} // has one token for each picture that is worked on
	memoryQueue chan struct{} // has a token while one picture waits for memory; others queue behind it, so that a large picture does not starve

	mu     sync.Mutex // guards the fields below
	free   int64
	change chan struct{} // closed when there is more
}

func newThumbnailer(o *Options) *thumbnailer {
	return &thumbnailer{options: o, workers: make(chan struct{}, o.CPU), memoryQueue: make(chan struct{}, 1), free: o.Memory, change: make(chan struct{})}
}

// derivedImages are the thumbnails of a picture, and the picture as it was converted.
type derivedImages struct {
	width, height int
	converted     *derivedImage
	thumbs        map[string]*derivedImage
}

type derivedImage struct {
	*tempFile
	ending, mediaType string
	size              int64
	sum               string
}

func (p *derivedImages) drop() {
	if p.converted != nil {
		p.converted.drop()
	}
	for _, thumb := range p.thumbs {
		thumb.drop()
	}
}

// process measures and decodes a picture, makes its thumbnails and converts it, as the options say.
func (s *thumbnailer) process(ctx context.Context, f *folder, d *tempFile, size int64, mediaType string) (_ *derivedImages, err error) {
	h, err := readHeader(io.NewSectionReader(d.file, 0, size), mediaType)
	if err != nil {
		return nil, imageError(mediaType, err)
	}
	if err := s.admit(&h); err != nil {
		return nil, err
	}
	made := &derivedImages{width: h.shown().X, height: h.shown().Y, thumbs: make(map[string]*derivedImage)}
	if h.still {
		return made, nil
	}
	if err := s.acquire(ctx, h.memory); err != nil {
		return nil, err
	}
	defer s.release(h.memory)
	picture, err := s.decode(ctx, io.NewSectionReader(d.file, 0, size), mediaType)
	if err != nil {
		return nil, err
	}
	if got := picture.Bounds().Size(); got.X < 1 || got.Y < 1 {
		return nil, &ImageError{Type: mediaType, Err: fmt.Errorf("it has %d × %d pixels", got.X, got.Y)}
	}
	defer func() {
		if err != nil {
			made.drop()
		}
	}()
	for name, box := range s.options.Thumbs {
		if made.thumbs[name], err = s.thumb(f, picture, h.orientation, box); err != nil {
			delete(made.thumbs, name)
			return nil, err
		}
	}
	if s.options.Convert != "" {
		made.converted, err = s.convert(f, picture, h.orientation)
	}
	return made, err
}

// admit refuses a picture by its header.
func (s *thumbnailer) admit(h *header) error {
	if h.size.X < 1 || h.size.Y < 1 {
		return &ImageError{Type: h.mediaType, Err: fmt.Errorf("it has %d × %d pixels", h.size.X, h.size.Y)}
	}
	o := s.options
	if err := o.admit(h.shown()); err != nil {
		return err
	}
	scaling := int64(0)
	for _, box := range o.Thumbs {
		small := fit(h.size, oriented(box, h.orientation))
		scaling = max(scaling, int64(small.X)*int64(h.size.Y)*32+int64(small.X)*int64(small.Y)*8) // [4]float64 for each, see package draw
	}
	if o.Convert != "" {
		scaling = max(scaling, int64(h.size.X)*int64(h.size.Y)*8)
	}
	if h.memory += scaling; h.memory > o.Memory {
		return &LimitError{What: "bytes of memory to decode it", Got: h.memory, Limit: o.Memory, Option: "Options.Memory"}
	}
	return nil
}

// acquire waits until a worker and the memory for a picture are free.
func (s *thumbnailer) acquire(ctx context.Context, memory int64) error {
	select {
	case s.workers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case s.memoryQueue <- struct{}{}:
	case <-ctx.Done():
		<-s.workers
		return ctx.Err()
	}
	defer func() { <-s.memoryQueue }()
	for {
		s.mu.Lock()
		fits, change := s.free >= memory, s.change
		if fits {
			s.free -= memory
		}
		s.mu.Unlock()
		if fits {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			<-s.workers
			return ctx.Err()
		}
	}
}

func (s *thumbnailer) release(memory int64) {
	s.mu.Lock()
	s.free += memory
	close(s.change)
	s.change = make(chan struct{})
	s.mu.Unlock()
	<-s.workers
}

// imageError is the failure of a picture because of err, which is of a decoder unless it is a [*LimitError].
func imageError(mediaType string, err error) error {
	var limit *LimitError
	if errors.As(err, &limit) {
		return limit
	}
	return &ImageError{Type: mediaType, Err: err}
}

// decode decodes a picture within Options.Time.
func (s *thumbnailer) decode(ctx context.Context, r io.Reader, mediaType string) (image.Image, error) {
	work, cancel := context.WithTimeoutCause(ctx, s.options.Time, &LimitError{What: "milliseconds to decode it", Limit: s.options.Time.Milliseconds(), Option: "Options.Time"})
	defer cancel()
	picture, err := decode(&boundedReader{work, r}, mediaType)
	switch {
	case err == nil:
		return picture, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case work.Err() != nil: // what a decoder makes of the error of its reader need not wrap it
		return nil, context.Cause(work)
	}
	return nil, imageError(mediaType, err)
}

// boundedReader ends the work on a picture that nobody waits for any more, or that has taken too long.
type boundedReader struct {
	ctx context.Context
	r   io.Reader
}

// Read is part of io.Reader.
func (r *boundedReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// decode decodes a picture, or the first one of an animation. A decoder that panics has found damage.
func decode(r io.Reader, mediaType string) (picture image.Image, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panics: %v", p)
		}
	}()
	switch mediaType {
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/png":
		return png.Decode(r)
	case "image/gif":
		return gif.Decode(r)
	}
	if picture, err = webp.Decode(r); err == nil {
		widen(picture)
	}
	return picture, err
}

// widen makes the values of a lossy WebP those that package image means. VP8 has ITU-R BT.601 values of 16 to 235 and
// 16 to 240 (RFC 6386 §9.2), and the decoder leaves them; image.YCbCr has those of JFIF, 0 to 255.
func widen(picture image.Image) {
	var p *image.YCbCr
	switch lossy := picture.(type) {
	case *image.YCbCr:
		p = lossy
	case *image.NYCbCrA:
		p = &lossy.YCbCr
	default:
		return
	}
	var luma, chroma [256]byte
	for i := range 256 {
		luma[i] = byte(min(max(math.Round(float64(i-16)*255/219), 0), 255))
		chroma[i] = byte(min(max(math.Round(float64(i-128)*255/224)+128, 0), 255))
	}
	for plane, table := range map[*[]byte]*[256]byte{&p.Y: &luma, &p.Cb: &chroma, &p.Cr: &chroma} {
		for i, v := range *plane {
			(*plane)[i] = table[v]
		}
	}
}

// fit returns the size of a picture that is made to fit in a box, but not larger.
func fit(size, box image.Point) image.Point {
	scale := min(float64(box.X)/float64(size.X), float64(box.Y)/float64(size.Y), 1)
	side := func(n int) int { return max(1, int(math.Floor(float64(n)*scale+0.5))) }
	return image.Pt(side(size.X), side(size.Y))
}

// thumb makes a thumbnail.
func (s *thumbnailer) thumb(f *folder, picture image.Image, orientation int, box image.Point) (*derivedImage, error) {
	small := image.NewRGBA(image.Rectangle{Max: fit(picture.Bounds().Size(), oriented(box, orientation))})
	draw.CatmullRom.Scale(small, small.Rect, picture, picture.Bounds(), draw.Src, nil)
	upright := upright(small, orientation)
	format := JPEG
	if !upright.Opaque() {
		format = PNG
	}
	return s.write(f, upright, format)
}

// convert makes another file of a whole picture.
func (s *thumbnailer) convert(f *folder, picture image.Image, orientation int) (*derivedImage, error) {
	opaque, ok := picture.(interface{ Opaque() bool })
	onWhite := s.options.Convert == JPEG && !(ok && opaque.Opaque())
	if orientation > 1 || onWhite {
		flat := image.NewRGBA(image.Rectangle{Max: picture.Bounds().Size()})
		if onWhite {
			draw.Draw(flat, flat.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
		}
		draw.Draw(flat, flat.Rect, picture, picture.Bounds().Min, draw.Over)
		picture = upright(flat, orientation)
	}
	return s.write(f, picture, s.options.Convert)
}

// write encodes a picture into a temporary file.
func (s *thumbnailer) write(f *folder, picture image.Image, format Format) (_ *derivedImage, err error) {
	d, err := f.newTempFile()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.drop()
		}
	}()
	sum, p := sha256.New(), &derivedImage{tempFile: d}
	w := io.MultiWriter(d.file, sum)
	if format == PNG {
		p.ending, p.mediaType = ".png", "image/png"
		err = png.Encode(w, picture)
	} else {
		p.ending, p.mediaType = ".jpg", "image/jpeg"
		err = jpeg.Encode(w, picture, &jpeg.Options{Quality: s.options.Quality})
	}
	if err == nil {
		p.size, err = d.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, &StoreError{Path: d.path, Err: err}
	}
	p.sum = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}
