package manager

import (
	"testing"
	"time"

	"hemera/namespace/accounts"
	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A recall does with as few disks as a write may have: somebody waits for it. The pieces that it makes say whose the file is.
func TestARecallIntoAClusterThatLacksDisks(t *testing.T) {
	r := newRig(t, 2, 1)
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.minpieces", "1"); err != nil {
		t.Fatal(err)
	}
	e := r.write("/f", 100)
	e = r.archive(e, "single")
	if _, err := r.m.tree.Evict(t.Context(), e.ID, func(*hemera.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	e = r.entry("/f")
	disk := r.m.Cluster.View().Disks[0].ID
	if err := r.m.Admin.SetDisk(t.Context(), disk, "configstatus", "ro"); err != nil {
		t.Fatal(err)
	}
	grant := func() (hemera.Capability, error) {
		g, end, err := r.grants().GrantRecall(t.Context(), e.ID, e.Gen)
		if err != nil {
			return hemera.Capability{}, err
		}
		c, err := r.m.Cluster.Keys.Ring().Verify(g.Token, time.Now())
		if err != nil {
			return c, err
		}
		at := c.Targets[0].Disk
		if n := r.m.Writes.pending.load(at); n != 1 {
			t.Errorf("the disk counts %d writes while a recall writes to it", n)
		}
		end()
		end()
		if n := r.m.Writes.pending.load(at); n != 0 {
			t.Errorf("the disk counts %d writes after a recall", n)
		}
		return c, nil
	}
	c, err := grant()
	if err != nil || len(c.Targets) != 1 || c.PiecesMin != 1 || c.Layout != e.Layout {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Owner == nil || c.Owner.UID != e.UID || c.Owner.GID != e.GID || c.Owner.Mode != e.Mode {
		t.Errorf("the owner is %+v, of %+v", c.Owner, e)
	}
	// Where each close takes two pieces, a recall does too.
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.minpieces", "2"); err != nil {
		t.Fatal(err)
	}
	_, err = grant()
	wantKind(t, err, errs.NoSpace)
}

// A recall counts as a write of its disks until its commit; a grant that is asked for again takes the place of the first.
func TestRecallsCountAsWrites(t *testing.T) {
	p := newPending(new(accounts.Claims), 0, 0)
	left := p.recalls.begin(p, 1, []hemera.DiskID{1})
	again := p.recalls.begin(p, 1, []hemera.DiskID{2})
	other := p.recalls.begin(p, 2, []hemera.DiskID{2})
	want := func(what string, first, second int) {
		t.Helper()
		if p.load(1) != first || p.load(2) != second {
			t.Errorf("%s: %d and %d writes, want %d and %d", what, p.load(1), p.load(2), first, second)
		}
	}
	want("asked again", 0, 2)
	left()
	want("the first grant is over", 0, 2)
	p.recalls.committed(1)
	want("committed", 0, 1)
	again()
	want("committed, and reported", 0, 1)
	other()
	want("the tape server is done", 0, 0)
	p.recalls.committed(3) // that was no recall
	want("a conversion of another file", 0, 0)
}

// archive puts the first copy of a file on tape, as one that was read back. Class "single" has one copy, "double" two.
func (r *rig) archive(e hemera.Entry, class string) hemera.Entry {
	r.t.Helper()
	return r.written(e, class, false)
}

// written archives a file that waits for being read back, or not.
func (r *rig) written(e hemera.Entry, class string, waits bool) hemera.Entry {
	r.t.Helper()
	ctx, cat := r.t.Context(), r.m.tree.Tapes
	route := func(class string, number int64, pool tapeapi.PoolName) tapeconfig.Route {
		return tapeconfig.Route{Class: class, Copy: number, Type: tapeconfig.RouteDefault, Pool: pool}
	}
	next := *cat.Settings()
	c := &next.Config
	c.Classes, c.Routes = map[string]tapeconfig.Class{"single": {Copies: 1, Organisation: tapeconfig.DefaultName}, "double": {Copies: 2, Organisation: tapeconfig.DefaultName}}, map[string]tapeconfig.Route{}
	c.Pools = map[string]tapeconfig.Pool{"pool": {Organisation: tapeconfig.DefaultName, PartialTapes: 1}, "second": {Organisation: tapeconfig.DefaultName, PartialTapes: 1}}
	for _, r := range []tapeconfig.Route{route("single", 1, "pool"), route("double", 1, "pool"), route("double", 2, "second")} {
		c.Routes[r.Name()] = r
	}
	cat.Adopt(&next)
	if _, err := cat.Archive(ctx, e.ID, class); err != nil {
		r.t.Fatal(err)
	}
	e, _, err := r.m.Control.Resolve(ctx, e.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	last := uint64(0)
	if err := cat.ChangeTape(ctx, "TAPE01", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old != nil {
			last = old.LastFSeq
			return old, nil
		}
		return &tapeapi.Tape{Pool: "pool", State: tapeapi.Active}, nil
	}); err != nil {
		r.t.Fatal(err)
	}
	sum, _ := hemera.FindChecksum(e.Checksums, hemera.Adler32)
	job := tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}
	if _, err := cat.Written(ctx, catalogue.Report{VID: "TAPE01", Drive: "drive", ReadBack: waits, Files: []tapeapi.Written{{Job: job, ArchiveID: e.ArchiveID(), FSeq: last + 1, Size: e.Size, Sum: sum}}}); err != nil {
		r.t.Fatal(err)
	}
	e, _, err = r.m.Control.Resolve(ctx, e.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// A file that waits for being read back from tape is not on tape for anybody: one read of the tape later it is, for all.
func TestOnTapeOnlyAfterItWasReadBack(t *testing.T) {
	r := newRig(t, 2, 1)
	r.archive(r.write("/d/old", 10), "single")
	e := r.written(r.write("/d/new", 10), "single", true)
	want := func(what string, path string, onTape bool) {
		t.Helper()
		ctx, who, dir := t.Context(), hemera.SystemIdentity(), r.entry("/d")
		says := map[string]bool{}
		note := func(source string, e *hemera.Entry) {
			if "/d/"+e.Name == path {
				says[source] = e.OnTape()
			}
		}
		e, err := r.m.Names.Stat(ctx, who, path)
		if note("stat", &e); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Names.List(ctx, who, "/d", func(e hemera.Entry) error { note("list", &e); return nil }); err != nil {
			t.Fatal(err)
		}
		page, _, err := r.m.Directories.Page(ctx, who, hemera.PageRequest{Dir: dir, Path: "/d", Limit: 10})
		for i := range page {
			note("page", &page[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := r.m.Maint.FileInfo(ctx, who, path)
		if note("info", &info.Entry); err != nil {
			t.Fatal(err)
		}
		where, err := r.m.Staging.Localities(ctx, who, "", []string{path})
		if err != nil || len(where) != 1 || !where[0].OnDisk || onTape != (where[0].Why == "") {
			t.Fatalf("%s: %+v, %v", what, where, err)
		}
		says["locality"] = where[0].OnTape
		for source, is := range says {
			if is != onTape {
				t.Errorf("%s: %s says that %s is on tape: %t", what, source, path, is)
			}
		}
		if len(says) != 5 {
			t.Errorf("%s: %v", what, says)
		}
	}
	want("read back before", "/d/old", true)
	want("written", "/d/new", false)
	mount := func(values map[string]string) {
		t.Helper()
		if err := r.m.Tape.ChangeTape(t.Context(), "admin", adminapi.TapeChange{Object: "mounting", Verb: "set", Name: "default", Values: values}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.m.tree.Tapes.ReadBack(t.Context(), "TAPE01", e.Tape[0].FSeq+1); err != nil {
		t.Fatal(err)
	}
	want("read back", "/d/new", true)
	// Nothing waits where nothing is read back.
	r.written(r.write("/d/last", 10), "single", true)
	want("written", "/d/last", false)
	mount(map[string]string{"readBack": "never"})
	want("the setting ended it", "/d/last", true)
	mount(map[string]string{"readBack": "always"})
	want("counts as read back", "/d/last", true)
}
