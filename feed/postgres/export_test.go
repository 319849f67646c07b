package postgres

// What the fuzz tests call.
var (
	AppendNumeric = appendNumeric
	HasNUL        = hasNUL
)
