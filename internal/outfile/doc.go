// Package outfile is what all outputs of a crawl need for files that survive a crash.
//
//	Disk       the file system: what it has renamed stays renamed
//	Replace    a file as it was, or all of the new one
//	Tail       the end of a file, by which it is known again after a crash
//	Template   names of files, made of a path with fields: {spider}, {start}, {part} and others
//
// A short example:
//
//	err := outfile.Disk{}.Rename("items.jsonl.part", "items.jsonl")
package outfile
