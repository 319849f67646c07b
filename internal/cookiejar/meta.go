package cookiejar

// The keys of a request's Meta by which those parts understand each other that know of jars.
const (
	MetaJar = "cookiejar" // the name of the request's jar, a string; the default is ""
	NoJar   = "-"         // the name of the jar that neither stores nor sends cookies

	// MetaOwn is there while a request is sent with cookies of its jar, or could be: its own Cookie header field without
	// them, "" if it has none.
	MetaOwn = "cookiejar.own"
)
