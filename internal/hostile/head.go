package hostile

import (
	"fmt"
	"strings"
	"time"
)

// headerCases are those whose header is too much, or not what it should be. A response's header fields must never
// have a name or value with control characters, nor one called X-Smuggled.
func headerCases() []Case {
	// odd header lines before a page that is fine
	odd := func(name, sends string, may Outcome, lines string) Case {
		return Case{Name: name, Sends: sends, May: may,
			script: func(c *connection) bool { return c.ok(lines+"\r\n"+c.length(0), c.page) }}
	}
	const either = Error | OK
	const start = "HTTP/1.1 200 OK\r\n"
	return []Case{
		{Name: "header-100mb", Sends: "a header field of 100 MiB", May: Error,
			script: func(c *connection) bool {
				return c.send(start, "X-Large: ") && c.repeat("x", flood) && c.send("\r\n", c.length(0), "\r\n\r\n", c.page)
			}},
		{Name: "header-many", Sends: "header fields of 100 MiB in all", May: Error,
			script: func(c *connection) bool {
				return c.send(start) && c.repeat("X-Many: 12345\r\n", flood/15*15) && c.send(c.length(0), "\r\n\r\n", c.page)
			}},
		{Name: "header-endless", Sends: "short header fields without end", May: Error,
			script: func(c *connection) bool { return c.send(start) && c.repeat("a:\r\n", -1) }},
		{Name: "header-folded-endless", Sends: "a header field that goes on in ever more lines", May: Error,
			script: func(c *connection) bool { return c.send(start, "X-Folded: x\r\n") && c.repeat(" x\r\n", -1) }},
		{Name: "header-name-endless", Sends: "a field name without end", May: Error,
			script: func(c *connection) bool { return c.send(start) && c.repeat("x", -1) }},
		{Name: "header-slow", Sends: "a header line in 100 ms", May: Error, Stalls: true,
			script: func(c *connection) bool { return c.send(start) && c.drip(100*time.Millisecond, "X-Slow: x\r\n") }},
		{Name: "header-cut", Sends: "half a header, and the connection's end", May: Error,
			script: func(c *connection) bool { c.send(start, "Content-Le"); return false }},
		{Name: "header-reset", Sends: "half a header, and an RST", May: Error,
			script: func(c *connection) bool { c.send(start, "Content-Le"); return c.reset() }},
		odd("header-nul", "a NUL in a header value (RFC 9110 §5.5)", either, "X-Odd: a\x00b"),
		odd("header-control", "control characters in a header value", either, "X-Odd: a\x01\x07\x1b[31m\x7fb"),
		odd("header-name-control", "control characters in a header name", either, "X-\x01Odd: a"),
		odd("header-length-space", "a space before the colon of Content-Length, and another one", Error, "Content-Length : 5"),
		odd("header-length-folded", "a Content-Length that goes on in a second line", Error, "Content-Length: 1\r\n 0"),
		odd("header-name-space", "a space before the colon (RFC 9112 §5.1)", either, "X-Odd : a"),
		odd("header-no-colon", "a header line without a colon", either, "this is no header"),
		odd("header-no-colon-long", "a header line of 500 KiB without a colon", Error, strings.Repeat("x", 500<<10)),
		odd("header-no-name", "a header line without a name", either, ": x"),
		odd("header-folded", "a header field in two lines (RFC 9112 §5.2)", either, "X-Odd: a\r\n b"),
		odd("header-bare-lf", "header lines that end with LF alone", either, "X-Odd: a\nX-Other: b"),
		odd("header-bare-cr", "a CR without LF in a header value", either, "X-Odd: a\rX-Smuggled: b"),
		odd("header-bytes", "a header value that is no UTF-8", OK, "X-Odd: \xe4\xf6\xfc \xff"),
		{Name: "header-first-folded", Sends: "a first header line that goes on the status line", May: either,
			script: func(c *connection) bool { return c.send(start, " folded: x\r\n", c.length(0), "\r\n\r\n", c.page) }},
		{Name: "all-bare-lf", Sends: "a response with LF alone as its line ends", May: either,
			script: func(c *connection) bool {
				return c.send("HTTP/1.1 200 OK\n", c.length(0), "\n\n", c.page)
			}},
		{Name: "all-bare-cr", Sends: "a response with CR alone as its line ends, and the connection's end", May: Error,
			script: func(c *connection) bool { c.send("HTTP/1.1 200 OK\r", c.length(0), "\r\r", c.page); return false }},
	}
}

