// Package demosite is a small web site of books and quotes that the examples and tests crawl
// without leaving the machine. It is deterministic: equal requests have equal answers, in every
// process, but for the pages whose purpose is to fail at first, and for the news.
//
//	/                        links to everything below
//	/quotes/                 10 pages of 10 quotes; then /quotes/page/2/ … /quotes/page/10/
//	                         div.quote, span.text, small.author, a.tag, li.next a
//	/quotes/tag/NAME/        the quotes with a tag
//	/author/SLUG/            one page for each author
//	/books/                  4 pages of 12 books; then /books/page/2/ … /books/page/4/
//	                         article.product_pod, p.price_color, p.availability, li.next a
//	/books/category/SLUG/    the books of a category
//	/books/SLUG/             title, price, stock and a table.product_information
//	/covers/SLUG.png         the picture of a book, img.cover of its page
//	/api/quotes?page=N       the quotes as JSON, 10 a page, with has_next
//	/api/search              POST {"text": "love", "page": 1}: the quotes that contain the text, as JSON like the above
//	                         {"page": 1, "has_next": true, "quotes": [{"text": "…", "author": {"name": "…", "slug": "…"}, "tags": ["…"]}]}
//	/login/                  a form with a hidden token and a cookie; its fields user and password take User and Password
//	/account/                three orders, ul.orders li, for those who are logged in; others are sent to /login/
//	/sitemap.xml             the pages of the books
//	/news.xml                a feed of new books, with an ETag; every second request finds one more
//	/robots.txt              forbids /private/
//	/private/, /private/diary/
//	/corners/                links to the odd corners that follow
//	/corners/itself/?a=1&b=2 links to itself, with a permuted query and with fragments
//	/old/, /old/books/       redirects to /quotes/ and /books/
//	/old/hops/3              three redirects in a row; /old/loop/ redirects to itself for ever
//	/old/refresh/            a meta refresh to /books/
//	/flaky/1 … /flaky/3      503 for the first two requests of each, then 200
//
// Serve it and crawl it:
//
//	site := demosite.MustStart()
//	defer site.Close()
//	crawl(site.URL() + "/quotes/")
//	for _, e := range site.Log() {
//		fmt.Println(e.Method, e.URL) // what was really asked for
//	}
//
// The quotes and the titles are real and in the public domain; prices and stocks are made up. The
// package uses nothing but the standard library, so that it is a witness independent of the crawler.
package demosite
