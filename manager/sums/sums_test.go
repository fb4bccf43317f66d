package sums

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func alice() hemera.Identity { return hemera.Identity{Name: "alice", UID: 1000} }
func bob() hemera.Identity   { return hemera.Identity{Name: "bob", UID: 1001} }

// A checksum that is not stored is computed once for all that ask, stops when the last of them has left, and
// leaves others their turn.
func TestSums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		var mu sync.Mutex
		ran, running, most := 0, map[uint32]int{}, map[uint32]int{}
		free := make(chan struct{})
		ask := func(ctx context.Context, who hemera.Identity, file int) error {
			_, err := s.Do(ctx, who, Key{File: hemera.FileID(file), Kind: hemera.MD5}, func(ctx context.Context) (hemera.Checksum, error) {
				mu.Lock()
				ran++
				running[who.UID]++
				most[who.UID] = max(most[who.UID], running[who.UID])
				mu.Unlock()
				defer func() {
					mu.Lock()
					running[who.UID]--
					mu.Unlock()
				}()
				select {
				case <-free:
					return hemera.Checksum{Kind: hemera.MD5}, nil
				case <-ctx.Done():
					return hemera.Checksum{}, ctx.Err()
				}
			})
			return err
		}
		var all sync.WaitGroup
		ctx, leave := context.WithCancel(t.Context())
		for i := range 200 { // of alice(), each file twice
			all.Go(func() {
				if err := ask(ctx, alice(), i/2); !errors.Is(err, errs.Cancelled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if ran != 2 || most[alice().UID] != ofUser {
			t.Errorf("%d run for one user, %d at once", ran, most[alice().UID])
		}
		for i := range 2 {
			all.Go(func() {
				if err := ask(t.Context(), bob(), 1000+i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := ask(t.Context(), bob(), 0); err != nil { // one that alice began
				t.Error(err)
			}
		})
		synctest.Wait()
		if running[bob().UID] != 2 {
			t.Errorf("%d run for another user", running[bob().UID])
		}
		leave()
		synctest.Wait()
		if running[alice().UID] != 1 || running[bob().UID] != 2 || len(s.waiting) != 0 || most[alice().UID] != ofUser {
			t.Errorf("when all but bob left %d and %d run, %d wait, %d ran at once", running[alice().UID], running[bob().UID], len(s.waiting), most[alice().UID])
		}
		close(free)
		all.Wait()
		before := ran
		if err := ask(t.Context(), alice(), 1000); err != nil || ran != before {
			t.Errorf("a checksum that is known is computed again: %v", err)
		}
		if s.running != 0 || len(s.of) != 0 || len(s.under) != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}

func TestSumsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		ctx, leave := context.WithCancel(t.Context())
		var mu sync.Mutex
		refused := 0
		var all sync.WaitGroup
		for i := range 2*waitingOfUser + ofUser {
			all.Go(func() {
				_, err := s.Do(ctx, alice(), Key{File: hemera.FileID(i)}, func(ctx context.Context) (hemera.Checksum, error) {
					<-ctx.Done()
					return hemera.Checksum{}, ctx.Err()
				})
				if errors.Is(err, errs.Overloaded) {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		if refused != waitingOfUser {
			t.Errorf("%d refused", refused)
		}
		leave()
		all.Wait()
		synctest.Wait()
		if len(s.of) != 0 || s.running != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}
