package parquet

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria/internal/columns"
)

// schema is the columns of a struct type, and how its values become theirs.
type schema struct {
	parquet *parquet.Schema
	leaves  []leaf
	root    *node
}

// leaf is a column that holds values. Groups, lists and maps hold leaves.
type leaf struct {
	kind           parquet.Kind
	size           uint8 // of its values in a spool, 0 if they have a length
	maxRep, maxDef uint8 // as Parquet numbers repeated and optional things above a value
}

// node is a thing in the tree of a type: a value, a group, a list or a map.
type node struct {
	name        string // of the field, for messages
	optional    bool
	pointers    int // above the value
	nilable     bool
	first, last int // its leaves are [first, last)
	put         func(r *row, v reflect.Value, rep, def uint8) error
}

// shred adds a value to the columns of a node.
func (n *node) shred(r *row, v reflect.Value, rep, def uint8) error {
	for range n.pointers {
		if v.IsNil() {
			n.null(r, rep, def)
			return nil
		}
		v = v.Elem()
	}
	if n.nilable && v.IsNil() {
		n.null(r, rep, def)
		return nil
	}
	if n.optional {
		def++
	}
	return n.put(r, v, rep, def)
}

// null adds that there is no value.
func (n *node) null(r *row, rep, def uint8) {
	for i := n.first; i < n.last; i++ {
		r.level(i, rep, def)
	}
}

// schemaOf returns the schema of a struct type. The names and the order of its columns are those of encoding/json.
func schemaOf(t reflect.Type) (s *schema, err error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("type %s is no struct: give New the type of a struct", t)
	}
	b := planner{}
	root, group, err := b.group(t, "", 0, 0)
	if err != nil {
		return nil, err
	}
	return &schema{parquet: parquet.NewSchema("item", group), leaves: b.leaves, root: root}, nil
}

// planner makes a schema.
type planner struct {
	leaves []leaf
	above  []reflect.Type // structs that the type is in
}

// deepest is how many lists, maps, pointers and structs may be within one another.
const deepest = 100

