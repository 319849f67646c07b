// Package pipeline has item pipelines that most crawls need: they clean items, say where they come from, check them, bound their number
// and find texts that are nearly the same.
//
// An item passes them in this order, unless their options have other priorities:
//
//	Parser → Clean 100 → Stamp 200 → Validate 300 → schema 310 → your own → NearDuplicates -500 → Budget -400 → feeds 0
//
// [NearDuplicates] and [Budget] keep state with the job, as feeds do, so they come after all pipelines that do not. What package schema has
// checks items by a JSON Schema. [feed.Unique] is what removes items with the same key.
//
// A short example:
//
//	type Book struct {
//		Title  string           `json:"title" min:"1"`
//		Price  float64          `json:"price" min:"0.01" max:"1000"`
//		Cover  string           `json:"cover,omitempty" url:"true"`
//		Origin *pipeline.Origin `json:"origin,omitempty"`
//	}
//
//	tegenaria.EngineWithPipelines(
//		pipeline.Clean[Book](pipeline.CleanOptions{}),
//		pipeline.Stamp[Book](pipeline.StampOptions{}),
//		pipeline.Validate[Book](pipeline.ValidateOptions{Drop: true}),
//		feed.JSONL("books.jsonl"),
//	)
//
// A pipeline of a type takes items of this type; others pass it unchanged. Mistakes in tags and options are errors of Run before
// the first request, all at once. The pipelines change copies of items: what a parser still holds stays as it is.
//
// [feed.Unique]: https://pkg.go.dev/github.com/tegenaria/tegenaria/feed#Unique
package pipeline

import "github.com/tegenaria/tegenaria"

// The places of the pipelines, unless their options say another one. Those of [NearDuplicates] and [Budget] are among the committers,
// which come after all other pipelines.
const (
	CleanPriority    = 100
	StampPriority    = 200
	ValidatePriority = 300
	NearPriority     = -500
	BudgetPriority   = -400
)

// mistaken is a pipeline that cannot be used. It reports why when the engine is wired.
type mistaken struct {
	priority int
	err      error
}

// GetPriority is part of tegenaria.PipelinesInterface.
func (m mistaken) GetPriority() int { return m.priority }

// Mistake returns the error, with which the engine refuses to begin.
func (m mistaken) Mistake() error { return m.err }

// ProcessItem fails.
func (m mistaken) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return m.err }
