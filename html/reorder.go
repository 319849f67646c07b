package html

// reorder numbers the nodes anew so that numbers follow document order, and drops those that are not
// in the tree.
func (d *Document) reorder() {
	nodes := d.nodes
	first := make([]uint32, len(nodes)) // children
	// The field prev can be found again from next, so it may hold the new number for a while.
	for i := range nodes {
		n := &nodes[i]
		if n.prev == 0 {
			first[n.parent] = uint32(i)
		}
		n.prev = 0
	}
	count := uint32(0)
	for id := uint32(1); ; {
		count++
		nodes[id].prev = count
		if first[id] != 0 {
			id = first[id]
			continue
		}
		for id != 1 && nodes[id].next == 0 {
			id = nodes[id].parent
		}
		if id == 1 {
			break
		}
		id = nodes[id].next
	}
	rest := count
	for i := 1; i < len(nodes); i++ {
		if n := &nodes[i]; n.prev == 0 {
			rest++
			n.prev = rest
			n.parent, n.last, n.next = 0, 0, 0
		}
	}
	for i := 1; i < len(nodes); i++ {
		n := &nodes[i]
		n.parent, n.last, n.next = nodes[n.parent].prev, nodes[n.last].prev, nodes[n.next].prev
	}
	for i := 1; i < len(nodes); i++ {
		for to := nodes[i].prev; to != uint32(i); to = nodes[i].prev {
			nodes[i], nodes[to] = nodes[to], nodes[i]
		}
	}
	d.nodes = nodes[:count+1]
	for i := range d.nodes {
		d.nodes[i].prev = 0
	}
	for i := 1; i < len(d.nodes); i++ {
		if next := d.nodes[i].next; next != 0 {
			d.nodes[next].prev = uint32(i)
		}
	}
	d.work += 4 * len(nodes)
}
