package move

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/orders"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// line is a limiter and copies that wait for room at disk 1, and the order in which they got it.
type line struct {
	t    *testing.T
	l    *Limiter
	held map[hemera.FileID]Plan
	got  []hemera.FileID
}

// ask acquires a place of a copy in the background.
func (q *line) ask(ctx context.Context, file hemera.FileID, class Urgency) {
	go func() {
		m, err := q.l.acquire(ctx, class, func(full []hemera.DiskID, _ map[hemera.DiskID]int) (Plan, error) {
			if slices.Contains(full, 1) {
				return Plan{}, errs.New(errs.NoSpace, "test", "", "it is full")
			}
			return Plan{Entry: hemera.Entry{ID: file}, Add: hemera.Target{Disk: 1}}, nil
		})
		if err == nil {
			q.held[file], q.got = m, append(q.got, file)
		}
	}()
	synctest.Wait()
}

// end ends the copy of a file.
func (q *line) end(file hemera.FileID) {
	q.l.release(q.held[file])
	synctest.Wait()
}

func inLine(t *testing.T, perDisk, total int, fn func(q *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fn(&line{t: t, l: newLimiter(perDisk, total), held: map[hemera.FileID]Plan{}})
	})
}

// TestTheMostUrgentGoFirstAndAmongEqualsTheOldest, and a copy that comes does not pass those that wait and are as urgent.
func TestTheMostUrgentGoFirstAndAmongEqualsTheOldest(t *testing.T) {
	t.Parallel()
	inLine(t, 4, 1, func(q *line) {
		q.ask(q.t.Context(), 1, UrgencyDrain)
		for i, class := range []Urgency{UrgencyDrain, UrgencyBalance, 3, UrgencyDrain, 3, 0, UrgencyBalance} {
			q.ask(q.t.Context(), hemera.FileID(10+i), class)
		}
		for len(q.got) < 8 {
			before := len(q.got)
			if q.end(q.got[before-1]); len(q.got) != before+1 {
				q.t.Fatalf("%v after one has ended", q.got)
			}
		}
		if want := []hemera.FileID{1, 15, 12, 14, 10, 13, 11, 16}; !slices.Equal(q.got, want) {
			q.t.Errorf("%v, want %v", q.got, want)
		}
	})
}

// TestACopyThatComesStandsBehindThoseThatWait: as urgent ones pass nobody, though there is room where they go.
func TestACopyThatComesStandsBehindThoseThatWait(t *testing.T) {
	t.Parallel()
	inLine(t, 1, 100, func(q *line) {
		q.ask(q.t.Context(), 1, UrgencyDrain)
		q.ask(q.t.Context(), 2, UrgencyDrain) // waits for disk 1
		for class, passes := range map[Urgency]bool{UrgencyDrain: false, UrgencyBalance: false, 1: true} {
			if _, wait := q.l.mustWait(class); wait == passes {
				q.t.Errorf("a copy of class %d waits: %t", class, wait)
			}
		}
		q.end(1)
		q.end(2)
		if !slices.Equal(q.got, []hemera.FileID{1, 2}) {
			q.t.Errorf("%v", q.got)
		}
	})
}

// TestUrgentCopiesFillAPartThatOthersCannot: copies of files that can lose nothing more have a quarter beyond the limit, and balancing half of it.
func TestUrgentCopiesFillAPartThatOthersCannot(t *testing.T) {
	t.Parallel()
	for class, want := range map[Urgency]int{0: 10, 1: 8, UrgencyDrain: 8, UrgencyBalance: 4} {
		inLine(t, 8, 100, func(q *line) {
			ctx, leave := context.WithCancel(q.t.Context())
			for i := range 20 {
				q.ask(ctx, hemera.FileID(i+1), class)
			}
			if len(q.got) != want {
				q.t.Errorf("class %d: %d copies at once, want %d", class, len(q.got), want)
			}
			leave()
			synctest.Wait()
		})
	}
}

// TestATurnOfAWaiterThatLeavesGoesOn, or the free place would be for no one.
func TestATurnOfAWaiterThatLeavesGoesOn(t *testing.T) {
	t.Parallel()
	inLine(t, 1, 100, func(q *line) {
		q.ask(q.t.Context(), 1, UrgencyDrain)
		gone := q.l.join(UrgencyDrain, q.l.freed) // one that does not look any more
		q.ask(q.t.Context(), 2, UrgencyDrain)
		q.end(1) // its turn
		if len(q.got) != 1 {
			q.t.Errorf("%v: the second one has passed", q.got)
		}
		q.l.leave(gone)
		synctest.Wait()
		if !slices.Equal(q.got, []hemera.FileID{1, 2}) {
			q.t.Errorf("%v", q.got)
		}
	})
}

