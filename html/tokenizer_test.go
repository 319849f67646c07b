package html_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

// tokenCase is a case of html5lib's tokenizer tests.
type tokenCase struct {
	Description   string   `json:"description"`
	Input         string   `json:"input"`
	Output        [][]any  `json:"output"`
	InitialStates []string `json:"initialStates"`
	LastStartTag  string   `json:"lastStartTag"`
	DoubleEscaped bool     `json:"doubleEscaped"`
}

var tokenStates = map[string]html.State{
	"Data state":          html.DataState,
	"PLAINTEXT state":     html.PlaintextState,
	"RCDATA state":        html.RCDATAState,
	"RAWTEXT state":       html.RawTextState,
	"Script data state":   html.ScriptState,
	"CDATA section state": html.CDATAState,
}

// TestTokenizerConformance runs html5lib's tokenizer tests in each initial state. Lists of tokens are
// compared, lists of parse errors are not. xmlViolation.test is about another kind of tree.
func TestTokenizerConformance(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance.Path(t, "html5lib", "tokenizer"), "*.test"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d files of cases, %v", len(files), err)
	}
	cases := 0
	for _, file := range files {
		name := filepath.Base(file)
		if name == "xmlViolation.test" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var suite struct{ Tests []tokenCase }
			if err := json.Unmarshal(conformance.Read(t, "html5lib", "tokenizer", name), &suite); err != nil {
				t.Fatal(err)
			}
			for i, c := range suite.Tests {
				if c.InitialStates == nil {
					c.InitialStates = []string{"Data state"}
				}
				if c.DoubleEscaped {
					c.Input = unescape(c.Input)
				}
				want := wantTokens(t, &c)
				for _, state := range c.InitialStates {
					cases++
					if got := gotTokens(c.Input, tokenStates[state], c.LastStartTag); !slices.Equal(got, want) {
						t.Errorf("%d %s, %s: %q\ngot  %q\nwant %q", i, c.Description, state, c.Input, got, want)
					}
				}
			}
		})
	}
	t.Logf("%d cases", cases)
	if cases < 6810 {
		t.Errorf("ran %d cases", cases)
	}
}

// unescape replaces \uHHHH by the code point; a lone surrogate becomes U+FFFD, as in all UTF-8.
func unescape(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, `\u`)
		if i < 0 || i+6 > len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		r, err := strconv.ParseUint(s[i+2:i+6], 16, 32)
		if err != nil {
			panic(err)
		}
		b.WriteRune(rune(r))
		s = s[i+6:]
	}
}

// wantTokens writes the tokens of a case as gotTokens does.
func wantTokens(t *testing.T, c *tokenCase) []string {
	text := func(v any) string {
		s, ok := v.(string)
		if ok && c.DoubleEscaped {
			s = unescape(s)
		}
		if ok {
			return strconv.Quote(s)
		}
		return `""`
	}
	var list []string
	for _, token := range c.Output {
		switch token[0] {
		case "DOCTYPE":
			list = append(list, fmt.Sprint("doctype ", text(token[1]), text(token[2]), text(token[3]),
				token[2] != nil, token[3] != nil, token[4]))
		case "StartTag":
			s := "start " + text(token[1])
			var attrs []string
			for name, value := range token[2].(map[string]any) {
				attrs = append(attrs, " "+text(name)+"="+text(value))
			}
			slices.Sort(attrs)
			s += strings.Join(attrs, "")
			if len(token) > 3 {
				s += " /"
			}
			list = append(list, s)
		case "EndTag":
			list = append(list, "end "+text(token[1]))
		case "Comment":
			list = append(list, "comment "+text(token[1]))
		case "Character":
			list = append(list, "text "+text(token[1]))
		default:
			t.Fatalf("unknown token %v", token)
		}
	}
	return list
}

func gotTokens(input string, state html.State, endTag string) []string {
	var list []string
	text, inText := "", false
	flush := func() {
		if inText {
			list = append(list, "text "+strconv.Quote(text))
		}
		text, inText = "", false
	}
	z := html.NewTokenizer([]byte(input))
	z.SetState(state, endTag)
	for {
		kind := z.Next()
		if kind == html.TextToken {
			text += string(z.Text())
			inText = true
			continue
		}
		flush()
		switch kind {
		case html.EndToken:
			return list
		case html.StartTagToken:
			s := "start " + strconv.Quote(string(z.Name()))
			var attrs []string
			for name, value := range z.Attrs() {
				attrs = append(attrs, " "+strconv.Quote(string(name))+"="+strconv.Quote(string(value)))
			}
			slices.Sort(attrs)
			s += strings.Join(attrs, "")
			if z.SelfClosing() {
				s += " /"
			}
			list = append(list, s)
			z.SetState(html.DataState, "") // the cases know no tree builder
		case html.EndTagToken:
			list = append(list, "end "+strconv.Quote(string(z.Name())))
		case html.CommentToken:
			list = append(list, "comment "+strconv.Quote(string(z.Text())))
		case html.DoctypeToken:
			d, force := z.Doctype()
			list = append(list, fmt.Sprint("doctype ", strconv.Quote(d.Name), strconv.Quote(d.Public), strconv.Quote(d.System),
				d.HasPublic, d.HasSystem, !force))
		}
	}
}
