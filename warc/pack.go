package warc

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// PackOptions describe a package. All are optional.
type PackOptions struct {
	Title       string
	Description string
	MainPage    string    // the URL that a reader is shown first
	Created     time.Time // the zero time is now
}

// Pack puts WARC files into one file that readers of web archives open as it is (WACZ 1.1): with an index, see [Index], the list of pages
// with their titles, and a digest of each part. A page is a response with the status 200 in HTML. name is the file to make; it appears
// when it is whole, and synced, in the place of one that has its name. files are paths of files or folders, as [Open]
// takes them; two files of one name are an error. Records that cannot be read are packed too, and left out of the
// index. Temporary files take the room of the index.
func Pack(name string, o PackOptions, files ...string) (Skipped, error) {
	p := &bundler{options: o, sorter: new(sorter), names: make(map[string]bool)}
	err := p.pack(name, files)
	if err = errors.Join(err, p.sorter.close()); err != nil {
		return p.skipped, fmt.Errorf("warc: packing %s: %w", name, err)
	}
	return p.skipped, nil
}

type bundler struct {
	options   PackOptions
	sorter    *sorter
	skipped   Skipped
	zip       *zip.Writer
	names     map[string]bool
	resources []resource
	pages     *bufio.Writer
	failed    error // of pages
}

