package maint

import (
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
