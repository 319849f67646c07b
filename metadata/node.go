package metadata

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/jsontext"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Node is a thing that a page describes: a JSON object in the form of JSON-LD, with "@type", "@id" and its properties. That of
// microdata and RDFa has the names of schema.org without their URL, and a list where a property has several values. The zero
// Node is an empty object.
type Node struct {
	syntax Syntax
	raw    string
	origin *origin // nil: no page is known
}

// Syntax returns how the node is written in the page.
func (n Node) Syntax() Syntax { return n.syntax }

// String returns the JSON object, as it is written in the page, with repairs.
func (n Node) String() string {
	if n.raw == "" {
		return "{}"
	}
	return n.raw
}

// MarshalJSON returns the JSON object.
func (n Node) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// Decode decodes the JSON object into v, as encoding/json does. It is for own structs with tags of the form json:"name".
func (n Node) Decode(v any) error {
	if err := json.Unmarshal([]byte(n.String()), v); err != nil {
		return fmt.Errorf("metadata: decoding a node of the types %q in %s: %w", n.Types(), n.syntax, err)
	}
	return nil
}

// Unmarshal fills a struct from the node, by the words in the tags of its fields: see [selector.Selection.Unmarshal]. Paths find its
// properties: path:"offers.0.price". Numbers, amounts and times are converted from how people write them, and what is missing or
// wrong is reported by field, which Decode does not do. URLs are relative to the page.
func (n Node) Unmarshal(v any) error { return n.Document().Unmarshal(v) }

// Document returns the node as a page of JSON, for [selector.Each] and [selector.Fields].
func (n Node) Document() *selector.Document {
	opts := []selector.Option{selector.JSON()}
	switch o := n.origin; {
	case o == nil:
	case o.host != nil:
		opts = append(opts, selector.For(o.host))
	default:
		opts = append(opts, selector.Resolver(o.resolve))
	}
	return selector.Parse([]byte(n.String()), opts...)
}

// origin is the page of a node.
type origin struct {
	host     selector.Host // nil: there is none
	base     func() *urlx.Base
	encoding charset.Encoding
}

// resolve makes a reference an absolute URL. It may be called concurrently.
func (o *origin) resolve(ref string) (string, error) {
	if o.encoding != charset.UTF8 {
		ref = string(o.encoding.AppendReference(nil, ref))
	}
	b, err := o.base().Resolve(nil, ref)
	return string(b), err
}

// Get returns the value at a path as text, "" if there is none: "offers.price", "image.0", "author.#.name". The syntax of paths
// is as for [selector.Selection.JSON]. Lists and objects are returned as JSON.
func (n Node) Get(path string) string { return gjson.Get(n.raw, jsontext.Path(path)).String() }

// ID returns the identifier of the node, "" if it has none.
func (n Node) ID() string { return n.key("@id").String() }

// Types returns the types of the node, as they are written.
func (n Node) Types() []string {
	var types []string
	for _, t := range n.key("@type").Array() {
		if t.Type == gjson.String {
			types = append(types, t.Str)
		}
	}
	return types
}

// Is reports whether the node has a type: a name of schema.org ("Product"), or the URL of a type of another vocabulary. The
// forms "http://schema.org/Product", "https://schema.org/Product" and "schema:Product" are the same as the name alone.
func (n Node) Is(name string) bool { return is(n.key("@type"), schemaName(name)) }

func is(types gjson.Result, name string) bool {
	if types.Type == gjson.String {
		return schemaName(types.Str) == name
	}
	found := false
	if types.IsArray() {
		types.ForEach(func(_, t gjson.Result) bool {
			found = t.Type == gjson.String && schemaName(t.Str) == name
			return !found
		})
	}
	return found
}

// key returns a value of the object itself. gjson would read "@" as the begin of a modifier.
func (n Node) key(name string) gjson.Result { return key(gjson.Parse(n.raw), name) }

func key(object gjson.Result, name string) (found gjson.Result) {
	if !object.IsObject() {
		return found
	}
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == name {
			found = v // the last one counts, as for encoding/json
		}
		return true
	})
	return found
}

// eachOfGraph yields the nodes of an @graph, or else the node itself. It returns false when yield does.
func (n Node) eachOfGraph(yield func(Node) bool, depth int) bool {
	graph := n.key("@graph")
	if !graph.Exists() || depth > maxGraphs {
		return yield(n)
	}
	goOn := true
	each := func(_, v gjson.Result) bool {
		goOn = !v.IsObject() || (Node{n.syntax, v.Raw, n.origin}).eachOfGraph(yield, depth+1)
		return goOn
	}
	if graph.IsArray() {
		graph.ForEach(each)
	} else {
		each(graph, graph)
	}
	return goOn
}

// eachOfType yields the node and what is inside of it, if it has the type. It returns false when yield does.
func (n Node) eachOfType(name string, yield func(Node) bool) bool {
	return n.each(gjson.Parse(n.raw), 0, func(object gjson.Result) bool {
		return !is(key(object, "@type"), schemaName(name)) || yield(Node{n.syntax, object.Raw, n.origin})
	})
}

// byID finds the node with an identifier, in this node or inside of it.
func (n Node) byID(id string) (found Node, ok bool) {
	n.each(gjson.Parse(n.raw), 0, func(object gjson.Result) bool {
		if key(object, "@id").String() != id {
			return true
		}
		properties := 0
		object.ForEach(func(k, _ gjson.Result) bool {
			if k.Str != "@id" && k.Str != "@context" {
				properties++
			}
			return properties == 0
		})
		if properties > 0 {
			found, ok = Node{n.syntax, object.Raw, n.origin}, true
		}
		return !ok
	})
	return found, ok
}

// each calls visit for each object of a value, an outer one first, until it returns false; so does each then. What is nested deeper than
// maxDepth is not looked at.
func (n Node) each(value gjson.Result, depth int, visit func(object gjson.Result) bool) bool {
	if depth > maxDepth {
		return true
	}
	if value.IsObject() && !visit(value) {
		return false
	}
	goOn := true
	if value.IsObject() || value.IsArray() {
		value.ForEach(func(_, v gjson.Result) bool {
			if v.IsObject() || v.IsArray() {
				goOn = n.each(v, depth+1, visit)
			}
			return goOn
		})
	}
	return goOn
}
