package tier_test

import (
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// found returns a file as an index of a tape tells it.
func found(number uint64, path string, fseq uint64) tapeapi.Scanned {
	return tapeapi.Scanned{Written: tapeapi.Written{ArchiveID: number, FSeq: fseq, Block: 10 * fseq, Size: 1000}, File: hemera.FileID(number), Path: path,
		Owner: hemera.FileOwner{UID: 1000, GID: 1000, Mode: 0o640}, Mtime: time.Unix(1_700_000_000, 0), Class: "default", Copy: 1}
}

// orders gives an order of an admin.
func (s *site) orders(o adminapi.TapeOrder) string {
	s.Helper()
	text, err := s.tier.Orders.OrderTape(s.Context(), "ada", o)
	s.good(err)
	return text
}

// scanMount returns the mount of a scan, which the drive must get.
func (s *site) scanMount(drive string, vid hemera.VID) tapeapi.Mount {
	s.Helper()
	m := s.ask(drive)
	if m.Kind != tapeapi.MountScan || m.VID != vid {
		s.Fatalf("drive %s got %+v, want a scan of %s", drive, m, vid)
	}
	s.loaded(drive, vid)
	return m
}

// tells reports what a scan found, twice, as after a lost answer.
func (s *site) tells(m tapeapi.Mount, complete bool, files ...tapeapi.Scanned) {
	s.Helper()
	r := tapeapi.Results{Mount: m.ID, VID: m.VID, Session: tapeapi.Session{Drive: "d1"},
		Scan: &tapeapi.ScanResults{Files: files, End: tapeapi.End{FSeq: 4, ArchiveID: 1<<63 | 4}, Complete: complete}}
	if complete {
		r.Scan.End.Bytes = 5000
	}
	s.good(s.tier.Results.TapeDone(s.Context(), server, r))
	s.good(s.tier.Results.TapeDone(s.Context(), server, r))
}

// ends ends a mount.
func (s *site) ends(m tapeapi.Mount, problem string) {
	s.Helper()
	s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true, Problem: problem, Session: tapeapi.Session{Drive: "d1", Error: problem}}))
	s.loaded("d1", "")
}

// scan returns the state of a scan.
func (s *site) scan(vid hemera.VID) adminapi.TapeScan {
	s.Helper()
	p, err := s.tier.Reports.TapePicture(s.Context())
	s.good(err)
	for _, one := range p.Scans {
		if one.VID == vid {
			return one
		}
	}
	s.Fatalf("no scan of %s", vid)
	return adminapi.TapeScan{}
}

// checked runs the namespace's own check.
func (s *site) checked() {
	s.Helper()
	if problems, err := s.tree.Inspection.Check(s.Context()); err != nil || len(problems) > 0 {
		s.Errorf("%v, %v", problems, err)
	}
}

