package content

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// noteNames are parts of the classes of notes beside the text: Sphinx and MkDocs, Docusaurus, GitHub, VitePress, Starlight, Obsidian.
var noteNames = [...]string{"admonition", "markdown-alert", "custom-block", "starlight-aside", "callout"}

// isNoteTitle reports whether the class of an element says that it is the title of a note: admonition-title, admonitionHeading_x1y2,
// markdown-alert-title …
func isNoteTitle(n html.Node) bool {
	class := n.FindAttr(html.AtomClass).Raw()
	if len(class) == 0 || len(class) > maxName {
		return false
	}
	if string(class) == "title" { // of AsciiDoc, in the first cell
		cell := n.Parent()
		return cell.Is(html.AtomTd) && cell.Parent().Parent().Parent().Is(html.AtomTable) && isNoteTable(cell.Parent().Parent().Parent())
	}
	for name := range bytes.FieldsSeq(class) {
		for _, s := range noteNames {
			rest, ok := bytes.CutPrefix(name, []byte(s))
			if !ok {
				continue
			}
			rest = bytes.ToLower(bytes.TrimLeft(rest, "-_"))
			if bytes.HasPrefix(rest, []byte("title")) || bytes.HasPrefix(rest, []byte("heading")) {
				return true
			}
		}
	}
	return false
}

// isNoteTable reports whether a table is one that AsciiDoc puts a note in: the name of its kind, and what it says.
func isNoteTable(table html.Node) bool {
	return bytes.Contains(table.Parent().FindAttr(html.AtomClass).Raw(), []byte("admonitionblock"))
}

// isOfNote reports whether the class of an element says that it is a note, or a part of one.
func isOfNote(n html.Node) bool {
	class := n.FindAttr(html.AtomClass).Raw()
	for name := range bytes.FieldsSeq(class[:min(len(class), maxName)]) {
		for _, s := range noteNames {
			if bytes.HasPrefix(name, []byte(s)) {
				return true
			}
		}
	}
	return false
}
