"""Walks a web site breadth-first and prints one line of JSON for each URL: the independent witness of
e2e. It uses nothing of this repository and nothing but the standard library.

    walk.py URL

The lines have url, final_url, status, depth, title, words and links as tegenaria crawl URL
writes them, in the order of the walk. Only the host of the URL is asked, one request at a time. URLs that
answered with an error have a line with url, status and depth alone, and redirects have one too.
"""

import collections
import html.parser
import http.client
import json
import sys
import urllib.parse

# Elements that browsers show on a line or in a cell of their own, so that they separate words: HTML
# standard, section 15.3, and the line break.
SEPARATORS = set(
    """address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li
    listing main menu nav noscript ol optgroup option p plaintext pre search section select summary
    table tbody td textarea tfoot th thead title tr ul xmp""".split()
)
SILENT = {"script", "style", "template"}


class Page(html.parser.HTMLParser):
    """Title, visible text and links of a page."""

    def __init__(self, url, markup):
        super().__init__(convert_charrefs=True)
        self.base = url
        self.hrefs = []
        self.title = None
        self.text = []
        self.in_title = self.in_body = False
        self.silent = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attributes):
        href = dict(attributes).get("href")
        if tag in ("a", "area") and href and href.strip():
            self.hrefs.append(href.strip())
        elif tag == "title" and self.title is None:
            self.title, self.in_title = "", True
        elif tag == "body":
            self.in_body = True
        elif tag in SILENT:
            self.silent += 1
        if tag in SEPARATORS:
            self.text.append(" ")

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        elif tag in SILENT:
            self.silent -= 1
        if tag in SEPARATORS:
            self.text.append(" ")

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        elif self.in_body and not self.silent:
            self.text.append(data)

    def words(self):
        return len("".join(self.text).split())

    def links(self):
        """The different http and https URLs that the page links to, in order."""
        urls = {}
        for href in self.hrefs:
            url = absolute(self.base, href)
            if url:
                urls[url] = True
        return list(urls)


def absolute(base, ref):
    """The URL that ref means, without fragment; None for other schemes than http and https."""
    try:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(base, ref))
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.lower(), path, parts.query, ""))


def ask(url):
    """Status, header and body of one GET."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def walk(start):
    host = urllib.parse.urlsplit(start).netloc
    seen = {start}
    queue = collections.deque([(start, start, 0)])  # what to ask, what was found, its depth
    while queue:
        url, found, depth = queue.popleft()
        status, header, body = ask(url)
        if status in (301, 302, 303, 307, 308):
            yield {"url": url, "status": status, "depth": depth}
            target = absolute(url, header["Location"])
            if target and target not in seen and urllib.parse.urlsplit(target).netloc == host:
                seen.add(target)
                queue.appendleft((target, found, depth))
            continue
        if status >= 400:
            yield {"url": url, "status": status, "depth": depth}
            continue
        line = {"url": found, "final_url": url, "status": status, "depth": depth, "title": "", "words": 0, "links": 0}
        if header.get_content_type() == "text/html":
            page = Page(url, body.decode(header.get_content_charset("utf-8")))
            links = page.links()
            line["title"] = " ".join((page.title or "").split())
            line["words"], line["links"] = page.words(), len(links)
            for link in links:
                if link not in seen and urllib.parse.urlsplit(link).netloc == host:
                    seen.add(link)
                    queue.append((link, link, depth + 1))
        yield line


for line in walk(sys.argv[1]):
    print(json.dumps(line, ensure_ascii=False))
