package mounting

import (
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// now returns the time at which all pictures of tests are taken.
func now() time.Time { return time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC) }

func archive(pool tapeapi.PoolName) Key { return Key{Kind: tapeapi.Archive, Pool: pool} }
func recall(vid hemera.VID) Key         { return Key{Kind: tapeapi.Recall, VID: vid} }

// waiting returns a queue of 1 GB in 10 files that is worth a mount by its age.
func waiting(k Key, change ...func(*Queue)) Queue {
	q := Queue{Key: k, Organisation: "org", Files: 10, Bytes: 1e9, Oldest: now().Add(-time.Hour), Priority: 1, MinAge: 15 * time.Minute}
	for _, c := range change {
		c(&q)
	}
	return q
}

func young(q *Queue)                   { q.Oldest = now().Add(-time.Minute) }
func bytes(n int64) func(*Queue)       { return func(q *Queue) { q.Bytes = n } }
func files(n int64) func(*Queue)       { return func(q *Queue) { q.Files = n } }
func priority(n int64) func(*Queue)    { return func(q *Queue) { q.Priority = n } }
func old(d time.Duration) func(*Queue) { return func(q *Queue) { q.Oldest = now().Add(-d) } }
func ofOrg(name string) func(*Queue)   { return func(q *Queue) { q.Organisation = name } }
func largest(n int64) func(*Queue)     { return func(q *Queue) { q.Largest = n } }
func idle(name string) Drive {
	return Drive{Name: name, Library: "lib", Up: true, Idle: now().Add(-time.Hour)}
}
func tapeOf(vid hemera.VID, used int64) Tape {
	return Tape{VID: vid, Pool: "p", Library: "lib", Media: "LTO-9", State: "ACTIVE", Read: true, Write: true, Used: used, Capacity: 18e12}
}

// holding returns an idle drive with a tape, mounted and idle for so long.
func holding(name string, vid hemera.VID, mounted, idleFor time.Duration) Drive {
	d := idle(name)
	d.VID, d.Mounted, d.Idle = vid, now().Add(-mounted), now().Add(-idleFor)
	return d
}

// working returns a drive that works for a queue with a tape.
func working(name string, vid hemera.VID, k Key, mounted time.Duration) Drive {
	d := holding(name, vid, mounted, 0)
	d.Work = &Work{Queue: k, Organisation: "org", Priority: 1, Left: 1e9}
	d.Last, d.Begun = k, d.Mounted
	return d
}

// base returns a library with drive d1, idle, and tapes A (empty), B and C (partly full, C is fuller), F (full).
func base(queues ...Queue) Picture {
	full := tapeOf("F", 18e12)
	full.Full = true
	return Picture{
		Now: now(), Queues: queues, Drives: []Drive{idle("d1")},
		Tapes: []Tape{tapeOf("A", 0), tapeOf("B", 1e12), tapeOf("C", 2e12), full},
		Pools: map[tapeapi.PoolName]Pool{"p": {Partial: 2}}, Organisations: map[string]Organisation{"org": {ReadDrives: 9, WriteDrives: 9}},
		Criteria: DefaultCriteria(), Rates: DefaultRates(), Buffer: Buffer{Free: 10e12, Keep: 1e12, Batch: 100e9},
	}
}

// decides is one row: a picture, changed, and what d1 is to do.
type decides struct {
	name    string
	queues  []Queue
	change  func(*Picture)
	do      tapeapi.MountKind
	queue   Key
	vid     hemera.VID
	rule    Rule
	because string // a part of the reason
}

const (
	nothing = tapeapi.MountNothing
	work    = tapeapi.MountWork
	unload  = tapeapi.MountUnload
)

func run(t *testing.T, rows []decides) {
	t.Helper()
	for _, one := range rows {
		p := base(one.queues...)
		if one.change != nil {
			one.change(&p)
		}
		got := Decide(p, "d1")
		if got.Do != one.do || got.Queue != one.queue || got.VID != one.vid || got.Rule != one.rule || !strings.Contains(got.Reason, one.because) || got.Reason == "" {
			t.Errorf("%s: %+v", one.name, got)
		}
	}
}

