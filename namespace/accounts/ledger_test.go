package accounts_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/rules/quota"
	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// limited returns a tree with limits of all kinds that are exact: nested projects, a user with limits of their own, others with
// default ones, and a directory that waits to be counted.
func limited(tb testing.TB) *tree {
	tb.Helper()
	tr := newTree(tb, "/p", "/p/a", "/p/a/deep", "/q", "/out")
	tr.Limit("/p", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 100})
	tr.Limit("/p", hemera.QuotaUser, 1, hemera.QuotaAmount{Bytes: 10})
	tr.Limit("/p", hemera.QuotaUser, hemera.QuotaDefault, hemera.QuotaAmount{Bytes: 50, Files: 3})
	tr.Limit("/p/a", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: 60})
	tr.Limit("/q", hemera.QuotaGroup, 7, hemera.QuotaAmount{Files: 2})
	tr.count(tb)
	return tr
}

// standings returns whose limits hold for a file.
func (t *tree) standings(dir string, uid, gid uint32) (out []quota.Standing) {
	t.View(func(l accounts.Ledger) error {
		walk, err := records.Walk(l, dir)
		if err != nil {
			return err
		}
		out, err = l.Standing(walk, uid, gid)
		return err
	})
	return out
}

// TestProjectsOfAllLevelsHoldAndOneNodesUsers: all projects above a file limit it, users and groups at the nearest node only, by their
// own limits before the default ones, and only when the node is exact.
func TestProjectsOfAllLevelsHoldAndOneNodesUsers(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Put("/p/x", records.File{UID: 1, GID: 7, Size: 4, Disks: []hemera.DiskID{1, 2}})
	tr.Put("/p/a/y", records.File{UID: 2, GID: 7, Size: 5, Disks: []hemera.DiskID{1, 2}})
	b := func(bytes int64) hemera.QuotaAmount { return hemera.QuotaAmount{Bytes: bytes} }
	id := func(p string) hemera.FileID { return tr.Find(p).ID }
	project := quota.Standing{Account: quota.Account{Node: id("/p"), Kind: hemera.QuotaProject}, Path: "/p", Limits: b(100), Used: hemera.QuotaAmount{Files: 2, Bytes: 9, Physical: 18}}
	inner := quota.Standing{Account: quota.Account{Node: id("/p/a"), Kind: hemera.QuotaProject}, Path: "/p/a", Limits: hemera.QuotaAmount{Physical: 60}, Used: hemera.QuotaAmount{Files: 1, Bytes: 5, Physical: 10}}
	own := quota.Standing{Account: quota.Account{Node: id("/p"), Kind: hemera.QuotaUser, ID: 1}, Path: "/p", Limits: b(10), Used: hemera.QuotaAmount{Files: 1, Bytes: 4, Physical: 8}}
	other := quota.Standing{Account: quota.Account{Node: id("/p"), Kind: hemera.QuotaUser, ID: 2}, Path: "/p", Limits: hemera.QuotaAmount{Bytes: 50, Files: 3}}
	group := quota.Standing{Account: quota.Account{Node: id("/q"), Kind: hemera.QuotaGroup, ID: 7}, Path: "/q", Limits: hemera.QuotaAmount{Files: 2}}
	for _, c := range []struct {
		dir      string
		uid, gid uint32
		want     []quota.Standing
	}{
		{"/p", 1, 7, []quota.Standing{project, own}},
		{"/p", 2, 7, []quota.Standing{project, other}}, // what user 2 has is in the realm of /p/a
		{"/p/a/deep", 1, 7, []quota.Standing{project, inner}},
		{"/q", 1, 7, []quota.Standing{group}},
		{"/q", 1, 8, nil},
		{"/out", 1, 7, nil},
		{"/", 1, 7, nil},
	} {
		if got := tr.standings(c.dir, c.uid, c.gid); !slices.Equal(got, c.want) {
			t.Errorf("%s, user %d, group %d:\n%+v, want\n%+v", c.dir, c.uid, c.gid, got, c.want)
		}
	}
	// A limit of the project holds at once, one of a user when all is counted.
	tr.Limit("/out", hemera.QuotaUser, 1, b(1))
	tr.Limit("/out", hemera.QuotaProject, 0, b(2))
	if got := tr.standings("/out", 1, 7); len(got) != 1 || got[0].Kind != hemera.QuotaProject {
		t.Errorf("before counting: %+v", got)
	}
	steps := 0
	tr.store.before = func() error {
		steps++
		if got := tr.standings("/out", 1, 7); len(got) != 1 && tr.nodes()["/out"].State != schema.NodeExact {
			t.Errorf("before step %d of counting: %+v", steps, got)
		}
		return nil
	}
	tr.count(t)
	tr.store.before = nil
	if got := tr.standings("/out", 1, 7); len(got) != 2 || steps < 4 || got[1].Kind != hemera.QuotaUser {
		t.Errorf("after counting: %+v", got)
	}
}

