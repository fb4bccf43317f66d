package maint

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestStalledJobSaysWhyUntilSomethingMoves(t *testing.T) {
	j := newJob("drain", 1, time.Now)
	j.set("running", "")
	j.failed(errors.New("no room"))
	j.set("stalled", "no room")
	j.again("")
	if s := j.report(1, 10); s.State != "stalled" || s.Why != "no room" || s.Failed != 0 {
		t.Errorf("in the next pass: %+v", s)
	}
	j.moved(10)
	if s := j.report(0, 0); s.State != "running" || s.Why != "" || s.FilesDone != 1 {
		t.Errorf("when something moved: %+v", s)
	}
}

// A job that was ended keeps the reason it ended for, whatever its last calls come back with.
func TestAnEndedJobDoesNotFail(t *testing.T) {
	j := newJob("drain", 1, time.Now)
	j.set("done", "the disk is in use again")
	j.failed(context.Canceled)
	if s := j.report(0, 0); s.State != "done" || s.Why != "the disk is in use again" || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}
