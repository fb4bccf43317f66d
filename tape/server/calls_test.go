package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/tape/device"
	"hemera/tape/device/emulated"
)

// TestBounds: real devices have the bound as it is, faster ones less, but never too little for a busy host.
func TestBounds(t *testing.T) {
	for speed, want := range map[int]time.Duration{0: callMax, 1: callMax, 10: callMax / 10, 1000: callMaxLeast} {
		if got := boundOf(speed); got != want {
			t.Errorf("speed %d: %s, want %s", speed, got, want)
		}
	}
}

// TestACallThatHangs: people hear of it after a part of its bound, and behind the bound it fails as a fault of the drive.
func TestACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{of: "d1", bound: callMax, now: time.Now}
		done := make(chan error)
		go func() {
			done <- c.do(t.Context(), "write", func(ctx context.Context) error {
				<-ctx.Done()
				return device.ErrHardware
			})
		}()
		time.Sleep(callMax/quietShare - time.Second)
		synctest.Wait()
		if q := c.quiet("it fails"); q != "" {
			t.Error("too early:", q)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if q := c.quiet("it fails"); q != "no answer to write for 3m1s; after 15m0s it fails" {
			t.Error("after a fifth of the bound:", q)
		}
		err := <-done
		if !errors.Is(err, device.ErrNotReady) || !strings.Contains(err.Error(), "no answer to write for 15m0s") || outcomeOf(err).fault != driveFault {
			t.Error(err)
		}
		if q := c.quiet("it fails"); q != "" {
			t.Error("the call has ended:", q)
		}
	})
}

// TestAnswersOfCalls: what a drive says in time is passed on as it is, what it says of its cartridge at any time, and so is the end of the server.
func TestAnswersOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		for _, c := range []struct {
			name string
			ctx  context.Context
			took time.Duration
			err  error
		}{
			{"well", t.Context(), time.Minute, nil}, {"well, and late", t.Context(), 2 * callMax, nil}, {"a filemark", t.Context(), time.Minute, device.ErrFileMark},
			{"broken at once", t.Context(), 0, device.ErrHardware}, {"a bad block, after long tries", t.Context(), 2 * callMax, device.ErrMedium},
			{"the end of the server", ended, 2 * callMax, device.ErrNotReady},
		} {
			w := &calls{bound: callMax, now: time.Now}
			err := w.do(c.ctx, "read", func(context.Context) error {
				time.Sleep(c.took)
				return c.err
			})
			if err != c.err {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

// TestFeaturesOfAWatchedTape: it has those of the tape in it, and no others.
func TestFeaturesOfAWatchedTape(t *testing.T) {
	type plain struct{ device.Tape }
	type counting struct {
		device.Tape
		device.Monitor
	}
	c := &calls{}
	if _, ok := device.Feature[device.Monitor](&watched{in: counting{}, calls: c}); !ok {
		t.Error("a feature is lost")
	}
	if _, ok := device.Feature[device.Monitor](&watched{in: plain{}, calls: c}); ok {
		t.Error("a feature is there that the tape does not have")
	}
	if _, ok := device.Feature[device.Encrypter](nil); ok {
		t.Error("nothing has a feature")
	}
}

// TestADriveThatHangs: its session ends as a fault of the drive, which is down for a pause, and its files come to tape all the same.
func TestADriveThatHangs(t *testing.T) {
	for _, op := range []string{"write", "flush", "locate", "load"} {
		t.Run(op, func(t *testing.T) {
			x := newRig(t, newControl(t, 3, 20))
			x.bound = 300 * time.Millisecond
			plan := fmt.Sprintf(`{"faults": [{"op": %q, "fail": "hang", "after": 1, "count": 1}]}`, op)
			if err := os.WriteFile(filepath.Join(x.dir, emulated.FaultsName), []byte(plan), 0o600); err != nil {
				t.Fatal(err)
			}
			x.start()
			x.archived()
			x.recalled()
			// The other drive may have done everything meanwhile.
			x.await("a session says that the drive did not answer", func(c *control) bool {
				for _, r := range c.last {
					if strings.Contains(r.Session.Error, "no answer to "+op) {
						return true
					}
				}
				return false
			})
			x.control.mu.Lock()
			defer x.control.mu.Unlock()
			for _, tape := range x.control.tapes {
				if tape.State != "" {
					t.Errorf("tape %s is %s: %s", tape.VID, tape.State, tape.Reason)
				}
			}
		})
	}
}

// stuckArm does not answer its first move, until the caller has waited long enough.
type stuckArm struct {
	*shelf
	stuck bool
}

func (a *stuckArm) Move(ctx context.Context, from, to int) error {
	if a.stuck {
		a.stuck = false
		<-ctx.Done()
		return device.ErrHardware
	}
	return a.shelf.Move(ctx, from, to)
}

// TestARobotThatHangs: people hear of the move, and it is made again.
func TestARobotThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arm, pauses := &stuckArm{newShelf("S1", "S2"), true}, 0
		moves := &calls{of: "lib", bound: time.Minute, now: time.Now}
		r := newRobot(watchedChanger{arm, moves}, noSleep(&pauses))
		done := make(chan error, 1)
		go func() { done <- r.fetch(t.Context(), "V00001", "S2", 0) }()
		time.Sleep(30 * time.Second)
		if q := moves.quiet("it is tried again"); q != "no answer to a move of the robot for 30s; after 1m0s it is tried again" {
			t.Error(q)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if vid, err := r.inside(t.Context(), "S2", 0); vid != "V00001" || err != nil || moves.quiet("") != "" {
			t.Errorf("the drive holds %q, %v", vid, err)
		}
	})
}
