package html

// Work returns how many steps parsing took: tokens, entries of the stack of open elements and of the
// list of formatting elements that were looked at or moved, comparisons of attributes, nodes moved.
func Work(d *Document) int { return d.work }

// Far reports whether the adoption agency algorithm took elements out of the list of active formatting elements because
// they were more than three from the furthest block.
func Far(d *Document) bool { return d.far }

// Reordered reports whether the nodes of a document had to be brought into document order.
func Reordered(d *Document) bool { return d.reordered }
