package mounting

import (
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

func TestExplain(t *testing.T) {
	f, p := recall("F"), archive("p")
	for _, one := range []struct {
		name   string
		key    Key
		queues []Queue
		change func(*Picture)
		rules  []Rule // in order
		text   string // of the first
		remedy string
		begins time.Duration // from now, below zero: nobody knows
	}{
		{"no such queue", f, nil, nil, []Rule{NoWork}, "no job waits", "", -1},
		{"no drive", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Drives = nil }, []Rule{DriveDown}, "no drive", "hemera tape serve", -1},
		{"it can begin", f, []Queue{waiting(f)}, nil, []Rule{Queued}, "drive d1 can begin", "", 91 * time.Second},
		{"too little", p, []Queue{waiting(p, old(5*time.Minute))}, nil, []Rule{TooLittle}, "1.0 GB in 10 files, the oldest for 5 min wait; a mount is worth 100 GB, 2000 files, or an age of 15 min", "",
			10*time.Minute + 91*time.Second},
		{"the library", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Libraries = map[string]string{"lib": "moved"} },
			[]Rule{LibraryDisabled}, "library lib is disabled: moved", "hemera tape library up lib", -1},
		{"the tape", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Tapes[3].Read, pic.Tapes[3].State = false, "DISABLED" },
			[]Rule{TapeState}, "tape F is DISABLED", "hemera tape tape set F state=ACTIVE", -1},
		{"an unknown tape", recall("X"), []Queue{waiting(recall("X"))}, nil, []Rule{TapeUnknown}, "no tape X", "hemera tape scan X", -1},
		{"the drive", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Drives[0].Up = false; pic.Drives[0].Reason = "noise" },
			[]Rule{DriveDown}, "drive d1 is down: noise", "hemera tape drive up d1", -1},
		{"media", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Drives[0].Writes = []string{"LTO-10"} }, []Rule{Media}, "does not read LTO-9", "", -1},
		{"no tape", p, []Queue{waiting(p)}, func(pic *Picture) { pic.Tapes = nil }, []Rule{NoTape}, "no tape in library lib", "hemera tape tape add", -1},
		{"the buffer", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Buffer.Free = 0 }, []Rule{BufferFull}, "room for 0 B", "evict", -1},
		{"the organisation", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Organisations["org"] = Organisation{} },
			[]Rule{DriveLimit}, "0 of 0 drives", "hemera tape organisation set org readMaxDrives=1", -1},
		{"the organisation of one ahead", f, []Queue{waiting(f), waiting(recall("B"), old(9*time.Hour), bytes(40e9), ofOrg("none"))},
			func(pic *Picture) { pic.Organisations["none"] = Organisation{} }, []Rule{Queued}, "", "", 91 * time.Second},
		{"a drive that gives its tape back", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Drives[0].VID, pic.Drives[0].Unloads = "B", true },
			[]Rule{Queued}, "drive d1 gives its tape B back, and can begin then", "", -2},
		{"the nearest first", f, []Queue{waiting(f)}, func(pic *Picture) {
			busy, elsewhere := working("d2", "B", recall("B"), 0), idle("d3")
			busy.Work.Left, elsewhere.Library = 4e9, "other"
			pic.Drives = []Drive{busy, elsewhere, {Name: "d4", Library: "lib", Reason: "dust"}, {Name: "d5", Library: "lib"}}
		}, []Rule{DriveBusy, DriveDown, OtherLibrary}, "drive d2 works: recall from tape B, 4.0 GB left", "", (10 + 128 + 91) * time.Second},
		{"in another drive", f, []Queue{waiting(f)}, func(pic *Picture) {
			d := working("d2", "F", Key{Kind: tapeapi.Verify, VID: "F"}, 0)
			d.Work.Left = 40e9
			pic.Drives = append(pic.Drives, d)
		}, []Rule{DriveBusy, TapeInUse}, "drive d2 works: verify from tape F", "", -2},
		{"it is being done", f, []Queue{waiting(f)}, func(pic *Picture) { pic.Drives = append(pic.Drives, working("d2", "F", f, 0)) },
			[]Rule{Working, TapeInUse}, "drive d2 works: recall from tape F", "", 0},
		{"one is ahead", f, []Queue{waiting(f), waiting(recall("B"), old(9*time.Hour), bytes(40e9), files(1))}, nil, []Rule{Queued}, "", "",
			(91 + 100 + 16 + 128 + 91) * time.Second},
		{"one ahead takes no more than its turn", f, []Queue{waiting(f), waiting(recall("B"), old(9*time.Hour), bytes(40e12))}, nil, []Rule{Queued}, "", "",
			(91+128+91)*time.Second + 30*time.Minute},
		{"nor is a tape that may not be read", f, []Queue{waiting(f), waiting(recall("B"), old(9*time.Hour))}, func(pic *Picture) { pic.Tapes[1].Read = false },
			[]Rule{Queued}, "", "", 91 * time.Second},
		{"what waits for a person is not ahead", f, []Queue{waiting(f), waiting(recall("X"), old(9*time.Hour)), waiting(p, young, priority(3))}, nil, []Rule{Queued}, "", "",
			91 * time.Second},
	} {
		pic := base(one.queues...)
		if one.change != nil {
			one.change(&pic)
		}
		x := Explain(pic, one.key)
		var rules []Rule
		for _, r := range x.Reasons {
			if r.Text == "" {
				t.Errorf("%s: a reason without words: %+v", one.name, r)
			}
			rules = append(rules, r.Rule)
		}
		if len(rules) != len(one.rules) {
			t.Errorf("%s: %+v", one.name, x.Reasons)
			continue
		}
		for i := range rules {
			if rules[i] != one.rules[i] {
				t.Errorf("%s: %+v", one.name, x.Reasons)
			}
		}
		if first := x.Reasons[0]; !strings.Contains(first.Text, one.text) || !strings.Contains(first.Remedy, one.remedy) || one.remedy == "" && first.Remedy != "" {
			t.Errorf("%s: %+v", one.name, first)
		}
		switch {
		case one.begins == -2:
		case one.begins < 0 != x.Begins.IsZero():
			t.Errorf("%s: begins %s", one.name, x.Begins)
		case one.begins >= 0 && !x.Begins.Equal(now().Add(one.begins)):
			t.Errorf("%s: begins in %s", one.name, x.Begins.Sub(now()))
		}
		if !x.Begins.IsZero() && !x.Ends.After(x.Begins) {
			t.Errorf("%s: ends %s", one.name, x.Ends)
		}
	}
}

