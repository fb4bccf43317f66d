package tapetier

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/core/namespace/tapes"
	"hemera/errs"
)

// One user's requests are bounded by their bytes and by their number, also those of before a restart. Others have room meanwhile, admins too, and
// what is removed makes room.
func TestRequestsToStageAreBounded(t *testing.T) {
	bob, alice, ada := hemera.Identity{Name: "bob", UID: 1}, hemera.Identity{Name: "alice", UID: 2}, hemera.Identity{Name: "ada", UID: 1, Admin: true}
	long := strings.Repeat("a", 1<<20)
	for name, files := range map[string][]tapes.StagedFile{"bytes": {{Path: long}, {Path: "/b", Error: long}}, "number": {{Path: "/a"}}} {
		s := newStages(nil)
		add := func(who hemera.Identity, id string) error {
			return s.add(who, &tapes.Stage{ID: id, UID: who.UID, Files: files})
		}
		n := 0
		var err error
		for ; err == nil && n <= stagesOfUser; n++ {
			err = add(bob, strconv.Itoa(n))
		}
		if errs.KindOf(err) != errs.Overloaded || errs.RemedyOf(err) == "" || n < 60 {
			t.Fatalf("%s: %v after %d", name, err, n)
		}
		if err := add(bob, "0"); err != nil {
			t.Errorf("%s: the same request again: %v", name, err)
		}
		for _, who := range []hemera.Identity{alice, ada} {
			if err := add(who, who.Name); err != nil {
				t.Errorf("%s: %s: %v", name, who.Name, err)
			}
		}
		// As they are read at the next start.
		var stored []tapes.StoredStage
		for _, one := range s.known {
			stored = append(stored, one.StoredStage)
		}
		s = newStages(stored)
		if err := add(bob, "new"); errs.KindOf(err) != errs.Overloaded {
			t.Errorf("%s: after a start: %v", name, err)
		}
		s.remove("1")
		s.remove("1")
		s.remove("ada")
		if err := add(bob, "new"); err != nil {
			t.Errorf("%s: after a removal: %v", name, err)
		}
		for id := range s.known {
			s.remove(id)
		}
		if s.number.Usage().Used != 0 || s.bytes.Usage().Used != 0 || s.number.Usage().Clients != 0 {
			t.Errorf("%s: %+v %+v", name, s.number.Usage(), s.bytes.Usage())
		}
	}
}

// Calls with many files of one user take turns, and are refused when too many wait; those of others, small ones and those of admins do not wait.
func TestCallsWithManyFilesTakeTurns(t *testing.T) {
	at := turns{users: map[uint32]*userTurns{}}
	bob, alice := hemera.Identity{Name: "bob", UID: 1}, hemera.Identity{Name: "alice", UID: 2}
	_, leave, err := at.enter(t.Context(), bob, bulkFiles)
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan func())
	for range turnsWaiting {
		go func() {
			_, leave, _ := at.enter(t.Context(), bob, bulkFiles)
			entered <- leave
		}()
	}
	for { // until all of them wait
		at.mu.Lock()
		n := at.users[bob.UID].calls
		at.mu.Unlock()
		if n == turnsWaiting+1 {
			break
		}
	}
	if _, _, err := at.enter(t.Context(), bob, bulkFiles); errs.KindOf(err) != errs.Overloaded {
		t.Errorf("one more: %v", err)
	}
	for _, who := range []hemera.Identity{alice, {UID: 1, Admin: true}} {
		if _, leave, err := at.enter(t.Context(), who, bulkFiles); err != nil {
			t.Errorf("%+v: %v", who, err)
		} else {
			leave()
		}
	}
	if _, _, err := at.enter(t.Context(), bob, 1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	leave()
	for range turnsWaiting {
		(<-entered)()
	}
	if len(at.users) != 0 {
		t.Errorf("%d users are left", len(at.users))
	}
}

// TestCallsWithManyFilesRest: a call rests for restShare of the time that it worked, all its goroutines together, and never for longer than restMax.
func TestCallsWithManyFilesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := turns{users: map[uint32]*userTurns{}}
		turn, leave, err := at.enter(t.Context(), hemera.Identity{Name: "bob", UID: 1}, bulkFiles)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		began := time.Now()
		rest := func() time.Duration {
			t.Helper()
			from := time.Now()
			if err := turn.rest(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(from)
		}
		const files = 50
		for range files {
			time.Sleep(workTime) // the work
			rest()
		}
		if took := time.Since(began); took != files*workTime*(1+restShare) {
			t.Errorf("%d times %v of work took %v", files, workTime, took)
		}
		time.Sleep(workTime / 2)
		if rested := rest(); rested != 0 {
			t.Errorf("it rested %v before it had worked for long", rested)
		}
		time.Sleep(workTime / 2)
		other := make(chan time.Time)
		go func() {
			_ = turn.rest(t.Context())
			other <- time.Now()
		}()
		rest()
		if ended := <-other; !ended.Equal(time.Now()) {
			t.Errorf("another goroutine of the call works %v before this one", time.Since(ended))
		}
		time.Sleep(time.Hour) // it waited for a disk
		if rested := rest(); rested != restMax {
			t.Errorf("it rested %v after an hour", rested)
		}
		time.Sleep(workTime)
		gone, leaves := context.WithCancel(t.Context())
		leaves()
		if err := turn.rest(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
	})
}