var (
	timeType      = reflect.TypeFor[time.Time]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func implements(t, abilities reflect.Type) bool {
	return t.Implements(abilities) || reflect.PointerTo(t).Implements(abilities)
}

// node makes the node of a type. rep and def are the levels of what it is in.
func (b *planner) node(t reflect.Type, tag *tag, name string, optional bool, rep, def uint8) (*node, parquet.Node, error) {
	n := &node{name: name, optional: optional, first: len(b.leaves)}
	for t.Kind() == reflect.Pointer {
		t, n.pointers, n.optional = t.Elem(), n.pointers+1, true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		n.nilable, n.optional = true, true
	}
	form := b.form(t, tag)
	if form == asJSON {
		n.optional = true // of "null"
	}
	if n.optional {
		def++
	}
	if rep > deepest || def > deepest {
		return nil, nil, fmt.Errorf("field %s is nested more than %d levels deep", name, deepest)
	}
	var tree parquet.Node
	var err error
	switch form {
	case asGroup:
		var group *node
		if group, tree, err = b.group(t, name, rep, def); err == nil {
			n.put = group.put
		}
	case asList:
		tree, err = b.list(n, t, tag, rep, def)
	case asMap:
		tree, err = b.dictionary(n, t, tag, rep, def)
	default:
		tree, err = b.leaf(n, t, form, tag, rep, def)
	}
	if err != nil {
		return nil, nil, err
	}
	n.last = len(b.leaves)
	if n.optional {
		tree = parquet.Optional(tree)
	}
	return n, tree, nil
}

// form says what a type becomes.
type form uint8

const (
	asJSON form = iota
	asDecimal
	asTime
	asText // by MarshalText
	asGroup
	asList
	asMap
	asScalar
)

func (b *planner) form(t reflect.Type, tag *tag) form {
	switch {
	case tag.precision > 0 && (isNumber(t) || t.Kind() == reflect.String || implements(t, textMarshaler)):
		return asDecimal
	case t == timeType:
		return asTime
	case implements(t, jsonMarshaler):
		return asJSON
	case implements(t, textMarshaler):
		return asText
	}
	switch t.Kind() {
	case reflect.Struct:
		if fields, err := columns.Of(t); err == nil && len(fields) > 0 && !slices.Contains(b.above, t) {
			return asGroup
		}
	case reflect.Map:
		if k := t.Key(); k.Kind() == reflect.String || implements(k, textMarshaler) || isNumber(k) && k.Kind() < reflect.Float32 {
			return asMap
		}
	case reflect.Slice:
		if isBytes(t) {
			return asScalar
		}
		return asList
	case reflect.Array:
		if t.Len() > 0 {
			return asList
		}
	case reflect.Interface:
	default:
		return asScalar
	}
	return asJSON
}

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// isBytes reports whether JSON would have base64 of a type.
func isBytes(t reflect.Type) bool {
	e := t.Elem()
	return e.Kind() == reflect.Uint8 && !implements(e, jsonMarshaler) && !implements(e, textMarshaler)
}

// group makes the node of a struct.
func (b *planner) group(t reflect.Type, name string, rep, def uint8) (*node, parquet.Node, error) {
	fields, err := columns.Of(t)
	if err != nil {
		return nil, nil, err
	}
	if len(fields) == 0 {
		return nil, nil, fmt.Errorf("type %s has no fields that JSON would hold", t)
	}
	b.above = append(b.above, t)
	defer func() { b.above = b.above[:len(b.above)-1] }()
	n := &node{name: name, first: len(b.leaves)}
	tree, nodes := &group{}, make([]*node, len(fields))
	for i := range fields {
		f := &fields[i]
		path := f.Name
		if name != "" {
			path = name + "." + f.Name
		}
		tag, err := parseTag(f.Tag.Get("parquet"))
		if err != nil {
			return nil, nil, fmt.Errorf("field %s: %w", path, err)
		}
		inner, child, err := b.node(f.Type, tag, path, f.MayBeAbsent(t), rep, def)
		if err != nil {
			return nil, nil, err
		}
		if tag.precision > 0 && !tag.used {
			return nil, nil, fmt.Errorf("field %s: a value of type %s is no decimal", path, f.Type)
		}
		nodes[i], tree.fields = inner, append(tree.fields, &field{child, f.Name})
	}
	n.last = len(b.leaves)
	n.put = func(r *row, v reflect.Value, rep, def uint8) error {
		for i := range fields {
			value, ok := fields[i].Value(v)
			if !ok {
				nodes[i].null(r, rep, def)
				continue
			}
			if err := nodes[i].shred(r, value, rep, def); err != nil {
				return err
			}
		}
		return nil
	}
	return n, tree, nil
}

func (b *planner) list(n *node, t reflect.Type, tag *tag, rep, def uint8) (parquet.Node, error) {
	inner, element, err := b.node(t.Elem(), tag, n.name, false, rep+1, def+1)
	if err != nil {
		return nil, err
	}
	again := rep + 1
	n.put = func(r *row, v reflect.Value, rep, def uint8) error {
		if v.Len() == 0 {
			n.null(r, rep, def)
			return nil
		}
		for i := range v.Len() {
			if err := inner.shred(r, v.Index(i), rep, def+1); err != nil {
				return err
			}
			rep = again
		}
		return nil
	}
	return parquet.List(element), nil
}

func (b *planner) dictionary(n *node, t reflect.Type, tag *tag, rep, def uint8) (parquet.Node, error) {
	keys, key, err := b.node(t.Key(), &noTag, n.name, false, rep+1, def+1)
	if err == nil && keys.optional {
		err = fmt.Errorf("field %s: its keys may be nil", n.name)
	}
	if err != nil {
		return nil, err
	}
	values, value, err := b.node(t.Elem(), tag, n.name, false, rep+1, def+1)
	if err != nil {
		return nil, err
	}
	again := rep + 1
	n.put = func(r *row, v reflect.Value, rep, def uint8) error {
		if v.Len() == 0 {
			n.null(r, rep, def)
			return nil
		}
		for _, k := range sortedKeys(v) {
			if err := keys.shred(r, k, rep, def+1); err != nil {
				return err
			}
			if err := values.shred(r, v.MapIndex(k), rep, def+1); err != nil {
				return err
			}
			rep = again
		}
		return nil
	}
	return parquet.Map(key, value), nil
}

func sortedKeys(m reflect.Value) []reflect.Value {
	list := m.MapKeys()
	slices.SortFunc(list, func(a, b reflect.Value) int {
		switch {
		case a.Kind() == reflect.String:
			return strings.Compare(a.String(), b.String())
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		}
		return 0 // they write their own texts
	})
	return list
}

// leaf makes the column of a value.
func (b *planner) leaf(n *node, t reflect.Type, form form, tag *tag, rep, def uint8) (parquet.Node, error) {
	i := len(b.leaves)
	var tree parquet.Node
	switch form {
	case asJSON:
		tree, n.put = parquet.JSON(), putJSON(n, i)
	case asDecimal:
		tag.used = true
		tree, n.put = decimalNode(tag), putDecimal(n, i, t, tag)
	case asTime:
		tree, n.put = parquet.Timestamp(tag.unit.unit), putTime(n, i, tag.unit)
	case asText:
		tree, n.put = parquet.Encoded(parquet.String(), &parquet.RLEDictionary), putMarshaled(n, i)
	default:
		if tree, n.put = scalar(n, i, t); tree == nil {
			return nil, fmt.Errorf("field %s: there is no column for values of type %s: give it the tag json:\"-\"", n.name, t)
		}
	}
	b.leaves = append(b.leaves, leaf{kind: tree.Type().Kind(), size: sizeOf(tree.Type().Kind()), maxRep: rep, maxDef: def})
	return tree, nil
}

// scalar returns the column of a basic type; nil if there is none.
func scalar(n *node, i int, t reflect.Type) (parquet.Node, func(r *row, v reflect.Value, rep, def uint8) error) {
	switch t.Kind() {
	case reflect.Bool:
		return parquet.Leaf(parquet.BooleanType), func(r *row, v reflect.Value, rep, def uint8) error {
			var x byte
			if v.Bool() {
				x = 1
			}
			r.level(i, rep, def)
			r.cells[i].data = append(r.cells[i].data, x)
			return nil
		}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return parquet.Int(t.Bits()), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put32(i, uint32(v.Int()))
			return nil
		}
	case reflect.Int, reflect.Int64:
		return parquet.Int(64), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put64(i, uint64(v.Int()))
			return nil
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return parquet.Uint(t.Bits()), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put32(i, uint32(v.Uint()))
			return nil
		}
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return parquet.Uint(64), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put64(i, v.Uint())
			return nil
		}
	case reflect.Float32:
		return parquet.Leaf(parquet.FloatType), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put32(i, math.Float32bits(float32(v.Float())))
			return nil
		}
	case reflect.Float64:
		return parquet.Leaf(parquet.DoubleType), func(r *row, v reflect.Value, rep, def uint8) error {
			r.level(i, rep, def)
			r.put64(i, math.Float64bits(v.Float()))
			return nil
		}
	case reflect.String:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary), func(r *row, v reflect.Value, rep, def uint8) error {
			return r.putText(n, i, rep, def, validText(v.String()))
		}
	case reflect.Slice: // of bytes
		return parquet.Leaf(parquet.ByteArrayType), func(r *row, v reflect.Value, rep, def uint8) error {
			return putBytes(r, n, i, rep, def, v.Bytes())
		}
	}
	return nil, nil
}