// TestAWaiterTriesAtOnceWhereNothingIsUnderWay: no end of a copy would wake it.
func TestAWaiterTriesAtOnceWhereNothingIsUnderWay(t *testing.T) {
	t.Parallel()
	inLine(t, 1, 100, func(q *line) {
		w := q.l.join(UrgencyDrain, q.l.freed)
		select {
		case <-w.turn:
		default:
			q.t.Error("it waits for ever")
		}
		q.l.leave(w)
	})
}

// TestACopyWeighsByWhatItReadsAndWrites: small pieces a unit, larger ones four; a coded piece that is there is read alone, one that is lost from as
// many as it takes.
func TestACopyWeighsByWhatItReadsAndWrites(t *testing.T) {
	t.Parallel()
	sources := []hemera.Target{{Index: 0, Disk: 1, Node: 1}, {Index: 1, Disk: 2, Node: 2}, {Index: 2, Disk: 3, Node: 3}}
	for _, c := range []struct {
		layout hemera.Layout
		size   int64
		index  uint8
		units  int
		reads  []hemera.DiskID
	}{
		{hemera.Replica(2), smallPiece, 1, unitsSmall, []hemera.DiskID{1}},
		{hemera.Replica(2), smallPiece + 1, 1, unitsLarge, []hemera.DiskID{1}},
		{hemera.ReedSolomon(2, 2), 100, 0, unitsSmall, []hemera.DiskID{1}},
		{hemera.ReedSolomon(2, 2), 64 << 20, 0, unitsLarge, []hemera.DiskID{1}},
		{hemera.ReedSolomon(2, 2), 64 << 20, 2, unitsLarge, []hemera.DiskID{3}},
		{hemera.ReedSolomon(2, 2), 64 << 20, 3, unitsLarge, []hemera.DiskID{1, 2}},
	} {
		m := Plan{Entry: hemera.Entry{ID: 1, Layout: c.layout, Size: c.size}, Add: hemera.Target{Index: c.index, Disk: 9, Node: 1}, Sources: sources}
		var reads []hemera.DiskID
		for _, r := range m.reads() {
			reads = append(reads, r.Disk)
		}
		if m.units() != c.units || !slices.Equal(reads, c.reads) {
			t.Errorf("%+v: %d units, reads %v", c, m.units(), reads)
		}
		l := newLimiter(100, 100)
		if !l.count(1, m) || l.load[9] != c.units || l.load[c.reads[0]] != c.units || len(l.load) != 1+len(c.reads) {
			t.Errorf("%+v: loads %v", c, l.load)
		}
		// What stays within node 1 crosses no link.
		crossing := int64(0)
		for _, r := range m.reads() {
			if r.Node != 1 {
				crossing += m.bytes()
			}
		}
		if traffic := l.traffic(); traffic.receives[1] != crossing || traffic.sends[1] != 0 {
			t.Errorf("%+v: %+v", c, traffic)
		}
		if l.release(m); len(l.load)+len(l.traffic().sends)+len(l.traffic().receives) != 0 {
			t.Errorf("%+v: %v, %+v are left", c, l.load, l.traffic())
		}
	}
}

// TestASourceThatFailsComesLast, then those whose node has much to send, then those whose disk has many copies.
func TestASourceThatFailsComesLast(t *testing.T) {
	t.Parallel()
	v := fleet(4)
	v.Disks[0].Health = hemera.HealthFailing
	at := func(id int) hemera.Target { return hemera.Target{Disk: hemera.DiskID(id), Node: hemera.NodeID(id)} }
	sources := []hemera.Target{at(1), at(2), at(3), at(4)}
	busy := newTraffic()
	busy.sends[2] = 5
	busy.orderSources(v, sources, map[hemera.DiskID]int{3: 2, 4: 1})
	if want := []hemera.Target{at(4), at(3), at(2), at(1)}; !slices.Equal(sources, want) {
		t.Errorf("%v", sources)
	}
}

// oneFile is a namespace with one file, and what is recorded of it.
type oneFile struct {
	leavingFiles
	now      hemera.Entry
	err      error // of the record
	recorded int
}

func (f *oneFile) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	if f.now.ID == 0 {
		return hemera.Entry{}, "", errs.New(errs.NotFound, "test", "", "it is gone")
	}
	return f.now, "/f", nil
}

func (f *oneFile) MovePieces(context.Context, hemera.FileID, hemera.Generation, []hemera.Piece, []hemera.Piece) error {
	f.recorded++
	return f.err
}

