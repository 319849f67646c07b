package metadata

import (
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/jsontext"
)

// readBlocks reads the blocks of JSON-LD.
func (x *extractor) readBlocks() {
	for _, id := range x.found.blocks {
		n := x.doc.Node(id)
		text, ok := x.scriptText(n)
		if !ok {
			x.note(JSONLD, n, "further blocks were left out: their texts cost too much")
			return
		}
		values, repairs, err := jsontext.Read(text)
		for _, r := range repairs {
			x.note(JSONLD, n, r)
		}
		if err != nil {
			x.note(JSONLD, n, "a block that is not JSON was left out: "+err.Error())
		}
		for _, value := range values {
			if !x.addValue(value) {
				x.note(JSONLD, n, "further objects were left out: the page has too many")
				return
			}
		}
	}
}

// addValue takes an object, or those of a list. It returns false if there are too many.
func (x *extractor) addValue(value []byte) bool {
	raw := unsafe.String(unsafe.SliceData(value), len(value)) // the memory of the page, or nobody else's
	parsed := gjson.Parse(raw)
	if parsed.IsObject() {
		return x.addBlock(parsed)
	}
	more := true
	if parsed.IsArray() {
		parsed.ForEach(func(_, v gjson.Result) bool {
			more = !v.IsObject() || x.addBlock(v)
			return more
		})
	}
	return more
}

func (x *extractor) addBlock(object gjson.Result) bool {
	if len(x.page.JSONLD) == maxNodes {
		return false
	}
	x.page.JSONLD = append(x.page.JSONLD, Node{JSONLD, object.Raw, x.origin})
	return true
}

// scriptText returns what stands in a script. In XML scripts may be inside each other; ok is false if that costs too much.
func (x *extractor) scriptText(n html.Node) (text []byte, ok bool) {
	if c := n.FirstChild(); c.NextSibling().IsZero() {
		return c.Data(), true
	}
	text = n.AppendText(nil)
	return text, x.charge(int(n.EndID()-n.ID()) + len(text))
}