func TestMountCriteria(t *testing.T) {
	p := archive("p")
	two := func(pic *Picture) {
		pic.Drives = append(pic.Drives, working("d2", "B", p, time.Minute))
		pic.Pools = map[tapeapi.PoolName]Pool{"p": {Partial: 5}}
	}
	run(t, []decides{
		{"no queue", nil, nil, nothing, Key{}, "", NoWork, "nothing waits"},
		{"an empty queue", []Queue{waiting(p, files(0), bytes(0))}, nil, nothing, Key{}, "", NoWork, "nothing waits"},
		{"enough bytes", []Queue{waiting(p, young, bytes(100e9))}, nil, work, p, "C", EnoughBytes, "100 GB are worth a mount"},
		{"not enough", []Queue{waiting(p, young, bytes(100e9-1), files(1999))}, nil, nothing, Key{}, "", TooLittle, "a mount is worth 100 GB, 2000 files, or an age of 15 min"},
		{"enough files", []Queue{waiting(p, young, files(2000))}, nil, work, p, "C", EnoughFiles, "2000 files are worth"},
		{"old enough", []Queue{waiting(p, old(15*time.Minute))}, nil, work, p, "C", OldEnough, "wait for 15 min"},
		{"not old enough", []Queue{waiting(p, old(15*time.Minute-1))}, nil, nothing, Key{}, "", TooLittle, ""},
		{"bytes for two", []Queue{waiting(p, young, bytes(200e9))}, two, work, p, "C", EnoughBytes, ""},
		{"bytes for one only", []Queue{waiting(p, young, bytes(199e9))}, two, nothing, Key{}, "", TooLittle, "each beside 1 that is there"},
		{"files for two", []Queue{waiting(p, young, files(4000))}, two, work, p, "C", EnoughFiles, ""},
		{"age is for the first mount", []Queue{waiting(p)}, two, nothing, Key{}, "", TooLittle, ""},
		{"criteria of zero mount for one file", []Queue{waiting(p, young, files(1), bytes(1))},
			func(pic *Picture) { pic.Criteria.MinBytes = 0 }, work, p, "C", EnoughBytes, ""},
		{"but not for one file twice", []Queue{waiting(p, young, files(1), bytes(1))},
			func(pic *Picture) { two(pic); pic.Criteria.MinBytes, pic.Criteria.MinFiles = 0, 0 }, nothing, Key{}, "", TooLittle, ""},
		{"a recall", []Queue{waiting(recall("F"))}, nil, work, recall("F"), "F", OldEnough, "recall from tape F"},
	})
}

func TestOrderOfQueues(t *testing.T) {
	p := archive("p")
	run(t, []decides{
		{"priority first", []Queue{waiting(p), waiting(recall("F"), priority(2))}, nil, work, recall("F"), "F", OldEnough, ""},
		{"then archive", []Queue{waiting(recall("F"), old(9*time.Hour)), waiting(p)}, nil, work, p, "C", OldEnough, ""},
		{"then recall before repack and verify", []Queue{
			waiting(Key{Kind: tapeapi.Verify, VID: "B"}, old(9*time.Hour)), waiting(Key{Kind: tapeapi.Repack, VID: "B"}, old(8*time.Hour)), waiting(recall("F")),
		}, nil, work, recall("F"), "F", OldEnough, ""},
		{"then the oldest", []Queue{waiting(recall("B")), waiting(recall("F"), old(2*time.Hour))}, nil, work, recall("F"), "F", OldEnough, ""},
		{"then the name", []Queue{waiting(recall("F")), waiting(recall("B"))}, nil, work, recall("B"), "B", OldEnough, ""},
		{"what is not worth a mount is passed over", []Queue{waiting(p, priority(9), young), waiting(recall("F"))}, nil, work, recall("F"), "F", OldEnough, ""},
	})
}

