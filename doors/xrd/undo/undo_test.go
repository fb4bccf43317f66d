package undo

import (
	"io"
	"testing"

	"hemera/rules/limits"
	"hemera/words/hemera"
)

// memoryFile is content in memory.
type memoryFile struct {
	hemera.Refusal
	data []byte
}

func (f *memoryFile) Info() hemera.FileInfo { return hemera.FileInfo{Size: int64(len(f.data))} }

func (f *memoryFile) ReadPages(p []byte, _ []uint32, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WritePages(p []byte, _ []uint32, off int64) error {
	if end := int(off) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	copy(f.data[off:], p)
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.data = append(f.data, make([]byte, max(0, int(size)-len(f.data)))...)[:size]
	return nil
}

func newBudget() *limits.Budget[string] {
	return limits.NewBudget[string]("checkpoint_bytes", limits.Bounds{Total: 64 << 20, Share: 64 << 20})
}

// lateFile is a file whose first read is not waited for, and keeps its memory.
type lateFile struct {
	*memoryFile
	late bool
	kept []byte
}

type lateError struct{ error }

func (lateError) KeepsBuffers() bool { return true }

func (f *lateFile) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if !f.late {
		f.late, f.kept = true, p
		return 0, lateError{io.ErrNoProgress}
	}
	return f.memoryFile.ReadPages(p, sums, off)
}

// TestALateReadIsMadeAgain checks that the read is repeated into other memory, because the first may still write to its
// own.
func TestALateReadIsMadeAgain(t *testing.T) {
	f := &lateFile{memoryFile: &memoryFile{data: []byte("0123456789")}}
	l := New(f.Info().Size, newBudget().Open("alice"))
	if err := l.Save(f, "/f", 2, 3); err != nil {
		t.Fatal(err)
	}
	copy(f.kept, "late")
	_ = f.WritePages([]byte("abc"), nil, 2)
	if err := l.Rollback(f, "/f"); err != nil || string(f.data) != "0123456789" {
		t.Errorf("%q, %v", f.data, err)
	}
}

// TestRollback checks that writes, a cut and a write beyond the end are undone, and that the memory is returned.
func TestRollback(t *testing.T) {
	budget := newBudget()
	f := &memoryFile{data: []byte("0123456789")}
	l := New(f.Info().Size, budget.Open("alice"))
	write := func(p string, off int64) {
		if err := l.Save(f, "/f", off, int64(len(p))); err != nil {
			t.Fatal(err)
		}
		_ = f.WritePages([]byte(p), nil, off)
	}
	write("abc", 2)
	write("xyz", 3)
	if err := l.Save(f, "/f", 6, l.Size()-6); err != nil {
		t.Fatal(err)
	}
	_ = f.Truncate(6)
	write("beyond", 8)
	if l.Used() == 0 || budget.Usage().Used == 0 {
		t.Error("nothing is kept")
	}
	if err := l.Rollback(f, "/f"); err != nil || string(f.data) != "0123456789" {
		t.Errorf("%q, %v", f.data, err)
	}
	if used := budget.Usage().Used; used != 0 {
		t.Errorf("%d bytes are still charged", used)
	}
}

// TestLogIsBounded checks that many short ranges count for more than their bytes.
func TestLogIsBounded(t *testing.T) {
	f := &memoryFile{data: make([]byte, BytesMax)}
	l := New(1<<40, newBudget().Open("alice"))
	for i := range BytesMax {
		if err := l.Save(f, "/f", int64(i), 1); err != nil {
			break
		}
	}
	if n := len(l.saved); n < 1000 || n > BytesMax/rangeCost+1 {
		t.Errorf("%d ranges are kept", n)
	}
}
