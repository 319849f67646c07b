// Package xmlstream reads XML as it is found on the web as a stream, in memory that does not grow with the document.
//
// The flow: [Open] takes compression and encoding off, a [Tape] knows where in the document it is, and a [Scanner]
// finds the tags and, where it is wanted, the text between them.
//
//	in, err := xmlstream.Open(body, 50<<20, "")
//	s := xmlstream.Scanner{In: xmlstream.NewTape(in)}
//	for token, err := s.Scan(); token != xmlstream.EndOfInput; token, err = s.Scan() {
package xmlstream
