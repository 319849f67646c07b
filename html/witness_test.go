package html_test

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/html"
)

// witnessTree parses a page with golang.org/x/net/html and writes its tree as dump does. If x/net does
// not follow the standard on that page, why says how and where the standard says otherwise.
func witnessTree(source []byte, d *html.Document) (tree, why string) {
	if why := divergence(source, d); why != "" {
		return "", why
	}
	root, err := nethtml.ParseWithOptions(bytes.NewReader(source), nethtml.ParseOptionEnableScripting(false))
	if err != nil {
		return "", err.Error()
	}
	var b strings.Builder
	dumpNet(&b, root, 0)
	return b.String(), ""
}

// divergence says in what x/net is known not to follow the standard on a page, "" if in nothing.
func divergence(source []byte, d *html.Document) string {
	if !utf8.Valid(source) {
		return "x/net makes U+FFFD of what is not UTF-8 in some places; that is the work of the decoder (section 13.2.3.2)"
	}
	for _, d := range divergences {
		if d.on.Match(source) {
			return d.why
		}
	}
	if html.Far(d) {
		return "x/net leaves formatting elements where they are that are more than three above the furthest block (section 13.2.6.4.7, adoption agency algorithm)"
	}
	raw := len(rawTag.FindAllIndex(source, -1))
	for n := range d.Root().Descendants() {
		switch n.Atom() {
		case html.AtomTitle, html.AtomTextarea, html.AtomStyle, html.AtomXmp, html.AtomIframe, html.AtomNoembed,
			html.AtomNoframes, html.AtomScript, html.AtomPlaintext, html.AtomNoscript:
			raw--
		}
		switch {
		case n.Kind() == html.CommentNode && bytes.ContainsAny(n.Data(), "&"):
			return "x/net replaces character references in comments (sections 13.2.5.41 to 13.2.5.52)"
		case n.Kind() == html.DoctypeNode && doctypeSyntax.Match(doctypeSource(n)):
			return "x/net replaces character references in document types and lower case beyond ASCII (sections 13.2.5.53 to 13.2.5.68)"
		case n.Is(html.AtomNoscript) && n.Parent().Is(html.AtomHead):
			return "x/net moves white space out of a noscript in the head (section 13.2.6.4.5)"
		case n.IsElement() && n.Namespace() != html.HTML && impliedEnd.MatchString(n.Name()):
			return "x/net takes elements of SVG and MathML for those of HTML whose end tags are implied (section 13.2.6.3)"
		case n.IsElement() && n.Namespace() != html.HTML && modeNames.MatchString(n.Name()):
			return "x/net takes elements of SVG and MathML for those of HTML that clearing the stack ends at or that make the insertion mode (sections 13.2.4.1, 13.2.6.4.9, 13.2.6.4.13 and 13.2.6.4.14)"
		case n.Namespace() == html.MathML && n.Name() == "annotation-xml" && endP.Match(source):
			return "x/net does not leave MathML before </p> and </br> (section 13.2.6.5)"
		case n.Is(html.AtomTemplate):
			for p := range n.Ancestors() {
				if p.IsElement() && p.Namespace() != html.HTML {
					return "x/net stops at a template inside of SVG or MathML (section 13.2.6.4.4, template)"
				}
			}
		}
	}
	if raw > 0 {
		return "x/net reads what follows a title, script and so on as raw text also where the tag is ignored (sections 13.2.6.4.12 and 13.2.6.4.20)"
	}
	return ""
}

// doctypeSource returns a document type as it is written.
func doctypeSource(n html.Node) []byte {
	rest := n.Document().Source()[n.Pos():]
	if i := bytes.IndexByte(rest, '>'); i >= 0 {
		return rest[:i]
	}
	return rest
}