// A tape that the catalogue never saw is known after its scan, its files can be recalled, and it is written on behind its last file.
func TestAScanFillsTheCatalogue(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.state.VIDs["FAR001"] = "LTO-9"
		s.report()
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001"})
		s.wantKind("the same scan twice", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001"})), errs.Exists)
		m := s.scanMount("d1", "FAR001")
		if other := s.ask("d2"); other.Kind != tapeapi.MountNothing {
			t.Errorf("two drives for one scan: %+v", other)
		}
		s.tells(m, false, found(9, "/single/c", 3), found(8, "/single/b", 2))
		if now := s.scan("FAR001"); now.Files != 2 || now.Counts[tapeapi.TookMade] != 2 || now.FSeq != 2 || !now.Ended.IsZero() {
			t.Errorf("half way: %+v", now)
		}
		s.tells(m, true, found(7, "/single/a", 1))
		s.ends(m, "")
		if now := s.scan("FAR001"); now.Files != 3 || now.Bytes != 3000 || now.Counts[tapeapi.TookMade] != 3 || now.Ended.IsZero() || now.Problem != "" {
			t.Errorf("%+v", now)
		}
		tape := s.tape("FAR001")
		if tape.LastFSeq != 4 || tape.LastID != 1<<63|4 || tape.Occupancy != 5000 || tape.Files != 3 || tape.Pool != "default" || tape.MediaType != "LTO-9" || tape.Library != "lib" ||
			tape.Capacity == 0 || tape.State != tapeapi.Active || !tape.Foreign {
			t.Errorf("%+v", tape)
		}
		s.checked()
		// A recall of one, as any.
		stageOf(s, alice(), "/single/a")
		r := s.mount("d1", tapeapi.Recall)
		if jobs := s.jobs(r); r.VID != "FAR001" || len(jobs) != 1 || jobs[0].From.FSeq != 1 || jobs[0].ArchiveID != 7 {
			t.Errorf("%+v %+v", r, jobs)
		}
		s.arrives("/single/a")
		s.ends(r, "")
		// The fullest tape of the pool is written on, and not labelled again.
		s.put(alice(), "/single/new", 1000)
		w := s.mount("d1", tapeapi.Archive)
		if w.VID != "FAR001" || w.Labels.LastFSeq != 4 || w.Labels.LastID != 1<<63|4 {
			t.Errorf("%+v", w)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(w, s.jobs(w))))
		if e := s.stat("/single/new"); len(e.Tape) != 1 || e.Tape[0].FSeq != 5 {
			t.Errorf("%+v", e.Tape)
		}
		s.checked()
	})
}

// What only looks changes nothing: a dry run, and a tape that was reclaimed. A new cartridge is no fault, and what goes wrong is told.
func TestScansThatTakeNothing(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		before := s.tape("AAA001")
		for _, o := range []adminapi.TapeOrder{{Kind: adminapi.OrderScan, Subject: "AAA001", DryRun: true}, {Kind: adminapi.OrderScan, Subject: "AAA001"}} {
			s.orders(o)
			m := s.scanMount("d1", "AAA001")
			s.tells(m, true, found(700, "/single/a", 1))
			s.ends(m, "")
			now := s.scan("AAA001")
			if now.Files != 1 || !strings.Contains(now.Why, "reclaimed") || now.Ended.IsZero() {
				t.Errorf("%+v", now)
			}
			if _, err := s.tree.Tree.Stat(s.Context(), admin(), "/single/a"); errs.KindOf(err) != errs.NotFound {
				t.Errorf("%+v: %v", o, err)
			}
			if now := s.tape("AAA001"); now != before {
				t.Errorf("%+v", now)
			}
		}
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "AAA001", Force: true})
		m := s.scanMount("d1", "AAA001")
		s.tells(m, true, found(700, "/single/a", 1))
		s.ends(m, "")
		if now := s.scan("AAA001"); now.Counts[tapeapi.TookMade]+now.Counts[tapeapi.TookDead] != 1 || s.tape("AAA001").LastFSeq != 4 {
			t.Errorf("%+v", now)
		}
		// A fault: the tape stays as it is, since it may have no label yet.
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan})
		m = s.scanMount("d1", "AAA001")
		s.ends(m, "no label")
		if now := s.scan("AAA001"); now.Problem != "no label" || s.tape("AAA001").State != tapeapi.Active {
			t.Errorf("%+v", now)
		}
		m = s.scanMount("d1", "BBB001")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Scan: &tapeapi.ScanResults{Complete: true, Blank: true}}))
		s.ends(m, "")
		if now := s.scan("BBB001"); now.Problem != "" || !strings.Contains(now.Why, "new") {
			t.Errorf("%+v", now)
		}
		s.wantKind("no such cartridge", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "NOWHER"})), errs.NotFound)
		// A report of a scan that a manager before this one ordered.
		s.start()
		s.report()
		s.wantKind("after a restart", s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Scan: &tapeapi.ScanResults{}}), errs.NotFound)
	})
}