// TestWorkOnAFileThatChangedIsNotBegun: another generation, another place of the piece, a piece that was made meanwhile, a file that is gone.
func TestWorkOnAFileThatChangedIsNotBegun(t *testing.T) {
	t.Parallel()
	old := hemera.Entry{ID: 7, Gen: 2, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Replica(2), Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}}
	short := old
	short.Pieces = old.Pieces[:1]
	for name, c := range map[string]struct {
		decided hemera.Entry
		w       Spec
		now     func(e *hemera.Entry)
	}{
		"another generation":     {old, Spec{Drop: old.Pieces[:1]}, func(e *hemera.Entry) { e.Gen++ }},
		"a piece that has moved": {old, Spec{Drop: old.Pieces[:1]}, func(e *hemera.Entry) { e.Pieces = []hemera.Piece{{Index: 0, Disk: 3}, {Index: 1, Disk: 2}} }},
		"a piece that was made":  {short, Spec{Index: 1}, func(*hemera.Entry) {}},
		"a file that is gone":    {old, Spec{Drop: old.Pieces[:1]}, func(e *hemera.Entry) { e.ID = 0 }},
	} {
		files, stopping := &oneFile{now: old}, make(chan struct{})
		c.now(&files.now)
		close(stopping) // a copy that begins ends at once
		mv := New(Options{Files: files, Removals: files, Cluster: viewOnly{fleet(4)}, Orders: orders.New(), Signer: &signed{}, Writers: noWriters, Now: time.Now, Recorded: func() {}, Stopping: stopping})
		if _, err := mv.Relocate(t.Context(), c.decided, c.w); errs.KindOf(err) != errs.Conflict || files.recorded > 0 {
			t.Errorf("%s: %v", name, err)
		}
		if mv.FileLocked(7) {
			t.Errorf("%s: the file stays locked", name)
		}
	}
}

// TestACopyOfNoFileIsRemoved: if the file changed while it was made, its node is told at once; any other failure of the record leaves it to the audit.
func TestACopyOfNoFileIsRemoved(t *testing.T) {
	t.Parallel()
	for kind, want := range map[errs.Kind]string{0: "[]", errs.Conflict: "[remove]", errs.Unavailable: "[]"} {
		synctest.Test(t, func(t *testing.T) {
			e := hemera.Entry{ID: 7, Gen: 1, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Replica(1), Pieces: []hemera.Piece{{Disk: 1}}}
			files, queue, recorded := &oneFile{now: e}, orders.New(), 0
			if kind != 0 {
				files.err = errs.New(kind, "test", "", "no")
			}
			mv := New(Options{Files: files, Removals: files, Cluster: viewOnly{fleet(2)}, Orders: queue, Signer: &signed{}, Writers: noWriters, Now: time.Now, Recorded: func() { recorded++ }})
			ended := make(chan error, 1)
			go func() {
				_, err := mv.Relocate(t.Context(), e, Spec{Drop: e.Pieces})
				ended <- err
			}()
			got, err := queue.Exchange(t.Context(), 2, nil)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			more, err := queue.Exchange(t.Context(), 2, []hemera.OrderResult{{ID: got[0].ID, Bytes: 10}})
			if err != nil {
				t.Fatal(err)
			}
			removed := "[]"
			for _, o := range more {
				if o.Kind == hemera.OrderRemove && o.Disk == 2 && o.Piece == (hemera.PieceID{File: 7, Gen: 1}) {
					removed = "[remove]"
				}
			}
			if len(more) > 0 {
				_, _ = queue.Exchange(t.Context(), 2, []hemera.OrderResult{{ID: more[0].ID}})
			}
			if err := <-ended; (err == nil) != (kind == 0) || kind != 0 && !errors.Is(err, kind) || removed != want || (recorded == 1) != (kind == 0) {
				t.Errorf("%v: %s, %d recorded, %v", kind, removed, recorded, err)
			}
		})
	}
}

// TestASpreadIsKeptWhereItIsAskedFor: a move for balancing does not put pieces into one node that were apart.
func TestASpreadIsKeptWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	v := fleet(2)
	v.Disks = append(v.Disks, hemera.Disk{ID: 3, Node: 2, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Free: 1000}})
	e := hemera.Entry{ID: 7, Gen: 1, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Replica(2), Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}}
	for _, spread := range []bool{false, true} {
		m, err := NewPlan(v, e, Spec{Index: 0, Drop: e.Pieces[:1], Spread: spread})
		if spread != (errs.KindOf(err) == errs.Conflict) || !spread && (err != nil || m.Add.Disk != 3) {
			t.Errorf("spread %t: %+v, %v", spread, m.Add, err)
		}
	}
}