// group is a struct, whose columns are in its order. parquet.Group sorts them.
type group struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the columns.
func (g *group) Fields() []parquet.Field { return g.fields }

// GoType is not used: rows are no Go values here.
func (g *group) GoType() reflect.Type { return reflect.TypeFor[any]() }

// String returns the columns, in the way of Parquet.
func (g *group) String() string { return fmt.Sprintf("group of %d fields", len(g.fields)) }

// field is a column of a group.
type field struct {
	parquet.Node
	name string
}

// Name returns its name.
func (f *field) Name() string { return f.name }

// Value is not used: rows are no Go values here.
func (f *field) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// tag is what a field says of its column: parquet:"decimal(2:10)", parquet:"timestamp(nanosecond)".
type tag struct {
	scale, precision int // of a decimal, 0 for none
	unit             unit
	used             bool
}

// unit is the unit of a time.
type unit struct {
	unit     parquet.TimeUnit
	duration time.Duration
}

var (
	noTag = tag{unit: units["microsecond"]}
	units = map[string]unit{
		"millisecond": {parquet.Millisecond, time.Millisecond},
		"microsecond": {parquet.Microsecond, time.Microsecond},
		"nanosecond":  {parquet.Nanosecond, time.Nanosecond},
	}
)

// mostDigits of a decimal are what 16 bytes hold.
const mostDigits = 38

func parseTag(text string) (*tag, error) {
	t := noTag
	if text == "" {
		return &t, nil
	}
	option, inner, ok := strings.Cut(strings.TrimPrefix(text, ","), "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if ok && closed {
		switch option {
		case "decimal":
			scale, precision, _ := strings.Cut(inner, ":")
			var err, second error
			t.scale, err = strconv.Atoi(scale)
			t.precision, second = strconv.Atoi(precision)
			if err == nil && second == nil && t.scale >= 0 && t.precision > 0 && t.precision <= mostDigits && t.scale <= t.precision {
				return &t, nil
			}
		case "timestamp":
			if t.unit, ok = units[inner]; ok {
				return &t, nil
			}
		}
	}
	return nil, fmt.Errorf("the tag parquet:%q is neither decimal(SCALE:PRECISION), of at most %d digits, nor "+
		"timestamp(UNIT), of millisecond, microsecond or nanosecond; names are those of json", text, mostDigits)
}
