package html_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// EndID of each of hundreds of thousands of elements inside each other. It would take minutes if each call went down the branch.
func TestEndsOfDeepNodes(t *testing.T) {
	const depth = 400_000
	var d html.Document
	for _, page := range []string{strings.Repeat("<i>", depth) + "x", strings.Repeat("<b>", 100) + "x"} { // the second one in the same memory
		if err := d.Reset([]byte(page)); err != nil {
			t.Fatal(err)
		}
		for id := d.Element().LastChild().ID(); int(id) <= d.Len(); id++ {
			if end := d.Node(id).EndID(); int(end) != d.Len()+1 {
				t.Fatalf("node %d of %d ends at %d", id, d.Len(), end)
			}
		}
	}
	// The ends of nodes that have siblings behind them.
	page := parse(t, strings.Repeat("<div><p>x</p>", 200)+strings.Repeat("</div><i></i>", 200))
	for range 3 {
		if err := check(page); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzGrowth fails if a page of twice the size takes far more than twice the time to be parsed, walked and written.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{{"<div>", "x "}, {"<b>", "</b>"}, {"<table><tr><td>", "<p>"}, {"<svg><desc>", "</p>"}, {"<p a='&amp;' b>", "<!--"}, {"<template>", "<a>"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			d, err := html.Parse(page)
			if err != nil {
				return
			}
			for id := 1; id <= d.Len(); id++ {
				d.Node(uint32(id)).EndID()
			}
			d.Index().Kin()
			_, _ = len(d.Root().CollapsedText()), len(d.Root().HTML())
			_, _ = html.ParseXML(page, html.Lenient())
		})
	})
}
