package prepare

import (
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/words/tapeapi"
)

func TestActionOf(t *testing.T) {
	for _, c := range []struct {
		p    wire.Prepare
		want action
	}{
		{wire.Prepare{}, check},
		{wire.Prepare{Options: wire.PrepareWrite, Priority: 3}, check},
		{wire.Prepare{Options: wire.PrepareStage | wire.PrepareColoc | wire.PrepareFresh}, stage},
		{wire.Prepare{Options: wire.PrepareStage, OptionX: wire.PrepareEvict}, evict},
		{wire.Prepare{Options: wire.PrepareCancel | wire.PrepareStage, OptionX: wire.PrepareEvict}, cancel},
	} {
		if got := actionOf(c.p); got != c.want {
			t.Errorf("%+v: %d, want %d", c.p, got, c.want)
		}
	}
}

func TestFileOf(t *testing.T) {
	if f, err := fileOf("/a//b?x=1&activity=T0 reco"); err != nil || f != (tapeapi.StageFile{Path: "/a/b", Activity: "T0 reco"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := fileOf("a"); err == nil {
		t.Error("a relative path passes")
	}
}

func TestAnswer(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	got, err := answer("r1", []State{stateOf(tapeapi.Locality{
		Path: "/f", Exists: true, OnTape: true, Requested: true, HasID: true, Asked: at, Estimate: at.Add(time.Minute), Why: "a drive",
	})})
	want := `{"request_id":"r1","responses":[{"path":"/f","path_exists":true,"on_tape":true,"online":false,"requested":true,"has_reqid":true,` +
		`"req_time":"1700000000","error_text":"","estimate":"1700000060","why":"a drive"}]}`
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, _ := answer("r2", nil); got != `{"request_id":"r2","responses":[]}` {
		t.Error(got)
	}
}

func TestRecallWait(t *testing.T) {
	now := time.Unix(1000, 0)
	for left, want := range map[time.Duration]int32{-time.Hour: 1, 0: 1, 3 * time.Second: 2, 14 * time.Second: 7, time.Hour: 10} {
		if got := recallWait(tapeapi.Locality{Estimate: now.Add(left)}, now); got != want {
			t.Errorf("%v left: wait %d s, want %d", left, got, want)
		}
	}
	if got := recallWait(tapeapi.Locality{}, now); got != recallWaitUnknown {
		t.Errorf("unknown: %d", got)
	}
}
