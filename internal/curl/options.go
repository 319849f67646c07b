package curl

import "strings"

// option is one that Parse knows.
type option struct {
	long string
	arg  bool
	do   func(p *parser, name, value string) error // nil: it changes nothing of the request
}

// options are those of curl 7.88 and later that say something of one request, and those that only say what becomes of its answer.
var options = []option{
	{"request", true, func(p *parser, _, v string) error { p.method = v; return nil }},
	{"header", true, (*parser).headerArg},
	{"data", true, func(p *parser, name, v string) error { return p.data(name, v, true, true) }},
	{"data-ascii", true, func(p *parser, name, v string) error { return p.data(name, v, true, true) }},
	{"data-binary", true, func(p *parser, name, v string) error { return p.data(name, v, true, false) }},
	{"data-raw", true, func(p *parser, name, v string) error { return p.data(name, v, false, false) }},
	{"data-urlencode", true, (*parser).urlencode},
	{"json", true, (*parser).json},
	{"form", true, func(p *parser, name, v string) error { return p.formField(name, v, false) }},
	{"form-string", true, func(p *parser, name, v string) error { return p.formField(name, v, true) }},
	{"get", false, func(p *parser, _, _ string) error { p.get = true; return nil }},
	{"head", false, func(p *parser, _, _ string) error { p.head = true; return nil }},
	{"url", true, func(p *parser, _, v string) error { p.urls = append(p.urls, v); return nil }},
	{"url-query", true, (*parser).query},
	{"cookie", true, (*parser).cookie},
	{"user", true, (*parser).login},
	{"basic", false, nil},
	{"oauth2-bearer", true, func(p *parser, _, v string) error { p.auth = "Bearer " + v; return nil }},
	{"proxy", true, func(p *parser, _, v string) error { p.proxy = v; return nil }},
	{"proxy-user", true, func(p *parser, _, v string) error { p.proxyUser = v; return nil }},
	{"socks5", true, func(p *parser, _, v string) error { p.proxy = "socks5://" + v; return nil }},
	{"socks5-hostname", true, func(p *parser, _, v string) error { p.proxy = "socks5://" + v; return nil }},
	{"user-agent", true, func(p *parser, _, v string) error { p.agent, p.hasAgent = v, true; return nil }},
	{"referer", true, func(p *parser, _, v string) error { p.referer = strings.TrimSuffix(v, ";auto"); return nil }},
	{"range", true, func(p *parser, _, v string) error { p.ranged = "bytes=" + v; return nil }},
	{"location", false, func(p *parser, _, _ string) error { p.follow = true; return nil }},
	{"no-location", false, func(p *parser, _, _ string) error { p.follow = false; return nil }},
	{"max-redirs", true, (*parser).redirects},
	{"max-time", true, (*parser).maxTime},
	{"globoff", false, func(p *parser, _, _ string) error { p.globOff = true; return nil }},

	// How the answer is printed and stored, and what is agreed on with every server anyway.
	{"compressed", false, nil}, {"silent", false, nil}, {"show-error", false, nil}, {"verbose", false, nil}, {"include", false, nil},
	{"fail", false, nil}, {"fail-with-body", false, nil}, {"fail-early", false, nil}, {"no-buffer", false, nil}, {"progress-bar", false, nil},
	{"no-progress-meter", false, nil}, {"output", true, nil}, {"remote-name", false, nil}, {"remote-header-name", false, nil},
	{"remote-time", false, nil}, {"create-dirs", false, nil}, {"output-dir", true, nil}, {"write-out", true, nil}, {"dump-header", true, nil},
	{"cookie-jar", true, nil}, {"stderr", true, nil}, {"trace", true, nil}, {"trace-ascii", true, nil}, {"trace-time", false, nil},
	{"styled-output", false, nil}, {"no-styled-output", false, nil}, {"http1.1", false, nil}, {"http2", false, nil}, {"tlsv1.2", false, nil},
	{"no-keepalive", false, nil}, {"disable", false, nil},

	// What is refused, with the reason.
	{"insecure", false, refuse("certificates are always verified, since nobody can tell otherwise whose answer it is; " +
		"remove it. If the site has a certificate of your own authority, name that: EngineWithTLSConfig")},
	{"proxy-insecure", false, refuse("the certificate of a proxy is always verified; remove it")},
	{"location-trusted", false, refuse("credentials never go to another origin; write -L")},
	{"next", false, refuse("a command is one request; make one of each")},
	{"config", true, refuse("files of options are not read; write the options here")},
	{"connect-timeout", true, refuse("it is a limit of the engine: Limits.Connect")},
	{"retry", true, refuse("it is not of the request; use middleware.Retry")},
	{"limit-rate", true, refuse("it is not of the request; see Politeness")},
	{"upload-file", true, refuse("write -X PUT --data-binary @file, with a Content-Type")},
	{"parallel", false, refuse("a command is one request; the engine makes many at once")},
}

// short are the options of one letter.
var short = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'F': "form", 'G': "get", 'I': "head", 'b': "cookie", 'u': "user", 'x': "proxy", 'U': "proxy-user",
	'A': "user-agent", 'e': "referer", 'r': "range", 'L': "location", 'm': "max-time", 'g': "globoff", 's': "silent", 'S': "show-error",
	'v': "verbose", 'i': "include", 'f': "fail", 'N': "no-buffer", '#': "progress-bar", 'o': "output", 'O': "remote-name", 'J': "remote-header-name",
	'R': "remote-time", 'w': "write-out", 'D': "dump-header", 'c': "cookie-jar", 'k': "insecure", ':': "next", 'K': "config", 'T': "upload-file",
	'q': "disable", 'Z': "parallel",
}

// refuse is an option that is known, and not obeyed.
func refuse(reason string) func(*parser, string, string) error {
	return func(_ *parser, name, _ string) error { return &Error{Option: name, Reason: reason} }
}

// lookup returns the option of a long name.
func lookup(long string) *option {
	for i := range options {
		if options[i].long == long {
			return &options[i]
		}
	}
	return nil
}

// word reads an option with those that stand in the same word, -sSLd for example. rest are the words behind it, of which used belong to it.
func (p *parser) word(word string, rest []string) (used int, err error) {
	run := func(o *option, name, value string, has bool) (int, error) {
		n := 0
		if o.arg && !has {
			if len(rest) == 0 {
				return 0, &Error{Option: name, Reason: "it needs a value behind it"}
			}
			value, n = rest[0], 1
		}
		if strings.HasPrefix(value, "\x00") && o.long != "data-binary" {
			return 0, &Error{Option: name, Reason: "base64 can be read for --data-binary alone"}
		}
		if o.do == nil {
			return n, nil
		}
		return n, o.do(p, name, value)
	}
	if strings.HasPrefix(word, "--") {
		o := lookup(word[2:])
		if o == nil {
			return 0, unknown(word)
		}
		return run(o, word, "", false)
	}
	for i := 1; i < len(word); i++ {
		name := "-" + word[i:i+1]
		o := lookup(short[word[i]])
		if o == nil {
			return 0, unknown(name)
		}
		if o.arg {
			return run(o, name, word[i+1:], i+1 < len(word))
		}
		if _, err := run(o, name, "", false); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func unknown(name string) error {
	return &Error{Option: name, Reason: "it is not known here, and may change the request; remove it, or set by an " +
		"option of the request or of the engine what it does"}
}
