package browser

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/selector"
)

// Bounds of what Unfinished counts, in letters and digits of the text that a reader sees, and in bytes of scripts.
const (
	littleText = 250   // a page with more of it is not judged by its scripts
	muchText   = 2_000 // a page with more of it has no use for an empty mount point
	muchScript = 1_500
	perLetter  = 10 // bytes of scripts for each letter of the text
)

// Unfinished reports whether a page looks as if scripts have yet to make it. Such a page has a script, and
//
//   - its body has neither text nor links nor pictures, or
//   - it has an empty mount point of a framework, such as <div id="root"> or <app-root>, or one that says "Loading…", or
//   - it has little text, and a noscript element that asks for JavaScript, or a list, table, main or article without anything in it,
//     or scripts that are many times longer than the text.
//
// A mount point that has content was filled by the server, so that only the first and the second of these count. Data that frameworks
// put into scripts, and scripts that are never run, do not count as scripts.
func Unfinished(page *tegenaria.Response) bool {
	if !bytes.Contains(page.Bytes(), []byte("<script")) && !bytes.Contains(bytes.ToLower(page.Bytes()), []byte("<script")) {
		return false
	}
	root, ok := rootOf(page)
	if !ok {
		return false
	}
	body := root.CSS("body").Nodes()
	if len(body) == 0 { // a frameset
		return false
	}
	var l look
	for _, n := range root.CSS("script").Nodes() { // those of the head too
		l.addScript(n)
	}
	l.walk(body[0])
	switch {
	case !l.hasScript:
		return false
	case l.letters == 0 && !l.hasContent:
		return true
	case l.emptyMount && l.letters < muchText:
		return true
	}
	return !l.filledMount && l.letters < littleText &&
		(l.demandsScript || l.emptyList || l.scripts >= muchScript && l.scripts > perLetter*l.letters)
}

// rootOf returns a page to be selected from. A page that is above the limits has none: its parser finds that out.
func rootOf(page *tegenaria.Response) (root *selector.Selection, ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			err, isError := cause.(error)
			var tooLarge *selector.ParseError
			if !isError || !errors.As(err, &tooLarge) {
				panic(cause)
			}
		}
	}()
	return page.CSS(":root"), true
}

// look is what is seen of a page.
type look struct {
	letters       int  // of its text
	hasContent    bool // links, pictures and the like
	hasScript     bool
	scripts       int // bytes of scripts in the page
	emptyMount    bool
	filledMount   bool
	emptyList     bool
	demandsScript bool
}

// serverData are names in scripts that carry what a server has rendered.
var serverData = []string{
	"__next_f", "__NEXT_DATA__", "__NUXT__", "__remixContext", "__reactRouterContext", "__sveltekit", "__INITIAL_STATE__", "__PRELOADED_STATE__", "__APOLLO_STATE__", "$_TSR",
}

// addScript counts a script, if browsers run it.
func (l *look) addScript(n html.Node) {
	kind, _, _ := strings.Cut(strings.ToLower(n.Attr("type")), ";")
	switch strings.TrimSpace(kind) {
	case "", "module", "text/javascript", "application/javascript", "text/ecmascript", "application/x-javascript":
	default:
		return
	}
	l.hasScript = true
	if text := n.Text(); !slices.ContainsFunc(serverData, func(name string) bool { return strings.Contains(text, name) }) {
		l.scripts += len(text)
	}
}

// walk looks at what is inside an element.
func (l *look) walk(n html.Node) {
	end := n.EndID()
	doc := n.Document()
	for id := n.ID() + 1; id < end; {
		n := doc.Node(id)
		if id++; !n.IsElement() {
			l.letters += letters(textOf(n))
			continue
		}
		switch {
		case isUnseen(n):
			if n.Is(html.AtomNoscript) {
				l.demandsScript = l.demandsScript || demandsScript(n.Text())
			}
			id = n.EndID()
		case isMount(n):
			if isEmpty(n, false) {
				l.emptyMount = true
				id = n.EndID() // "Loading…" is no text
			} else {
				l.filledMount = true
			}
		case n.Is(html.AtomUl), n.Is(html.AtomOl), n.Is(html.AtomTbody), n.Is(html.AtomMain), n.Is(html.AtomArticle):
			l.emptyList = l.emptyList || isEmpty(n, true)
		default:
			l.hasContent = l.hasContent || isContent(n, true)
		}
	}
}

// isUnseen reports whether readers with JavaScript see nothing of what is in an element.
func isUnseen(n html.Node) bool {
	return n.Is(html.AtomScript) || n.Is(html.AtomStyle) || n.Is(html.AtomNoscript) || n.Is(html.AtomTemplate) || n.Name() == "svg"
}

// isContent reports whether an element is something to see, or to follow. pictures says whether pictures count: in a mount point they
// may be those of a splash screen.
func isContent(n html.Node, pictures bool) bool {
	switch n.Name() {
	case "a":
		return n.Attr("href") != ""
	case "form", "input", "textarea", "select", "object", "embed", "video", "audio":
		return true
	case "img", "iframe":
		return pictures && n.Attr("width") != "1" && n.Attr("width") != "0" && !strings.Contains(n.Attr("style"), "display:none")
	}
	return false
}

// textOf returns the text of a text node, and nothing of another node, or if a script is to fill it in: "{{ product.name }}".
func textOf(n html.Node) []byte {
	if n.Kind() != html.TextNode || bytes.Contains(n.Data(), []byte("{{")) {
		return nil
	}
	return n.Data()
}

// isEmpty reports whether there is nothing to read or to follow in an element: no more than a word that asks to wait.
func isEmpty(n html.Node, pictures bool) bool {
	var text []byte
	end, doc := n.EndID(), n.Document()
	for id := n.ID() + 1; id < end; {
		n := doc.Node(id)
		id++
		switch {
		case !n.IsElement():
			text = append(text, textOf(n)...)
		case isUnseen(n):
			id = n.EndID()
		case isContent(n, pictures):
			return false
		}
	}
	return letters(text) == 0 || asksToWait(string(text))
}

// mounts are the ids of elements that frameworks fill.
var mounts = []string{
	"root", "app", "__next", "__nuxt", "___gatsby", "__layout", "app-root", "react-root", "app-container", "q-app", "svelte", "ember-app", "main-app", "application",
}

// isMount reports whether an element is one that frameworks fill.
func isMount(n html.Node) bool {
	if slices.Contains(mounts, n.Attr("id")) {
		return true
	}
	for _, name := range [...]string{"ng-app", "data-ng-app", "ng-view", "ui-view", "data-reactroot"} {
		if _, has := n.LookupAttr(name); has {
			return true
		}
	}
	name := n.Name()
	return strings.HasSuffix(name, "-root") || strings.HasSuffix(name, "-app")
}

// asksToWait reports whether a text is only there until a script replaces it.
func asksToWait(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	const longest = 60
	if len(text) > longest {
		return false
	}
	for _, word := range [...]string{"loading", "please wait", "just a moment", "lade", "wird geladen", "bitte warten", "chargement", "cargando", "carregando", "caricamento", "laden", "загрузка", "加载", "載入", "読み込み", "로딩"} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// demandsScript reports whether the text of a noscript element asks for JavaScript.
func demandsScript(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "javascript") || strings.Contains(text, "java script")
}

// letters counts the letters and digits of a text.
func letters(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if text = text[size:]; unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
