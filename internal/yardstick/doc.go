// Package yardstick compares texts and Markdown with those that are known to be right. The tests of package content use it, and the
// benchmarks that put other programs beside it.
//
// The pages are other people's and do not ship with the project: 947 of trafilatura's evaluation ([Evaluation]) and Debian's manuals
// ([ManualPages]). [Compare] compares texts by their words, [RoundTrip] an article with what [Pandoc] makes of its Markdown.
package yardstick
