package namespace_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestALateCommitBringsNothingBack sends a commit again after its file was removed and its pieces are
// gone from the disks, as a head does that lost the first answer.
func TestALateCommitBringsNothingBack(t *testing.T) {
	n := fresh(t)
	ctx := t.Context()
	for _, path := range []string{"/file", "/empty"} {
		c := prepare(t, n, alice(), path)
		c.Size = 100
		if path == "/empty" {
			c.Size, c.Pieces = 0, nil
		}
		must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
		if err := n.Tree.Remove(ctx, alice(), path, 0); err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Pieces {
			if err := n.Pieces.ConfirmRemoved(ctx, p.Disk, []hemera.PieceID{{File: c.ID, Gen: c.Gen, Index: p.Index}}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := n.Writes.Commit(ctx, c)
		wantKind(t, "the same commit again for "+path, err, errs.Conflict)
	}
	checked(t, n)
}

func TestCommitsThatCouldNotBeReadAreRefused(t *testing.T) {
	n := fresh(t)
	for what, spoil := range map[string]func(c *namespace.Commit){
		"unknown checksum": func(c *namespace.Commit) { c.Sums = []hemera.Checksum{{Kind: 200}} },
		"checksum twice":   func(c *namespace.Commit) { c.Sums = make([]hemera.Checksum, 2) },
		"time":             func(c *namespace.Commit) { c.Mtime = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"escape in a name": func(c *namespace.Commit) { c.Name = "f\x1b[31m" },
		"line in a name":   func(c *namespace.Commit) { c.Name = "f\nfake.root" },
		"slash in a name":  func(c *namespace.Commit) { c.Name = "f/g" },
		"id of the future": func(c *namespace.Commit) { c.ID = 1<<64 - 1 },
		"an id too early":  func(c *namespace.Commit) { c.ID = n.Inspection.Stats().NextID },
		"generation":       func(c *namespace.Commit) { c.Gen = hemera.Generation(n.Inspection.Stats().NextID) + 1<<20 },
	} {
		c := prepare(t, n, alice(), "/f")
		spoil(&c)
		_, err := n.Writes.Commit(t.Context(), c)
		wantKind(t, what, err, errs.Invalid)
	}
	checked(t, n)
}

// TestMovesLeaveAFileReadable has two decisions, each made when both pieces were there, drop one each.
func TestMovesLeaveAFileReadable(t *testing.T) {
	n := fresh(t)
	e := put(t, n, alice(), "/f", 10)
	if err := n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[:1]}); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "the last piece", n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[1:]}), errs.Conflict)
	if err := n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[1:], Add: []hemera.Piece{{Index: 1, Disk: 9}}}); err != nil {
		t.Error(err)
	}
	checked(t, n)
}

// TestAFullBatchDoesNotStopTheNamespace fills groups to their last bytes: renames with long paths, of
// entries with large attributes, that wait at the same time.
func TestAFullBatchDoesNotStopTheNamespace(t *testing.T) {
	n := fresh(t)
	ctx := t.Context()
	deep := strings.Repeat("/"+strings.Repeat("d", 250), 16)
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), deep, 0o755, true))
	who := alice()
	who.Name = strings.Repeat("a", 5000)
	var wg sync.WaitGroup
	for i := range 32 {
		from, to := fmt.Sprintf("%s/a%d", deep, i), fmt.Sprintf("%s/b%d", deep, i)
		must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), from, 0o755, false))
		if err := n.Tree.SetXattr(ctx, who, from, "user.v", make([]byte, hemera.XattrValueMax-1317*i), false); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range 60 {
				if err := n.Tree.Rename(ctx, who, from, to); err != nil {
					t.Error(err)
					return
				}
				from, to = to, from
			}
		})
	}
	wg.Wait()
	checked(t, n)
}
