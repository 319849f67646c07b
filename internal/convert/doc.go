// Package convert reads numbers, amounts of money and points in time as people write them on pages.
//
//	text → Decimal → "1234.56"
//	text → Money   → "51.77", "GBP"
//	text → Time    → 2 January 2006
//
// It never guesses: a text that two readers could understand in two ways is an error that names the remedy. A [Locale] says how
// a language writes numbers and dates; without one, only what is unambiguous in every locale is read. For example:
//
//	Decimal("1.234,56", nil)    // "1234.56": a point and a comma, the last one is the decimal point
//	Decimal("1.234", nil)       // an error: a thousand and more, or a little more than one
//	Decimal("1.234", Find("de")) // "1234"
//
// All of it is safe for concurrent use.
package convert
