package content

import (
	"bytes"
	"strconv"

	"github.com/tegenaria/tegenaria/html"
)

// maxCells bounds the cells of a table, those that spans make included; the text of a larger one is written without.
const maxCells = 100_000

// table writes a table of data as one, and the cells of a table that makes a layout one after the other.
func (w *writer) table(n html.Node) {
	if w.x.info[n.ID()].flags&numbered != 0 && !w.cell {
		w.codeTable(n)
		return
	}
	if !w.opts.tables {
		return
	}
	rows, columns := w.rows(n)
	if rows == nil || w.full() {
		w.children(n)
		return
	}
	for c := range n.Children() {
		if c.Is(html.AtomCaption) {
			w.node(c)
		}
	}
	w.begin()
	heading, link := w.heading, w.blockLink
	w.heading = 0
	var row []byte
	header, headerEnd := len(w.out), 0
	for i, cells := range rows {
		at := len(w.out)
		w.from, w.to = cells[0].Pos(), cells[0].Pos()
		row = row[:0]
		if i == 0 && w.md && !w.isHeader(cells) { // GFM has no table without a header
			for range columns {
				row = append(row, "|  "...)
			}
			w.line(append(row, '|'))
			w.ruler(columns)
			headerEnd = len(w.out)
			row = row[:0]
		}
		count := 0
		for _, cell := range cells {
			for range w.span(cell, columns-count) {
				if w.md {
					row = append(row, "| "...)
				} else if count > 0 {
					row = append(row, " | "...)
				}
				if cell.IsElement() {
					row = append(row, w.cellText(cell)...)
					cell = html.Node{}
				}
				if w.md {
					row = append(row, ' ')
				}
				count++
			}
		}
		for ; count < columns && w.md; count++ {
			row = append(row, "|  "...)
		}
		if w.md {
			row = append(row, '|')
		}
		w.line(row)
		if i == 0 && w.md && w.isHeader(cells) {
			w.ruler(columns)
			headerEnd = len(w.out)
		}
		w.end(at, w.from, w.to, false)
		if i > 0 {
			last := &w.marks[len(w.marks)-1]
			last.header, last.headerEnd = header, headerEnd
		}
	}
	w.heading, w.blockLink = heading, link
	w.gap = true
}

func (w *writer) ruler(columns int) {
	w.line(append(bytes.Repeat([]byte("| --- "), columns), '|'))
}

// isHeader reports whether a row is all headings.
func (w *writer) isHeader(cells []html.Node) bool {
	for _, c := range cells {
		if c.IsElement() && !c.Is(html.AtomTh) {
			return false
		}
	}
	return true
}

// span returns how many columns a cell takes.
func (w *writer) span(cell html.Node, most int) int {
	n, _ := strconv.Atoi(string(cell.FindAttr(html.AtomColspan).Raw()))
	return min(max(n, 1), max(most, 1))
}

// rows returns the cells of a table of data, row by row, and the number of its columns; a zero Node is where a cell from above
// reaches into a row. There are none for a layout.
func (w *writer) rows(table html.Node) (rows [][]html.Node, columns int) {
	role := string(table.FindAttr(html.AtomRole).Raw())
	if role == "presentation" || role == "none" || w.cell || isNoteTable(table) {
		return nil, 0
	}
	end := w.x.info[table.ID()].end
	for id := table.ID() + 1; id < end; id++ {
		n := w.x.doc.Node(id)
		switch n.Atom() {
		case html.AtomTable, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomBlockquote:
			if !w.skips(&w.x.info[id]) {
				return nil, 0
			}
		}
		if w.skips(&w.x.info[id]) {
			id = w.x.skip(id)
		}
	}
	var below []int // rows that the cell of a column still reaches into
	total := 0
	add := func(tr html.Node) {
		if total > maxCells {
			return
		}
		var row []html.Node
		column := 0
		fill := func() {
			for column < len(below) && below[column] > 0 {
				below[column]--
				total++
				row = append(row, html.Node{})
				column++
			}
		}
		found := false
		for c := range tr.Children() {
			if !c.Is(html.AtomTd) && !c.Is(html.AtomTh) || w.skips(&w.x.info[c.ID()]) {
				continue
			}
			fill()
			found = true
			row = append(row, c)
			down, _ := strconv.Atoi(string(c.FindAttr(html.AtomRowspan).Raw()))
			for range w.span(c, 100) {
				if total++; total > maxCells {
					return
				}
				for len(below) <= column {
					below = append(below, 0)
				}
				below[column] = min(max(down, 1), 1000) - 1
				column++
			}
		}
		fill()
		if found {
			rows = append(rows, row)
			columns = max(columns, column)
		}
	}
	for c := range table.Children() {
		switch {
		case w.skips(&w.x.info[c.ID()]):
		case c.Is(html.AtomTr):
			add(c)
		case c.Is(html.AtomTbody), c.Is(html.AtomThead), c.Is(html.AtomTfoot):
			for tr := range c.Children() {
				if tr.Is(html.AtomTr) && !w.skips(&w.x.info[tr.ID()]) {
					add(tr)
				}
			}
		}
	}
	if columns < 2 || total > maxCells || len(rows)*columns > maxCells {
		return nil, 0
	}
	return rows, columns
}

// cellText returns what is in a cell, in one line. It holds until the next call.
func (w *writer) cellText(n html.Node) []byte {
	from, to, closed := w.from, w.to, w.opens
	w.cell, w.opens = true, nil
	w.para = w.para[:0]
	w.space, w.breaks, w.closedAt, w.codeEnd, w.linkEnd = false, 0, 0, 0, 0
	w.children(n)
	w.cell, w.opens = false, closed
	text := w.para
	if w.from < 0 || len(text) == 0 {
		w.from, w.to = from, to
	}
	w.from, w.to = min(from, w.from), max(to, w.to)
	w.para = w.para[:0]
	w.space, w.breaks, w.closedAt, w.codeEnd, w.linkEnd = false, 0, 0, 0, 0
	return text
}

// cellBlock writes a block in a cell: on a line of its own.
func (w *writer) cellBlock(n html.Node) {
	if len(w.para) > 0 {
		w.breaks = 1
	}
	if n.Is(html.AtomPre) && w.md {
		w.cellCode(n)
	} else {
		w.children(n)
	}
	if len(w.para) > 0 {
		w.breaks = 1
	}
}

// cellCode writes a block of code in a cell, each line as a span.
func (w *writer) cellCode(n html.Node) {
	end := w.x.info[n.ID()].end
	w.code++
	for id := n.ID() + 1; id < end; id++ {
		if w.skips(&w.x.info[id]) {
			id = w.x.skip(id)
			continue
		}
		c := w.x.doc.Node(id)
		if c.Kind() != html.TextNode {
			continue
		}
		first := true
		for line := range bytes.Lines(c.Data()) {
			if !first {
				w.endCode()
				w.breaks = min(len(w.para), 1)
			}
			first = false
			w.codeSpan(line, c)
		}
	}
	w.endCode()
	w.code--
}