// judged makes a change whose charges are judged, beside no claims.
func (t *tree) judged(fn func(l accounts.Ledger) error) error {
	return t.judgedBeside(new(accounts.Claims), accounts.Settlement{}, fn)
}

// judgedBeside makes a change whose charges are judged.
func (t *tree) judgedBeside(claims *accounts.Claims, s accounts.Settlement, fn func(l accounts.Ledger) error) error {
	return t.Try(func(l accounts.Ledger) error {
		l.Judge = new(accounts.Judge)
		if err := fn(l); err != nil {
			return err
		}
		holding, err := l.Decide(claims, s)
		holding.End()
		return err
	})
}

func (t *tree) write(p string, f file, claims *accounts.Claims, s accounts.Settlement) error {
	id := t.Take()
	return t.judgedBeside(claims, s, func(l accounts.Ledger) error {
		l.Judge.Named("Commit", p)
		dir, name := p[:strings.LastIndex(p, "/")], p[strings.LastIndex(p, "/")+1:]
		return records.Add(l, max(dir, "/"), &hemera.Entry{ID: hemera.FileID(id), Name: name, Kind: hemera.KindFile, UID: f.uid, GID: f.gid, Size: f.size, Gen: 1,
			Layout: hemera.Replica(int(f.copies)), Pieces: []hemera.Piece{{Disk: 1}, {Index: 1, Disk: 2}}[:f.copies]})
	})
}

// TestAChangeIsRefusedExactlyAboveALimit: up to the limit it passes, above it does not, whichever limit it is, and the error names the
// operation, the subject and whose limit it is. Nothing of a refused change is stored.
func TestAChangeIsRefusedExactlyAboveALimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p      string
		f      file
		refuse string
	}{
		{"/p/x", file{1, 7, 10, 1}, ""},
		{"/p/x", file{1, 7, 11, 1}, "uid 1 in /p"},
		{"/p/x", file{2, 7, 50, 2}, ""},
		{"/p/x", file{2, 7, 51, 1}, "uid 2 in /p"},
		{"/p/a/x", file{1, 7, 30, 2}, ""}, // the nearest node has no limits of users
		{"/p/a/x", file{1, 7, 31, 2}, "project"},
		{"/p/a/x", file{1, 7, 60, 1}, ""},
		{"/out/x", file{1, 7, 1000, 2}, ""},
	} {
		tr := limited(t)
		err := tr.write(c.p, c.f, new(accounts.Claims), accounts.Settlement{})
		if (c.refuse == "") != (err == nil) || err != nil && (errs.KindOf(err) != errs.OverQuota || !strings.Contains(err.Error(), c.refuse) || !strings.Contains(err.Error(), "namespace.Commit "+c.p)) {
			t.Errorf("%s %+v: %v", c.p, c.f, err)
		}
		if there := tr.Find(c.p) != nil; there != (err == nil) {
			t.Errorf("%s %+v: stored: %t, %v", c.p, c.f, there, err)
		}
		if bad := tr.problems(); bad != nil {
			t.Error(bad)
		}
	}
}

// TestWhatFreesIsNeverRefused: above a lowered limit a file can be removed, made smaller and moved within the realm; making another is refused.
func TestWhatFreesIsNeverRefused(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Put("/p/x", records.File{UID: 2, Size: 40, Disks: []hemera.DiskID{1}})
	tr.Put("/out/y", records.File{UID: 2, Size: 1, Disks: []hemera.DiskID{1}})
	tr.Limit("/p", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 20})
	if err := tr.judged(func(l accounts.Ledger) error { return records.Move(l, "/p/x", "/p/a/x") }); err != nil {
		t.Errorf("moved below the same project: %v", err)
	}
	if err := tr.judged(func(l accounts.Ledger) error { return records.Move(l, "/out/y", "/p/y") }); errs.KindOf(err) != errs.OverQuota || !strings.Contains(err.Error(), "namespace.Rename /p") {
		t.Errorf("moved into the project: %v", err)
	}
	if err := tr.judged(func(l accounts.Ledger) error { return records.Move(l, "/p/a/x", "/out/x") }); err != nil {
		t.Errorf("moved out: %v", err)
	}
	if bad := tr.problems(); bad != nil {
		t.Error(bad)
	}
}

