package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/tegenaria/tegenaria"
)

// rule is a condition on the counts of a crawl.
type rule struct {
	text    string
	program *vm.Program
	past    bool // it asks for past runs
	fill    bool // it asks how full the fields of items are
}

// newRule compiles a rule.
func newRule(text string) (*rule, error) {
	program, err := expr.Compile(text, expr.Env(reflect.New(factsType).Elem().Interface()), expr.AsBool())
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("the rule %q: %s%s", text, message, meantIn(message))
	}
	r := &rule{text: text, program: program}
	for _, name := range identifiers(program.Node()) {
		r.past = r.past || slices.Contains(pastNames, name)
		r.fill = r.fill || name == "fill"
	}
	return r, nil
}

// meantIn finds what was meant by the name that an error of the compiler complains of.
func meantIn(message string) string {
	_, rest, ok := strings.Cut(message, "unknown name ")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	var names []string
	for i := range factsType.NumField() {
		names = append(names, factsType.Field(i).Tag.Get("expr"))
	}
	return meant(name, names)
}

// newRules compiles rules, and reports all mistakes together.
func newRules(flag string, texts []string) ([]*rule, error) {
	var rules []*rule
	var errs []error
	for _, text := range texts {
		r, err := newRule(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", flag, err)
		}
		rules, errs = append(rules, r), append(errs, err)
	}
	return rules, errors.Join(errs...)
}

// holds reports whether the rule holds for these counts. A rule that cannot be worked out does not hold, and the error says why.
func (r *rule) holds(f facts) (bool, error) {
	result, err := expr.Run(r.program, f.env())
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return false, errors.New(message)
	}
	return result == true, nil
}

// broken says that a rule does not hold, with the counts that it asks for.
func (r *rule) broken(f facts, err error) string {
	text := "the rule is broken: " + r.text
	if err != nil {
		return text + ": " + err.Error()
	}
	if values := r.values(f); len(values) > 0 {
		text += " (" + strings.Join(values, ", ") + ")"
	}
	return text
}

// values are the counts that the rule asks for: "item_scraped = 20".
func (r *rule) values(f facts) (values []string) {
	env := f.env()
	for _, name := range asked(r.program.Node()) {
		if value, err := evaluate(name, env); err == nil && !slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, name+" = ") }) {
			values = append(values, fmt.Sprintf("%s = %v", name, value))
		}
	}
	return values
}

func evaluate(text string, env any) (any, error) {
	program, err := expr.Compile(text, expr.Env(env))
	if err != nil {
		return nil, err
	}
	return expr.Run(program, env)
}

// judged is what is kept of the rule and of these counts.
func (r *rule) judged(f facts) judgedRule {
	holds, _ := r.holds(f) // one that cannot be worked out does not hold
	return judgedRule{Rule: r.text, Holds: holds, Values: r.values(f)}
}

// visitor calls itself for each node of a rule.
type visitor func(n ast.Node)

func (v visitor) Visit(n *ast.Node) { v(*n) }

// identifiers returns the names of a rule, those of counts of run and last among them.
func identifiers(n ast.Node) (names []string) {
	ast.Walk(&n, visitor(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.IdentifierNode:
			names = append(names, n.Value)
		case *ast.MemberNode:
			if isCounts(n.Node) {
				if name, ok := n.Property.(*ast.StringNode); ok {
					names = append(names, name.Value)
				}
			}
		}
	}))
	return names
}

// isCounts reports whether a node is the counts of runs: run, last, median(7).
func isCounts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value == "run" || n.Value == "last"
	case *ast.CallNode:
		name, ok := n.Callee.(*ast.IdentifierNode)
		return ok && slices.Contains(pastNames, name.Value)
	}
	return false
}

// asked returns the counts that a rule asks for: responses, status[404], last.item_scraped, median(7).item_scraped.
func asked(n ast.Node) (names []string) {
	within := make(map[ast.Node]bool) // parts of a longer name
	var nodes []ast.Node
	ast.Walk(&n, visitor(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.MemberNode:
			if isConstant(n.Property) {
				within[n.Node] = true
				nodes = append(nodes, n)
			}
		case *ast.CallNode:
			within[n.Callee] = true
		case *ast.IdentifierNode:
			nodes = append(nodes, n)
		}
	}))
	for _, n := range nodes {
		if !within[n] {
			names = append(names, n.String())
		}
	}
	return names
}

func isConstant(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.StringNode:
		return true
	}
	return false
}

// facts are the counts that rules are about.
type facts struct {
	job, run tegenaria.Stats
	past     []tegenaria.Stats // of the runs that have finished, the newest first
}

// pastNames are the names of what a rule can ask of past runs.
var pastNames = []string{"last", "median", "min"}

// countsType is Stats as rules see it, by the names of its JSON: its maps have texts or numbers as keys. factsType has the same of this
// run and of past ones beside.
var (
	countsType = countsOf()
	ofPastType = reflect.FuncOf([]reflect.Type{reflect.TypeFor[int]()}, []reflect.Type{countsType}, false)
	factsType  = reflect.StructOf(append(visible(countsType),
		reflect.StructField{Name: "Run", Type: countsType, Tag: `expr:"run"`},
		reflect.StructField{Name: "Last", Type: countsType, Tag: `expr:"last"`},
		reflect.StructField{Name: "Median", Type: ofPastType, Tag: `expr:"median"`},
		reflect.StructField{Name: "Min", Type: ofPastType, Tag: `expr:"min"`}))
)