// A removed file is brought back by an order, and is recalled like any other.
func TestAnOrderBringsAFileBack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		was := s.evicted("/single/f")
		undelete := adminapi.TapeOrder{Kind: adminapi.OrderUndelete, Subject: "/single/f"}
		s.wantKind("a file that is there", second(s.tier.Orders.OrderTape(s.Context(), "ada", undelete)), errs.NotFound)
		s.good(s.tree.Tree.Remove(s.Context(), alice(), "/single/f", 0))
		s.wantKind("neither id nor path", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderUndelete, Subject: "f"})), errs.Invalid)
		dry := undelete
		dry.DryRun = true
		if text := s.orders(dry); !strings.Contains(text, "/single/f") || s.tape("AAA001").Files != 0 {
			t.Errorf("%s", text)
		}
		s.put(alice(), "/single/f", 10)
		s.archive()
		_, err := s.tier.Orders.OrderTape(s.Context(), "ada", undelete)
		s.wantKind("a path that is taken", err, errs.Exists)
		if !strings.Contains(errs.RemedyOf(err), "--to") {
			t.Errorf("%v: %s", err, errs.RemedyOf(err))
		}
		undelete.To = "/single/g"
		if text := s.orders(undelete); !strings.Contains(text, "/single/g") {
			t.Errorf("%s", text)
		}
		e := s.stat("/single/g")
		if !e.Evicted() || e.ArchiveID() != was.ArchiveID() || e.UID != alice().UID {
			t.Errorf("%+v", e)
		}
		stageOf(s, alice(), "/single/g")
		m := s.mount("d1", tapeapi.Recall)
		if jobs := s.jobs(m); len(jobs) != 1 || jobs[0].File != e.ID {
			t.Errorf("%+v", jobs)
		}
		s.checked()
	})
}

// A scan of a tape whose key is missing costs no mount: the order is refused, and one that waits goes on waiting.
func TestAScanNeedsTheKeyOfItsTape(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.addKey("k1")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.archived("/single/f")
		right := s.keys["k1"]
		delete(s.keys, "k1")
		one := adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "AAA001"}
		_, err := s.tier.Orders.OrderTape(s.Context(), "ada", one)
		s.wantKind("without its key", err, errs.Unavailable)
		if !strings.Contains(errs.RemedyOf(err), "hemera tape key add k1 --from FILE") {
			t.Errorf("%v: %s", err, errs.RemedyOf(err))
		}
		// Of all tapes the others are scanned.
		if text := s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan}); !strings.Contains(text, "1 cannot be read without their keys") {
			t.Error(text)
		}
		if now := s.scan("AAA001"); now.Ended.IsZero() || !strings.Contains(now.Problem, "hemera tape key add k1 --from FILE") {
			t.Errorf("%+v", now)
		}
		s.ends(s.scanMount("d1", "BBB001"), "no label")
		// The key goes after the order, and comes back.
		s.keys["k1"] = right
		s.orders(one)
		delete(s.keys, "k1")
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		if now := s.scan("AAA001"); !now.Ended.IsZero() || !strings.Contains(now.Why, "hemera tape key add k1 --from FILE") {
			t.Errorf("%+v", now)
		}
		s.keys["k1"] = right
		if m := s.scanMount("d1", "AAA001"); m.Labels.Key.Name != "k1" || s.scan("AAA001").Why != "" {
			t.Errorf("%+v", m)
		}
	})
}

