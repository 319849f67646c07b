package content

import (
	"slices"
	"strconv"

	"github.com/tegenaria/tegenaria/html"
)

// footnotes are the notes of an article: links to an element that links back.
type footnotes struct {
	references map[uint32]string // the label, by the number of the link
	targets    map[uint32]string // by the number of the element that has the note
	labels     map[uint32]bool   // the elements dt that have nothing but the number of the note
	backs      map[uint32]bool   // the links back
}

// maxName bounds what is read of an element again for each element inside of it, in bytes.
const maxName = 1 << 10

// footnotes finds the notes inside of an element; nil if there are none.
func (x *extractor) footnotes(root html.Node) *footnotes {
	if !x.hasFragments {
		return nil
	}
	end := x.info[root.ID()].end
	ids := map[string]uint32{}
	var links []uint32
	for id := root.ID() + 1; id < end; id++ {
		if x.info[id].flags&(dead|dropped) != 0 {
			id = x.skip(id)
			continue
		}
		n := x.doc.Node(id)
		if !n.IsElement() {
			continue
		}
		if a := n.FindAttr(html.AtomId); !a.IsZero() {
			ids[a.Value()] = id
		}
		if n.Is(html.AtomA) {
			if raw := n.FindAttr(html.AtomHref).Raw(); len(raw) > 1 && raw[0] == '#' {
				links = append(links, id)
			}
		}
	}
	var f *footnotes
	backs := map[string][]uint32{} // the links, by what they name
	for _, id := range links {
		to := x.doc.Node(id).FindAttr(html.AtomHref).Value()[1:]
		backs[to] = append(backs[to], id)
	}
	for _, id := range links {
		a := x.doc.Node(id)
		target := ids[a.FindAttr(html.AtomHref).Value()[1:]]
		if target == 0 || target <= id {
			continue
		}
		own := ""
		for up, n := 0, a; up < 3 && own == ""; up, n = up+1, n.Parent() {
			if a := n.FindAttr(html.AtomId); len(a.Raw()) <= maxName {
				own = a.Value()
			}
		}
		if own == "" {
			continue
		}
		list := backs[own]
		at, _ := slices.BinarySearch(list, target+1)
		for _, back := range list[at:] {
			if back >= x.info[target].end {
				break
			}
			note := x.noteOf(x.doc.Node(target))
			if note == 0 {
				break
			}
			if f == nil {
				f = &footnotes{map[uint32]string{}, map[uint32]string{}, map[uint32]bool{}, map[uint32]bool{}}
			}
			label := f.targets[note]
			if label == "" {
				label = strconv.Itoa(len(f.targets) + 1)
			}
			f.targets[note], f.references[id] = label, label
			f.backs[back] = true
			if note != target {
				f.labels[target] = true
			}
			break
		}
	}
	return f
}

// noteOf returns the element that has the text of a note: the target of its link, or the dd behind it.
func (x *extractor) noteOf(target html.Node) uint32 {
	switch target.Atom() {
	case html.AtomLi, html.AtomP, html.AtomDiv, html.AtomDd:
		return target.ID()
	case html.AtomDt:
		for n := target.NextSibling(); !n.IsZero(); n = n.NextSibling() {
			if n.IsElement() {
				if n.Is(html.AtomDd) {
					return n.ID()
				}
				break
			}
		}
	}
	return 0
}

func (f *footnotes) target(n html.Node) string {
	if f == nil {
		return ""
	}
	return f.targets[n.ID()]
}

func (f *footnotes) reference(n html.Node) string {
	if f == nil {
		return ""
	}
	return f.references[n.ID()]
}

// isIn reports whether an element has a reference to a note, and nothing beside it.
func (f *footnotes) isIn(n html.Node) bool {
	if f == nil {
		return false
	}
	for _, c := range elementsIn(n) {
		if f.references[c.ID()] != "" || f.backs[c.ID()] {
			return true
		}
	}
	return false
}

func (f *footnotes) isBack(n html.Node) bool { return f != nil && f.backs[n.ID()] }

func (f *footnotes) isLabel(n html.Node) bool { return f != nil && f.labels[n.ID()] }
