package metadata_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/metadata"
)

// The rules by which our metadata may differ from extruct's.
const (
	ruleParser  = "parser"
	ruleGivesUp = "JSON-LD given up"
	ruleHead    = "OpenGraph outside of the head"
	ruleName    = "OpenGraph in name"
	ruleTime    = "time without datetime"
	ruleNoURL   = "no URL"
	ruleLazy    = "loaded later"
	ruleURL     = "spelling of URLs"
	ruleItemref = "itemref"
	ruleID      = "identifier"
)

var allRules = []struct{ name, why string }{
	{ruleParser, "libxml2 makes another tree of the page than browsers do; in our tree extruct finds the same as we"},
	{ruleGivesUp, "one block of the page is no JSON, and extruct reads none of the page; we read the other blocks as it reads them alone, and that one if it can be repaired"},
	{ruleHead, "extruct reads the meta elements that are children of the head, we those that browsers put elsewhere too"},
	{ruleName, "extruct reads property alone; pages have og:title in name too"},
	{ruleTime, "extruct gives a time element without datetime no value; by the HTML standard it is its text"},
	{ruleNoURL, "an element without src or href has the URL of the page in extruct; by the HTML standard, it has none"},
	{ruleLazy, "extruct gives what stands in src until a script loads the picture, such as data:image/gif; we give the address that waits in data-src and the like"},
	{ruleURL, "extruct joins URLs by RFC 3986, we resolve them as browsers do"},
	{ruleItemref, "extruct has an item that itemref names in one place only, the first in the document; by the HTML standard it is in each item that names it, and not at the top"},
	{ruleID, "extruct does not resolve itemid"},
}

// equalJSONLD compares the JSON values. extruct leaves out what is empty. Where it fails on a block, we may have repaired that.
func (c *comparison) equalJSONLD() bool {
	theirs, ok := c.theirs().JSONLD.([]any)
	if failed, isFailed := c.theirs().JSONLD.(map[string]any); isFailed && c.on[ruleGivesUp] {
		theirs, ok = failed["readable"].([]any)
	}
	theirs = slices.DeleteFunc(slices.Clone(theirs), func(v any) bool { _, isObject := v.(map[string]any); return !isObject })
	for _, n := range c.ours.JSONLD {
		var v map[string]any
		switch err := json.Unmarshal([]byte(n.String()), &v); {
		case err != nil:
			return false
		case len(v) == 0:
		case len(theirs) > 0 && reflect.DeepEqual(any(v), theirs[0]):
			theirs = theirs[1:]
		case !c.on[ruleGivesUp] || len(c.ours.Notes) == 0: // without a note nothing was repaired
			return false
		}
	}
	return ok && len(theirs) == 0
}

// element is a meta element of OpenGraph.
type element struct {
	metadata.Property
	inHead, byName bool
}

// openGraph reads the elements again, since the properties of a Page do not say where they stood.
func (c *comparison) openGraph() (list []element) {
	for n := range c.doc.Root().Descendants() {
		if !n.Is(html.AtomMeta) || n.Namespace() != html.HTML {
			continue
		}
		content, ok := n.LookupAttr("content")
		if !ok || slices.ContainsFunc(slices.Collect(n.Ancestors()), func(up html.Node) bool { return up.Is(html.AtomTemplate) }) {
			continue
		}
		for _, attribute := range []string{"property", "name"} {
			e := element{metadata.Property{Name: strings.TrimSpace(n.Attr(attribute)), Content: content}, n.Parent().Is(html.AtomHead), attribute == "name"}
			if slices.Contains(c.ours.OpenGraph, e.Property) && (!e.byName || n.Attr("property") != n.Attr("name")) {
				list = append(list, e)
			}
		}
	}
	return list
}

func (c *comparison) equalOpenGraph() bool {
	var ours, all [][2]string
	for _, e := range c.openGraph() {
		pair := [2]string{e.Name, e.Content}
		all = append(all, pair)
		switch {
		case e.byName && c.on[ruleName], !e.inHead && c.on[ruleHead]:
		default:
			ours = append(ours, pair)
		}
	}
	var properties [][2]string
	for _, p := range c.ours.OpenGraph {
		properties = append(properties, [2]string{p.Name, p.Content})
	}
	if !slices.Equal(all, properties) {
		return false
	}
	var theirs [][2]string
	heads, _ := c.theirs().OpenGraph.([]any)
	for _, head := range heads {
		for _, p := range head.(map[string]any)["properties"].([]any) {
			pair := p.([]any)
			theirs = append(theirs, [2]string{strings.TrimSpace(pair[0].(string)), pair[1].(string)})
		}
	}
	return slices.Equal(ours, theirs)
}

