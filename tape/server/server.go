package server

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera/platform/contain"
	"hemera/platform/pause"
	"hemera/tape/device"
	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Options say what a tape server is made of.
type Options struct {
	// Node says who this node is, and the epoch of its lease; epoch 0: it has none now.
	Node    func() (id hemera.NodeID, epoch hemera.Epoch)
	Control tapeapi.Control
	// Saw keeps the mark of an answer of Control; see hemera.HeartbeatReply.Seen. It does not block; nil keeps none.
	Saw     func(mark []byte)
	Name    string // of the library, unique in the cluster
	Changer device.Changer
	Drives  []Drive
	Files   Files          // where contents come from and go to
	Limits  session.Limits // of each drive's session; zero values are defaults
	Host    string         // that labels name
	Speed   int            // as in [tapeapi.Library]
	Version string
	// CallMax bounds a call to a drive, see the doc comment of the package; if 0, 15 min of the devices' own time.
	CallMax time.Duration
	// LastReports bounds the time after the server stops in which files that are on tape are reported; 10 s if 0.
	LastReports time.Duration
	// Sleep waits; nil is package time's. Tests pass pauses over.
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time // nil is time.Now
	Log   *slog.Logger
	// Panics contains panics of one drive's work; the others work on.
	Panics *contain.Panics
}

// Drive is a drive of the library. Drives without a serial number are in the order of the changer's addresses.
type Drive struct {
	device.Drive
	Name  string   // unique in the cluster
	Media []string // media types that it writes
	Reads []string // and those that it reads besides
}

// Server is a tape server. [Server.Run] is its life.
type Server struct {
	o       Options
	robot   *robot
	moves   *calls // of the robot
	drives  []*drive
	kinds   kinds
	changed chan struct{} // has room for one: something is to be reported
}

const (
	// reportEvery is the interval of reports on a library in which nothing changes.
	reportEvery = 10 * time.Second
	// reportAgain is the time after which a report is tried again: drives get nothing to do before the manager has one.
	reportAgain = time.Second
	// leaveTime bounds the last report, as the machine may be on its way down.
	leaveTime = 2 * time.Second
	// leaseLook is the interval of looks for a lease that is missing, or may be another one.
	leaseLook = 100 * time.Millisecond
)

