// Package project makes and finds projects: the folders with a tegenaria.yaml and a program whose spiders have the commands of
// package cli.
//
//	from, err := project.Built()                                    // the framework that this program is made of
//	err = project.Create("shop", "list", from)                      // go.mod, go.sum, main.go, a spider, its page and its test
//	path, err := project.Find("shop/testdata")                      // shop/tegenaria.yaml
//	added, err := project.AddSpider("shop", "books", "https://books.example/")
//
// The folders list, api and sitemap are the templates. They are programs like any other, so that they are compiled and tested where
// they lie; single has the spider that AddSpider adds. release.mod and release.sum are copies of the module's own go.mod and go.sum,
// and needed.txt lists the modules in them that a project compiles: a new project needs nothing that the command was not built with.
package project
