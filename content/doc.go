// Package content finds what a page says to its readers, and tells texts apart that say nearly the same.
//
// [Extract] finds the main text of a page in the tree that package html made of it, and parses nothing again. An [Article] is plain text,
// Markdown, HTML or a list of chunks:
//
//	article, err := content.Extract(doc, "https://example.com/page")
//	fmt.Println(article.Title, article.Text)
//	for _, chunk := range article.Chunks(400) {
//		store(chunk.ID, chunk.Headings, chunk.Text)
//	}
//
// It goes over the nodes of the page five times. The first time it counts characters, links and commas, and drops what no reader sees.
// Then it marks elements whose classes, ids and roles say that they are no text (comments, navigation, advertisements), unless they have
// most of the page. Then each paragraph gives a score to the elements around it, the best of them is the text, and it grows upwards as
// long as what is added reads like text. At last the parts that are lists of links, forms or shares are dropped. On documentation names do
// not judge prose: the text is the smallest element with nearly all of it, and only what is clearly no text is dropped inside.
// [Article.Left] lists what is not in the article, with the reasons: no word is lost in silence. Article.Kind says what the page is, and
// Article.Confidence how likely it is that the text is whole. Where the rules choose wrongly, [Main] names
// the element with the text, and [Markdown] and [Chunks] convert any element.
//
// [Simhash] makes a hash of a text that changes little when the text changes little. [Near] is an index of such hashes: it finds
// all that differ from a hash in at most three bits, and misses none.
//
//	index := content.NewNear(0)
//	hash, _ := content.Simhash(text)
//	for id, distance := range index.Find(hash) {
//		fmt.Println("like document", id, "but for", distance, "bits")
//	}
//	id, err := index.Add(hash)
package content
