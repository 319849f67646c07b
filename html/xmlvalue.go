package html

// appendXMLValue appends the value of an attribute in XML.
func appendXMLValue(dst, raw []byte) []byte { return appendValue(dst, raw) }
