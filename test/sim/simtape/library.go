package simtape

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hemera/tape/device/emulated"
	"hemera/tape/server"
	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Spec returns a library for a simulation: small cartridges, so that some become full.
func Spec(drives int) emulated.Spec {
	return emulated.Spec{Drives: drives, Slots: Cartridges + 2, Cartridges: Cartridges, Capacity: 12 << 20}
}

// Cartridges is the number of cartridges of a library, V00001 and so on.
const Cartridges = 16

// VID names a cartridge, from 0.
// Its barcode has the suffix of its media behind that.
func VID(i int) string { return fmt.Sprintf("V%05d", i+1) }

// Options say what one life of a tape server is made of.
type Options struct {
	Dir     string // of the library, which is made if there is none
	Drives  int
	Node    func() (hemera.NodeID, hemera.Epoch)
	Control tapeapi.Control   // fails when the process is dead
	Marks   func(mark []byte) // keeps what answers say of the store
	Files   server.Files      // the same
	Now     func() time.Time
	Log     *slog.Logger
	Faults  emulated.Plan
	// Pack has small files share a tape file.
	Pack bool
	// Scale is the duration of a device's second, in seconds.
	Scale float64
	// Lies says that drives do not flush: the sabotage that cartridges must show.
	Lies bool
	// Blind says that appends see nothing behind their place: the sabotage that a store which goes back must show.
	Blind bool
}

// Life is one life of a tape server.
type Life struct {
	library *emulated.Library
	cancel  context.CancelFunc
	done    chan struct{} // closed when its goroutines have ended
}

// Start begins a life over what the library's directory has.
func Start(o Options) (*Life, error) {
	if err := emulated.Create(o.Dir, Spec(o.Drives)); err != nil && !errors.Is(err, errs.Exists) {
		return nil, err
	}
	// The host's own file system keeps what was written, whatever the simulation kills: only drives lose something.
	library, err := emulated.Open(o.Dir, emulated.Options{TimeScale: o.Scale, NoSync: true})
	if err != nil {
		return nil, err
	}
	if err := library.SetPlan(o.Faults); err != nil {
		return nil, err
	}
	// Small figures, so that a session of some files has several flushes, batches and waits for buffers.
	limits := session.Limits{Chunk: 256 << 10, Buffers: 8, Window: 2, FlushFiles: 3, BatchFiles: 5, PackBelow: -1, Open: 4}
	if o.Pack {
		limits.PackBelow, limits.PackBytes = 32<<10, 256<<10
	}
	options := server.Options{Node: o.Node, Control: o.Control, Saw: o.Marks, Name: "lib", Changer: library.Changer(), Files: o.Files, Limits: limits, Host: "SIM", Version: "1",
		Now: o.Now, Log: o.Log}
	// Names are unique in the cluster; there is one library.
	for i, d := range library.Drives() {
		if o.Lies {
			d = liar{d}
		}
		if o.Blind {
			d = blinder{d}
		}
		options.Drives = append(options.Drives, server.Drive{Drive: d, Name: fmt.Sprintf("lib-d%d", i+1), Media: []string{"LTO-9"}})
	}
	// Nothing moves before Run.
	s, err := server.New(options)
	if err != nil {
		return nil, errors.Join(err, library.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Life{library: library, cancel: cancel, done: make(chan struct{})}
	// It ends by Kill alone.
	go func() {
		defer close(l.done)
		_ = s.Run(ctx)
	}()
	return l, nil
}

// Kill ends the life at once; its Control must fail by now. With power, drives lose what they have not flushed; without, they write it,
// as a drive does whose host is gone.
func (l *Life) Kill(power bool) error {
	l.cancel()
	// Before the library closes, which would write what drives have.
	if power {
		l.library.PowerCut()
	}
	// Calls to devices end now, with an error.
	err := l.library.Close()
	<-l.done
	return err
}

// SetFaults replaces what goes wrong in the library.
// Operations that have begun go on. It fails if the plan makes no sense.
func (l *Life) SetFaults(p emulated.Plan) error { return l.library.SetPlan(p) }
