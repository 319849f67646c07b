package project

// For the tests.
var (
	BuiltAs  = built
	SumOfMod = sumOfMod
)