// resource is a part of a package.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// manifest is the file datapackage.json.
type manifest struct {
	Profile     string     `json:"profile"`
	Version     string     `json:"wacz_version"`
	Software    string     `json:"software"`
	Created     string     `json:"created"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	MainPage    string     `json:"mainPageUrl,omitempty"`
	Resources   []resource `json:"resources"`
}

// digest is the file datapackage-digest.json.
type digest struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Names in a package.
const (
	manifestName = "datapackage.json"
	digestName   = "datapackage-digest.json"
	archiveDir   = "archive/"
	packEnding   = ".part" // of a file until it is whole
)

func (p *bundler) pack(name string, files []string) (err error) {
	list, err := allSources(files)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name+packEnding, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err == nil {
			err = outfile.Disk{}.Rename(name+packEnding, name)
		}
		if err != nil {
			_ = os.Remove(name + packEnding)
		}
	}()
	p.zip = zip.NewWriter(file)
	for _, s := range list {
		if err := p.copyArchive(s); err != nil {
			return err
		}
	}
	pages, err := os.CreateTemp("", "warc-pages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages.Close(), os.Remove(pages.Name())) }()
	p.pages = bufio.NewWriter(pages)
	fmt.Fprintln(p.pages, `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}`)
	err = indexAll(p.sorter, list, &p.skipped, p.page)
	if err = errors.Join(err, p.failed, p.pages.Flush()); err != nil {
		return err
	}
	if err := p.addIndex(); err != nil {
		return err
	}
	if err := p.add("pages/pages.jsonl", zip.Deflate, io.NewSectionReader(pages, 0, 1<<62)); err != nil {
		return err
	}
	if err := p.addManifest(); err != nil {
		return err
	}
	return errors.Join(p.zip.Close(), file.Sync())
}

// copyArchive adds a WARC file as it is, so that a reader can go to any record of it.
func (p *bundler) copyArchive(s *source) error {
	file, err := os.Open(s.name)
	if err != nil {
		return err
	}
	return errors.Join(p.add(archiveDir+s.base(), zip.Store, s.section(file, 0)), file.Close())
}

// add adds a part and notes its digest.
func (p *bundler) add(name string, method uint16, from io.Reader) error {
	if p.names[name] {
		return fmt.Errorf("two files are called %s", name)
	}
	p.names[name] = true
	to, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: p.created()})
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), from)
	p.resources = append(p.resources, resource{name[strings.LastIndexByte(name, '/')+1:], name, "sha256:" + hex.EncodeToString(sum.Sum(nil)), n})
	return err
}

func (p *bundler) created() time.Time {
	if p.options.Created.IsZero() {
		p.options.Created = time.Now().UTC().Truncate(time.Second)
	}
	return p.options.Created
}

// mostTitle is how much of a page is read for its title.
const mostTitle = 256 << 10

// page notes a response in the list of pages.
func (p *bundler) page(l *indexLine, header http.Header, body io.Reader) {
	if l.Status != "200" || l.Mime != "text/html" {
		return
	}
	one := struct {
		ID    string `json:"id"`
		URL   string `json:"url"`
		Time  string `json:"ts"`
		Title string `json:"title,omitempty"`
	}{URL: l.URL, Title: titleOf(l.URL, header, body)}
	if t, err := time.Parse("20060102150405", l.date); err == nil {
		one.Time = t.Format(time.RFC3339)
	}
	one.ID = strings.ReplaceAll(uuid.NewSHA1(uuid.NameSpaceURL, []byte(l.date+" "+l.URL)).String(), "-", "")
	text, err := json.Marshal(one)
	if err == nil {
		_, err = p.pages.Write(append(text, '\n'))
	}
	p.failed = cmp.Or(p.failed, err)
}

// titleOf returns the title of a page in HTML, "" if it has none that can be read.
func titleOf(url string, header http.Header, body io.Reader) string {
	if codings := header.Values("Content-Encoding"); len(codings) > 0 {
		decoded, err := httpx.NewReader(codings, body, httpx.Limits{})
		if err != nil {
			return ""
		}
		defer decoded.Close()
		body = decoded
	}
	text, _ := io.ReadAll(io.LimitReader(body, mostTitle)) // what there is
	plain := map[string][]string{"Content-Type": header.Values("Content-Type")}
	return tegenaria.NewResponse(tegenaria.NewRequest(url, tegenaria.GET, nil), http.StatusOK, plain, text).CSS("title").Text()
}

// shareLines is how many lines of a large index are packed together.
const shareLines = 3000

// addIndex adds the index: a small one as it is, of a large one pieces that are packed by themselves, and an index of these.
func (p *bundler) addIndex() (err error) {
	packed, err := os.CreateTemp("", "warc-index-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	var piece, index bytes.Buffer
	first, lines, offset := "", 0, int64(0)
	fmt.Fprintln(&index, `!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}`)
	share := func() error {
		var text bytes.Buffer
		z := gzip.NewWriter(&text)
		_, err := z.Write(piece.Bytes())
		if err = errors.Join(err, z.Close()); err == nil {
			_, err = packed.Write(text.Bytes())
		}
		key, rest, _ := strings.Cut(first, " ")
		date, _, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&index, "%s %s {\"offset\":%d,\"length\":%d,\"digest\":\"sha256:%x\",\"filename\":\"index.cdx.gz\"}\n", key, date, offset, text.Len(), sha256.Sum256(text.Bytes()))
		offset += int64(text.Len())
		piece.Reset()
		return err
	}
	err = p.sorter.sorted(func(line []byte) error {
		if lines > 0 && lines%shareLines == 0 {
			if err := share(); err != nil {
				return err
			}
		}
		if lines%shareLines == 0 {
			first = string(line)
		}
		lines++
		piece.Write(line)
		piece.WriteByte('\n')
		return nil
	})
	switch {
	case err != nil:
		return err
	case offset == 0:
		return p.add("indexes/index.cdx", zip.Deflate, &piece)
	case piece.Len() > 0:
		if err := share(); err != nil {
			return err
		}
	}
	return errors.Join(p.add("indexes/index.cdx.gz", zip.Store, io.NewSectionReader(packed, 0, offset)), p.add("indexes/index.idx", zip.Deflate, &index))
}

func (p *bundler) addManifest() error {
	m := manifest{
		Profile: "data-package", Version: "1.1.1", Software: "tegenaria " + tegenaria.Version, Created: p.created().Format(time.RFC3339),
		Title: p.options.Title, Description: p.options.Description, MainPage: p.options.MainPage, Resources: p.resources,
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := p.add(manifestName, zip.Deflate, bytes.NewReader(text)); err != nil {
		return err
	}
	sum, err := json.MarshalIndent(digest{manifestName, fmt.Sprintf("sha256:%x", sha256.Sum256(text))}, "", "  ")
	if err != nil {
		return err
	}
	return p.add(digestName, zip.Deflate, bytes.NewReader(sum))
}
