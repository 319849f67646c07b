// Package media downloads the files that items point to: pictures, documents, anything.
//
//	type Book struct {
//		Title   string
//		Cover   string         `media:"image,into=Picture"`
//		Picture media.Result
//		Samples []string       `media:"file,into=Files"`
//		Files   []media.Result
//	}
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPipelines(
//		media.New(media.Options{Dir: "images", Images: true, Thumbs: map[string]image.Point{"small": {X: 120, Y: 120}}}),
//		feed.JSONL("books.jsonl")), …)
//
// An item is a struct or a pointer to one. The tag media:"image" or media:"file" marks a field with a URL (string), or with several
// ([]string); "into=" names the field that gets the results, a [Result] or a []Result in the order of the URLs. Relative URLs are resolved
// as links of the page are, and an empty one is left out; a data: URL is decoded, and nothing but its beginning is in results, errors and
// index. With ",required" an item fails whose file fails; else the [Result] says what went wrong, and the item goes on.
//
// # How a file comes
//
// The pipeline fetches with Context.Fetch, so that scope, robots.txt, delays, proxies, retries, redirects and the guard of addresses hold
// as for pages. The body goes into a temporary file as it comes, and its SHA-256 sum is made meanwhile: no body is ever in memory, and a
// body that becomes larger than Options.Size is not read further. The content decides what the file is called, never
// the URL; where its first bytes name a container only (ZIP, OLE, text, XML) or nothing, Content-Type or
// Content-Disposition chooses among the endings that it can have:
//
//	full/ab/ab34….jpg           the file; "ab34…" is its SHA-256 sum, the ending says what it is
//	thumbs/small/ab/ab34….jpg   its thumbnail "small"
//	.index/cd/cd12….json        what became of a URL, and when
//	.tmp/                       what is being written; it is emptied when nobody else uses the folder
//
// A URL is requested once in a run, even if it fails or if several items want it at the same time: the later items wait for the
// first. For pages in sessions with a name it is requested once for each session: accounts may see different files at one URL. Only URLs
// on their way are in memory, no more than items in the pipelines. What became of the others is in the index, one small file for each
// URL. A file that came less than Options.Fresh ago is not asked for again; an older one is asked for with If-None-Match or
// If-Modified-Since, and kept if the server says 304. The bounds of a run are those of files of earlier runs, too.
//
// # Why a crash leaves no half file, and loses none
//
// The order is: the temporary file is written, synced, and renamed to its name; likewise its thumbnails; then the entry of the index is
// written and renamed; then the item goes on to the feeds. The folders are synced in Prepare, before the requests of the items are
// settled. So an item that a feed has points to files that are there, whole, also after a power cut. What a crash leaves is a temporary
// file, or a file that no item points to yet: its page runs again, finds the entry of the index, and asks the server for nothing.
// An entry whose file is missing or has another size counts for nothing, and so does an entry that is not whole.
//
// If the disk is full, or a [Store] fails for longer than Options.Patience, the run ends with a [*StoreError] before the requests
// of the items are settled. The same job goes on when the cause is gone.
//
// # Pictures
//
// With Options.Images the files of tag "image" must be JPEG, PNG, GIF or WebP. The size is read from the header first; a picture with
// more than Options.Pixels, or that takes more than Options.Memory to decode, is refused before it is decoded, and so is a JPEG with more
// than 100 scans. It is decoded to the end, an animation as far as its first frame, so that a picture that is cut or damaged is found.
// Options.CPU bounds how many are decoded at the same time, and Options.Time how long one of them may take. Width and height are those that
// a viewer shows: the orientation that a camera has noted (EXIF) is applied, also to thumbnails and with
// Options.Convert. An animated picture is kept as it is, and its thumbnails show the first frame; of an animated WebP
// there are none.
package media