var (
	rawTag        = regexp.MustCompile(`(?i)<(title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext|noscript)`)
	doctypeSyntax = regexp.MustCompile(`[^\x01-\x7f]|&`)
	endP          = regexp.MustCompile(`(?i)</(p|br)\b`)
	modeNames     = regexp.MustCompile(`^(html|head|body|frameset|select|table|template|tbody|tfoot|thead|tr|td|th|caption|colgroup)$`)
	impliedEnd    = regexp.MustCompile(`^(dd|dt|li|optgroup|option|p|rb|rp|rt|rtc)$`)
)

// divergences are those that the source alone shows.
var divergences = []struct {
	on  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`(?i)<(pre|listing)\b[^>]*>[\r\n]*(</?[^>]*>|\x00)+[\r\n]`),
		"x/net drops a line feed in pre although another token was before it (section 13.2.6.4.7, pre)"},
	{regexp.MustCompile(`</>`),
		"x/net makes a comment of </> (section 13.2.5.7)"},
	{regexp.MustCompile(`(?is)<caption.*<th\b`),
		"x/net does not end a caption at th (section 13.2.6.4.11)"},
	{regexp.MustCompile(`(?is)</body.*<!doctype`),
		"x/net goes back into the body at a document type (section 13.2.6.4.19)"},
	{regexp.MustCompile(`(?is)<template.*<frameset`),
		"x/net forgets after a head with a template that no frameset may come (section 13.2.6.4.4, template)"},
	{regexp.MustCompile(`(?is)<template.*<(t(r|body|head|foot)|col|colgroup|caption)\b`),
		"x/net does not take text in a template for that of a table (section 13.2.6.4.9)"},
	{regexp.MustCompile(`(?is)<table.*\s</?$`),
		"x/net inserts the space before a last < in a table by itself (section 13.2.6.4.10)"},
}

func dumpNet(b *strings.Builder, n *nethtml.Node, depth int) {
	indent := "| " + strings.Repeat("  ", depth)
	switch n.Type {
	case nethtml.DoctypeNode:
		b.WriteString(indent + "<!DOCTYPE " + n.Data)
		public, system := "", ""
		for _, a := range n.Attr {
			switch a.Key {
			case "public":
				public = a.Val
			case "system":
				system = a.Val
			}
		}
		if public != "" || system != "" {
			fmt.Fprintf(b, ` "%s" "%s"`, public, system)
		}
		b.WriteString(">\n")
	case nethtml.TextNode:
		// x/net may leave text in pieces; inserting a character joins them (section 13.2.6.1).
		text := n.Data
		for n.NextSibling != nil && n.NextSibling.Type == nethtml.TextNode {
			text += n.NextSibling.Data
			n.Parent.RemoveChild(n.NextSibling)
		}
		fmt.Fprintf(b, "%s\"%s\"\n", indent, text)
	case nethtml.CommentNode:
		fmt.Fprintf(b, "%s<!-- %s -->\n", indent, n.Data)
	case nethtml.ElementNode:
		name := n.Data
		if n.Namespace != "" {
			name = n.Namespace + " " + name
		}
		fmt.Fprintf(b, "%s<%s>\n", indent, name)
		attrs := slices.Clone(n.Attr)
		for i, a := range attrs {
			switch {
			case a.Namespace != "":
				attrs[i].Key = a.Namespace + " " + a.Key
			case a.Key == "xmlns" && n.Namespace != "":
				attrs[i].Key = "xmlns xmlns" // adjust foreign attributes, section 13.2.6.1
			}
		}
		slices.SortFunc(attrs, func(a, b nethtml.Attribute) int { return cmp.Compare(a.Key, b.Key) })
		for _, a := range attrs {
			fmt.Fprintf(b, "%s  %s=\"%s\"\n", indent, a.Key, a.Val)
		}
		if n.Namespace == "" && n.Data == "template" {
			b.WriteString(indent + "  content\n")
			depth++
		}
	}
	if n.Type != nethtml.DocumentNode {
		depth++
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		dumpNet(b, c, depth)
	}
}