func TestTapeToWrite(t *testing.T) {
	p := archive("p")
	q := []Queue{waiting(p, young, bytes(1e12))}
	run(t, []decides{
		{"the fullest", q, nil, work, p, "C", EnoughBytes, ""},
		{"not one that is in use", q, func(pic *Picture) { pic.Drives = append(pic.Drives, working("d2", "C", recall("C"), 0)) }, work, p, "B", EnoughBytes, ""},
		{"no more partly full ones than the pool may have", q, func(pic *Picture) {
			pic.Drives = append(pic.Drives, working("d2", "C", recall("C"), 0), working("d3", "B", p, 0))
		}, nothing, Key{}, "", PartialTapes, "2 tapes of pool p can be written at a time, and all are in use"},
		{"an empty one when it may have more", q, func(pic *Picture) {
			pic.Drives = append(pic.Drives, working("d2", "C", recall("C"), 0), working("d3", "B", p, 0))
			pic.Pools = map[tapeapi.PoolName]Pool{"p": {Partial: 3}}
		}, work, p, "A", EnoughBytes, ""},
		{"an empty tape in a drive counts", q, func(pic *Picture) {
			pic.Tapes = []Tape{tapeOf("A", 0), tapeOf("D", 0)}
			pic.Pools = map[tapeapi.PoolName]Pool{"p": {Partial: 1}}
			pic.Drives = append(pic.Drives, working("d2", "A", p, 0))
		}, nothing, Key{}, "", PartialTapes, "1 tape of pool p"},
		{"no tape", q, func(pic *Picture) { pic.Tapes = nil }, nothing, Key{}, "", NoTape, "no tape in library lib"},
		{"from a supply pool", q, func(pic *Picture) {
			s1, s2, s3 := tapeOf("S1", 5), tapeOf("S3", 0), tapeOf("S2", 0)
			s1.Pool, s2.Pool, s3.Pool = "supply", "supply", "supply"
			pic.Tapes = []Tape{s1, s2, s3}
			pic.Pools = map[tapeapi.PoolName]Pool{"p": {Supplies: []tapeapi.PoolName{"none", "supply"}}}
		}, work, p, "S2", EnoughBytes, "from supply pool supply"},
		{"not one of another library", q, func(pic *Picture) { pic.Tapes[2].Library = "other" }, work, p, "B", EnoughBytes, ""},
		{"not one that is disabled", q, func(pic *Picture) { pic.Tapes[2].Write = false }, work, p, "B", EnoughBytes, ""},
		{"not one of media that the drive only reads", q, func(pic *Picture) {
			pic.Drives[0].Writes, pic.Drives[0].Reads = []string{"LTO-9"}, []string{"LTO-8"}
			pic.Tapes[2].Media = "LTO-8"
		}, work, p, "B", EnoughBytes, ""},
		{"what no drive writes is not partly full", q, func(pic *Picture) {
			pic.Drives[0].Writes, pic.Drives[0].Reads = []string{"LTO-9"}, []string{"LTO-8"}
			pic.Tapes[1].Media, pic.Tapes[2].Media = "LTO-8", "LTO-8"
		}, work, p, "A", EnoughBytes, ""},
	})
}

