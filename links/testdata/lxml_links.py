"""Finds the links of pages with lxml: the independent witness of package links. It uses nothing of
this repository.

    lxml_links.py BASE FOLDER <PAGES

PAGES are paths below FOLDER, one a line; BASE/path is the URL of a page. For each it prints one line
of JSON, a list of [url, fragment, text, rel] for each a and area element with a reference to an http
or https URL, in document order.
"""

import json
import os
import sys
import urllib.parse

import lxml.etree
import lxml.html

BREAKS = {"br", "div", "dd", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "pre", "table", "td", "th", "tr", "ul"}


def text(element, parts):
    """Appends the text of an element, with a space where browsers show a line or cell of its own, up to
    the next link: there browsers end a link that is open, where lxml nests them. False if there is one.
    """
    if not isinstance(element.tag, str) or element.tag in ("script", "style"):
        return True
    separates = element.tag in BREAKS
    parts.append(" " if separates else "")
    parts.append(element.text or "")
    for child in element:
        if child.tag == "a" or not text(child, parts):
            return False
        parts.append(child.tail or "")
    parts.append(" " if separates else "")
    return True


def absolute(base, ref):
    """What browsers make of a reference, as far as documentation has such."""
    url = urllib.parse.urljoin(base, ref.strip("\t\n\f\r "))
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return None, None
    parts = parts._replace(netloc=parts.netloc.lower().removesuffix(":"), path=parts.path or "/")
    url, _, fragment = urllib.parse.urlunsplit(parts).partition("#")
    return quoted(url), quoted(fragment)


def quoted(s):
    return "".join(urllib.parse.quote(c) if c in ' "<>' or ord(c) > 126 else c for c in s)


def links(page, url):
    tree = lxml.html.document_fromstring(page)
    base = url
    for element in tree.iter("base"):
        if "href" in element.attrib:
            base = urllib.parse.urljoin(url, element.get("href"))
            break
    found = []
    for element in tree.iter("a", "area"):
        ref = element.get("href", "")
        if not ref.strip("\t\n\f\r "):
            continue
        target, fragment = absolute(base, ref)
        if target is None:
            continue
        parts = []
        if element.tag == "a":
            text(element, parts)
        found.append([target, fragment, " ".join("".join(parts).split()), element.get("rel", "").lower().split()])
    return found


def main():
    base, folder = sys.argv[1:]
    for line in sys.stdin:
        path = line.rstrip("\n")
        with open(os.path.join(folder, path), "rb") as f:
            page = f.read()
        print(json.dumps(links(page, base + urllib.parse.quote(path))))


main()
