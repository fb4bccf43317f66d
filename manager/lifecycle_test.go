package manager

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/rules/lifecycle"
	"hemera/test/fixture/effort"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// system is the user that sets attributes in these tests.
var system = hemera.SystemIdentity()

// rule sets an attribute of a directory.
func (r *rig) rule(path, name, value string) {
	r.t.Helper()
	if err := r.m.Attributes.SetXattr(r.t.Context(), system, path, name, []byte(value), false); err != nil {
		r.t.Fatal(err)
	}
}

// there reports whether a path exists.
func (r *rig) there(path string) bool {
	r.t.Helper()
	_, err := r.m.Names.Stat(r.t.Context(), system, path)
	if err != nil && !errors.Is(err, errs.NotFound) {
		r.t.Fatal(err)
	}
	return err == nil
}

// convert does what a node does by an order to convert: it makes the pieces and commits. Checksums that the file did not
// have are made up.
func (n *fakeNode) convert(o hemera.Order) hemera.OrderResult {
	ring := n.rig.m.Cluster.Keys.Ring()
	to, err := ring.Verify(o.Token, time.Now())
	from, bad := ring.Verify(o.From, time.Now())
	req := hemera.CommitRequest{Permit: hemera.ParsePermit(o.Token), Size: from.Size, Checksums: from.Sums, Mtime: time.Now()}
	for _, k := range to.Checksums {
		if _, has := hemera.FindChecksum(from.Sums, k); !has {
			sum, _ := hemera.MakeChecksum(k, make([]byte, k.Size()))
			req.Checksums = append(slices.Clone(req.Checksums), sum)
		}
	}
	for _, t := range to.Targets {
		if from.Size > 0 {
			n.rig.node(t.Node).put(t.Disk, hemera.PieceStat{ID: hemera.PieceID{File: to.File, Gen: to.Gen, Index: t.Index}, Size: from.Size, FileSize: from.Size,
				Layout: to.Layout, Checksums: req.Checksums, Sealed: time.Now()})
			req.Pieces = append(req.Pieces, hemera.Piece{Index: t.Index, Disk: t.Disk})
		}
	}
	if err = errors.Join(err, bad); err == nil {
		n.mu.Lock()
		spoil := n.spoils
		n.mu.Unlock()
		if spoil {
			req.Checksums = slices.Clone(req.Checksums)
			req.Checksums[len(req.Checksums)-1].Value[0] ^= 1
		}
		_, err = n.rig.m.Control.Commit(n.rig.t.Context(), req)
	}
	if err != nil {
		return hemera.OrderResult{ID: o.ID, Failed: true, ErrKind: uint8(errs.KindOf(err)), ErrText: err.Error()}
	}
	return hemera.OrderResult{ID: o.ID, Bytes: from.Size}
}

func TestFilesExpireByTheirRules(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		for _, path := range []string{"/s/a.tmp", "/s/a.root", "/s/sub/b.tmp", "/s/kept/c.tmp", "/other/d.tmp", "/s/open.tmp"} {
			r.write(path, 10)
		}
		r.rule("/s", lifecycle.AttrExpire, "age=1h name=*.tmp")
		r.rule("/s/kept", lifecycle.AttrExpire, "off")
		time.Sleep(55 * time.Minute)
		r.write("/s/new.tmp", 10)
		writer := r.mustOpen("/s/open.tmp", hemera.AccessUpdate)
		if !r.there("/s/a.tmp") {
			t.Fatal("it expired too early")
		}
		time.Sleep(15 * time.Minute)
		for path, want := range map[string]bool{
			"/s/a.tmp": false, "/s/a.root": true, "/s/sub/b.tmp": false, "/s/sub": true, "/s/kept/c.tmp": true, "/other/d.tmp": true,
			"/s/new.tmp": true, "/s/open.tmp": true,
		} {
			if r.there(path) != want {
				t.Errorf("%s: there %v", path, !want)
			}
		}
		// The writer was not disturbed. The file that it leaves is as young as its close.
		if _, err := r.commit(r.seal(writer, 20)); err != nil {
			t.Error(err)
		}
		why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/s/open.tmp")
		if err != nil || !slices.ContainsFunc(why.Reasons, func(r adminapi.Reason) bool {
			return r.About == "lifecycle" && strings.Contains(r.Text, "expires at ") && strings.HasSuffix(strings.TrimSuffix(r.Text, ", if it stays as it is"), " UTC")
		}) {
			t.Errorf("%+v, %v", why, err)
		}
		time.Sleep(56 * time.Minute)
		if r.there("/s/new.tmp") || !r.there("/s/open.tmp") {
			t.Error("what was written later is not judged by its own age")
		}
	})
}

