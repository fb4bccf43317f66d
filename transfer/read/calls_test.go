package read

import (
	"testing"
	"testing/synctest"
)

// TestTheLastCallEndsIt: who stops it waits for the calls in progress, and nobody else begins one.
func TestTheLastCallEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c callCount
		for range 3 {
			if !c.Begin() {
				t.Fatal("it is refused before the end")
			}
		}
		c.Done()
		if !c.Stop() || c.Stop() {
			t.Error("the first stop is not the first")
		}
		if c.Begin() {
			t.Error("a call begins after the end")
		}
		ended := false
		go func() { c.Wait(); ended = true }()
		synctest.Wait()
		c.Done()
		synctest.Wait()
		if ended {
			t.Error("one call is in progress")
		}
		c.Done()
		synctest.Wait()
		if !ended {
			t.Error("no call is in progress")
		}
	})
}

func TestNothingInUseEndsAtOnce(t *testing.T) {
	var c callCount
	if c.Begin() {
		c.Done()
	}
	c.Stop()
	c.Wait()
}
