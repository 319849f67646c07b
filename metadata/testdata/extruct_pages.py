"""Reads the metadata of pages with extruct, the independent witness of package metadata. It uses nothing of this repository.

    extruct_pages.py <PAGES

Each line of PAGES is a JSON object: "page" is the text of a page, "tree" is the tree that another parser has made of it, an element
being a list of its name, its attributes and its children; "base" is what its references are relative to. For each line it prints one
with what extruct finds in the page, which it parses with libxml2, and in the tree: a list of two objects with the syntaxes. One that
extruct fails on is a string, the name of its error; for JSON-LD it is an object, which has what is in the other blocks of the page, too.
"""

import json
import sys

import lxml.etree
import lxml.html
from extruct.jsonld import JsonLdExtractor
from extruct.opengraph import OpenGraphExtractor
from extruct.w3cmicrodata import MicrodataExtractor
from extruct.utils import parse_xmldom_html

EXTRACTORS = {"json-ld": JsonLdExtractor, "microdata": MicrodataExtractor, "opengraph": OpenGraphExtractor}
sys.setrecursionlimit(100000)


def plain(text):
    """Leaves out the characters that libxml2 refuses."""
    return "".join(c for c in text if c in "\t\n\r" or " " <= c and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")


def build(node):
    name, attributes, children = node
    try:
        element = lxml.html.html_parser.makeelement(name.replace(":", "-"))
    except ValueError:
        element = lxml.html.html_parser.makeelement("unknown")
    for key, value in attributes.items():
        if key == "xmlns":
            continue  # extruct knows names without a namespace
        try:
            element.set(key.replace(":", "-"), plain(value))
        except ValueError:
            pass
    last = None
    for child in children:
        if not isinstance(child, str):
            last = build(child)
            element.append(last)
        elif last is None:
            element.text = (element.text or "") + plain(child)
        else:
            last.tail = (last.tail or "") + plain(child)
    return element


def with_ids(root):
    """Parses the tree again, so that libxml2 knows that the attributes named id are identifiers."""
    names = {element.tag for element in root.iter() if isinstance(element.tag, str)}
    declared = "".join(f"<!ATTLIST {name} id ID #IMPLIED>" for name in sorted(names))
    text = f"<!DOCTYPE html [{declared}]>" + lxml.etree.tostring(root, encoding="unicode")
    return lxml.etree.fromstring(text, lxml.html.XHTMLParser(huge_tree=True, recover=True))


def readable(parse):
    """Reads the blocks of JSON-LD one by one, without those that extruct fails on."""
    found = []
    try:
        tree = parse("json-ld")
    except Exception:
        return found  # the page is empty
    for block in tree.xpath('//script[@type="application/ld+json"]'):
        try:
            found += JsonLdExtractor().extract_items(block)
        except Exception:
            pass
    return found


def extract(parse, base):
    found = {}
    for name, extractor in EXTRACTORS.items():
        try:
            # The extractor of microdata changes the tree that it is given.
            found[name] = list(extractor().extract_items(parse(name), base_url=base))
        except Exception as e:
            found[name] = {"error": type(e).__name__, "readable": readable(parse)} if name == "json-ld" else type(e).__name__
    return found


def main():
    for line in sys.stdin:
        given = json.loads(line)
        base = given["base"]
        page = given["page"].encode("utf-8", "replace")
        refers = "itemref" in given["page"]
        print(json.dumps([
            extract(lambda name: parse_xmldom_html(page, encoding="UTF-8"), base),
            extract(lambda name: with_ids(build(given["tree"])) if refers and name == "microdata" else build(given["tree"]), base),
        ]))


main()