func TestFilesAreConvertedByTheirRules(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		files := map[string]int64{"/d/small": 99, "/d/large": 100, "/d/empty": 0, "/d/sub/large": 5000}
		was := map[string]hemera.Entry{}
		for path, size := range files {
			was[path] = r.write(path, size)
		}
		r.rule("/d", lifecycle.AttrConvert, "layout=replica:3 age=2h min=100; checksum=sha256 max=0")
		time.Sleep(time.Hour + 50*time.Minute)
		if e := r.entry("/d/large"); e.Gen != was["/d/large"].Gen {
			t.Fatal("it was converted too early")
		}
		time.Sleep(30 * time.Minute)
		for path, size := range files {
			e := r.entry(path)
			want := was[path].Layout
			if size >= 100 {
				want = hemera.Replica(3)
				r.whole(path, 3)
			}
			_, sum := hemera.FindChecksum(e.Checksums, hemera.SHA256)
			if e.Layout != want || sum != (size == 0) || !e.Mtime.Equal(was[path].Mtime) {
				t.Errorf("%s: %+v", path, e)
			}
		}
		// Rules are as durable as what they are set at.
		r.rule("/d", lifecycle.AttrConvert, "layout=plain max=99")
		time.Sleep(time.Minute)
		if e := r.entry("/d/small"); e.Layout != hemera.Plain() {
			t.Errorf("a change of the rules has no effect: %+v", e)
		}
		// Without rules the directory is forgotten.
		if err := r.m.Attributes.RemoveXattr(t.Context(), system, "/d", lifecycle.AttrConvert); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if trees := r.m.Conversions.requests.RuleTrees(); len(trees) != 0 {
			t.Errorf("%+v", trees)
		}
	})
}

// EOS's attributes are followed as ours are, in whatever order they are set.
func TestRulesOfEOSAreFollowed(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		for _, path := range []string{"/d/large.root", "/d/sub/large.root", "/d/off/large.root"} {
			r.write(path, 2000)
		}
		r.write("/d/small.root", 1000)
		r.write("/d/a.tmp", 1)
		r.rule("/d", "sys.lru.convert.match", "*.root:1h:>1k")
		r.rule("/d", "sys.lru.expire.match", "*.tmp:1h")
		r.rule("/d/off", lifecycle.AttrConvert, "off")
		time.Sleep(50 * time.Minute)
		r.rule("/d", "sys.conversion.*.root", "00650212") // three copies
		time.Sleep(20 * time.Minute)
		for path, want := range map[string]hemera.Layout{
			"/d/large.root": hemera.Replica(3), "/d/sub/large.root": hemera.Replica(3), "/d/off/large.root": hemera.Replica(2), "/d/small.root": hemera.Replica(2),
		} {
			if e := r.entry(path); e.Layout != want {
				t.Errorf("%s: %s, want %s", path, e.Layout, want)
			}
		}
		if r.there("/d/a.tmp") {
			t.Error("a file did not expire")
		}
	})
}

// A node whose content is not that of the file does not replace it.
func TestConversionWithAnotherContentIsRefused(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		was := r.write("/f", 100)
		for _, n := range r.nodes {
			n.mu.Lock()
			n.spoils = true
			n.mu.Unlock()
		}
		c, err := r.m.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/f", Form: hemera.Form{Layout: hemera.Replica(3)}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) // all passes
		list, err := r.m.Conversions.Conversions(t.Context())
		if err != nil || len(list) != 1 || list[0].Failed != 1 || list[0].Ended.IsZero() || !strings.Contains(list[0].Why, "another content") {
			t.Errorf("request %d: %+v, %v", c.ID, list, err)
		}
		if e := r.entry("/f"); e.Gen != was.Gen {
			t.Errorf("%+v", e)
		}
	})
}

// A file that is open to write is left alone, and is converted when it is closed.
func TestConversionGivesWayToAWriter(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/f", 100)
		writer := r.mustOpen("/f", hemera.AccessUpdate)
		if _, err := r.m.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/f", Form: hemera.Form{Layout: hemera.Replica(3)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		list, err := r.m.Conversions.Conversions(t.Context())
		if err != nil || list[0].Skipped != 1 || list[0].Failed != 0 || list[0].Job.State != "waiting" {
			t.Errorf("%+v, %v", list, err)
		}
		why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/f")
		if err != nil || !slices.ContainsFunc(why.Reasons, func(r adminapi.Reason) bool { return r.About == "form" }) {
			t.Errorf("%+v, %v", why, err)
		}
		if _, err := r.commit(r.seal(writer, 200)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		if e := r.entry("/f"); e.Layout != hemera.Replica(3) || e.Size != 200 {
			t.Errorf("%+v", e)
		}
	})
}

