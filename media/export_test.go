package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"io"
	"path/filepath"
	"time"
)

// SetClock gives the pipeline another clock.
func (p *Pipeline) SetClock(now func() time.Time) { p.now = now }

// SetHit has a func called at the points where a program may be killed: "written", "synced", "renamed" (for each file) and "noted".
func (p *Pipeline) SetHit(hit func(point string)) { p.hit = hit }

// ProcessPicture makes the thumbnails of a picture and converts it, as the options say.
func ProcessPicture(dir string, file []byte, o Options) (size image.Point, thumbs [][]byte, memory int64, err error) {
	o, err = o.check()
	if err != nil {
		return size, nil, 0, err
	}
	f, err := openFolder(dir)
	if err != nil {
		return size, nil, 0, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	d, err := f.newTempFile()
	if err != nil {
		return size, nil, 0, err
	}
	defer d.drop()
	if _, err := d.file.Write(file); err != nil {
		return size, nil, 0, err
	}
	mediaType := sniff(file)
	if !isPicture(mediaType) {
		return size, nil, 0, &TypeError{Type: mediaType}
	}
	h, err := readHeader(io.NewSectionReader(d.file, 0, int64(len(file))), mediaType)
	if err != nil {
		return size, nil, 0, err
	}
	s := newThumbnailer(&o)
	made, err := s.process(context.Background(), f, d, int64(len(file)), mediaType)
	if err != nil {
		return size, nil, 0, err
	}
	defer made.drop()
	for _, thumb := range made.thumbs {
		text := make([]byte, thumb.size)
		if _, err := thumb.file.ReadAt(text, 0); err != nil {
			return size, nil, 0, err
		}
		thumbs = append(thumbs, text)
	}
	return image.Pt(made.width, made.height), thumbs, h.memory, nil
}

// Decode decodes a picture within the options' time.
func Decode(ctx context.Context, o Options, r io.Reader, mediaType string) error {
	o, err := o.check()
	if err != nil {
		return err
	}
	_, err = newThumbnailer(&o).decode(ctx, r, mediaType)
	return err
}

// NameOf returns the name of a file with a content, of which a server says what it is.
func NameOf(content []byte, mediaType, disposition string) string {
	_, ending := formatOf(content, claim{mediaType, disposition})
	sum := sha256.Sum256(content)
	return nameOf("full", hex.EncodeToString(sum[:]), ending)
}

// EntryName returns the name of a URL in the index.
func EntryName(url string) string {
	path, err := filepath.Rel(indexDir, (&folder{}).entryPath(keyOf(kindFile, url)))
	if err != nil {
		panic(err)
	}
	return filepath.ToSlash(path)
}