// TestAPromiseCoversAnAmountAsAWholeOrNotAtAll: what an open promised is not refused at the commit, each amount by itself, and one that exceeds
// its promise is judged with all of it.
func TestAPromiseCoversAnAmountAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		promise *hemera.QuotaAmount // of user 1
		size    int64
		claimed int64 // by other writes
		refused bool
	}{
		{nil, 10, 0, false},
		{nil, 10, 1, true},
		{&hemera.QuotaAmount{Files: 1, Bytes: 10, Physical: 10}, 10, 1, false},
		{&hemera.QuotaAmount{Files: 1, Bytes: 9, Physical: 10}, 10, 1, true},
		{&hemera.QuotaAmount{Files: 1, Bytes: 9, Physical: 9}, 10, 0, false}, // room is left for all of it
		{&hemera.QuotaAmount{Files: 0, Bytes: 50, Physical: 50}, 50, 50, false},
	} {
		tr := limited(t)
		user := []quota.Standing{{Account: quota.Account{Node: tr.Find("/p").ID, Kind: hemera.QuotaUser, ID: 1}}}
		var claims accounts.Claims
		claims.KeepNew(1, &accounts.Claim{Standings: user}, c.claimed, 0, time.Time{})
		if c.promise != nil {
			claims.Take(2, &accounts.Claim{Standings: user, Want: quota.Want{QuotaAmount: *c.promise}}, 0)
		}
		err := tr.write("/p/x", file{1, 7, c.size, 1}, &claims, accounts.Settlement{Claim: 2})
		if c.refused != (errs.KindOf(err) == errs.OverQuota) || !c.refused && err != nil {
			t.Errorf("%+v of %d bytes beside %d: %v", c.promise, c.size, c.claimed, err)
		}
	}
}

// TestWhatAChangeGainsIsHeldBeforeItIsJudged: opens count what limited accounts gain until the change is visible, and nothing of what they
// lose, also of a change that is refused; a change that gains nothing holds nothing.
func TestWhatAChangeGainsIsHeldBeforeItIsJudged(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Put("/p/x", records.File{UID: 2, Size: 4, Disks: []hemera.DiskID{1, 2}})
	tr.Put("/p/y", records.File{UID: 2, Size: 40, Disks: []hemera.DiskID{1, 2}})
	var claims accounts.Claims
	p, a := tr.Find("/p").ID, tr.Find("/p/a").ID
	of := func(dir hemera.FileID) hemera.QuotaAmount {
		return claims.With([]quota.Standing{{Account: quota.Account{Node: dir, Kind: hemera.QuotaProject}}})[0].Used
	}
	back := hemera.QuotaAmount{}
	for _, c := range []struct {
		from, to string
		gains    hemera.QuotaAmount // of /p/a
		refused  bool
	}{
		{"/p/x", "/p/a/x", hemera.QuotaAmount{Files: 1, Bytes: 4, Physical: 8}, false},
		{"/p/y", "/p/a/y", hemera.QuotaAmount{Files: 1, Bytes: 40, Physical: 80}, true},
		{"/p/a/x", "/out/x", hemera.QuotaAmount{}, false},
	} {
		var held, above hemera.QuotaAmount
		err := tr.Try(func(l accounts.Ledger) error {
			l.Judge = new(accounts.Judge)
			if err := records.Move(l, c.from, c.to); err != nil {
				return err
			}
			holding, err := l.Decide(&claims, accounts.Settlement{})
			held, above = of(a), of(p)
			holding.End()
			return err
		})
		back = back.Add(c.gains)
		if (errs.KindOf(err) == errs.OverQuota) != c.refused || !c.refused && err != nil || held != c.gains || above != (hemera.QuotaAmount{}) || of(a) != (hemera.QuotaAmount{}) || claims.Returned() != back {
			t.Errorf("%s: %+v and %+v above are held, %+v were given back: %v", c.from, held, above, claims.Returned(), err)
		}
	}
}

