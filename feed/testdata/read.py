"""Reads a file that a feed has written, and prints each item as a line of JSON.

    read.py READER FILE
"""
import csv
import json
import sys
import xml.etree.ElementTree as ElementTree

reader, name = sys.argv[1:]
csv.field_size_limit(1 << 30)


def rows():
    if reader == "csv":
        with open(name, newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file, strict=True)
    elif reader == "jsonl":
        with open(name, newline="\n", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
    elif reader == "json":
        with open(name, encoding="utf-8") as file:
            yield from json.load(file)
    elif reader == "xml":
        for _, element in ElementTree.iterparse(name):
            if element.tag == "item":
                yield {field.tag: field.text or "" for field in element if len(field) == 0}
    elif reader == "pandas of csv":
        import pandas
        frame = pandas.read_csv(name, dtype=str, keep_default_na=False, lineterminator="\n", encoding="utf-8")
        yield from frame.to_dict(orient="records")
    else:
        sys.exit("no reader " + reader)


for row in rows():
    print(json.dumps(row))
