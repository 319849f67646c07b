package media

import (
	"bytes"
	"net/http"
	"strings"
)

// sniffed is how many bytes of a file say what it is.
const sniffed = 512

// endings are those of the types that content is known as.
var endings = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "image/bmp": ".bmp", "image/x-icon": ".ico",
	"image/avif": ".avif", "image/tiff": ".tif",
	"application/pdf": ".pdf", "application/postscript": ".ps", "application/zip": ".zip", "application/x-gzip": ".gz",
	"application/x-rar-compressed": ".rar", "application/ogg": ".ogg", "application/vnd.ms-fontobject": ".eot", "application/wasm": ".wasm",
	"audio/mpeg": ".mp3", "audio/wave": ".wav", "audio/aiff": ".aiff", "audio/basic": ".au", "audio/midi": ".mid",
	"video/mp4": ".mp4", "video/webm": ".webm", "video/avi": ".avi",
	"font/ttf": ".ttf", "font/otf": ".otf", "font/collection": ".ttc", "font/woff": ".woff", "font/woff2": ".woff2",
	"text/html": ".html", "text/xml": ".xml", "text/plain": ".txt",
}

// sniff returns the type of a file by its first bytes, and the ending of its name. What a server says of the type does not count.
func sniff(head []byte) (mediaType, ending string) {
	switch {
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		mediaType = "image/tiff"
	case len(head) >= 12 && string(head[4:12]) == "ftypavif":
		mediaType = "image/avif"
	default:
		mediaType = http.DetectContentType(head[:min(len(head), sniffed)])
	}
	mediaType, _, _ = strings.Cut(mediaType, ";")
	if ending = endings[mediaType]; ending == "" {
		ending = ".bin"
	}
	return mediaType, ending
}

// isPicture reports whether a type is one that is decoded.
func isPicture(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}
