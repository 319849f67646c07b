//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// scripted are the paths of pages that a script makes.
var scripted = regexp.MustCompile(`^/p/\d*7$`)

// members is the site for a crawl with all parts: its pages are for those alone who have logged in, a sitemap lists a few of them, each
// tenth is made by a script, and each item has a picture.
func members(s *scene, pages http.Handler) http.Handler {
	const token = "31415"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method=post><input type=hidden name=token value=%s><input name=user><input name=password type=password></form>`, token)
	})
	mux.HandleFunc("POST /login/", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("user") == "spider" && r.PostFormValue("password") == "web" && r.PostFormValue("token") == token {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: token, Path: "/", HttpOnly: true})
			http.Redirect(w, r, "/welcome", http.StatusSeeOther)
			return
		}
		http.Redirect(w, r, "/login/", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /welcome", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>Welcome.") })
	mux.HandleFunc("GET /sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for page := 0; page < s.plan.Pages; page += 7 {
			fmt.Fprintf(w, "<url><loc>http://%s%s</loc></url>", r.Host, s.plan.Reference(page))
		}
		fmt.Fprint(w, `</urlset>`)
	})
	mux.HandleFunc("GET /pictures/{name}", func(w http.ResponseWriter, r *http.Request) {
		var number uint32
		fmt.Sscanf(r.PathValue("name"), "SKU-%d.png", &number)
		picture := image.NewNRGBA(image.Rect(0, 0, 64, 64))
		for i := range 64 {
			picture.Set(i, int(number)%64, color.NRGBA{R: uint8(number), G: uint8(number >> 8), A: 255})
		}
		w.Header().Set("Content-Type", "image/png")
		_ = png.Encode(w, picture) // the client may be gone
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != token {
			http.Redirect(w, r, "/login/", http.StatusSeeOther)
			return
		}
		if !scripted.MatchString(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		page := httptest.NewRecorder()
		pages.ServeHTTP(page, r)
		text, err := json.Marshal(page.Body.String())
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><script>document.write(%s)</script>", text)
	})
	return mux
}

// judgeParts judges what a crawl with all parts has beside its items: each item has its picture, whose file is there and whole, and the
// archive has each page once.
func (s *scene) judgeParts(lines []byte, r *result) error {
	for line := range bytes.Lines(lines) {
		var item struct {
			Picture struct{ Path, Checksum string }
		}
		if json.Unmarshal(line, &item) != nil {
			continue // which was counted
		}
		file, err := os.ReadFile(filepath.Join(s.folder, "pictures", filepath.FromSlash(item.Picture.Path)))
		if sum := sha256.Sum256(file); err != nil || hex.EncodeToString(sum[:]) != strings.TrimPrefix(item.Picture.Checksum, "sha256:") {
			r.Wrong++
		}
	}
	if err := s.judgeChanges(lines, r); err != nil {
		return err
	}
	archived, err := archivedPages(s.folder)
	if err != nil {
		return err
	}
	for page := range s.plan.Pages {
		switch n := archived[s.url()+strings.TrimPrefix(s.plan.Reference(page), "/")]; {
		case n == 0:
			r.Missing++
		case n > 1:
			r.Twice += n - 1
		}
	}
	return nil
}

// judgeChanges judges what the history says is new: each item of the output once.
func (s *scene) judgeChanges(lines []byte, r *result) error {
	file, err := os.ReadFile(filepath.Join(s.folder, "changes.jsonl"))
	if err != nil {
		return err
	}
	told := make(map[string]int)
	for line := range bytes.Lines(file) {
		var change struct{ Op, Key string }
		if err := json.Unmarshal(line, &change); err != nil || change.Op != "new" {
			r.Wrong++
		}
		told[change.Key]++
	}
	for line := range bytes.Lines(lines) {
		var item struct{ SKU string }
		if json.Unmarshal(line, &item) != nil {
			continue // which was counted
		}
		switch n := told[item.SKU]; {
		case n == 0:
			r.Missing++
		case n > 1:
			r.Twice += n - 1
		}
		delete(told, item.SKU)
	}
	r.Wrong += len(told)
	return nil
}

// archivedPages counts the responses of web archives, by their URL.
func archivedPages(folder string) (map[string]int, error) {
	found := make(map[string]int)
	files, err := fs.Glob(os.DirFS(folder), "*.warc.gz*")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		text, err := gunzip(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for record := range strings.SplitSeq(text, "WARC/1.1\r\n") {
			header, body, _ := strings.Cut(record, "\r\n\r\n")
			url, is := "", false
			for line := range strings.Lines(header) {
				line = strings.TrimSpace(line)
				is = is || line == "WARC-Type: response" || line == "WARC-Type: revisit"
				if value, ok := strings.CutPrefix(line, "WARC-Target-URI: "); ok {
					url = value
				}
			}
			if is && strings.HasPrefix(body, "HTTP/1.1 200") {
				found[url]++
			}
		}
	}
	return found, nil
}

func gunzip(r io.Reader) (string, error) {
	z, err := gzip.NewReader(r)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(z)
	return string(text), err
}