// A scan is cancelled while it waits, and while a drive works on it; what it found stays. One that failed is shown until it is forgotten.
func TestAScanIsCancelled(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.state.VIDs["FAR001"] = "LTO-9"
		s.report()
		one, stop := adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001"}, adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "FAR001"}
		s.wantKind("nothing to cancel", second(s.tier.Orders.OrderTape(s.Context(), "ada", stop)), errs.NotFound)
		s.orders(one)
		s.orders(stop)
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("cancelled while it waited: %+v", m)
		}
		s.orders(one)
		m := s.scanMount("d1", "FAR001")
		s.tells(m, false, found(9, "/single/c", 3))
		s.orders(stop)
		report := tapeapi.Results{Mount: m.ID, VID: m.VID, Scan: &tapeapi.ScanResults{Files: []tapeapi.Scanned{found(8, "/single/b", 2)}, End: tapeapi.End{FSeq: 4}}}
		s.wantKind("a report after that", s.tier.Results.TapeDone(s.Context(), server, report), errs.NotFound)
		if now := s.scan("FAR001"); now.Files != 1 || now.Problem != "cancelled by ada" || s.tape("FAR001").Files != 1 || len(s.attention()) > 0 {
			t.Errorf("%+v, %v", now, s.attention())
		}
		s.loaded("d1", "")
		s.orders(one)
		m = s.scanMount("d1", "FAR001")
		s.ends(m, "no label")
		if a := s.attention(); len(a) != 1 {
			t.Errorf("%v", a)
		}
		s.orders(stop)
		if a := s.attention(); len(a) > 0 {
			t.Errorf("%v", a)
		}
	})
}

// During a rebuild drives scan, so that files on tape come back before clients look for them, and do nothing else.
func TestOnlyScansDuringARebuild(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 100)
		s.state.VIDs["FAR001"] = "LTO-9"
		s.report()
		s.paused = true
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001"})
		m := s.scanMount("d1", "FAR001")
		s.tells(m, true, found(9, "/single/c", 3))
		s.ends(m, "")
		if s.tape("FAR001").Files != 1 {
			t.Errorf("%+v", s.tape("FAR001"))
		}
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		s.paused = false
		if m := s.ask("d1"); m.Kind == tapeapi.MountNothing {
			t.Error("nothing after the rebuild")
		}
	})
}

// A scan whose tape server died begins again by itself, as a tape that waits for it gives no disk copy free. One that this happens to again and again has failed.
func TestAScanWhoseServerDiedBeginsAgain(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.state.VIDs["FAR001"] = "LTO-9"
		s.report()
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001"})
		for try := range 4 {
			m := s.scanMount("d1", "FAR001")
			s.tells(m, false, found(9, "/single/c", 3))
			if now := s.scan("FAR001"); now.Files != 1 || now.Problem != "" {
				t.Fatalf("try %d: %+v", try, now)
			}
			s.loaded("d1", "") // the new server's drive is empty, and asks
		}
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		if now := s.scan("FAR001"); now.Ended.IsZero() || now.Problem == "" {
			t.Errorf("%+v", now)
		}
	})
}

// Scans that wait or were cut off begin again after a restart; how others ended is still known, until it is forgotten.
func TestScansSurviveARestart(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.state.VIDs["FAR001"], s.state.VIDs["FAR002"] = "LTO-9", "LTO-9"
		s.report()
		far := adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR001", Force: true, Data: true}
		s.orders(far)
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "FAR002"})
		m := s.scanMount("d1", "FAR001")
		s.tells(m, false, found(9, "/single/c", 3))
		s.start()
		s.report()
		s.loaded("d1", "")
		if now := s.scan("FAR001"); !now.Begun.IsZero() || now.Files != 0 || now.Asked.IsZero() {
			t.Errorf("%+v", now)
		}
		if m = s.scanMount("d1", "FAR001"); !m.Data {
			t.Errorf("the order is another one: %+v", m)
		}
		s.tells(m, true, found(9, "/single/c", 3), found(8, "/single/b", 2))
		s.ends(m, "")
		s.ends(s.scanMount("d1", "FAR002"), "no label")
		s.later(time.Minute) // the ends are written down
		s.start()
		s.report()
		if now := s.scan("FAR001"); now.Ended.IsZero() || now.Counts[tapeapi.TookKnown] != 1 || now.Counts[tapeapi.TookMade] != 1 || now.Problem != "" {
			t.Errorf("%+v", now)
		}
		if a := s.attention(); len(a) != 1 || s.ask("d1").Kind != tapeapi.MountNothing {
			t.Errorf("%v", a)
		}
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "FAR002"})
		s.start()
		s.report()
		if a := s.attention(); len(a) != 0 {
			t.Errorf("%v", a)
		}
	})
}
