package xrd

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// lateError is the error of a read that was not waited for and still has its memory.
type lateError struct{ error }

func (lateError) KeepsBuffers() bool { return true }
func (e lateError) Unwrap() error    { return e.error }

// lateReads are reads that return an error but continue: they write to their memory at the next request.
type lateReads struct {
	mu   sync.Mutex
	left int      // number of following reads that are late
	kept [][]byte // their memory
	used bool     // another request got some of it
}

// lateFile is a file whose reads may be late.
type lateFile struct {
	*memoryFile
	late *lateReads
}

func (f *lateFile) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	l := f.late
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kept := range l.kept {
		l.used = l.used || overlap(p, kept)
	}
	if l.left == 0 {
		return f.memoryFile.ReadPages(p, sums, off)
	}
	l.left--
	l.kept = append(l.kept, p)
	return 0, errs.As(lateError{errs.New(errs.Timeout, "transfer.Read", "/late", "a piece was not read within 200ms")}, errs.Timeout, "transfer.Read", "/late")
}

// arrive ends the late reads: their bytes arrive in their memory.
func (l *lateReads) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.kept {
		for i := range p {
			p[i] = 0xAA
		}
	}
}

// overlap reports whether two slices share memory. Both are parts of chunks, whose capacity ends with the chunk.
func overlap(a, b []byte) bool {
	return len(a) > 0 && len(b) > 0 && &a[:cap(a)][cap(a)-1] == &b[:cap(b)][cap(b)-1]
}

// lateNode is a node whose file /late has late reads.
type lateNode struct {
	hemera.Node
	late lateReads
}

func (n *lateNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.Node.Open(ctx, p, o)
	if err != nil || f.Info().Path != "/late" {
		return f, err
	}
	return &lateFile{f.(*memoryFile), &n.late}, nil
}

// TestLateReads checks that a read that is not waited for is repeated into other memory, that its client sees no error,
// and that the memory to which it still writes is not used again.
func TestLateReads(t *testing.T) {
	n := &lateNode{}
	p := newPair(t, func(o *Options) {
		if o.Node != nil {
			n.Node, o.Node.Node = o.Node.Node, n
		}
	})
	data := random(300_000)
	p.put("/late", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/late", hemera.AccessRead)
	vector := func(elements ...int32) (v []byte, want []byte) {
		for i, length := range elements {
			s := wire.Segment{Handle: fh, Length: length, Offset: int64(i) * 7}
			v = s.Append(v)
			want = append(s.Append(want), data[s.Offset:s.Offset+int64(length)]...)
		}
		return v, want
	}
	// The second element is late when the first is already in the chunk.
	short, wantShort := vector(1000, 60_000, 5)
	for name, ask := range map[string]func() (got, want []byte){
		"readv":       func() (got, want []byte) { return c.must(t, wire.Readv{}, string(short)), wantShort },
		"read, small": func() (got, want []byte) { return c.must(t, wire.Read{Handle: fh, Length: 1000}, ""), data[:1000] },
		"read, larger": func() (got, want []byte) {
			return c.must(t, wire.Read{Handle: fh, Length: 200_000}, ""), data[:200_000]
		},
		"pgread": func() (got, want []byte) { return c.pgread(t, fh, 0, 200_000), data[:200_000] },
	} {
		for _, others := range []int{0, 1} { // reads before the late one
			n.late.mu.Lock()
			n.late.left, n.late.kept, n.late.used = 1, nil, false
			n.late.mu.Unlock()
			for round := range 4 + others {
				got, want := ask()
				n.late.arrive()
				if !bytes.Equal(got, want) {
					t.Fatalf("%s, round %d: the answer has other bytes", name, round)
				}
			}
			if n.late.used || len(n.late.kept) != 1 {
				t.Errorf("%s: %d reads were late; somebody else got their memory: %v", name, len(n.late.kept), n.late.used)
			}
		}
	}
}
