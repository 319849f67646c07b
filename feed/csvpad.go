package feed

// padder copies a file of rows, and gives it a header of all columns and each row as many cells.
type padder struct {
	document *csvDocument
	skip     bool // the old header is not over yet
	quoted   bool
	cells    int // of the row, without the last
	buf      []byte
}

func newPadder(d *csvDocument) *padder {
	whole := *d
	return &padder{document: d, skip: true, buf: whole.begin(nil)}
}

// pad returns the new text for the next piece of the old one, which is valid until the next call.
func (p *padder) pad(piece []byte) []byte {
	comma := p.document.format.separator()
	for _, c := range piece {
		switch {
		case c == '"':
			p.quoted = !p.quoted
		case p.quoted:
		case c == comma:
			p.cells++
		case c == '\r': // a cell with one is in quotes: this one ends the row, and comes back if it should
			continue
		case c == '\n':
			if !p.skip {
				for ; p.cells < len(p.document.columns)-1; p.cells++ {
					p.buf = append(p.buf, comma)
				}
				p.buf = p.document.endRow(p.buf)
			}
			p.skip, p.cells = false, 0
			continue
		}
		if !p.skip {
			p.buf = append(p.buf, c)
		}
	}
	text := p.buf
	p.buf = p.buf[:0]
	return text
}
