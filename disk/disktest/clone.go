package disktest

import (
	"bytes"
	"errors"
	"testing"

	"hemera/disk"
	"hemera/words/errs"
)

// clone: a piece that begins as a copy is what its base was, up to the size; changes of it are none of the base, wherever they
// are, and the removal of the base is none of it.
func clone(t *testing.T, s *suite) {
	base := content(1, 5<<20+1234) // two blocks of the table
	clear(base[1<<20 : 3<<20])
	s.store(1, base)
	// Each change on a copy of its own, so that a failure has one cause.
	n := 1
	for _, size := range []int{0, 1, 5000, 4 << 20, len(base)} {
		for name, change := range map[string]func(w disk.Writer, p []byte) []byte{
			"nothing": func(_ disk.Writer, p []byte) []byte { return p },
			"over it": func(w disk.Writer, p []byte) []byte {
				with := content(7, min(10_000, len(p)))
				at := (len(p) - len(with)) / 3
				s.write(w, with, int64(at))
				copy(p[at:], with)
				return p
			},
			"behind it": func(w disk.Writer, p []byte) []byte {
				s.write(w, content(8, 5000), int64(len(p)))
				return append(p, content(8, 5000)...)
			},
			"beyond it": func(w disk.Writer, p []byte) []byte {
				s.write(w, content(9, 5000), int64(len(p)+9000))
				return append(append(p, make([]byte, 9000)...), content(9, 5000)...)
			},
			"cut and grown": func(w disk.Writer, p []byte) []byte {
				for _, size := range []int{len(p) / 3, len(p)/3 + 1000} {
					if err := w.Truncate(int64(size)); err != nil {
						t.Errorf("truncate: %v", err)
					}
				}
				return append(p[:len(p)/3], make([]byte, 1000)...)
			},
		} {
			n++
			// Sparse, as writers of updates begin their pieces: nothing is reserved.
			w := s.create(n, disk.CreateOptions{Path: "/copy", Sparse: true})
			err := disk.Clone(w, id(1), int64(size))
			if errors.Is(err, errs.Unsupported) {
				t.Skip("the store makes no copies")
			}
			if err != nil || w.Size() != int64(size) {
				t.Fatalf("%d bytes, then %s: %d bytes, %v", size, name, w.Size(), err)
			}
			if name == "beyond it" { // the rest works without the base
				s.remove(1)
			}
			// Pending, and then sealed, it is what a file with the same steps would be.
			want := change(w, bytes.Clone(base[:size]))
			got := make([]byte, len(want))
			if n, err := w.ReadPages(got, nil, 0); len(want) > 0 && (n != len(want) || err != nil && n != len(want)) || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, then %s: pending it reads as %d bytes of %d, or others: %v", size, name, n, len(want), err)
			}
			// A hole may be told or not, but data is never taken for one.
			if next, err := w.NextData(0); err != nil || next > int64(len(want)) || len(bytes.Trim(want[:next], "\x00")) > 0 {
				t.Errorf("%d bytes, then %s: data begins at %d, %v", size, name, next, err)
			}
			s.seal(w, int64(len(want)))
			s.wants(n, want)
			if name == "beyond it" {
				s.store(1, base)
			}
			s.wants(1, base)
			s.remove(n)
		}
	}
}

// cloneRefused: a refused copy leaves a writer that is as empty as before.
func cloneRefused(t *testing.T, s *suite) {
	s.store(1, content(1, 5000))
	w := s.create(2, disk.CreateOptions{Path: "/copy", Sparse: true})
	for _, c := range []struct {
		what string
		base int
		size int64
		want errs.Kind
	}{
		{"a copy of a piece that is not there", 3, 10, errs.NotFound},
		{"a copy of a pending piece", 2, 0, errs.NotFound},
		{"more than there is", 1, 5001, errs.Invalid},
		{"less than nothing", 1, -1, errs.Invalid},
	} {
		err := disk.Clone(w, id(c.base), c.size)
		if errors.Is(err, errs.Unsupported) {
			t.Skip("the store makes no copies")
		}
		s.kind(c.what, err, c.want)
	}
	// It can be written to after all of these, and then it cannot begin as a copy any more.
	p := content(2, 6000)
	s.write(w, p, 0)
	s.kind("a copy over what was written", disk.Clone(w, id(1), 100), errs.Invalid)
	s.seal(w, 6000)
	s.wants(2, p)
}