// statusCases are those whose first line, or whose status, is wrong.
func statusCases() []Case {
	line := func(name, first string) Case {
		return Case{Name: name, Sends: "the first line " + first, May: Error,
			script: func(c *connection) bool { c.send(first, "\r\n", c.length(0), "\r\n\r\n", c.page); return false }}
	}
	const early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
	return []Case{
		{Name: "no-status-line", Sends: "header lines without a status line", May: Error,
			script: func(c *connection) bool { c.send(c.length(0), "\r\n\r\n", c.page); return false }},
		{Name: "http-0.9", Sends: "a page without a header, as in HTTP/0.9", May: Error,
			script: func(c *connection) bool { c.send("<html>", c.page, "</html>\r\n"); return false }},
		{Name: "status-line-endless", Sends: "a status line without end", May: Error,
			script: func(c *connection) bool { return c.send("HTTP/1.1 200 ") && c.repeat("OK", -1) }},
		{Name: "garbage", Sends: "bytes that are no HTTP, without end", May: Error,
			script: func(c *connection) bool { return c.repeat("\x00\xff\x16\x03", -1) }},
		line("status-letters", "HTTP/1.1 abc OK"),
		line("status-negative", "HTTP/1.1 -20 OK"),
		line("status-short", "HTTP/1.1 20 OK"),
		line("status-long", "HTTP/1.1 2000 OK"),
		line("status-zero", "HTTP/1.1 000 OK"),
		line("status-below-100", "HTTP/1.1 099 OK"),
		line("version-unknown", "HTTP/9.9.9 200 OK"),
		line("protocol-unknown", "ICY 200 OK"),
		{Name: "switching-protocols", Sends: "an unasked 101, and an open connection", May: Error,
			script: func(c *connection) bool {
				return c.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: cow\r\n\r\nmoo") && c.hold()
			}},
		{Name: "switching-protocols-bare", Sends: "a 101 that names no protocol", May: Error,
			script: func(c *connection) bool { return c.send("HTTP/1.1 101 Switching Protocols\r\n\r\n") && c.hold() }},
		{Name: "interim-endless", Sends: "interim responses without end", May: Error,
			script: func(c *connection) bool { return c.repeat(early, -1) }},
		{Name: "interim-slow", Sends: "a 102 in 100 ms, for ever", May: Error, Stalls: true,
			script: func(c *connection) bool {
				return c.drip(100*time.Millisecond, "HTTP/1.1 102 Processing\r\n\r\n")
			}},
		{Name: "interim-few", Sends: "three interim responses before the page", May: OK,
			script: func(c *connection) bool {
				return c.send(strings.Repeat(early, 3)) && c.ok(c.length(0), c.page)
			}},
	}
}

// connectionCases are those that break off, or say nothing at all.
func connectionCases() []Case {
	return []Case{
		{Name: "closed", Sends: "nothing but the connection's end", May: Error,
			script: func(*connection) bool { return false }},
		{Name: "reset", Sends: "nothing but an RST", May: Error,
			script: func(c *connection) bool { return c.reset() }},
		{Name: "silent", Sends: "nothing, on an open connection", May: Error, Stalls: true,
			script: func(c *connection) bool { return c.hold() }},
	}
}

// redirectCases are those that lead in circles, or to where nobody should go.
func redirectCases() []Case {
	to := func(name, sends string, location func(c *connection) string) Case {
		return Case{Name: name, Status: 302, Sends: sends, May: Error, Redirect: true,
			script: func(c *connection) bool {
				return c.send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", location(c), "\r\n\r\n")
			}}
	}
	fixed := func(name, location string) Case {
		return to(name, "a redirect to "+location, func(*connection) string { return location })
	}
	return []Case{
		to("redirect-self", "a redirect to itself", func(c *connection) string { return c.target }),
		to("redirect-two", "a redirect to a page that redirects back", func(c *connection) string {
			path, query, _ := strings.Cut(c.target, "?")
			if there, ok := strings.CutSuffix(path, "/there"); ok {
				return there + "?" + query
			}
			return path + "/there?" + query
		}),
		to("redirect-endless", "redirects to ever other pages", func(c *connection) string {
			path, query, _ := strings.Cut(c.target, "?")
			return fmt.Sprintf("%s/x?%s", path, query)
		}),
		to("redirect-long", "a redirect to a URL of 100 KiB", func(*connection) string { return "/" + strings.Repeat("x", 100<<10) }),
		fixed("redirect-file", "file:///etc/passwd"),
		fixed("redirect-data", "data:text/plain,x"),
		fixed("redirect-script", "javascript:alert(1)"),
		fixed("redirect-metadata", "http://169.254.169.254/latest/meta-data/"),
		fixed("redirect-metadata-ipv6", "http://[::ffff:169.254.169.254]/latest/meta-data/"),
		fixed("redirect-metadata-number", "http://2852039166/latest/meta-data/"),
		fixed("redirect-private", "http://10.0.0.1/"),
		fixed("redirect-private-ipv6", "http://[fd00::1]/"),
		fixed("redirect-loopback", "http://127.0.0.1:1/"),
		fixed("redirect-localhost", "http://localhost:1/"),
		fixed("redirect-zero", "http://0.0.0.0:1/"),
		fixed("redirect-no-url", "http://%zz/"),
		fixed("redirect-no-host", "http:///"),
	}
}
