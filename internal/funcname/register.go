package funcname

import "fmt"

// Register returns what to write so that the func has a name: a call of namer, "spider.On" for example. wrap is how the
// value that is registered is made of the func, "tegenaria.Handle(%s)" for example; "%s" is the func itself.
func (d Description) Register(namer, wrap string) string {
	switch {
	case d.Literal:
		return fmt.Sprintf(`detail := %s once, before the crawl, then %s("detail", detail), and pass that variable; or make the func literal a top-level func or a method`,
			fmt.Sprintf(wrap, "…"), namer)
	case d.Method:
		return fmt.Sprintf("%s(%q, %s), where s is the value whose method was passed", namer, d.Last, fmt.Sprintf(wrap, "s."+d.Last))
	}
	return fmt.Sprintf("%s(%q, %s)", namer, d.Last, fmt.Sprintf(wrap, d.Last))
}
