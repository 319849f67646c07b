// Package records reads documents that are lists: feeds (RSS 0.9 to 2.0, Atom, JSON Feed), the elements of XML
// documents, the rows of CSV files, the elements of JSON arrays, and the lines of JSON Lines. Each is read as a stream,
// one record at a time, so that memory does not grow with the document.
//
//	format := records.CSV(records.Dialect{Delimiter: ';'})
//	for row, err := range format.Read(body, records.Source{URL: "https://example.com/prices.csv"}) {
//		if err != nil {
//			log.Print(err) // names page, row and line
//			continue
//		}
//		fmt.Println(row.Get("name"), row.Get("price"))
//	}
//
// The flow: compression with gzip and the encoding are taken off, the document is cut into records, each record is
// parsed by itself. A record that is wrong is an [*Error] in its place, and the next one follows; so it is with one
// that is larger than [MaxRecord]. Where a document cannot be read on, the last error says so: it breaks off, is
// something else, or is made to exhaust memory. Entities that a document type declares are never expanded.
//
// [ReadFeed] reads feeds of all kinds into one form.
package records
