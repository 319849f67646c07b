package forms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// File is a file that a form uploads.
type File struct {
	Name string // the name that the server gets; "" stands for no file
	Type string // media type; "": by the ending of the name, see [TypeByName]
	Data []byte // the content, unless Open is set
	// Open opens the content, which is then never in memory as a whole. It is called twice: to find a boundary that the content does not
	// have, and to send it. It has to give the same bytes both times.
	Open func() (io.ReadCloser, error)
}

// FileAt is a file of the machine, sent under the last element of its path.
func FileAt(name string) File {
	return File{Name: filepath.Base(name), Open: func() (io.ReadCloser, error) { return os.Open(name) }}
}

// mediaTypes are those of common endings.
var mediaTypes = map[string]string{
	".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".md": "text/markdown",
	".xml": "text/xml", ".json": "application/json", ".js": "text/javascript", ".pdf": "application/pdf", ".zip": "application/zip",
	".gz": "application/gzip", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".avif": "image/avif", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".webm": "video/webm",
}

// TypeByName returns the media type of a file by the ending of its name, application/octet-stream if the ending is not
// a common one. It does not depend on the machine.
func TypeByName(name string) string {
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// Text is a field with a value.
func Text(name, value string) Entry { return Entry{Name: name, Value: value} }

// Upload is a field with a file.
func Upload(name string, file File) Entry { return Entry{Name: name, File: &file} }

// Body is the body of a request. It may be read more than once.
type Body struct {
	Type   string // the Content-Type
	data   []byte // what is in memory; of multipart with opened files the parts between them
	files  []opened
	length int64
}

// opened is a file behind so many bytes of Body.data.
type opened struct {
	at   int
	open func() (io.ReadCloser, error)
}

// Bytes returns the body, and whether it is in memory as a whole. It must not be changed.
func (b *Body) Bytes() ([]byte, bool) { return b.data, len(b.files) == 0 }

// Len returns how many bytes the body has.
func (b *Body) Len() int64 {
	if len(b.files) == 0 {
		return int64(len(b.data))
	}
	return b.length
}

// Reader returns a new reader of the body. Files are opened when it comes to them, and closed when they have been read.
func (b *Body) Reader() io.Reader {
	if len(b.files) == 0 {
		return bytes.NewReader(b.data)
	}
	readers := make([]io.Reader, 0, 2*len(b.files)+1)
	from := 0
	for _, f := range b.files {
		readers = append(readers, bytes.NewReader(b.data[from:f.at]), &lazy{open: f.open})
		from = f.at
	}
	return io.MultiReader(append(readers, bytes.NewReader(b.data[from:]))...)
}

// lazy opens what it reads at the first Read.
type lazy struct {
	open func() (io.ReadCloser, error)
	file io.ReadCloser
	err  error
}

// Read reads the file, and closes it at its end.
func (l *lazy) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.file == nil {
		if l.file, l.err = l.open(); l.err != nil {
			return 0, l.err
		}
	}
	n, err := l.file.Read(p)
	if err != nil {
		l.err = err
		if closing := l.file.Close(); err == io.EOF && closing != nil {
			l.err = closing
		}
		err = l.err
	}
	return n, err
}

// maxUpload is the largest file that is read, in bytes.
const maxUpload = 1 << 30

var errUpload = errors.New("it is larger than 1 GiB")

// Multipart makes a body in multipart/form-data (RFC 7578) of these entries, as browsers write it: names and values are
// sent as they are; in the names line ends and quotation marks are percent-encoded. The boundary depends on all that is
// sent and on nothing else, so equal entries give equal bodies, and content that is made to contain it cannot be made.
// The error is that of a file.
func Multipart(entries ...Entry) (*Body, error) {
	sum := sha256.New()
	var parts [][]byte
	var length int64
	for i := range entries {
		head := partHead(&entries[i])
		parts = append(parts, head)
		fmt.Fprintf(sum, "%d\n%s", len(head), head)
		n, err := hashContent(sum, &entries[i])
		if err != nil {
			return nil, err
		}
		length += n
	}
	boundary := "----tegenaria" + hex.EncodeToString(sum.Sum(nil)[:16])
	b := &Body{Type: multipart + "; boundary=" + boundary}
	for i := range entries {
		b.data = append(append(append(b.data, "--"...), boundary...), "\r\n"...)
		b.data = append(b.data, parts[i]...)
		switch e := &entries[i]; {
		case e.File == nil:
			b.data = append(b.data, e.Value...)
		case e.File.Open == nil:
			b.data = append(b.data, e.File.Data...)
		default:
			b.files = append(b.files, opened{len(b.data), e.File.Open})
		}
		b.data = append(b.data, "\r\n"...)
	}
	b.data = append(append(append(b.data, "--"...), boundary...), "--\r\n"...)
	b.length = int64(len(b.data)) + length
	return b, nil
}

// partHead writes the header of a part, with the empty line behind it.
func partHead(e *Entry) []byte {
	escape := strings.NewReplacer("\n", "%0A", "\r", "%0D", `"`, "%22")
	var b bytes.Buffer
	fmt.Fprintf(&b, `Content-Disposition: form-data; name="%s"`, escape.Replace(e.Name))
	kind := e.Type
	if e.File != nil {
		fmt.Fprintf(&b, `; filename="%s"`, escape.Replace(e.File.Name))
		if kind = e.File.Type; kind == "" {
			kind = TypeByName(e.File.Name)
		}
	}
	b.WriteString("\r\n")
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", strings.NewReplacer("\n", "", "\r", "").Replace(kind))
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// hashContent hashes what an entry has, and returns how long that is if it has to be opened.
func hashContent(sum hash.Hash, e *Entry) (int64, error) {
	switch {
	case e.File == nil:
		fmt.Fprintf(sum, "%d\n%s", len(e.Value), e.Value)
		return 0, nil
	case e.File.Open == nil:
		fmt.Fprintf(sum, "%d\n", len(e.File.Data))
		sum.Write(e.File.Data)
		return 0, nil
	}
	file, err := e.File.Open()
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(sum, io.LimitReader(file, maxUpload+1))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil && n > maxUpload {
		err = errUpload
	}
	fmt.Fprintf(sum, "\n%d\n", n)
	return n, err
}
