package parquet

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
	"strconv"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/tegenaria/tegenaria/feed"
)

// How a part is written.
const (
	rowGroupBytes   = 64 << 20  // of rows, as they are in the spool
	pageBytes       = 256 << 10 // of a column, if there are not many
	pagesBytes      = 32 << 20  // of all columns that are not packed yet
	leastPage       = 4 << 10
	dictionaryBytes = 1 << 20 // of a column; then its values are stored themselves
	writeBytes      = 256 << 10
)

// What a part says of itself: by it a job knows its own files.
const (
	jobKey  = "tegenaria.job"
	partKey = "tegenaria.part"
)

// part is a file to be made of a spool.
type part struct {
	partState
	spool *spool
}

// partState is what a job remembers of a part. It is stored: a field keeps its meaning.
type partState struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
	Slot   int    `json:"slot"`  // 1 or 2, of the spool's name
	End    int64  `json:"end"`   // of the spool
	Rows   int64  `json:"rows"`  // in it
	Begun  int64  `json:"begun"` // seconds since 1970
}

// builder makes files of spools.
type builder struct {
	fs     feed.MoverFS
	schema *schema
	job    string
	bytes  atomic.Int64 // of the files that were finished in this run
}

// partEnding is added to the name of a file until it is finished.
const partEnding = ".part"

// finish makes the file of a part and removes its spool. The spool stays if that fails.
func (b *builder) finish(ctx context.Context, p *part) (err error) {
	temporary := p.Name + partEnding
	file, err := b.fs.Open(temporary)
	if err != nil {
		return failed("opening", temporary, err)
	}
	if err = failed("writing", temporary, file.Truncate(0)); err == nil {
		err = b.fill(ctx, file, p)
	}
	if err = errors.Join(err, failed("closing", temporary, file.Close())); err != nil {
		return errors.Join(err, failed("removing", temporary, b.fs.Remove(temporary)))
	}
	if taken, err := b.fs.Exists(p.Name); err != nil || taken {
		if taken {
			err = &feed.NotEmptyError{Path: p.Name}
		}
		return failed("renaming to", p.Name, err)
	}
	if err := b.fs.Rename(temporary, p.Name); err != nil {
		return failed("renaming to", p.Name, err)
	}
	return p.spool.remove(b.fs)
}

// fill writes a part, makes it durable, and reads it back.
func (b *builder) fill(ctx context.Context, file feed.File, p *part) error {
	path := p.Name + partEnding
	out := &appender{file: file}
	written, err := b.write(ctx, out, p)
	if err != nil {
		var spoiled *feed.CorruptError
		if ctx.Err() != nil || errors.As(err, &spoiled) {
			return err
		}
		return failed("writing", path, err)
	}
	if err := file.Sync(); err != nil {
		return failed("writing", path, err)
	}
	read, err := b.read(ctx, file, out.size, p, written.hasher)
	if err == nil {
		err = compareSums(written, read)
	}
	if err == nil {
		b.bytes.Add(out.size)
	}
	if err != nil && ctx.Err() == nil {
		return failed("reading back", path, fmt.Errorf("%w: %w", errDiffers, err))
	}
	return err
}

// appender writes to the end of a file.
type appender struct {
	file feed.File
	size int64
}

// Write is part of io.Writer.
func (a *appender) Write(p []byte) (int, error) {
	n, err := a.file.WriteAt(p, a.size)
	a.size += int64(n)
	return n, err
}

// sum is what a column holds: how many values, and a checksum of them in their order.
type sum struct {
	values int64
	hash   uint64
}

// hasher makes sums.
type hasher struct{ seed maphash.Seed }

func mix(h, x uint64) uint64 { return (bits.RotateLeft64(h, 5) ^ x) * 0x9E3779B97F4A7C15 }

// add adds values of a column to its sum.
func (h *hasher) add(s *sum, kind parquet.Kind, values []parquet.Value) {
	s.values += int64(len(values))
	hash := s.hash
	for i := range values {
		v := &values[i]
		hash = mix(hash, uint64(v.RepetitionLevel())<<8|uint64(v.DefinitionLevel()))
		if v.IsNull() {
			hash = mix(hash, 1)
			continue
		}
		switch kind {
		case parquet.Boolean:
			if v.Boolean() {
				hash = mix(hash, 3)
			} else {
				hash = mix(hash, 2)
			}
		case parquet.Int32, parquet.Float:
			hash = mix(hash, uint64(v.Uint32()))
		case parquet.Int64, parquet.Double:
			hash = mix(hash, v.Uint64())
		default:
			hash = mix(hash, maphash.Bytes(h.seed, v.ByteArray()))
		}
	}
	s.hash = hash
}