func (c *comparison) equalMicrodata() bool {
	theirs, ok := c.theirs().Microdata.([]any)
	ours := c.ours.Microdata
	for _, item := range theirs {
		switch {
		case len(ours) > 0 && c.equalItem(ours[0], item):
			ours = ours[1:]
		case !c.on[ruleItemref] || !c.isInside(c.ours.Microdata, item):
			return false
		}
	}
	return ok && len(ours) == 0
}

// isInside reports whether one of extruct's items is inside of some of ours.
func (c *comparison) isInside(ours []*metadata.Item, theirs any) bool {
	for _, item := range ours {
		for _, p := range item.Properties {
			if p.Item != nil && (c.equalItem(p.Item, theirs) || c.isInside([]*metadata.Item{p.Item}, theirs)) {
				return true
			}
		}
	}
	return false
}

// equalItem compares types, identifier and properties. extruct gives an item without properties its text as a value.
func (c *comparison) equalItem(ours *metadata.Item, v any) bool {
	theirs, ok := v.(map[string]any)
	if !ok || !reflect.DeepEqual(asList(theirs["type"]), asAny(ours.Types)) {
		return false
	}
	if id, _ := theirs["id"].(string); id != ours.ID && !(c.on[ruleID] && c.sameURL(ours.ID, c.resolved(id))) {
		return false
	}
	values := map[string][]any{}
	for _, p := range ours.Properties {
		if p.Item != nil {
			values[p.Name] = append(values[p.Name], p.Item)
		} else {
			values[p.Name] = append(values[p.Name], p.Text)
		}
	}
	properties, _ := theirs["properties"].(map[string]any)
	if len(properties) != len(values) {
		return false
	}
	for name, of := range values {
		value, ok := properties[name]
		if list, several := value.([]any); !ok || !c.equalValues(of, list) && (several || !c.equalValues(of, []any{value})) {
			return false
		}
	}
	return true
}

func (c *comparison) equalValues(ours, theirs []any) bool {
	return slices.EqualFunc(ours, theirs, c.equalValue)
}

func (c *comparison) equalValue(ours, theirs any) bool {
	if item, ok := ours.(*metadata.Item); ok {
		if theirs == nil && c.on[ruleItemref] {
			return true
		}
		return c.equalItem(item, theirs)
	}
	a, b := ours.(string), ""
	switch v := theirs.(type) {
	case nil:
		return false
	case string:
		b = v
	default:
		return false
	}
	if squeezed(a) == squeezed(b) {
		return true
	}
	return c.on[ruleTime] && b == "" || c.on[ruleNoURL] && a == "" && b == c.base || c.loadedLater(a, b) || c.sameURL(a, b)
}

// loadedLater reports whether an element of the page has their value in src, and ours as the address that a script is
// to load, by the rule about that.
func (c *comparison) loadedLater(ours, theirs string) bool {
	if !c.on[ruleLazy] {
		return false
	}
	for n := range c.doc.Root().Descendants() {
		if ref := links.Lazy(n); ref != "" && c.resolved(ref) == ours && c.resolved(n.Attr("src")) == c.resolved(theirs) {
			return true
		}
	}
	return false
}

// sameURL reports whether both are one URL, by the rules about URLs.
func (c *comparison) sameURL(ours, theirs string) bool {
	return c.on[ruleURL] && strings.Contains(ours, ":") && c.resolved(ours) == c.resolved(theirs)
}

// resolved returns what browsers make of a reference. An empty fragment is left out, as extruct does.
func (c *comparison) resolved(ref string) string {
	url, err := urlx.Resolve(c.base, ref)
	if err != nil {
		return ref
	}
	return strings.TrimSuffix(url, "#")
}

// squeezed leaves out white space: extruct guesses where a text has line breaks.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// asList returns one value as a list of one, and none as none.
func asList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func asAny(list []string) (values []any) {
	for _, s := range list {
		values = append(values, s)
	}
	return values
}
