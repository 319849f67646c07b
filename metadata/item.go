package metadata

import (
	"slices"

	"github.com/tidwall/gjson"
)

// Item is an item of microdata, or a typed resource of RDFa Lite. An item that stands in several others, by itemref, is a
// separate Item in each of them.
type Item struct {
	Types      []string // as they are written; in RDFa, with their vocabulary
	ID         string   // itemid or resource, an absolute URL; "" if there is none
	Properties []ItemProperty
	syntax     Syntax
	origin     *origin
}

// ItemProperty is a property of an item, one for each of its names. Its value is a text, a URL or an item.
type ItemProperty struct {
	Name string // as it is written; in RDFa, with its vocabulary
	Text string // the value if it is no item
	Item *Item  // the value if it is one, else nil
}

// Get returns the first text of a property, "" if there is none.
func (i *Item) Get(name string) string {
	for _, p := range i.Properties {
		if p.Name == name && p.Item == nil {
			return p.Text
		}
	}
	return ""
}

// Node returns the item as a JSON object, see [Node].
func (i *Item) Node() Node { return Node{i.syntax, string(i.appendJSON(nil)), i.origin} }

// MarshalJSON returns the JSON object of [Item.Node].
func (i *Item) MarshalJSON() ([]byte, error) { return i.appendJSON(nil), nil }

func (i *Item) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if len(i.Types) > 0 {
		dst = append(dst, `"@type":`...)
		dst = appendList(dst, len(i.Types), func(dst []byte, k int) []byte {
			return gjson.AppendJSONString(dst, schemaName(i.Types[k]))
		})
		dst = append(dst, ',')
	}
	if i.ID != "" {
		dst = append(gjson.AppendJSONString(append(dst, `"@id":`...), i.ID), ',')
	}
	names, values := i.byName()
	for _, name := range names {
		dst = append(gjson.AppendJSONString(dst, name), ':')
		of := values[name]
		dst = appendList(dst, len(of), func(dst []byte, k int) []byte {
			if p := &i.Properties[of[k]]; p.Item == nil {
				return gjson.AppendJSONString(dst, p.Text)
			}
			return i.Properties[of[k]].Item.appendJSON(dst)
		})
		dst = append(dst, ',')
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}

// byName returns the names of the properties in the order in which they come up, and where each has its values.
func (i *Item) byName() (names []string, values map[string][]int) {
	values = make(map[string][]int, len(i.Properties))
	for k, p := range i.Properties {
		name := schemaName(p.Name)
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], k)
	}
	return slices.Clip(names), values
}

// appendList appends one value by itself, and others as a list.
func appendList(dst []byte, n int, one func(dst []byte, k int) []byte) []byte {
	if n == 1 {
		return one(dst, 0)
	}
	dst = append(dst, '[')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, k)
	}
	return append(dst, ']')
}