// sums are those of all columns, and what they were made with.
type sums struct {
	hasher  hasher
	columns []sum
	rows    int64
}

var errDiffers = errors.New("what is read is not what was written")

func compareSums(written, read *sums) error {
	if written.rows != read.rows {
		return fmt.Errorf("%d rows instead of %d", read.rows, written.rows)
	}
	for i, w := range written.columns {
		if r := read.columns[i]; r != w {
			return fmt.Errorf("column %d: %d values instead of %d, checksum %x instead of %x", i, r.values, w.values, r.hash, w.hash)
		}
	}
	return nil
}

func (b *builder) pageSize() int {
	return max(leastPage, min(pageBytes, pagesBytes/len(b.schema.leaves)))
}

// write writes the rows of a spool.
func (b *builder) write(ctx context.Context, out io.Writer, p *part) (*sums, error) {
	leaves := b.schema.leaves
	w := parquet.NewWriter(out, b.schema.parquet,
		parquet.Compression(&zstd.Codec{}),
		parquet.PageBufferSize(b.pageSize()),
		parquet.WriteBufferSize(writeBytes),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.KeyValueMetadata(jobKey, b.job),
		parquet.KeyValueMetadata(partKey, strconv.Itoa(p.Number)))
	columns := w.ColumnWriters()
	s := &sums{hasher: hasher{maphash.MakeSeed()}, columns: make([]sum, len(leaves))}
	values := make([][]parquet.Value, len(leaves))
	in, group := p.spool.chunks(), 0
	for {
		rows, err := in.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for len(rows) > 0 {
			n, size := 0, 0
			for n < len(rows) && n < rowsAtOnce && size < pageBytes {
				if err := decode(values, leaves, rows[n]); err != nil {
					return nil, &feed.CorruptError{Path: p.spool.path, Err: err}
				}
				size += len(rows[n])
				n++
			}
			for i := range values {
				s.hasher.add(&s.columns[i], leaves[i].kind, values[i])
				if _, err := columns[i].WriteRowValues(values[i]); err != nil {
					return nil, err
				}
				values[i] = values[i][:0]
			}
			rows = rows[n:]
			s.rows += int64(n)
			if group += size; group >= rowGroupBytes {
				if err := w.Flush(); err != nil {
					return nil, err
				}
				group = 0
			}
		}
	}
	if s.rows != p.Rows {
		return nil, &feed.CorruptError{Path: p.spool.path, Err: fmt.Errorf("it has %d rows, and the job has written %d", s.rows, p.Rows)}
	}
	return s, w.Close()
}

// rowsAtOnce is how many rows are written, and how many values are read, in one step.
const rowsAtOnce = 1024

// read reads a file completely.
func (b *builder) read(ctx context.Context, file io.ReaderAt, size int64, p *part, h hasher) (*sums, error) {
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(writeBytes))
	if err != nil {
		return nil, err
	}
	if !b.isOurs(f, &p.partState) {
		return nil, errors.New("it has another job and part than were written")
	}
	leaves := b.schema.leaves
	s := &sums{hasher: h, columns: make([]sum, len(leaves)), rows: f.NumRows()}
	buf := make([]parquet.Value, rowsAtOnce)
	for _, group := range f.RowGroups() {
		columns := group.ColumnChunks()
		if len(columns) != len(leaves) {
			return nil, fmt.Errorf("%d columns instead of %d", len(columns), len(leaves))
		}
		for i, c := range columns {
			if err := h.addChunk(ctx, &s.columns[i], leaves[i].kind, c, buf); err != nil {
				return nil, fmt.Errorf("column %d: %w", i, err)
			}
		}
	}
	return s, nil
}

// addChunk adds the values of a column in a row group to its sum.
func (h *hasher) addChunk(ctx context.Context, s *sum, kind parquet.Kind, c parquet.ColumnChunk, buf []parquet.Value) (err error) {
	pages := c.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		values := page.Values()
		for err == nil {
			var n int
			n, err = values.ReadValues(buf)
			h.add(s, kind, buf[:n])
		}
		parquet.Release(page)
		if err != io.EOF {
			return err
		}
	}
}

// isOurs reports whether a file is a part of this job.
func (b *builder) isOurs(f *parquet.File, p *partState) bool {
	job, _ := f.Lookup(jobKey)
	number, _ := f.Lookup(partKey)
	return job == b.job && number == strconv.Itoa(p.Number)
}