func visible(t reflect.Type) (fields []reflect.StructField) {
	for i := range t.NumField() {
		fields = append(fields, t.Field(i))
	}
	return fields
}

func countsOf() reflect.Type {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tegenaria.Stats]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch t := f.Type; t.Kind() {
		case reflect.Int64:
		case reflect.Map:
			if elem := t.Elem().Kind(); elem != reflect.Int && elem != reflect.Int64 {
				continue
			}
			if t.Key() != reflect.TypeFor[int]() {
				f.Type = reflect.MapOf(reflect.TypeFor[string](), t.Elem())
			}
		default: // a time, say
			continue
		}
		fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(fmt.Sprintf("expr:%q", name))})
	}
	return reflect.StructOf(append(fields,
		reflect.StructField{Name: "ElapsedSeconds", Type: reflect.TypeFor[float64](), Tag: `expr:"elapsed_seconds"`},
		reflect.StructField{Name: "Fill", Type: reflect.TypeFor[map[string]float64](), Tag: `expr:"fill"`}))
}

func (f facts) env() any {
	env := reflect.New(factsType).Elem()
	fillCounts(env, f.job)
	fillCounts(env.FieldByName("Run"), f.run)
	if len(f.past) > 0 {
		fillCounts(env.FieldByName("Last"), f.past[0])
	}
	env.FieldByName("Median").Set(f.ofPast(func(sorted []float64) float64 {
		return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	}))
	env.FieldByName("Min").Set(f.ofPast(func(sorted []float64) float64 { return sorted[0] }))
	return env.Interface()
}

// ofPast returns a func that makes one of each count of the last n runs, or of as many as there are; 0 if there are none.
func (f facts) ofPast(one func(sorted []float64) float64) reflect.Value {
	return reflect.MakeFunc(ofPastType, func(args []reflect.Value) []reflect.Value {
		counts := reflect.New(countsType).Elem()
		var list []reflect.Value
		for _, s := range f.past[:min(len(f.past), max(0, int(args[0].Int())))] {
			of := reflect.New(countsType).Elem()
			fillCounts(of, s)
			list = append(list, of)
		}
		for i := range counts.NumField() {
			to := counts.Field(i)
			if to.Kind() != reflect.Map {
				to.Set(oneOf(to.Type(), list, one, func(of reflect.Value) reflect.Value { return of.Field(i) }))
				continue
			}
			to.Set(reflect.MakeMap(to.Type()))
			for _, of := range list {
				for _, key := range of.Field(i).MapKeys() {
					to.SetMapIndex(key, oneOf(to.Type().Elem(), list, one, func(of reflect.Value) reflect.Value { return of.Field(i).MapIndex(key) }))
				}
			}
		}
		return []reflect.Value{counts}
	})
}

// oneOf makes one value of the type t of those of several runs. A run that has none counts as one with 0.
func oneOf(t reflect.Type, runs []reflect.Value, one func(sorted []float64) float64, value func(run reflect.Value) reflect.Value) reflect.Value {
	sorted := make([]float64, len(runs))
	for i, run := range runs {
		if v := value(run); v.IsValid() {
			sorted[i] = v.Convert(reflect.TypeFor[float64]()).Float()
		}
	}
	if len(sorted) == 0 {
		return reflect.Zero(t)
	}
	slices.Sort(sorted)
	return reflect.ValueOf(one(sorted)).Convert(t)
}

func fillCounts(to reflect.Value, s tegenaria.Stats) {
	from := reflect.ValueOf(s)
	for i := range countsType.NumField() {
		f := countsType.Field(i)
		value := from.FieldByName(f.Name)
		switch {
		case f.Name == "ElapsedSeconds":
			value = reflect.ValueOf(s.Elapsed.Seconds())
		case f.Name == "Fill":
			value = reflect.ValueOf(fillOf(s.Fields))
		case value.Type() != f.Type: // a map with other keys
			named := reflect.MakeMap(f.Type)
			for it := value.MapRange(); it.Next(); {
				named.SetMapIndex(reflect.ValueOf(fmt.Sprint(it.Key().Interface())), it.Value())
			}
			value = named
		}
		to.FieldByName(f.Name).Set(value)
	}
}

// fillOf returns for each field of items, by its name without the type, in which part of them it is filled.
func fillOf(fields map[string]tegenaria.FieldStats) map[string]float64 {
	items, filled := make(map[string]int64), make(map[string]int64)
	for key, f := range fields {
		name := key[strings.IndexByte(key, '.')+1:]
		items[name] += f.Items
		filled[name] += f.Filled
	}
	parts := make(map[string]float64)
	for name, n := range items {
		if n > 0 {
			parts[name] = float64(filled[name]) / float64(n)
		}
	}
	return parts
}
