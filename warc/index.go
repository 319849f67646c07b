package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Skipped counts the records of an archive that could not be read.
type Skipped struct {
	Records int   // as far as they can be told apart
	First   error // why the first one could not be read; nil if there is none
}

func (s *Skipped) note(name string, err error) {
	if s.Records++; s.First == nil {
		s.First = fmt.Errorf("%s: %w", name, err)
	}
}

// Index writes the index of WARC files, in the form that replay tools read (CDXJ): a line for each record that they can show, sorted, with
// key, time, and a JSON object of URL, media type, status, payload digest, place and file. A record that cannot be read is left out and
// counted. files are paths of files or folders, as [Open] takes them; in the index they have the last part of their
// names. It takes 64 MiB of memory and sorts the rest in temporary files. The error is that of reading a file, of
// sorting or of to.
func Index(to io.Writer, files ...string) (Skipped, error) {
	var skipped Skipped
	s := new(sorter)
	list, err := allSources(files)
	if err == nil {
		err = indexAll(s, list, &skipped, nil)
	}
	if err == nil {
		out := bufio.NewWriterSize(to, 64<<10)
		err = s.sorted(func(line []byte) error {
			_, err := out.Write(append(line[:len(line):len(line)], '\n'))
			return err
		})
		err = errors.Join(err, out.Flush())
	}
	if err = errors.Join(err, s.close()); err != nil {
		return skipped, fmt.Errorf("warc: making an index: %w", err)
	}
	return skipped, nil
}

// allSources finds the files of several archives.
func allSources(paths []string) (list []*source, err error) {
	for _, path := range paths {
		some, err := sourcesOf(path)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

// indexAll adds a line for each record of the files. seen, unless nil, is given each response with its body.
func indexAll(s *sorter, list []*source, skipped *Skipped, seen func(l *indexLine, header http.Header, body io.Reader)) error {
	for _, file := range list {
		if err := indexFile(s, file, skipped, seen); err != nil {
			return err
		}
	}
	return nil
}

// indexLine is what the index says of a record.
type indexLine struct {
	URL     string `json:"url"`
	Mime    string `json:"mime,omitempty"`
	Status  string `json:"status,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Length  string `json:"length"`
	Offset  string `json:"offset"`
	File    string `json:"filename"`
	Method  string `json:"method,omitempty"`
	Body    string `json:"requestBody,omitempty"`
	kind    string
	date    string
	asked   *query // of a request: it has no line of its own
	offset  int64
	ignored bool
}

// pairing holds a record until it is known whether the next one is of the same exchange: a request and its response stand side by side.
type pairing struct {
	sorter *sorter
	last   *indexLine
}

func (p *pairing) add(l *indexLine) error {
	last := p.last
	p.last = l
	switch {
	case last == nil:
		return nil
	case l != nil && l.URL == last.URL && l.asked != nil && isAnswer(last.kind):
		p.last = nil
		return p.write(last, l.asked)
	case l != nil && l.URL == last.URL && last.asked != nil && isAnswer(l.kind):
		p.last = nil
		return p.write(l, last.asked)
	}
	return p.write(last, nil)
}

func isAnswer(kind string) bool { return kind == "response" || kind == "revisit" }

func (p *pairing) write(l *indexLine, asked *query) error {
	if l.ignored {
		return nil
	}
	key := l.URL
	if asked != nil && asked.method != http.MethodGet {
		l.Method = asked.method
		l.Body = asked.text
		key = asked.appendTo(key)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s ", surt(key), l.date)
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	return p.sorter.add(bytes.TrimRight(text.Bytes(), "\n"))
}

func indexFile(s *sorter, file *source, skipped *Skipped, seen func(l *indexLine, header http.Header, body io.Reader)) error {
	p := pairing{sorter: s}
	var open *indexLine // of the record before, whose length is not known yet
	var before *Record
	end := func() error {
		if open == nil {
			return nil
		}
		if before.Length == 0 {
			skipped.note(file.name, fmt.Errorf("the record of %s is packed together with others, so that an index cannot name "+
				"its place: pack each record by itself", before.URL()))
			open = nil
			return nil
		}
		open.Length = strconv.FormatInt(before.Length-before.ends, 10) // as other programs count
		l := open
		open = nil
		return p.add(l)
	}
	err := file.each(func(r *Record, err error) error {
		if err != nil {
			if open != nil && before.Length == 0 {
				open = nil // it is the damaged one
			}
			skipped.note(file.name, err)
			return nil
		}
		if err := end(); err != nil {
			return err
		}
		l, err := lineOf(r, seen)
		if err != nil {
			skipped.note(file.name, fmt.Errorf("the record at byte %d: %w", r.Offset, err))
			return nil
		}
		l.File = file.base()
		open, before = l, r
		return nil
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	return p.add(nil)
}

// lineOf reads what the index has of a record.
func lineOf(r *Record, seen func(l *indexLine, header http.Header, body io.Reader)) (*indexLine, error) {
	l := &indexLine{URL: r.URL(), Offset: strconv.FormatInt(r.Offset, 10), offset: r.Offset, kind: r.Type()}
	_, l.Digest, _ = strings.Cut(r.Header.Get("WARC-Payload-Digest"), ":")
	date := strings.NewReplacer("-", "", ":", "", "T", "").Replace(r.Header.Get("WARC-Date"))
	l.date = date[:min(len(date), 14)]
	mediaType := r.Header.Get("Content-Type")
	switch l.kind {
	case "warcinfo":
		l.ignored = true
	case "request":
		l.ignored = true
		asked, err := queryOf(r.Block)
		if err != nil {
			return nil, err
		}
		l.asked = asked
	case "metadata", "resource":
		l.ignored = mediaType == "application/warc-fields"
		l.Mime = bareType(mediaType)
	case "response", "revisit":
		if !strings.HasPrefix(mediaType, "application/http") { // a reply of the name servers, say
			l.Mime = bareType(mediaType)
			break
		}
		status, header, body, err := readHTTP(r.Block)
		if err != nil && l.kind == "response" {
			return nil, err
		}
		if err == nil {
			l.Status, l.Mime = strconv.Itoa(status), bareType(header.Get("Content-Type"))
			if seen != nil && l.kind == "response" {
				seen(l, header, body)
			}
		}
		if l.kind == "revisit" {
			l.Mime = "warc/revisit"
		}
	default:
		l.Mime = bareType(mediaType)
	}
	return l, nil
}

// bareType returns a media type without its parameters.
func bareType(mediaType string) string {
	bare, _, _ := strings.Cut(mediaType, ";")
	return strings.TrimSpace(bare)
}
