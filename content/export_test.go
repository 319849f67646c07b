package content

import "github.com/tegenaria/tegenaria/html"

// Place says where a node of a page is: in the article, and there in a caption, which Text leaves out.
func (a *Article) Place(n html.Node) (article, caption bool) {
	if n.ID() < a.x.root || n.ID() >= a.x.info[a.x.root].end {
		return false, false
	}
	for ; ; n = n.Parent() {
		f := a.x.info[n.ID()].flags
		if f&(dead|dropped) != 0 {
			return false, false
		}
		caption = caption || f&captioned != 0
		if n.ID() == a.x.root {
			return true, caption
		}
	}
}