func TestExplainKeys(t *testing.T) {
	f, p := recall("F"), archive("p")
	tape := base(waiting(f))
	tape.Tapes[3].Lock = Lock{"k1", "no file"}
	pool := base(waiting(p))
	pool.Pools["p"], pool.Tapes = Pool{Partial: 3, Lock: Lock{"k2", "no file"}}, pool.Tapes[:1]
	for _, one := range []struct {
		picture      Picture
		key          Key
		text, remedy string
	}{
		{tape, f, "tape F is encrypted with key k1, which cannot be used: no file", "bring it back: hemera tape key add k1 --from FILE"},
		{pool, p, "new tapes of pool p are encrypted with key k2, which cannot be used: no file", "bring it back: hemera tape key add k2 --from FILE"},
	} {
		got := Explain(one.picture, one.key)
		if len(got.Reasons) != 1 || got.Reasons[0] != (Reason{KeyMissing, one.text, one.remedy}) || !got.Begins.IsZero() {
			t.Errorf("%s: %+v", one.key, got)
		}
	}
	// What was begun with another key goes on.
	pool.Tapes = append(pool.Tapes, tapeOf("B", 1e12))
	if got := Decide(pool, "d1"); got.VID != "B" {
		t.Errorf("%+v", got)
	}
}

func TestExplainCountsDrives(t *testing.T) {
	p := base(waiting(recall("F")))
	p.Drives = append(p.Drives, idle("d2"), idle("d3"))
	for i := range p.Drives {
		p.Drives[i].Library = "other"
	}
	x := Explain(p, recall("F"))
	if len(x.Reasons) != 1 || !strings.HasSuffix(x.Reasons[0].Text, "and so for 2 other drives") {
		t.Errorf("%+v", x.Reasons)
	}
}

func TestExplainTape(t *testing.T) {
	p := base(waiting(recall("F")), waiting(archive("p")))
	p.Tapes[1].Read, p.Tapes[1].Write, p.Tapes[1].State, p.Tapes[1].Reason = false, false, "BROKEN", "snapped"
	p.Tapes[2].Write, p.Tapes[2].State = false, "REPACKING"
	p.Drives = append(p.Drives, working("d2", "C", Key{Kind: tapeapi.Repack, VID: "C"}, 0))
	p.Tapes[0].Library, p.Libraries = "far", map[string]string{"far": "flood"}
	b := New(p)
	for vid, want := range map[string][]string{
		"A": {"library far is disabled: flood"},
		"B": {"tape B is BROKEN, so it is not mounted: snapped"},
		"C": {"tape C is REPACKING, so it may be read, and not written", "it is in drive d2: drive d2 works: repack from tape C"},
		"F": {"recall from tape F: drive d1 can begin"},
		"X": {"no queue, drive or pool needs tape X"},
	} {
		got := b.ExplainTape(hemera.VID(vid))
		if len(got) != len(want) {
			t.Errorf("%s: %+v", vid, got)
			continue
		}
		for i := range want {
			if !strings.Contains(got[i].Text, want[i]) {
				t.Errorf("%s: %+v", vid, got)
			}
		}
	}
	p.Queues = nil
	p.Drives = p.Drives[:1]
	for vid, want := range map[string]string{"F": "and it is full"} {
		if got := New(p).ExplainTape(hemera.VID(vid)); len(got) != 1 || !strings.Contains(got[0].Text, want) {
			t.Errorf("%s: %+v", vid, got)
		}
	}
}

func TestExplainDrive(t *testing.T) {
	p := base(waiting(recall("F")), waiting(recall("X")), waiting(archive("p"), young))
	p.Drives = append(p.Drives, working("d2", "B", recall("B"), 0), Drive{Name: "d3", Library: "lib", Reason: "noise"})
	b := New(p)
	for name, want := range map[string][]string{
		"d1": {"recall from tape F: 1.0 GB in 10 files", "1 queue (queues ahead): recall from tape F", "1 queue (mount criteria): archive to pool p", "1 queue (unknown tape): recall from tape X"},
		"d2": {"drive d2 works: recall from tape B, 1.0 GB left", "2 queues (drive busy): archive to pool p, recall from tape F", "1 queue (unknown tape)"},
		"d3": {"drive d3 is down: noise", "3 queues (drive down): archive to pool p, recall from tape F, recall from tape X"},
		"d4": {"there is no drive d4"},
	} {
		got := b.ExplainDrive(name)
		if len(got) != len(want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i := range want {
			if !strings.Contains(got[i].Text, want[i]) {
				t.Errorf("%s: %+v", name, got[i])
			}
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9951: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 18e12: "18 TB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 s", 119 * time.Second: "119 s", 2 * time.Minute: "2 min", 3 * time.Hour: "3 h", 72 * time.Hour: "3 days"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}
