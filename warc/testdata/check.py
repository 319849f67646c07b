"""Reads WARC files with Python's standard library alone, and checks every record: that it is well-formed, that it can be read by itself,
and both of its digests. Prints how many records there are of each type.

    python3 check.py FILE...
"""
import base64
import collections
import hashlib
import re
import sys
import zlib


def members(data, packed):
    """Yields offset and bytes of what is packed by itself: a member of gzip, or the whole file."""
    if not packed:
        yield 0, data
        return
    at = 0
    while at < len(data):
        one = zlib.decompressobj(31)
        text = one.decompress(data[at:])
        if not one.eof:
            raise ValueError(f"the member at {at} is cut off")
        yield at, text
        at = len(data) - len(one.unused_data)


def records(text):
    """Yields header and block of each record."""
    at = 0
    while at < len(text):
        end = text.index(b"\r\n\r\n", at)
        version, *lines = text[at:end].decode("utf-8").split("\r\n")
        if version != "WARC/1.1":
            raise ValueError(f"version {version!r}")
        header = {}
        for line in lines:
            name, colon, value = line.partition(": ")
            if not colon or not re.fullmatch(r"[A-Za-z-]+", name):
                raise ValueError(f"field {line!r}")
            header.setdefault(name, []).append(value)
        size = int(header["Content-Length"][0])
        block = text[end + 4:end + 4 + size]
        if len(block) != size or text[end + 4 + size:end + 8 + size] != b"\r\n\r\n":
            raise ValueError(f"the block of {header['WARC-Record-ID']} does not end where it should")
        yield header, block
        at = end + 8 + size


def digest(name, data):
    if name == "sha1":
        return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()
    return name + ":" + hashlib.new(name, data).hexdigest()


def check(header, block, payloads, ids):
    kind = header["WARC-Type"][0]
    ident = header["WARC-Record-ID"][0]
    if not re.fullmatch(r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>", ident) or ident in ids:
        raise ValueError(f"id {ident}")
    ids.add(ident)
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", header["WARC-Date"][0]):
        raise ValueError(f"{ident}: date {header['WARC-Date']}")
    given = header["WARC-Block-Digest"][0]
    if given != digest(given.split(":")[0], block):
        raise ValueError(f"{ident}: the block digest is wrong")
    if kind == "warcinfo":
        return
    payload = None
    if kind in ("request", "response", "revisit"):
        head, empty, payload = block.partition(b"\r\n\r\n")
        if not empty:
            raise ValueError(f"{ident}: no HTTP header")
        if re.search(rb"(?im)^transfer-encoding:", head):
            raise ValueError(f"{ident}: Transfer-Encoding is left in the block")
        if kind != "request" and not head.startswith(b"HTTP/1.1 "):
            raise ValueError(f"{ident}: {head[:20]}")
        if kind == "revisit" and payload:
            raise ValueError(f"{ident}: a revisit has a payload")
    elif kind == "resource":
        payload = block
    given = header.get("WARC-Payload-Digest", [""])[0]
    if kind == "revisit" and "identical-payload-digest" in header["WARC-Profile"][0]:
        if payloads.get(header["WARC-Refers-To"][0]) != given:
            raise ValueError(f"{ident}: refers to no earlier record with its payload")
    elif given and given != digest(given.split(":")[0], payload):
        raise ValueError(f"{ident}: the payload digest is wrong")
    elif kind == "response":
        if not given:
            raise ValueError(f"{ident}: no payload digest")
        payloads[ident] = given


def main(files):
    counts, payloads, ids = collections.Counter(), {}, set()
    for name in files:
        with open(name, "rb") as f:
            data = f.read()
        packed = ".gz" in name
        for at, text in members(data, packed):
            list_ = list(records(text))
            if packed and len(list_) != 1:
                raise ValueError(f"{name}: {len(list_)} records in the member at {at}")
            for header, block in list_:
                check(header, block, payloads, ids)
                counts[header["WARC-Type"][0]] += 1
                if "-v" in sys.argv:
                    print(header["WARC-Type"][0], header.get("WARC-Target-URI", [""])[0])
    print(" ".join(f"{kind}={counts[kind]}" for kind in sorted(counts)))


main([a for a in sys.argv[1:] if a != "-v"])
