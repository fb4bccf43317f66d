package sim

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint"
	"hemera/test/sim/register"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtrace"
	"hemera/transfer/transfertest"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// still is a calm cluster whose heads stand still before their commits.
type still struct {
	*world
	t    *testing.T
	gate chan struct{}
}

func newStill(t *testing.T, dir string) *still {
	t.Helper()
	w := &world{oracle: register.New(), device: simkv.New(), managerSkew: new(atomic.Int64), local: transfertest.NewLocalPeers(),
		plan: plan{seed: 1, dir: dir, machines: 3, drives: 1, replicas: 2, minPieces: "auto", cacheBytes: 1 << 20}}
	w.trace = simtrace.New(time.Now())
	w.log = slog.New(w.trace.Handler())
	w.dice = w.plan.random("dice")
	w.net = simnet.New(t.Context(), 1)
	if err := w.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &still{world: w, t: t, gate: make(chan struct{})}
	w.stalled.gate.Store(&s.gate)
	return s
}

// release lets the heads go on.
func (s *still) release() {
	if s.stalled.gate.Swap(nil) != nil {
		close(s.gate)
	}
}

// end ends everything.
func (s *still) end() {
	s.release()
	s.killManager()
	for _, m := range s.machines {
		m.kill(false, nil)
	}
}

// write has a client write a file and close it. It returns the head, and what comes of the close.
func (s *still) write(path string, data []byte) (*machine, chan error) {
	s.t.Helper()
	ctx := s.t.Context()
	g, err := s.head.Load().Files.Open(ctx, hemera.SystemIdentity(), hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644, Size: int64(len(data))})
	if err != nil {
		s.t.Fatal(err)
	}
	g, err = sent(g)
	if err != nil {
		s.t.Fatal(err)
	}
	m := s.machine(g.Addr)
	f, life, err := m.open(ctx, "client", tokenOf(&g), hemera.NodeOpen{Truncate: true})
	if err == nil {
		err = f.WritePages(data, nil, 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() {
		_, err := into(ctx, life, func(ctx context.Context) (struct{}, error) { return struct{}{}, f.End(ctx, hemera.EndClose) })
		closed <- err
	}()
	return m, closed
}

// left counts the files of pieces on all drives.
func (s *still) left() (count int) {
	for _, m := range s.machines {
		for _, d := range m.drives {
			count += len(d.files())
		}
	}
	return count
}

// nothing fails the test unless there is no file and no piece, and nothing is wrong.
func (s *still) nothing() {
	s.t.Helper()
	for path := range files() {
		if _, err := s.head.Load().Names.Stat(s.t.Context(), hemera.SystemIdentity(), path); !errors.Is(err, errs.NotFound) {
			s.t.Errorf("%s is there: %v", path, err)
		}
	}
	s.wrong(0)
}

// wrong fails the test unless there are so many pieces, and all records agree.
func (s *still) wrong(pieces int) {
	s.t.Helper()
	if left := s.left(); left != pieces {
		s.t.Errorf("there are %d pieces, not %d", left, pieces)
	}
	if report, err := s.head.Load().Maint.Fsck(s.t.Context(), false); err != nil || len(report.Problems) != 0 {
		s.t.Errorf("fsck finds %+v: %v", report.Problems, err)
	}
	if problems, err := s.head.Load().tree.Inspection.Check(s.t.Context()); err != nil || len(problems) != 0 {
		s.t.Errorf("the namespace has %v: %v", problems, err)
	}
}

// files returns one file that waits in memory for its close, and one that is in pieces before.
func files() map[string][]byte {
	return map[string][]byte{"/small": bytes.Repeat([]byte("s"), 10_000), "/large": bytes.Repeat([]byte("l"), 300_000)}
}

// writeAll has clients write the files; each close sends what came of it.
func (s *still) writeAll() (heads []*machine, closed chan error) {
	closed = make(chan error, 2)
	for path, data := range files() {
		m, one := s.write(path, data)
		heads = append(heads, m)
		go func() { closed <- <-one }()
	}
	return heads, closed
}

// audited lets so much time go by, by the manager's clock, that audits have removed what is old.
func (s *still) audited() {
	s.managerSkew.Add(int64(2 * maint.OrphanAge))
	simnet.Rest(s.t.Context(), 30*time.Minute)
}

func inStill(t *testing.T, test func(s *still)) {
	dir := stateDir(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStill(t, dir)
		defer s.end()
		test(s)
	})
}

