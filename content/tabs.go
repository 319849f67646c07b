package content

import (
	"bytes"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// tabs are parts of a page of which readers see one at a time, and the elements with their names.
type tabs struct {
	name  map[uint32]uint32 // the element with the name, by the number of the part
	panel map[uint32]uint32 // the other way round
	lists map[uint32]bool   // the elements around the names
}

// maxTabs is how many tabs of one list are looked at, and how many nodes of one of them.
const maxTabs = 64

// findTabs finds the parts behind tabs and their names: those that have roles of ARIA, and labels of radio buttons or buttons that stand
// before as many parts. It returns nil for a page without any.
func findTabs(doc *html.Document) *tabs {
	source := doc.Source()
	if !bytes.Contains(source, []byte("tabpanel")) && !bytes.Contains(source, []byte("tabs")) && !bytes.Contains(source, []byte("tabbed")) && !bytes.Contains(source, []byte("tab-set")) {
		return nil
	}
	t := &tabs{map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]bool{}}
	var named map[string]html.Node // the tabs of the last list, by their ids, and with "#" by those of their parts
	var list []html.Node           // the tabs of the last list that have no part yet
	var around html.Node
	for n := range doc.Root().Descendants() {
		if !n.IsElement() {
			continue
		}
		switch {
		case n.Is(html.AtomLabel), n.Is(html.AtomButton):
			if panel := panelBehind(n); !panel.IsZero() {
				t.add(n, panel, html.Node{})
			} else if names, panels := pairedTabs(n); len(names) > 0 {
				for i := range names {
					t.add(names[i], panels[i], n.Parent())
				}
			}
			continue
		}
		switch role := n.FindAttr(html.AtomRole).Raw(); string(role) {
		case "tablist":
			list, around, named = tabsIn(n), n, map[string]html.Node{}
			for _, tab := range list {
				named[tab.FindAttr(html.AtomId).Value()] = tab
				for _, a := range [...]html.Atom{html.AtomHref, html.AtomAriaControls} {
					if to := tab.FindAttr(a).Value(); to != "" {
						named["#"+strings.TrimPrefix(to, "#")] = tab
					}
				}
			}
		case "tabpanel":
			tab, ok := html.Node{}, false
			if by := n.FindAttr(html.AtomAriaLabelledby).Value(); by != "" {
				tab, ok = named[by]
			}
			if id := n.FindAttr(html.AtomId).Value(); !ok && id != "" {
				tab, ok = named["#"+id]
			}
			if !ok && len(list) > 0 {
				tab, ok = list[0], true
			}
			if !ok {
				continue
			}
			t.add(tab, n, around)
			for i := range list {
				if list[i] == tab {
					list = list[i+1:]
					break
				}
			}
		}
	}
	if len(t.name) == 0 {
		return nil
	}
	return t
}

// add notes the name of a part. Names of parts that are not behind them are none, nor those of parts inside of the list, as accordions have
// them.
func (t *tabs) add(name, panel, list html.Node) {
	if t.panel[name.ID()] != 0 || t.name[panel.ID()] != 0 || panel.ID() < name.EndID() || !list.IsZero() && panel.ID() < list.EndID() {
		return
	}
	t.name[panel.ID()], t.panel[name.ID()] = name.ID(), panel.ID()
	for n := name.Parent(); !list.IsZero() && !t.lists[n.ID()]; n = n.Parent() {
		t.lists[n.ID()] = true
		if n == list {
			break
		}
	}
}

// isShown reports whether an element is a name, a part with a name, or an element around names. t may be nil.
func (t *tabs) isShown(id uint32) bool {
	return t.isName(id) || t != nil && t.name[id] != 0
}

// isName reports whether an element is a name, or one around names. t may be nil.
func (t *tabs) isName(id uint32) bool { return t != nil && (t.panel[id] != 0 || t.lists[id]) }

// tabsIn returns the tabs of a list: the elements of this role, or its children if there are none.
func tabsIn(list html.Node) (names []html.Node) {
	for n := range list.Descendants() {
		if n.IsElement() && string(n.FindAttr(html.AtomRole).Raw()) == "tab" {
			names = append(names, n)
		}
		if len(names) == maxTabs || n.ID() > list.ID()+maxTabs*maxTabs {
			break
		}
	}
	if len(names) == 0 {
		names = elementsIn(list)
	}
	return names
}

// elementsIn returns the first children that are elements.
func elementsIn(n html.Node) (list []html.Node) {
	for c := range n.Children() {
		if c.IsElement() {
			list = append(list, c)
		}
		if len(list) > maxTabs {
			break
		}
	}
	return list
}

// panelBehind returns the part that stands behind the label of a radio button and belongs to it.
func panelBehind(label html.Node) html.Node {
	if !label.Is(html.AtomLabel) || !isRadio(previous(label)) {
		return html.Node{}
	}
	if next := following(label); next.Is(html.AtomDiv) || next.Is(html.AtomSection) {
		return next
	}
	return html.Node{}
}

// pairedTabs returns the labels of radio buttons, or the buttons, of a list that begins with one, and as many parts in
// the element behind the list or behind that of one around it.
func pairedTabs(first html.Node) (names, panels []html.Node) {
	around := first.Parent()
	if around.Is(html.AtomNav) {
		return nil, nil
	}
	list := elementsIn(around)
	radio := false
	for _, c := range list {
		switch {
		case c.Is(first.Atom()):
			if names = append(names, c); names[0] != first {
				return nil, nil
			}
		case isRadio(c):
			radio = true
		default:
			return nil, nil
		}
	}
	if first.Is(html.AtomLabel) {
		radio = radio || isRadio(previous(around))
	} else {
		class := around.FindAttr(html.AtomClass).Raw()
		radio = bytes.Contains(class[:min(len(class), maxName)], []byte("tab"))
	}
	panels = elementsIn(following(around))
	if !radio || len(names) < 2 || len(names) > maxTabs || len(panels) != len(names) {
		return nil, nil
	}
	return names, panels
}

func isRadio(n html.Node) bool {
	return n.Is(html.AtomInput) && strings.EqualFold(n.FindAttr(html.AtomType).Value(), "radio")
}

// following returns the element behind a node that has the same parent.
func following(n html.Node) html.Node {
	for n = n.NextSibling(); !n.IsZero() && !n.IsElement(); n = n.NextSibling() {
	}
	return n
}

// tabName returns the element with the name of a part, if both are written: the zero Node if not.
func (x *extractor) tabName(panel, root uint32) html.Node {
	if x.tabs == nil {
		return html.Node{}
	}
	name := x.tabs.name[panel]
	if name == 0 || !x.isWritten(name, root) {
		return html.Node{}
	}
	return x.doc.Node(name)
}

// isMoved reports whether an element is the name of a part, and is written where the part is.
func (x *extractor) isMoved(name, root uint32) bool {
	return x.tabs != nil && x.tabs.panel[name] != 0 && x.isWritten(x.tabs.panel[name], root) && x.isWritten(name, root)
}

// isWritten reports whether a node is in an element, and in no part of it that is left out.
func (x *extractor) isWritten(id, root uint32) bool {
	for n := x.doc.Node(id); n.ID() > root; n = n.Parent() {
		if x.info[n.ID()].flags&(dead|dropped|captioned|inCode) != 0 {
			return false
		}
		if n.Parent().ID() == root {
			return true
		}
	}
	return false
}
