// Package enginetest is what tests of the engine share.
//
// A [World] is a Downloader that answers from memory and remembers what was asked when; a [Spider], [Hooks] and others are user
// code made of funcs; [Run] and [MustRun] run an engine and check its ledger. Most tests do that in a bubble of testing/synctest:
//
//	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2"))
//	stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/")))
//
// A [Plan] is a random crawl made of a seed: hosts, pages, failures, a spider, middlewares, pipelines, limits and stops. A
// [Crawl] runs it and returns what was wrong, by what the servers and the user's code have seen and by a model of what had to
// happen. A [CrashCache] is a durable cache whose process can die at any moment.
//
// Tests of package tegenaria that are in the package itself cannot import it.
package enginetest