func TestWhatIsNeverChosen(t *testing.T) {
	f := recall("F")
	q := []Queue{waiting(f)}
	run(t, []decides{
		{"a library that is disabled", q, func(p *Picture) { p.Libraries = map[string]string{"lib": "moved"} }, nothing, Key{}, "", LibraryDisabled, "moved"},
		{"a drive that is down", q, func(p *Picture) { p.Drives[0].Up, p.Drives[0].Reason = false, "noise" }, nothing, Key{}, "", DriveDown, "noise"},
		{"its tape is freed", q, func(p *Picture) { p.Drives[0].Up, p.Drives[0].VID = false, "F" }, unload, Key{}, "F", DriveDown, "freed"},
		{"a drive that is busy", q, func(p *Picture) { p.Drives[0] = working("d1", "B", recall("B"), 0) }, nothing, Key{}, "", DriveBusy, "recall from tape B"},
		{"a drive that is not there", q, func(p *Picture) { p.Drives = nil }, nothing, Key{}, "", DriveDown, "no drive d1"},
		{"a tape that is disabled", q, func(p *Picture) { p.Tapes[3].Read, p.Tapes[3].State, p.Tapes[3].Reason = false, "DISABLED", "dust" }, nothing, Key{}, "", TapeState, "DISABLED: dust"},
		{"a tape whose key is missing", q, func(p *Picture) { p.Tapes[3].Lock = Lock{"k1", "no file"} }, nothing, Key{}, "", KeyMissing, "key k1, which cannot be used: no file"},
		{"a tape that is not known", []Queue{waiting(recall("X"))}, nil, nothing, Key{}, "", TapeUnknown, "no tape X"},
		{"a tape in another drive", q, func(p *Picture) { p.Drives = append(p.Drives, holding("d2", "F", 0, 0)) }, nothing, Key{}, "", TapeInUse, "in drive d2"},
		{"a tape in another library", q, func(p *Picture) { p.Tapes[3].Library = "other" }, nothing, Key{}, "", OtherLibrary, "library other"},
		{"media that the drive does not read", q, func(p *Picture) { p.Drives[0].Writes = []string{"LTO-10"} }, nothing, Key{}, "", Media, "does not read LTO-9"},
		{"media that it reads", q, func(p *Picture) { p.Drives[0].Writes, p.Drives[0].Reads = []string{"LTO-10"}, []string{"LTO-9"} }, work, f, "F", OldEnough, ""},
		{"more drives than the organisation may have", q, func(p *Picture) {
			p.Organisations["org"] = Organisation{ReadDrives: 1, WriteDrives: 1}
			p.Drives = append(p.Drives, working("d2", "B", recall("B"), 0))
		}, nothing, Key{}, "", DriveLimit, "organisation org reads with 1 of 1 drives"},
		{"those that write are counted apart", q, func(p *Picture) {
			p.Organisations["org"] = Organisation{ReadDrives: 1, WriteDrives: 1}
			p.Drives = append(p.Drives, working("d2", "B", archive("p"), 0))
		}, work, f, "F", OldEnough, ""},
		{"an organisation without drives", q, func(p *Picture) { p.Organisations["org"] = Organisation{} }, nothing, Key{}, "", DriveLimit, "0 of 0"},
		{"one that nobody limits", []Queue{waiting(f, ofOrg("free"))}, nil, work, f, "F", OldEnough, ""},
	})
}

func TestBufferBlocksRecallsOnly(t *testing.T) {
	verify := Key{Kind: tapeapi.Verify, VID: "F"}
	full := func(p *Picture) { p.Buffer.Free = 1e12 }
	run(t, []decides{
		{"a recall", []Queue{waiting(recall("F"))}, full, nothing, Key{}, "", BufferFull, "has room for 0 B"},
		{"a verification", []Queue{waiting(verify)}, full, work, verify, "F", OldEnough, ""},
		{"an archive", []Queue{waiting(recall("F"), priority(9)), waiting(archive("p"))}, full, work, archive("p"), "C", OldEnough, ""},
		{"room for a batch", []Queue{waiting(recall("F"), bytes(5e12))}, func(p *Picture) { p.Buffer.Free = 1.1e12 }, work, recall("F"), "F", EnoughBytes, ""},
		{"room for less", []Queue{waiting(recall("F"), bytes(5e12))}, func(p *Picture) { p.Buffer.Free = 1.1e12 - 1 }, nothing, Key{}, "", BufferFull, "100 GB are needed"},
		{"a queue of less than a batch", []Queue{waiting(recall("F"))}, func(p *Picture) { p.Buffer.Free = 1.001e12 }, work, recall("F"), "F", OldEnough, ""},
		{"a file that does not fit", []Queue{waiting(recall("F"), largest(200e9))}, func(p *Picture) { p.Buffer.Free = 1.1e12 }, nothing, Key{}, "", BufferFull, ""},
		{"what others have reserved", []Queue{waiting(recall("F"), bytes(5e12))}, func(p *Picture) {
			d := working("d2", "B", recall("B"), 0)
			d.Work.Reserved = 8.95e12
			p.Drives = append(p.Drives, d)
		}, nothing, Key{}, "", BufferFull, "room for 50 GB"},
	})
}