// An open that meets the commit of a conversion waits for it, and begins from what it made.
func TestOpenWaitsForTheCommitOfAConversion(t *testing.T) {
	r := newRig(t, 2, 1)
	e := r.write("/f", 10)
	end, err := r.m.Writes.pending.convert(name{e.Parent, e.Name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Writes.pending.convert(name{e.Parent, e.Name}); !errors.Is(err, errs.Locked) {
		t.Errorf("a second one: %v", err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := r.open("/f", hemera.AccessUpdate)
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	end()
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if _, err := r.m.Writes.pending.convert(name{e.Parent, e.Name}); !errors.Is(err, errs.Locked) {
		t.Errorf("beside a writer: %v", err)
	}
}

func TestAccessIsNotedWhereARuleAsks(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		for _, path := range []string{"/asks/sub/f", "/asks/unread", "/other/f"} {
			r.write(path, 10)
		}
		r.mustOpen("/asks/sub/f", hemera.AccessRead)
		r.rule("/asks", lifecycle.AttrExpire, "unused=1y")
		time.Sleep(time.Second) // the worker has seen the rule
		ctime := r.entry("/asks/sub/f").Ctime
		for _, path := range []string{"/asks/sub/f", "/asks/sub/f", "/other/f"} {
			r.mustOpen(path, hemera.AccessRead)
		}
		time.Sleep(2 * readNotesTime)
		today := lifecycle.Day(time.Now())
		for path, want := range map[string]string{"/asks/sub/f": today, "/asks/unread": "", "/other/f": ""} {
			e, _, err := r.m.Control.Resolve(t.Context(), r.entry(path).ID)
			if err != nil || string(e.Xattrs[lifecycle.AttrAccess]) != want {
				t.Errorf("%s: %q, %v", path, e.Xattrs[lifecycle.AttrAccess], err)
			}
		}
		if now := r.entry("/asks/sub/f").Ctime; !now.Equal(ctime) {
			t.Error("an access changed the file's ctime")
		}
		// Once a day: a file that has the note waits for none.
		r.mustOpen("/asks/sub/f", hemera.AccessRead)
		if _, files := r.m.notes.notes.take(); len(files) != 0 {
			t.Errorf("%d files are to be noted again", len(files))
		}
	})
}

func TestExpiredFilesGoToTheRecycleBin(t *testing.T) {
	running(t, 1, 2, func(t *testing.T, r *rig) {
		r.write("/d/f", 10)
		r.rule("/d", "sys.recycle", "30d")
		r.rule("/d", lifecycle.AttrExpire, "age=30m")
		time.Sleep(40 * time.Minute)
		found := 0
		err := r.m.Recycle.ListRecycled(t.Context(), system, adminapi.RecycleQuery{All: true}, func(adminapi.Recycled) error { found++; return nil })
		if r.there("/d/f") || err != nil || found != 1 {
			t.Errorf("there %v, %d in the bin, %v", r.there("/d/f"), found, err)
		}
	})
}

func TestRulesAreOfDirectoriesAndMakeSense(t *testing.T) {
	r := newRig(t, 1, 1)
	r.write("/d/f", 1)
	for _, c := range []struct {
		path, name, value string
		kind              errs.Kind
	}{
		{"/d/f", lifecycle.AttrExpire, "age=1d", errs.Invalid},
		{"/d", lifecycle.AttrExpire, "1d", errs.Invalid},
		{"/d", lifecycle.AttrConvert, "space=moon", errs.NotFound},
		{"/d", "sys.lifecycle.unknown", "1", errs.Invalid},
		{"/d/f", "sys.lru.convert.match", "*:1d", errs.Invalid},
		{"/d", "sys.lru.conversion.space", "moon", errs.NotFound},
		{"/d", "sys.lru.lowwatermark", "90", errs.Invalid},
	} {
		if err := r.m.Attributes.SetXattr(t.Context(), system, c.path, c.name, []byte(c.value), false); !errors.Is(err, c.kind) || errs.RemedyOf(err) == "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if trees := r.m.Conversions.requests.RuleTrees(); len(trees) != 0 {
		t.Errorf("%+v", trees)
	}
}

// Conversions keep to limits of physical bytes, and what they change is counted.
func TestConversionKeepsToQuotas(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/q/f", 1000)
		if err := r.m.Quotas.SetQuota(t.Context(), hemera.QuotaKey{Path: "/q", Kind: hemera.QuotaProject}, hemera.QuotaAmount{Physical: 2500}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			layout   hemera.Layout
			physical int64
			done     int64
		}{{hemera.Replica(3), 2000, 0}, {hemera.Plain(), 1000, 1}, {hemera.Replica(2), 2000, 1}} {
			asked, err := r.m.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/q", Recursive: true, Form: hemera.Form{Layout: c.layout}})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(effort.Of(2*time.Hour, 30*time.Minute))
			list, err := r.m.Conversions.Conversions(t.Context())
			if err != nil || list[asked.ID-1].Done != c.done || (c.done == 0) != strings.Contains(list[asked.ID-1].Why, "physical bytes are used") {
				t.Errorf("%s: %+v, %v", c.layout, list, err)
			}
			rows, err := r.m.Quotas.Quotas(t.Context(), "/q")
			if err != nil || len(rows) == 0 || rows[0].Kind != hemera.QuotaProject || rows[0].Used.Physical != c.physical || rows[0].Used.Bytes != 1000 || rows[0].Used.Files != 1 {
				t.Errorf("%s: %+v, %v", c.layout, rows, err)
			}
		}
	})
}
