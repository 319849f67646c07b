package xpath

import "github.com/tegenaria/tegenaria/html"

// Work returns how many steps the evaluation of an expression takes.
func (e *Expr) Work(context html.Ref) int {
	ev := newEvaluator(e, context.Node().Document())
	e.root.eval(ev, focus{ref: ref{node: context.Node().ID()}, pos: 1, size: 1})
	return ev.work
}