// TestAHeadThatStoodStillTellsItsClientNo: the head stands still between the seal and the commit until the audit
// has given its pieces up. Then the close fails, and nothing is left.
func TestAHeadThatStoodStillTellsItsClientNo(t *testing.T) {
	inStill(t, func(s *still) {
		_, closed := s.writeAll()
		simnet.Rest(s.t.Context(), time.Minute)
		if left := s.left(); left != 4 {
			s.t.Fatalf("%d pieces are sealed", left)
		}
		s.audited()
		if left := s.left(); left != 0 {
			s.t.Fatalf("the audit left %d pieces", left)
		}
		s.release()
		for range 2 {
			if err := <-closed; err == nil || errs.Undecided(err) {
				s.t.Errorf("the close ends with %v", err)
			}
		}
		s.nothing()
	})
}

// TestAHeadThatDiesBeforeItsCommit: the head is killed, or loses its power, when the pieces are sealed and the commit is
// not asked for. The client gets the error that nobody knows; nothing is there, and the audit leaves no piece.
func TestAHeadThatDiesBeforeItsCommit(t *testing.T) {
	for name, power := range map[string]bool{"killed": false, "power cut": true} {
		t.Run(name, func(t *testing.T) {
			inStill(t, func(s *still) {
				heads, closed := s.writeAll()
				simnet.Rest(s.t.Context(), time.Minute)
				go func() { // a call of a life that is over ends, too
					simnet.Rest(s.t.Context(), time.Second)
					s.release()
				}()
				s.restart(heads, power)
				for range 2 {
					if err := <-closed; !simnet.Lost(err) {
						s.t.Errorf("the close ends with %v", err)
					}
				}
				simnet.Rest(s.t.Context(), time.Minute)
				if left := s.left(); left != 4 {
					s.t.Errorf("%d pieces are left by the kill, all were sealed", left)
				}
				s.audited()
				s.nothing()
			})
		})
	}
}

// TestAHeadThatDiesAfterItsCommit: the head is killed when the commit is made and its answer on the way: the file is
// whole.
func TestAHeadThatDiesAfterItsCommit(t *testing.T) {
	inStill(t, func(s *still) {
		s.release()
		for _, m := range s.machines {
			s.net.Deafen(m.host, managerHost, true)
		}
		heads, closed := s.writeAll()
		simnet.Rest(s.t.Context(), 3*time.Second)
		s.restart(heads, true)
		s.net.Connect()
		for range 2 {
			if err := <-closed; !simnet.Lost(err) {
				s.t.Errorf("the close ends with %v", err)
			}
		}
		s.audited()
		reader := &client{w: s.world, name: "reader", host: "reader", who: hemera.SystemIdentity(), rng: s.plan.random("reader")}
		for path, data := range files() {
			if got, err := reader.fetch(s.t.Context(), path); err != nil || got != register.ContentOf(data) {
				s.t.Errorf("%s is %s: %v", path, got, err)
			}
		}
		s.wrong(4)
	})
}

// restart ends the machines' lives and begins new ones.
func (s *still) restart(machines []*machine, power bool) {
	s.t.Helper()
	for _, m := range machines {
		m.kill(power, s.dice)
	}
	for _, m := range machines {
		if m.life.Load() != nil {
			continue // the head of both
		}
		if err := m.start(); err != nil {
			s.t.Fatal(err)
		}
	}
}
