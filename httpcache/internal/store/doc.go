// Package store keeps the pages of an HTTP cache on disk. It has no rules of its own about freshness or about what may be stored: see
// package rfc9111 for those.
//
//	Create → Write … → Finish → Commit    a page is written as it arrives, and seen by nobody before Commit
//	Get → Read or Open                    the entries of a key, and the body of one of them
//	Update, Delete, DeleteURL             a newer header, a page that is no longer right
//
// A short example:
//
//	s, err := store.Open("cache", store.Options{})
//	if err != nil {
//		return err // *InUseError: another process has it; *VersionError: another version made it
//	}
//	defer s.Close()
//	w := s.Create()
//	if _, err := io.Copy(w, body); err != nil {
//		w.Discard()
//		return err
//	}
//	page, err := w.Finish(&store.Entry{Key: key, Entry: entry})
//	if err == nil {
//		err = s.Commit(page)
//	}
//
// # Files
//
//	CACHE     says what the folder is, and its format
//	LOCK      held by the process that has the folder open, whose number is in PID
//	index/    the Pebble store: entries, bodies up to 1 MiB, when they were used last
//	files/    larger bodies, each under its digest
//	pending/  larger bodies that are not committed yet; emptied by Open
//
// The store of Pebble has these rows. Each Commit, Update and Delete is one atomic batch.
//
//	k KEY     the entries of a key, one for each variant
//	t KEY     when the key was used last, and how many bytes it takes
//	b DIGEST  a body, unless it is a file
//	r DIGEST  how many entries have this body, and how many bytes it takes
//	s         the totals, and the next number of an entry
//
// # What is promised
//
// A kill at any moment leaves a store that opens and in which each entry is whole or absent. Commit waits for no disk: a kill or a
// power failure may take the newest entries, a kill those of the last 32 KiB of Pebble's log. A damaged file is never
// an error: what it held is missing, [Stats] counts it, and the store goes on, with an empty index if that cannot be
// read at all. A body is checked each time before it is handed out: one in the index by a checksum of 64 bits, beside
// that of Pebble, a file by its SHA-256.
//
// When the disk is full, or writing fails otherwise, the store goes on as read-only until it is opened again: each write returns the
// same [*WriteError].
package store
