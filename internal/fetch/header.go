package fetch

import "strings"

// FirstHeader returns the first value of a field in the header of an answer, whatever the case of its name; "" if there is none.
func FirstHeader(header map[string][]string, name string) string {
	if v := header[name]; len(v) > 0 {
		return v[0]
	}
	for k, v := range header {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return v[0]
		}
	}
	return ""
}

// HasHeader reports whether the header of a request has a field, whatever the case of its name.
func HasHeader(header map[string]string, name string) bool {
	if _, ok := header[name]; ok {
		return true
	}
	for k := range header {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}