// New makes a server; nothing moves yet. Invalid if something is missing.
func New(o Options) (*Server, error) {
	if o.Node == nil || o.Control == nil || o.Changer == nil || o.Files == nil || len(o.Drives) == 0 || o.Name == "" {
		return nil, errs.New(errs.Invalid, "tape.New", o.Name, "a tape server needs a name, a node, a manager, a changer, files and drives")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Saw == nil {
		o.Saw = func([]byte) {}
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.CallMax == 0 {
		o.CallMax = boundOf(o.Speed)
	}
	if o.LastReports == 0 {
		o.LastReports = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	moves := &calls{of: o.Name, bound: o.CallMax, now: o.Now}
	s := &Server{o: o, moves: moves, robot: newRobot(watchedChanger{o.Changer, moves}, o.Sleep), changed: make(chan struct{}, 1)}
	// Nothing is asked of the hardware here, so that a server starts while a library is switched off.
	for i, d := range o.Drives {
		s.drives = append(s.drives, &drive{Drive: d, server: s, place: i, serial: d.Identity().Serial, since: o.Now(),
			calls: &calls{of: d.Name, bound: o.CallMax, now: o.Now}})
	}
	return s, nil
}

// sleep waits, or fails with what ended the context.
func sleep(ctx context.Context, d time.Duration) error {
	return errs.Wrap(pause.For(ctx, d), "tape.Sleep", "")
}

// Run serves until the context ends. Sessions end then, after what they have flushed was reported, and the manager hears that the library
// is not served any more; tapes stay in their drives, and the next start carries them away.
func (s *Server) Run(ctx context.Context) error {
	var all sync.WaitGroup
	// Each drive is a loop of its own: one that is stuck delays no other.
	for _, d := range s.drives {
		all.Go(func() { d.run(ctx) })
	}
	all.Go(func() { s.report(ctx) })
	all.Wait()
	s.leave(ctx)
	return nil
}

// leave tells the manager that the server ends, so that nobody has to wait until it has been silent for long. A manager that does not answer
// finds out by itself.
func (s *Server) leave(ctx context.Context) {
	node, epoch := s.o.Node()
	if epoch == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(leaveTime, s.o.LastReports))
	defer cancel()
	l := s.State(ctx)
	l.Ended = true
	if err := s.o.Control.ReportLibrary(ctx, node, epoch, l); err != nil {
		s.o.Log.Debug("the manager has not heard that the tape server ends", "library", s.o.Name, "error", err)
	}
}

// report tells the manager of the library, at once when something changes, and soon when the lease is another one: a manager that was started
// since knows no library, and takes no results of drives before.
func (s *Server) report(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		_, epoch := s.o.Node()
		err := s.o.Panics.Do("tape.Report", s.o.Name, func() error { return s.reportOnce(ctx) })
		// Said once: a manager that is away for an hour is no news each second. A node says itself that it has no lease.
		if err != nil && !failing && epoch != 0 && ctx.Err() == nil {
			s.o.Log.Info("the manager does not take reports on the tape library", "library", s.o.Name, "error", err, "remedy", errs.RemedyOf(err))
		}
		pause := reportEvery
		if failing = err != nil; failing {
			pause = reportAgain
		}
		s.rest(ctx, pause, epoch)
	}
}

// rest waits until something is to be reported: a change, another lease than that of the epoch, or the end of the pause. Changes that come while
// a report is on its way are in the next one.
func (s *Server) rest(ctx context.Context, pause time.Duration, epoch hemera.Epoch) {
	ctx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	// A lease has no event: it is looked at.
	look := time.NewTicker(leaseLook)
	defer look.Stop()
	for {
		select {
		case <-s.changed:
			return
		case <-ctx.Done():
			return
		case <-look.C:
			if _, now := s.o.Node(); now != 0 && now != epoch {
				return
			}
		}
	}
}

// lease returns who this node is and its lease. If it has none it waits for one, for as long as the first pause of a drive: after a start of
// this server or of the manager there is one in a moment. Epoch 0: there is none.
func (s *Server) lease(ctx context.Context) (node hemera.NodeID, epoch hemera.Epoch) {
	for waited := time.Duration(0); ; waited += leaseLook {
		node, epoch = s.o.Node()
		if epoch != 0 || waited >= pauseMin || s.o.Sleep(ctx, leaseLook) != nil {
			return node, epoch
		}
	}
}

// reportOnce sends one report.
func (s *Server) reportOnce(ctx context.Context) error {
	node, epoch := s.o.Node()
	if epoch == 0 { // the node registers
		return noLease(hemera.VID(s.o.Name))
	}
	ctx, cancel := context.WithTimeout(ctx, reportEvery)
	defer cancel()
	// Known without a word to the drives: they may be in the middle of something.
	return s.o.Control.ReportLibrary(ctx, node, epoch, s.State(ctx))
}

// State returns the library and its drives as they are now.
func (s *Server) State(ctx context.Context) tapeapi.Library {
	l := tapeapi.Library{Name: s.o.Name, Speed: s.o.Speed}
	list, err := s.robot.peek(ctx)
	l.Capacities = list.capacities()
	if l.VIDs = list.vids(); err != nil {
		l.Problem = err.Error()
	}
	l.Problem = cmp.Or(l.Problem, s.moves.quiet("it is tried again"))
	s.kinds.correct(l.VIDs)
	// Drives that are down are listed too: people look for them.
	for _, d := range s.drives {
		l.Drives = append(l.Drives, d.state())
	}
	return l
}

// wake has the next report go out now.
func (s *Server) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
