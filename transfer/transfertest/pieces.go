package transfertest

import (
	"bytes"
	"testing"

	"hemera/words/hemera"
)

// PieceFixture opens one piece of a file of one copy. It does not exist at first.
type PieceFixture struct {
	// A piece has no reader of its own here: it is committed with its file, by its head.
	//
	// Write opens the piece with a permit to write: begun the first time, and later the same one again.
	Write func() (hemera.PieceHandle, error)
}

// RunPiece proves an implementation of [hemera.PieceHandle]. Each call of fixture is for a new piece.
func RunPiece(t *testing.T, fixture func(t *testing.T) PieceFixture) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, x PieceFixture)
	}{
		{"a sealed piece has what was written", pieceIsSealed},
		{"a seal of another size is refused", sealChecksTheSize},
		{"an unsealed piece stays pending", pieceStaysPending},
		{"an aborted piece begins empty", pieceIsAborted},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fixture(t)) })
	}
}

func openPiece(t *testing.T, x PieceFixture) hemera.PieceHandle {
	t.Helper()
	h, err := x.Write()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return h
}

// pieceIsSealed: pages go to the piece with the head's checksums or without. The seal ends all change, and says how many
// bytes the disk has; the head compares that.
func pieceIsSealed(t *testing.T, x PieceFixture) {
	h := openPiece(t, x)
	p := pattern(50_000)
	// Not at a page's border: the second write completes a page of the first.
	must(t, h.WritePages(p[:30_000], sumsOf(p[:30_000], 0), 0))
	must(t, h.WritePages(p[30_000:], nil, 30_000))
	must(t, h.Sync(t.Context()))
	expect(t, h, p)
	stat, err := h.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(p)), Sync: true})
	if err != nil || stat.Size != int64(len(p)) {
		t.Fatalf("seal: %+v, %v", stat, err)
	}
	// The head that sealed it has no right to change it any more, whatever its permit says.
	if h.WritePages(p[:1], nil, 0) == nil || h.Truncate(1) == nil {
		t.Error("a sealed piece was changed")
	}
	must(t, h.End(t.Context(), hemera.EndClose))
}

// sealChecksTheSize: a seal names the size of the file, from which the size of the piece follows. A piece that lost the
// end of its writes must not become part of a commit.
func sealChecksTheSize(t *testing.T, x PieceFixture) {
	h := openPiece(t, x)
	must(t, h.WritePages(pattern(5000), nil, 0))
	// One byte is enough: sizes are compared, not guessed.
	if _, err := h.Seal(t.Context(), hemera.SealInfo{FileSize: 5001}); err == nil {
		t.Error("a piece that is too short was sealed")
	}
	must(t, h.End(t.Context(), hemera.EndAbort))
}

// pieceStaysPending: a handle that ends without a seal or an abort leaves the piece for its head to come back to: the
// connection of the head was lost, or closed in good order.
func pieceStaysPending(t *testing.T, x PieceFixture) {
	p := pattern(20_000)
	// Twice, in the two ways in which a handle leaves its piece pending.
	for i, how := range []hemera.Ending{hemera.EndDetach, hemera.EndClose} {
		h := openPiece(t, x)
		must(t, h.WritePages(p[i*10_000:(i+1)*10_000], nil, int64(i)*10_000))
		must(t, h.End(t.Context(), how))
	}
	h := openPiece(t, x)
	expect(t, h, p)
	must(t, h.Truncate(7))
	expect(t, h, p[:7])
	must(t, h.End(t.Context(), hemera.EndAbort))
}

// pieceIsAborted: after an abort nothing is left under the name, so the piece can begin again there.
func pieceIsAborted(t *testing.T, x PieceFixture) {
	h := openPiece(t, x)
	// Content that would show if any of it were left.
	must(t, h.WritePages(bytes.Repeat([]byte("x"), 5000), nil, 0))
	must(t, h.End(t.Context(), hemera.EndAbort))
	h = openPiece(t, x)
	expect(t, h, nil)
	must(t, h.End(t.Context(), hemera.EndAbort))
}