// TestDecideIsTheSlowRule compares decisions about random changes of several files with the rule in plain words: refused if the
// change takes more of a limit, and that is exceeded afterwards.
func TestDecideIsTheSlowRule(t *testing.T) {
	t.Parallel()
	user := func(id uint32) hemera.QuotaKey { return hemera.QuotaKey{Path: "/p", Kind: hemera.QuotaUser, ID: id} }
	limits := map[hemera.QuotaKey]hemera.QuotaAmount{ // of a tree that limited made
		{Path: "/p", Kind: hemera.QuotaProject}: {Bytes: 100}, {Path: "/p/a", Kind: hemera.QuotaProject}: {Physical: 60}, {Path: "/q", Kind: hemera.QuotaGroup, ID: 7}: {Files: 2},
		user(1): {Bytes: 10}, user(2): {Bytes: 50, Files: 3}, user(3): {Bytes: 50, Files: 3},
	}
	rapid.Check(t, func(r *rapid.T) {
		tr := limited(t)
		files := map[string]file{}
		exceeded := func(before, after map[string]file) bool {
			nodes := []string{"/p", "/p/a", "/q"}
			was, is := usage(before, nodes), usage(after, nodes)
			for k, limit := range limits {
				for _, d := range [][3]int64{{limit.Files, was[k].Files, is[k].Files}, {limit.Bytes, was[k].Bytes, is[k].Bytes}, {limit.Physical, was[k].Physical, is[k].Physical}} {
					if d[0] > 0 && d[2] > d[0] && d[2] > d[1] {
						return true
					}
				}
			}
			return false
		}
		for _, uid := range []uint32{1, 2, 3} { // /q begins above its limit
			for _, dir := range []string{"/p", "/p/a", "/q"} {
				p := dir + "/" + string(rune('0'+uid))
				tr.Put(p, records.File{UID: uid, GID: 7, Disks: []hemera.DiskID{1}})
				files[p] = file{uid, 7, 0, 1}
			}
		}
		for range rapid.IntRange(1, 6).Draw(r, "changes") {
			after := maps.Clone(files)
			var steps []func(l accounts.Ledger) error // drawn before the change, which must not panic
			for range rapid.IntRange(1, 3).Draw(r, "files") {
				from := sorted(after)[rapid.IntRange(0, len(after)-1).Draw(r, "file")]
				f := after[from]
				if rapid.Bool().Draw(r, "move") {
					to := rapid.SampledFrom([]string{"/p", "/p/a", "/p/a/deep", "/q", "/out"}).Draw(r, "to") + from[strings.LastIndex(from, "/"):]
					if _, taken := after[to]; !taken {
						steps = append(steps, func(l accounts.Ledger) error { return records.Move(l, from, to) })
						delete(after, from)
						after[to] = f
					}
					continue
				}
				grown := file{uint32(rapid.IntRange(1, 3).Draw(r, "uid")), f.gid, int64(rapid.IntRange(0, 60).Draw(r, "size")), int64(rapid.IntRange(1, 2).Draw(r, "copies"))}
				steps = append(steps, func(l accounts.Ledger) error { return rewrite(l, from, grown) })
				after[from] = grown
			}
			err := tr.judged(func(l accounts.Ledger) error {
				for _, step := range steps {
					if err := step(l); err != nil {
						return err
					}
				}
				return nil
			})
			if refuse := exceeded(files, after); refuse != (errs.KindOf(err) == errs.OverQuota) || !refuse && err != nil {
				r.Fatalf("from %+v to %+v: %v", files, after, err)
			}
			if err == nil {
				files = after
			}
			if bad := tr.problems(); bad != nil {
				r.Fatal(bad)
			}
		}
	})
}

// rewrite gives a file another owner and content.
func rewrite(l accounts.Ledger, p string, f file) error {
	return records.Rewrite(l, p, func(e *hemera.Entry) error {
		e.UID, e.GID, e.Size, e.Pieces, e.Layout = f.uid, f.gid, f.size, nil, hemera.Replica(int(f.copies))
		for i := range f.copies {
			e.Pieces = append(e.Pieces, hemera.Piece{Index: uint8(i), Disk: hemera.DiskID(1 + i)})
		}
		return nil
	})
}

