package charset_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/html/charset"
)

func ExampleDecode() {
	page := []byte("<meta charset=shift_jis><title>\x93\xfa\x96\x7b</title>")
	text, encoding, source := charset.Decode(page, "text/html")
	fmt.Printf("%s (%v by %v)\n", text, encoding, source)
	// Output: <meta charset=shift_jis><title>日本</title> (Shift_JIS by document)
}

func ExampleDetect() {
	encoding, source := charset.Detect([]byte("<p>déjà vu"), "text/html")
	fmt.Println(encoding, "by", source)
	encoding, source = charset.Detect([]byte("<p>d\xe9j\xe0 vu"), "text/html; charset=latin1")
	fmt.Println(encoding, "by", source)
	// Output:
	// UTF-8 by validity
	// windows-1252 by header
}

func ExampleLookup() {
	encoding, ok := charset.Lookup(" Latin1 ")
	fmt.Println(encoding, ok)
	// Output: windows-1252 true
}

func ExamplePrescan() {
	fmt.Println(charset.Prescan([]byte(`<?xml version="1.0" encoding="koi8-r"?>`)))
	// Output: KOI8-R true
}

func ExampleEncoding_Decode() {
	fmt.Printf("%s\n", charset.Windows1251.Decode([]byte("\xef\xf0\xe8\xe2\xe5\xf2")))
	// Output: привет
}

func ExampleEncoding_AppendQuery() {
	fmt.Printf("%s\n", charset.ISO8859_15.AppendQuery(nil, "price=5€"))
	// Output: price=5%A4
}
