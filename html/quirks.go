package html

// quirks returns the mode that a document type asks for (section 13.2.6.4.1).
func (d *rawDoctype) quirks(source []byte) QuirksMode {
	name := source[d.name.start:d.name.end]
	public := source[d.public.start:d.public.end]
	system := source[d.system.start:d.system.end]
	if d.forceQuirks || !equalFold(name, "html") {
		return Quirks
	}
	if d.public.start == 0 && d.system.start == 0 {
		return NoQuirks
	}
	for _, s := range [...]string{
		"-//w3o//dtd w3 html strict 3.0//en//",
		"-/w3c/dtd html 4.0 transitional/en",
		"html",
	} {
		if equalFold(public, s) {
			return Quirks
		}
	}
	if equalFold(system, "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd") {
		return Quirks
	}
	for _, s := range quirkyPublic {
		if hasPrefixFold(public, s) {
			return Quirks
		}
	}
	loose := hasPrefixFold(public, "-//w3c//dtd html 4.01 frameset//") ||
		hasPrefixFold(public, "-//w3c//dtd html 4.01 transitional//")
	switch {
	case loose && d.system.start == 0:
		return Quirks
	case loose,
		hasPrefixFold(public, "-//w3c//dtd xhtml 1.0 frameset//"),
		hasPrefixFold(public, "-//w3c//dtd xhtml 1.0 transitional//"):
		return LimitedQuirks
	}
	return NoQuirks
}

// hasPrefixFold reports whether b starts with a text in lower case, ignoring the case of ASCII
// letters.
func hasPrefixFold(b []byte, lowerCase string) bool {
	return len(b) >= len(lowerCase) && equalFold(b[:len(lowerCase)], lowerCase)
}

// quirkyPublic are the beginnings, in lower case, of the public identifiers that make quirks.
var quirkyPublic = [...]string{
	"+//silmaril//dtd html pro v0r11 19970101//",
	"-//as//dtd html 3.0 aswedit + extensions//",
	"-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
	"-//ietf//dtd html 2.0 level 1//",
	"-//ietf//dtd html 2.0 level 2//",
	"-//ietf//dtd html 2.0 strict level 1//",
	"-//ietf//dtd html 2.0 strict level 2//",
	"-//ietf//dtd html 2.0 strict//",
	"-//ietf//dtd html 2.0//",
	"-//ietf//dtd html 2.1e//",
	"-//ietf//dtd html 3.0//",
	"-//ietf//dtd html 3.2 final//",
	"-//ietf//dtd html 3.2//",
	"-//ietf//dtd html 3//",
	"-//ietf//dtd html level 0//",
	"-//ietf//dtd html level 1//",
	"-//ietf//dtd html level 2//",
	"-//ietf//dtd html level 3//",
	"-//ietf//dtd html strict level 0//",
	"-//ietf//dtd html strict level 1//",
	"-//ietf//dtd html strict level 2//",
	"-//ietf//dtd html strict level 3//",
	"-//ietf//dtd html strict//",
	"-//ietf//dtd html//",
	"-//metrius//dtd metrius presentational//",
	"-//microsoft//dtd internet explorer 2.0 html strict//",
	"-//microsoft//dtd internet explorer 2.0 html//",
	"-//microsoft//dtd internet explorer 2.0 tables//",
	"-//microsoft//dtd internet explorer 3.0 html strict//",
	"-//microsoft//dtd internet explorer 3.0 html//",
	"-//microsoft//dtd internet explorer 3.0 tables//",
	"-//netscape comm. corp.//dtd html//",
	"-//netscape comm. corp.//dtd strict html//",
	"-//o'reilly and associates//dtd html 2.0//",
	"-//o'reilly and associates//dtd html extended 1.0//",
	"-//o'reilly and associates//dtd html extended relaxed 1.0//",
	"-//sq//dtd html 2.0 hotmetal + extensions//",
	"-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
	"-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
	"-//spyglass//dtd html 2.0 extended//",
	"-//sun microsystems corp.//dtd hotjava html//",
	"-//sun microsystems corp.//dtd hotjava strict html//",
	"-//w3c//dtd html 3 1995-03-24//",
	"-//w3c//dtd html 3.2 draft//",
	"-//w3c//dtd html 3.2 final//",
	"-//w3c//dtd html 3.2//",
	"-//w3c//dtd html 3.2s draft//",
	"-//w3c//dtd html 4.0 frameset//",
	"-//w3c//dtd html 4.0 transitional//",
	"-//w3c//dtd html experimental 19960712//",
	"-//w3c//dtd html experimental 970421//",
	"-//w3c//dtd w3 html//",
	"-//w3o//dtd w3 html 3.0//",
	"-//webtechs//dtd mozilla html 2.0//",
	"-//webtechs//dtd mozilla html//",
}
