package demosite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"strings"
)

// User and Password open the account at /login/.
const (
	User     = "reader"
	Password = "open sesame"
)

// The cookies of /login/: one that the form belongs to, and one of who is logged in.
const (
	visitCookie   = "visit"
	sessionCookie = "session"
	formToken     = "8f14e45f" // is hidden in the form, and sent back with it
)

// loginForm shows the form, and sets the cookie that it belongs to.
func (h *handler) loginForm(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: visitCookie, Value: "1", Path: "/"})
	writeHTML(w, h.pages["/login/"])
}

// login answers the form: it leads to the account, or back to the form if anything in it is wrong.
func (h *handler) login(w http.ResponseWriter, r *http.Request) {
	_, err := r.Cookie(visitCookie)
	if err != nil || r.PostFormValue("token") != formToken || r.PostFormValue("user") != User || r.PostFormValue("password") != Password {
		http.Redirect(w, r, "/login/", http.StatusSeeOther)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: User, Path: "/"})
	http.Redirect(w, r, "/account/", http.StatusSeeOther)
}

// account is for those who are logged in; everybody else is sent to the form.
func (h *handler) account(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie); err != nil || c.Value != User {
		http.Redirect(w, r, "/login/", http.StatusSeeOther)
		return
	}
	writeHTML(w, h.pages["/account/"])
}

// search answers POST /api/search: the quotes that contain a text, ten a page, in the form of /api/quotes.
func (h *handler) search(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Text string `json:"text"`
		Page int    `json:"page"`
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil || question.Page < 0 {
		http.Error(w, `send {"text": "love", "page": 1}`, http.StatusBadRequest)
		return
	}
	var found []quote
	for _, q := range h.quotes {
		if strings.Contains(strings.ToLower(q.Text), strings.ToLower(question.Text)) {
			found = append(found, q)
		}
	}
	writeQuotes(w, r, found, max(question.Page, 1))
}

// sitemap lists the pages of the books.
func (h *handler) sitemap(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, book := range h.books {
		fmt.Fprintf(&b, "<url><loc>http://%s/books/%s/</loc></url>\n", r.Host, book.Slug)
	}
	b.WriteString("</urlset>\n")
	_, _ = w.Write([]byte(b.String()))
}

// cover answers with the picture of a book: a small one of a single colour that depends on its title.
func (h *handler) cover(w http.ResponseWriter, r *http.Request) {
	name, isPNG := strings.CutSuffix(r.PathValue("name"), ".png")
	for _, book := range h.books {
		if !isPNG || book.Slug != name {
			continue
		}
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(book.Title))
		n := hash.Sum32()
		picture := image.NewRGBA(image.Rect(0, 0, 40, 60))
		draw.Draw(picture, picture.Bounds(), image.NewUniform(color.RGBA{R: byte(n), G: byte(n >> 8), B: byte(n >> 16), A: 255}), image.Point{}, draw.Src)
		var file bytes.Buffer
		if err := png.Encode(&file, picture); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(file.Bytes())
		return
	}
	http.NotFound(w, r)
}
