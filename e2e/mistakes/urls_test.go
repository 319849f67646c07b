package mistakes_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
)

// urls are seeds that cannot be asked.
func urls() []mistake {
	seed := func(url string) func(w *world) error {
		return func(w *world) error {
			return crawl(shop(strings.NewReplacer("{site}", w.site, "{strict}", w.strict, "{secure}", w.secure, "{nobody}", w.nobody,
				"{port}", w.site[strings.LastIndexByte(w.site, ':'):]).Replace(url)))
		}
	}
	return []mistake{
		{"no URLs", func(w *world) error { return crawl(shop()) }, "URL"},
		{"an empty URL", seed(""), "URL"},
		{"a fragment alone", seed("#top"), "#top"},
		{"a path alone", seed("/catalogue/"), "/catalogue/"},
		{"no scheme", seed("shop.example/catalogue"), `https://shop.example/catalogue`},
		{"no scheme, with a port", seed("127.0.0.1{port}/"), "http://127.0.0.1"},
		{"no scheme, a name with a port", seed("shop.example:8080/"), "https://shop.example:8080/"},
		{"one slash", seed("http:/shop.example/"), "http:/shop.example/"},
		{"no host", seed("http:///catalogue"), "http:///catalogue"},
		{"an unknown scheme", seed("ftp://shop.example/"), "use http or https"},
		{"a scheme misspelt", seed("htp://shop.example/"), "use http or https"},
		{"a mail address", seed("mailto:me@shop.example"), "use http or https"},
		{"spaces in the host", seed("http://my shop.example/"), "my shop.example"},
		{"spaces around", seed(" {site}/gone "), "404"},
		{"a port that is too large", seed("http://shop.example:99999/"), "99999"},
		{"a port that is no number", seed("http://shop.example:http/"), "shop.example:http"},
		{"an unknown host", func(w *world) error {
			net.DefaultResolver = noNames()
			return seed("http://shop.example/")(w)
		}, "no such host"},
		{"nothing listens", seed("http://{nobody}/"), "connection refused"},
		{"a private address", seed("http://10.0.0.1/"), "Politeness.AllowPrivate"},
		{"the address of a cloud's metadata", seed("http://169.254.169.254/latest/"), "Politeness.AllowPrivate"},
		{"http on a port of https", func(w *world) error {
			return crawl(shop(strings.Replace(w.secure, "https:", "http:", 1)))
		}, "https"},
		{"https on a port of http", func(w *world) error {
			return crawl(shop(strings.Replace(w.site, "http:", "https:", 1)))
		}, "https"},
		{"a certificate that nobody has signed", seed("{secure}/"), "EngineWithTLSConfig"},
		{"a password in a URL without a port", seed("http://me:" + password + "@:x/"), "…"},
		{"a password in a URL that is not found", func(w *world) error {
			return crawl(shop(strings.Replace(w.site, "//", "//me:"+password+"@", 1) + "/gone"))
		}, "status 404"},
		{"a user name that is a token, scheme unknown", seed("git://" + token + "@shop.example/"), "use http or https"},
	}
}

// noNames is a resolver that knows no name.
func noNames() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerNoName(there)
		return here, nil
	}}
}

// answerNoName answers the questions of a stream with "no such name".
func answerNoName(c net.Conn) {
	defer c.Close()
	for {
		size := make([]byte, 2)
		if _, err := io.ReadFull(c, size); err != nil {
			return
		}
		message := make([]byte, binary.BigEndian.Uint16(size))
		if _, err := io.ReadFull(c, message); err != nil {
			return
		}
		message[2], message[3] = message[2]|0x80, 0x83 // an answer: NXDOMAIN
		if _, err := c.Write(append(size, message...)); err != nil {
			return
		}
	}
}