func TestMountedTape(t *testing.T) {
	p, f := archive("p"), recall("F")
	held := func(vid hemera.VID, mounted, idleFor time.Duration) func(*Picture) {
		return func(pic *Picture) { pic.Drives[0] = holding("d1", vid, mounted, idleFor) }
	}
	emptyToo := func(pic *Picture) {
		held("B", time.Minute, time.Second)(pic)
		pic.Drives = append(pic.Drives, idle("d2"))
	}
	run(t, []decides{
		{"more for it needs no criteria", []Queue{waiting(recall("B"), young, files(1))}, held("B", time.Minute, 0), work, recall("B"), "B", Mounted, "mounted already"},
		{"the pool writes to it, though another is fuller", []Queue{waiting(p, young)}, held("B", time.Minute, 0), work, p, "B", Mounted, ""},
		{"recall after archive", []Queue{waiting(recall("B"), young), waiting(f)}, held("B", time.Minute, 0), work, recall("B"), "B", Mounted, ""},
		{"a higher priority elsewhere", []Queue{waiting(recall("B"), young), waiting(f, priority(2))}, held("B", time.Minute, 0), work, f, "F", OldEnough, "tape B has no more urgent"},
		{"a turn is not over", []Queue{waiting(recall("B"), young), waiting(f)}, held("B", 30*time.Minute-1, 0), work, recall("B"), "B", Mounted, ""},
		{"a turn is over", []Queue{waiting(recall("B"), young), waiting(f)}, held("B", 30*time.Minute, 0), work, f, "F", OldEnough, ""},
		{"and nothing else is worth it", []Queue{waiting(recall("B"), young), waiting(f, young)}, held("B", time.Hour, 0), work, recall("B"), "B", Mounted, ""},
		{"a lower priority elsewhere", []Queue{waiting(recall("B"), young), waiting(f, priority(0))}, held("B", time.Hour, 0), work, recall("B"), "B", Mounted, ""},
		{"other work goes before lingering", []Queue{waiting(f)}, held("B", time.Minute, time.Second), work, f, "F", OldEnough, ""},
		{"but an empty drive takes it", []Queue{waiting(f)}, emptyToo, nothing, Key{}, "B", Lingering, "stays in the drive"},
		{"it lingers", nil, held("B", time.Hour, time.Minute-1), nothing, Key{}, "B", Lingering, "stays in the drive"},
		{"and is unmounted", nil, held("B", time.Hour, time.Minute), unload, Key{}, "B", LingerOver, "nothing waits"},
		{"queues of one tape take turns", []Queue{waiting(p), waiting(recall("B"), young)}, func(pic *Picture) {
			held("B", time.Hour, 0)(pic)
			pic.Drives[0].Last, pic.Drives[0].Begun = p, now().Add(-30*time.Minute)
		}, work, recall("B"), "B", Mounted, ""},
		{"but not before the turn is over", []Queue{waiting(p), waiting(recall("B"), young)}, func(pic *Picture) {
			held("B", time.Hour, 0)(pic)
			pic.Drives[0].Last, pic.Drives[0].Begun = p, now().Add(-29*time.Minute)
		}, work, p, "B", Mounted, ""},
		{"a tape that the catalogue does not know", nil, held("X", time.Hour, time.Minute), unload, Key{}, "X", LingerOver, ""},
		{"a drive that holds a tape of the pool goes first", []Queue{waiting(p)},
			func(pic *Picture) { pic.Drives = append(pic.Drives, holding("d2", "B", time.Minute, 0)) }, nothing, Key{}, "", TooLittle, "beside 1"},
		{"but not for work enough for two", []Queue{waiting(p, bytes(200e9))},
			func(pic *Picture) { pic.Drives = append(pic.Drives, holding("d2", "B", time.Minute, 0)) }, work, p, "C", EnoughBytes, ""},
	})
}

