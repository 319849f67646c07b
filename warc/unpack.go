package warc

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// PackageError is the failure to open a package (WACZ).
type PackageError struct {
	Path   string
	Member string // "" if it is about the package itself
	Err    error
}

// Error names the package and its part.
func (e *PackageError) Error() string {
	if e.Member == "" {
		return fmt.Sprintf("warc: the package %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("warc: %s in the package %s: %v", e.Member, e.Path, e.Err)
}

// Unwrap returns what is wrong.
func (e *PackageError) Unwrap() error { return e.Err }

func isPackage(name string) bool { return strings.EqualFold(path.Ext(name), ".wacz") }

// mostManifest is how large the description of a package may be.
const mostManifest = 64 << 20

// openPackage opens a package. The caller closes the file.
func openPackage(name string) (file *os.File, whole *zip.Reader, err error) {
	if file, err = os.Open(name); err != nil {
		return nil, nil, err
	}
	size := int64(0)
	info, err := file.Stat()
	if err == nil {
		size = info.Size()
		whole, err = zip.NewReader(file, size)
	}
	if err != nil {
		err = &PackageError{Path: name, Err: err}
	} else {
		err = checkPlaces(name, size, whole)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, whole, nil
}

// checkPlaces refuses parts that lie outside of the file, and parts that share bytes: a small file of many such parts takes hours to read.
func checkPlaces(name string, size int64, whole *zip.Reader) error {
	type place struct {
		begin, end int64
		member     string
	}
	places := make([]place, 0, len(whole.File))
	for _, m := range whole.File {
		begin, err := m.DataOffset()
		if err == nil && (m.CompressedSize64 > uint64(size) || begin > size-int64(m.CompressedSize64)) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return &PackageError{name, m.Name, err}
		}
		places = append(places, place{begin, begin + int64(m.CompressedSize64), m.Name})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	for i := 1; i < len(places); i++ {
		if before := places[i-1]; places[i].begin < before.end {
			return &PackageError{name, places[i].member, fmt.Errorf("it shares bytes with %s", before.member)}
		}
	}
	return nil
}

// sourcesOfPackage finds the archives in a package.
func sourcesOfPackage(name string) (list []*source, err error) {
	file, whole, err := openPackage(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, m := range whole.File {
		if !strings.HasPrefix(m.Name, archiveDir) || !strings.Contains(path.Base(m.Name), ".warc") {
			continue
		}
		if m.Method != zip.Store {
			return nil, &PackageError{name, m.Name, errors.New("it is compressed, so that its records cannot be found: unpack " +
				"the package by a program for zip files, and open the folder")}
		}
		begin, err := m.DataOffset()
		if err != nil {
			return nil, &PackageError{name, m.Name, err}
		}
		list = append(list, &source{name: name, member: m.Name, begin: begin, size: int64(m.CompressedSize64)})
	}
	if len(list) == 0 {
		return nil, &PackageError{Path: name, Err: errors.New("it has no archive")}
	}
	return list, nil
}

// Verify compares the parts of a package (WACZ) with the digests that are written in it, as far as it has these: each part that differs is
// a [*PackageError], all joined. [Open] does not, since it would read all of a large package twice, and since there are
// programs that write wrong digests: js-wacz 0.1.6 is one.
func Verify(name string) (err error) {
	file, whole, err := openPackage(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return checkDigests(name, whole)
}

// checkDigests compares the parts of a package with its description, and that with its digest, as far as it has these.
func checkDigests(name string, whole *zip.Reader) error {
	members := make(map[string]*zip.File, len(whole.File))
	for _, m := range whole.File {
		if members[m.Name] != nil {
			return &PackageError{name, m.Name, errors.New("it is there twice")}
		}
		members[m.Name] = m
	}
	described := members[manifestName]
	if described == nil {
		return nil
	}
	text, err := readMember(described, mostManifest)
	if err != nil {
		return &PackageError{name, manifestName, err}
	}
	if sums := members[digestName]; sums != nil {
		var d digest
		short, err := readMember(sums, 1<<20)
		if err == nil {
			err = json.Unmarshal(short, &d)
		}
		if err == nil {
			err = sameDigest(d.Hash, sha256.Sum256(text))
		}
		if err != nil {
			return &PackageError{name, manifestName, err}
		}
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return &PackageError{name, manifestName, err}
	}
	var errs []error
	checked := make(map[string]bool, len(m.Resources))
	for _, r := range m.Resources {
		if checked[r.Path] { // reading it as often as it is named could take hours
			return &PackageError{name, r.Path, errors.New("the description names it twice")}
		}
		checked[r.Path] = true
		err := errors.New("it is not there")
		if one := members[r.Path]; one != nil {
			err = checkMember(one, r)
		}
		if err != nil {
			errs = append(errs, &PackageError{name, r.Path, err})
		}
	}
	return errors.Join(errs...)
}

// checkMember compares a part with what the description says of it.
func checkMember(m *zip.File, r resource) error {
	if int64(m.UncompressedSize64) != r.Bytes {
		return fmt.Errorf("it has %d bytes, and should have %d", m.UncompressedSize64, r.Bytes)
	}
	if r.Path == digestName || r.Path == manifestName {
		return nil // it is checked otherwise
	}
	from, err := m.Open()
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(from, r.Bytes+1))
	if err = errors.Join(err, from.Close()); err == nil && n != r.Bytes {
		err = fmt.Errorf("it has %d bytes, and should have %d", n, r.Bytes)
	}
	if err != nil {
		return err
	}
	return sameDigest(r.Hash, [sha256.Size]byte(sum.Sum(nil)))
}

// sameDigest compares a digest with the one that is written down; a digest of another kind is not compared.
func sameDigest(written string, sum [sha256.Size]byte) error {
	kind, text, ok := strings.Cut(written, ":")
	if !ok {
		kind, text = "sha256", written
	}
	if kind == "sha256" && text != "" && !strings.EqualFold(text, hex.EncodeToString(sum[:])) {
		return fmt.Errorf("its digest is sha256:%x, and should be %s: it has changed since it was packed", sum, written)
	}
	return nil
}

// readMember reads a small part.
func readMember(m *zip.File, most int64) ([]byte, error) {
	from, err := m.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err = errors.Join(err, from.Close()); err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return text, err
}
