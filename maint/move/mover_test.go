package move

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/orders"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// signed is the last capability that was asked for.
type signed struct {
	hemera.Capability
	also []hemera.NodeID
}

func (s *signed) MintFor(c hemera.Capability, also ...hemera.NodeID) (string, error) {
	s.Capability, s.also = c, also
	return "token", nil
}

// Disks refuse pieces whose path is longer than paths may be.
func TestACopyOrderHasAPathThatPiecesTake(t *testing.T) {
	for _, length := range []int{0, 10, hemera.PathMax, hemera.PathMax + 1, 3 * hemera.PathMax} {
		s := &signed{}
		e := New(Options{Signer: s, Now: time.Now})
		path := strings.Repeat("p", length)
		if length > 2 {
			path = path[:length-2] + "/f"
		}
		if _, err := e.CopyOrder(Plan{Entry: hemera.Entry{Name: "f"}, Path: path}); err != nil {
			t.Fatal(err)
		}
		if got := s.Path; len(got) != min(length, hemera.PathMax) || !strings.HasSuffix(path, got) {
			t.Errorf("of %d bytes %d were signed", length, len(got))
		}
	}
}

// The node that copies verifies the capability too, and is none of its sources.
func TestACopyOrderIsForItsDestinationToo(t *testing.T) {
	s := &signed{}
	e := New(Options{Signer: s, Now: time.Now})
	if _, err := e.CopyOrder(Plan{Entry: hemera.Entry{Name: "f"}, Path: "/f", Add: hemera.Target{Node: 7}}); err != nil {
		t.Fatal(err)
	}
	if len(s.also) != 1 || s.also[0] != 7 {
		t.Errorf("signed for %v besides its sources", s.also)
	}
}

// viewOnly is a cluster that does not change.
type viewOnly struct{ view *hemera.View }

func (c viewOnly) View() *hemera.View { return c.view }

func noWriters(hemera.DiskID) int { return 0 }

func newMover(files leavingFiles, view hemera.View) *Mover {
	return New(Options{Files: files, Removals: files, Cluster: viewOnly{&view}, Writers: noWriters, Now: time.Now})
}

// leavingFiles has disks that are still to remove every piece.
type leavingFiles struct {
	Files
	Removals
	disks []hemera.DiskID
}

func (f leavingFiles) IsUnlinked(_ context.Context, disk hemera.DiskID, _ hemera.PieceID) (bool, error) {
	return slices.Contains(f.disks, disk), nil
}

// A piece goes to no disk that is still to remove it: the copy would be done when it finds the piece there,
// and the removal would come after it.
func TestAPieceGoesToNoDiskThatIsToRemoveIt(t *testing.T) {
	view := hemera.View{
		Nodes:  []hemera.NodeInfo{{ID: 1, Status: hemera.NodeOnline, Enabled: true, Addr: "n1:1"}},
		Spaces: []hemera.Space{{Name: "default"}},
	}
	for id := range hemera.DiskID(4) {
		view.Disks = append(view.Disks, hemera.Disk{
			ID: id + 1, Node: 1, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Capacity: 1 << 40, Free: 1 << 40},
		})
	}
	entry := hemera.Entry{ID: 7, Gen: 1, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Replica(1), Pieces: []hemera.Piece{{Disk: 1}}}
	for seed := range uint64(50) {
		e := newMover(leavingFiles{disks: []hemera.DiskID{2, 3}}, view)
		m, err := e.choose(t.Context(), entry, Spec{Drop: entry.Pieces, Seed: seed})
		if err != nil || m.Add.Disk != 4 {
			t.Fatalf("disk %d was chosen, %v", m.Add.Disk, err)
		}
		e.release(m)
		if len(e.under)+len(e.load) > 0 {
			t.Fatal("the limiter counts a move that is over")
		}
	}
	e := newMover(leavingFiles{disks: []hemera.DiskID{2, 3, 4}}, view)
	_, err := e.choose(t.Context(), entry, Spec{Drop: entry.Pieces})
	if !errors.Is(err, errs.NoSpace) || !strings.Contains(err.Error(), "still to remove") {
		t.Errorf("with nowhere to go: %v", err)
	}
}

// recordedMoves is a namespace with one file, which notes what is recorded of its pieces.
type recordedMoves struct {
	leavingFiles
	entry hemera.Entry
	added []hemera.Piece
}

func (f *recordedMoves) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return f.entry, "/f", nil
}

func (f *recordedMoves) MovePieces(ctx context.Context, _ hemera.FileID, _ hemera.Generation, _, add []hemera.Piece) error {
	f.added = add
	return ctx.Err()
}

// TestACopyOfADrainThatIsCalledOffIsRecorded: the node makes the piece all the same, and it would be no file's.
// When the manager stops, nobody waits for it.
func TestACopyOfADrainThatIsCalledOffIsRecorded(t *testing.T) {
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			view := hemera.View{
				Nodes:  []hemera.NodeInfo{{ID: 1, Status: hemera.NodeOnline, Enabled: true, Addr: "n1:1"}},
				Spaces: []hemera.Space{{Name: "default"}},
			}
			for id := range hemera.DiskID(2) {
				view.Disks = append(view.Disks, hemera.Disk{
					ID: id + 1, Node: 1, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Capacity: 1 << 40, Free: 1 << 40},
				})
			}
			files := &recordedMoves{entry: hemera.Entry{ID: 7, Gen: 1, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Replica(1), Pieces: []hemera.Piece{{Disk: 1}}}}
			stopping, queue := make(chan struct{}), orders.New()
			e := New(Options{Files: files, Removals: files, Cluster: viewOnly{&view}, Orders: queue, Signer: &signed{}, Writers: noWriters, Now: time.Now, Recorded: func() {}, Stopping: stopping})
			job, callOff := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := e.Relocate(job, files.entry, Spec{Drop: files.entry.Pieces})
				ended <- err
			}()
			orders, err := queue.Exchange(t.Context(), 1, nil)
			if err != nil || len(orders) != 1 || orders[0].Kind != hemera.OrderCopy {
				t.Fatalf("%v, %v", orders, err)
			}
			callOff()
			synctest.Wait()
			if stops {
				close(stopping)
				if err := <-ended; !errors.Is(err, context.Canceled) || files.added != nil {
					t.Errorf("%v is recorded, %v", files.added, err)
				}
				return
			}
			if _, err := queue.Exchange(t.Context(), 1, []hemera.OrderResult{{ID: orders[0].ID, Bytes: 10}}); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil || !slices.Equal(files.added, []hemera.Piece{{Disk: 2}}) {
				t.Errorf("%v is recorded, %v", files.added, err)
			}
		})
	}
}
