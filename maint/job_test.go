package maint

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/adminapi"

	"hemera/maint/orders"
	"hemera/words/hemera"
)

func TestStalledJobSaysWhyUntilSomethingMoves(t *testing.T) {
	j := newJob(adminapi.JobDrain, 1, time.Now)
	j.set(adminapi.JobRunning, "")
	j.failed(errors.New("no room"))
	j.set(adminapi.JobStalled, "no room")
	j.again("")
	if s := j.report(1, 10); s.State != adminapi.JobStalled || s.Why != "no room" || s.Failed != 0 {
		t.Errorf("in the next pass: %+v", s)
	}
	j.moved(10, 0)
	if s := j.report(0, 0); s.State != adminapi.JobRunning || s.Why != "" || s.FilesDone != 1 {
		t.Errorf("when something moved: %+v", s)
	}
}

// What fails is never more than what is left. No time is left for files that all failed. What is tried again counts again.
func TestWhatFailedIsAmongWhatIsLeft(t *testing.T) {
	now := time.Unix(1000, 0)
	j := newJob(adminapi.JobRepair, 1, func() time.Time { return now })
	for range 6 {
		j.moved(100, 0)
		now = now.Add(time.Second)
		j.failed(errors.New("too few pieces"))
	}
	if s := j.exact(10, 1000); s.Failed != 6 || s.Remaining == 0 {
		t.Errorf("with some to do: %+v", s)
	}
	if s := j.exact(2, 1000); s.Failed != 2 || s.Remaining != 0 {
		t.Errorf("with none to do: %+v", s)
	}
	j.recount()
	j.failed(errors.New("too few pieces"))
	if s := j.exact(10, 1000); s.Failed != 1 {
		t.Errorf("tried again: %+v", s)
	}
}

// A job that was ended keeps the reason it ended for, whatever its last calls come back with.
func TestAnEndedJobDoesNotFail(t *testing.T) {
	j := newJob(adminapi.JobDrain, 1, time.Now)
	j.set(adminapi.JobDone, "the disk is in use again")
	j.failed(context.Canceled)
	if s := j.report(0, 0); s.State != adminapi.JobDone || s.Why != "the disk is in use again" || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// The bytes of a large piece count while it is copied, once, also when the copy fails; the time that is
// left follows what moves, and is not guessed in the first moments.
func TestAJobShowsBytesWhileTheyMove(t *testing.T) {
	now := time.Unix(1000, 0)
	j := newJob(adminapi.JobDrain, 1, func() time.Time { return now })
	j.set(adminapi.JobRunning, "")
	now = now.Add(time.Hour) // it waited for long
	p := j.begin(1000)
	p.to(100)
	if s := j.report(1, 1000); s.BytesDone != 100 || s.BytesLeft != 900 || s.Rate != 100 || s.Remaining != 0 {
		t.Errorf("in the first second: %+v", s)
	}
	for i := range int64(4) {
		now = now.Add(time.Second)
		p.to(200 + 100*i)
		p.to(50) // an older report
	}
	if s := j.report(1, 1000); s.BytesDone != 500 || s.BytesLeft != 500 || s.Rate != 100 || s.Remaining != 5*time.Second {
		t.Errorf("on the way: %+v", s)
	}
	p.to(5000) // no more than there is
	j.moved(1000, p.end())
	p.to(1000) // late
	if s := j.report(0, 0); s.BytesDone != 1000 || s.FilesDone != 1 || s.Rate != 200 {
		t.Errorf("done: %+v", s)
	}
	failed := j.begin(700)
	failed.to(300)
	failed.end()
	if s := j.report(1, 700); s.BytesDone != 1000 || s.BytesLeft != 700 {
		t.Errorf("a copy that failed: %+v", s)
	}
}

// exchange does an Exchange for node 1.
func exchange(t *testing.T, q *orders.Dispatcher, results ...hemera.OrderResult) []hemera.Order {
	t.Helper()
	list, err := q.Exchange(t.Context(), 1, results)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFiguresOfABalanceHaveAnAge: its last look may be ten minutes old, and disks are listed with figures of now beside it.
func TestFiguresOfABalanceHaveAnAge(t *testing.T) {
	now := time.Unix(1000, 0)
	b := &base{Options: Options{Now: func() time.Time { return now }}}
	r := newBalanceRun(b, "default", newBalanceLedger(b.Now))
	r.planned = now
	r.set(adminapi.JobWaiting, "disk 8 is 21.6 % full")
	if got := r.status().Why; got != "disk 8 is 21.6 % full" {
		t.Error(got)
	}
	now = now.Add(4 * time.Minute)
	if got := r.status().Why; got != "disk 8 is 21.6 % full; these figures are of 4m0s ago" {
		t.Error(got)
	}
	r.set(adminapi.JobDone, "")
	if got := r.status().Why; got != "" {
		t.Error(got)
	}
}

func TestJobRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(adminapi.JobDrain, 3, time.Now)
		for range 20 {
			j.moved(500, 0)
			time.Sleep(time.Second)
		}
		s := j.report(4, 2000)
		if s.FilesDone != 20 || s.BytesDone != 10000 || s.Rate < 400 || s.Rate > 500 || s.Remaining < 4*time.Second || s.Remaining > 5*time.Second {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
		if s := j.report(4, 2000); s.Rate != 0 || s.Remaining != 0 {
			t.Errorf("idle: %+v", s)
		}
		j.set(adminapi.JobDone, "")
		j.set(adminapi.JobRunning, "")
		j.moved(1, 0)
		if s := j.report(0, 0); s.State != adminapi.JobDone {
			t.Errorf("after the end: %+v", s)
		}
	})
}