// TestADirectoryLeavesItsRealmOnlyWhole: empty, or as a node that is exact and takes its accounts along.
func TestADirectoryLeavesItsRealmOnlyWhole(t *testing.T) {
	t.Parallel()
	full := func(tr *tree) {
		tr.Put("/p/a/deep/f", records.File{UID: 1, Size: 3, Disks: []hemera.DiskID{1}})
	}
	for _, c := range []struct {
		name     string
		make     func(tr *tree)
		from, to string
		refused  bool
	}{
		{"empty, to another realm", func(*tree) {}, "/p/a/deep", "/q/deep", false},
		{"with a directory, to another realm", func(tr *tree) { tr.Mkdir("/p/a/deep/er") }, "/p/a/deep", "/q/deep", true},
		{"with a file, to another realm", full, "/p/a/deep", "/q/deep", true},
		{"with a file, to no realm", full, "/p/a/deep", "/out/deep", true},
		{"with a file, within the realm", full, "/p/a/deep", "/p/a/deeper", false},
		{"from one place without a realm to another", func(tr *tree) {
			tr.Mkdir("/out/d")
			tr.Put("/out/d/f", records.File{Size: 3, Disks: []hemera.DiskID{1}})
		}, "/out/d", "/d", false},
		{"a node with files", full, "/p/a", "/q/a", false},
		{"a node that waits, with files", func(tr *tree) {
			full(tr)
			tr.Limit("/p/a/deep", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 9})
		}, "/p/a/deep", "/q/deep", true},
		{"a node that waits, empty", func(tr *tree) { tr.Limit("/p/a/deep", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 9}) }, "/p/a/deep", "/q/deep", false},
		{"an empty node that is being counted", func(tr *tree) {
			tr.Limit("/p/a/deep", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 9})
			scans := 0
			tr.store.before = func() error {
				if scans++; scans == 2 { // the first one finds the node, the second one counts
					return errCutOff
				}
				return nil
			}
			_ = tr.counter.CountAll(context.Background())
			tr.store.before = nil
		}, "/p/a/deep", "/q/deep", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := limited(t)
			c.make(tr)
			err := tr.Move(c.from, c.to)
			if c.refused != (errs.KindOf(err) == errs.Unsupported) || !c.refused && err != nil {
				t.Errorf("%v, nodes %+v", err, tr.nodes())
			}
			tr.count(t)
			if bad := tr.problems(); bad != nil {
				t.Error(bad)
			}
		})
	}
}

// TestAChangeOfOwnerMovesUsage: between users and groups, and costs nothing where neither changes or nothing is limited.
func TestAChangeOfOwnerMovesUsage(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Put("/p/x", records.File{UID: 2, GID: 7, Size: 9, Disks: []hemera.DiskID{1}})
	chown := func(uid, gid uint32) error {
		return tr.judged(func(l accounts.Ledger) error {
			walk, err := records.Walk(l, "/p")
			if err != nil {
				return err
			}
			was, err := l.Entry(walk[1].ID, "x")
			if err != nil {
				return err
			}
			is := *was
			is.UID, is.GID = uid, gid
			l.PutEntry(&is)
			return l.ChargeOwner(walk, was, &is)
		})
	}
	for _, c := range []struct{ uid, gid uint32 }{{2, 8}, {3, 8}, {3, 8}, {1, 1}} {
		if err := chown(c.uid, c.gid); err != nil {
			t.Errorf("to %d:%d: %v", c.uid, c.gid, err)
		}
		user, group := hemera.QuotaKey{Path: "/p", Kind: hemera.QuotaUser, ID: c.uid}, hemera.QuotaKey{Path: "/p", Kind: hemera.QuotaGroup, ID: c.gid}
		if rows := tr.rows(); rows[user].Used.Bytes != 9 || rows[group].Used.Bytes != 9 || tr.problems() != nil {
			t.Errorf("%d:%d: %+v, %v", c.uid, c.gid, rows, tr.problems())
		}
	}
	tr.Limit("/p", hemera.QuotaUser, 2, hemera.QuotaAmount{Bytes: 8})
	if err := chown(2, 1); errs.KindOf(err) != errs.OverQuota || !strings.Contains(err.Error(), "namespace.SetOwner") {
		t.Errorf("past a limit: %v", err)
	}
}

// TestALoadIsRefusedWhereAccountsAreKept and nowhere else: a node that waits keeps none.
func TestALoadIsRefusedWhereAccountsAreKept(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Limit("/out", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 1})
	for dir, refused := range map[string]bool{"/": false, "/p": true, "/p/a/deep": true, "/q": true, "/out": false} {
		err := tr.Try(func(l accounts.Ledger) error {
			walk, err := records.Walk(l, dir)
			if err != nil {
				return err
			}
			return l.RefuseUnderQuota(walk, dir)
		})
		if refused != (errs.KindOf(err) == errs.Unsupported) || !refused && err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
