package warc

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// sorter sorts lines in bounded memory: what does not fit lies in temporary files, each of which is sorted.
//
//	add … → sorted … → close
type sorter struct {
	most  int    // bytes of lines in memory
	text  []byte // the lines that are in memory
	lines []span
	runs  [][]*os.File // by how often their lines were merged, so that a line is written a few times, however many there are
}

// span is where a line is in the text.
type span struct{ begin, end int }

const (
	mostLines = 64 << 20 // bytes of lines in memory
	mostRuns  = 64       // files that are merged into one
)

// add adds a line, which does not end in a line feed.
func (s *sorter) add(line []byte) error {
	begin := len(s.text)
	s.text = append(s.text, line...)
	s.lines = append(s.lines, span{begin, len(s.text)})
	if len(s.text)+16*len(s.lines) < cmp.Or(s.most, mostLines) {
		return nil
	}
	return s.spill()
}

func (s *sorter) sortMemory() {
	slices.SortFunc(s.lines, func(a, b span) int { return bytes.Compare(s.text[a.begin:a.end], s.text[b.begin:b.end]) })
}

// spill writes the lines in memory to a file.
func (s *sorter) spill() error {
	s.sortMemory()
	err := s.run(0, func(yield func([]byte) error) error {
		for _, l := range s.lines {
			if err := yield(s.text[l.begin:l.end]); err != nil {
				return err
			}
		}
		return nil
	})
	s.text, s.lines = s.text[:0], s.lines[:0]
	for merged := 0; err == nil && len(s.runs[merged]) >= mostRuns; merged++ {
		old := s.runs[merged]
		s.runs[merged] = nil
		err = errors.Join(s.run(merged+1, func(yield func([]byte) error) error { return merge(old, yield) }), closeRuns(old))
	}
	return err
}

// run makes a temporary file of lines that were merged so often.
func (s *sorter) run(merged int, lines func(yield func([]byte) error) error) error {
	file, err := os.CreateTemp("", "warc-index-")
	if err != nil {
		return fmt.Errorf("warc: sorting the index: %w", err)
	}
	if merged == len(s.runs) {
		s.runs = append(s.runs, nil)
	}
	s.runs[merged] = append(s.runs[merged], file)
	_ = os.Remove(file.Name()) // it goes with the process; where that is not possible, with close
	out := bufio.NewWriterSize(file, 1<<20)
	err = lines(func(line []byte) error {
		_, err := out.Write(append(line[:len(line):len(line)], '\n'))
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("warc: sorting the index: %w", err)
	}
	return nil
}

// sorted calls yield with each line in order.
func (s *sorter) sorted(yield func(line []byte) error) error {
	if len(s.runs) == 0 {
		s.sortMemory()
		for _, l := range s.lines {
			if err := yield(s.text[l.begin:l.end]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.lines) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	return merge(slices.Concat(s.runs...), yield)
}

func (s *sorter) close() error { return closeRuns(slices.Concat(s.runs...)) }

func closeRuns(runs []*os.File) (err error) {
	for _, f := range runs {
		err = errors.Join(err, f.Close())
		_ = os.Remove(f.Name()) // where it could not be removed while it was open
	}
	return err
}

// merge reads sorted files together.
func merge(runs []*os.File, yield func(line []byte) error) error {
	var heads headHeap
	for _, f := range runs {
		h := &head{from: bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)}
		switch err := h.next(); {
		case err == nil:
			heads = append(heads, h)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&heads)
	for len(heads) > 0 {
		h := heads[0]
		if err := yield(h.line); err != nil {
			return err
		}
		switch err := h.next(); {
		case err == nil:
			heap.Fix(&heads, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&heads)
		default:
			return err
		}
	}
	return nil
}

// head is the next line of a sorted file.
type head struct {
	from *bufio.Reader
	line []byte
}

func (h *head) next() error {
	line, err := h.from.ReadBytes('\n')
	if err != nil {
		return err // a line always ends in a line feed
	}
	h.line = line[:len(line)-1]
	return nil
}

type headHeap []*head

func (h headHeap) Len() int           { return len(h) }
func (h headHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h headHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *headHeap) Push(x any)        { *h = append(*h, x.(*head)) }
func (h *headHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