func TestAgain(t *testing.T) {
	p := base(waiting(archive("p"), old(14*time.Minute)), waiting(recall("F"), old(5*time.Minute)))
	if d := Decide(p, "d1"); !d.Again.Equal(now().Add(time.Minute)) {
		t.Errorf("%+v", d)
	}
	p.Drives[0] = holding("d1", "X", time.Hour, 30*time.Second)
	if d := Decide(p, "d1"); !d.Again.Equal(now().Add(30 * time.Second)) {
		t.Errorf("%+v", d)
	}
}

func TestContinue(t *testing.T) {
	b := recall("B")
	for _, one := range []struct {
		name   string
		change func(*Picture)
		more   bool
		rule   Rule
	}{
		{"nothing else waits", func(*Picture) {}, true, NoRule},
		{"its own queue is no other", func(p *Picture) {
			p.Drives[0].Mounted, p.Drives[0].Begun = now().Add(-time.Hour), now().Add(-time.Hour)
		}, true, NoRule},
		{"others wait, the turn lasts", func(p *Picture) { p.Queues = append(p.Queues, waiting(recall("F"), priority(9))) }, true, NoRule},
		{"the turn is over", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(recall("F")))
			p.Drives[0].Mounted = now().Add(-time.Hour)
		}, false, TurnOver},
		{"for lower priorities it lasts", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(recall("F"), priority(0)))
			p.Drives[0].Mounted = now().Add(-time.Hour)
		}, true, NoRule},
		{"what is not worth a mount ends no turn", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(recall("F"), young))
			p.Drives[0].Mounted = now().Add(-time.Hour)
		}, true, NoRule},
		{"an idle drive takes the others", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(recall("F")))
			p.Drives[0].Mounted = now().Add(-time.Hour)
			p.Drives = append(p.Drives, idle("d2"))
		}, true, NoRule},
		{"the limit of the organisation holds for the others too", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(recall("F")))
			p.Drives[0].Mounted = now().Add(-time.Hour)
			p.Organisations["org"] = Organisation{ReadDrives: 1}
		}, false, TurnOver}, // the drive that is freed is the one
		{"another queue of the tape", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(archive("p")))
			p.Drives[0].Begun = now().Add(-time.Hour)
		}, false, TurnOver},
		{"another queue of the tape waits for its turn", func(p *Picture) {
			p.Queues = append(p.Queues, waiting(archive("p")))
			p.Drives[0].Mounted = now().Add(-time.Hour)
		}, true, NoRule},
		{"the drive goes down", func(p *Picture) { p.Drives[0].Up = false }, false, DriveDown},
		{"the library is disabled", func(p *Picture) { p.Libraries = map[string]string{"lib": ""} }, false, LibraryDisabled},
		{"the tape is disabled", func(p *Picture) { p.Tapes[1].Read = false }, false, TapeState},
		{"the buffer is full", func(p *Picture) { p.Buffer.Free = 0 }, false, BufferFull},
		{"but not its reservation", func(p *Picture) { p.Buffer.Free, p.Drives[0].Work.Reserved = 1e12+5, 5 }, true, NoRule},
		{"the drive is idle", func(p *Picture) { p.Drives[0].Work = nil }, false, NoWork},
	} {
		p := base(waiting(b))
		p.Drives[0] = working("d1", "B", b, time.Minute)
		one.change(&p)
		more, rule, reason := New(p).Continue("d1")
		if more != one.more || rule != one.rule || !more && reason == "" {
			t.Errorf("%s: %v %s %s", one.name, more, rule, reason)
		}
	}
}
