package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pgregory.net/rapid"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
)

var errCutOff = errors.New("cut off")

// dirs returns the directories of the random trees, parents first.
func dirs() []string { return []string{"/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f"} }

// world is a random history of files and limits, and a model of it: all files, and which limits there are.
type world struct {
	*tree
	r      *rapid.T
	files  map[string]file
	limits map[hemera.QuotaKey]hemera.QuotaAmount
}

func (w *world) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(w.r, what) }

func (w *world) dir() string { return append(dirs(), "/")[w.pick("dir", len(dirs())+1)] }

func (w *world) path() string {
	return fmt.Sprintf("%s/%c", max(w.dir(), ""), 'p'+rune(w.pick("name", 4)))
}

// step makes one random change of files.
func (w *world) step() {
	p := w.path()
	if p[:2] == "//" {
		p = p[1:]
	}
	was, there := w.files[p]
	switch {
	case !there:
		f := file{uid: uint32(w.pick("uid", 2)), gid: uint32(w.pick("gid", 2)), size: int64(w.pick("size", 9)), copies: int64(1 + w.pick("copies", 2))}
		disks := []hemera.DiskID{1, 2}[:f.copies]
		w.Put(p, records.File{UID: f.uid, GID: f.gid, Size: f.size, Disks: disks})
		w.files[p] = f
	case w.pick("remove", 2) == 0:
		w.Remove(p)
		delete(w.files, p)
	default:
		to := w.path()
		if to[:2] == "//" {
			to = to[1:]
		}
		if _, taken := w.files[to]; taken {
			return
		}
		if err := w.Move(p, to); err != nil {
			w.r.Fatal(err)
		}
		delete(w.files, p)
		w.files[to] = was
	}
}

// limit sets or removes a random limit.
func (w *world) limit() {
	key := hemera.QuotaKey{Path: w.dir(), Kind: hemera.QuotaKind(1 + w.pick("kind", 3))}
	if key.Kind != hemera.QuotaProject {
		key.ID = uint32(w.pick("id", 2))
	}
	limits := hemera.QuotaAmount{Bytes: int64(w.pick("limit", 2) * 1000)}
	if limits == (hemera.QuotaAmount{}) {
		if _, there := w.limits[key]; !there {
			return
		}
		delete(w.limits, key)
	} else {
		w.limits[key] = limits
	}
	w.Limit(key.Path, key.Kind, key.ID, limits)
}

// countCutOff counts, with changes of others in between, and is cut off after some of its steps.
func (w *world) countCutOff() {
	left := w.pick("steps", 12)
	w.store.before = func() error {
		for range w.pick("meanwhile", 3) {
			w.step()
		}
		if w.pick("limit meanwhile", 8) == 0 {
			w.limit()
		}
		if left--; left < 0 {
			return errCutOff
		}
		return nil
	}
	err := w.counter.CountAll(context.Background())
	w.store.before = nil
	if err != nil && !errors.Is(err, errCutOff) {
		w.r.Fatal(err)
	}
	underWay := 0
	for _, q := range w.nodes() {
		if q.State != schema.NodeWaiting && q.State != schema.NodeExact {
			underWay++
		}
	}
	if underWay > 1 {
		w.r.Fatalf("%d nodes are under way: %+v", underWay, w.nodes())
	}
}

// TestUsageIsExactWhateverIsCutOff makes random changes of files and limits, and counts that others interrupt and that end half way.
// After each the accounts agree with the files, and when all is counted, the rows are what adding up all files of the model gives.
func TestUsageIsExactWhateverIsCutOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := &world{tree: newTree(t, dirs()...), r: r, files: map[string]file{}, limits: map[hemera.QuotaKey]hemera.QuotaAmount{}}
		for range rapid.IntRange(1, 12).Draw(r, "rounds") {
			switch w.pick("what", 4) {
			case 0, 1:
				w.step()
			case 2:
				w.limit()
			case 3:
				w.countCutOff()
			}
			if bad := w.problems(); bad != nil {
				r.Fatalf("%v, nodes %+v", bad, w.nodes())
			}
		}
		w.count(t)
		if bad := w.problems(); bad != nil {
			r.Fatal(bad)
		}
		w.compare()
	})
}

// compare compares nodes and rows with the model. All is counted.
func (w *world) compare() {
	limited := map[string]bool{}
	for k := range w.limits {
		limited[k.Path] = true
	}
	nodes := w.nodes()
	for p, q := range nodes {
		if !limited[p] || q.State != schema.NodeExact || q.Side != 0 || q.From != 0 {
			w.r.Fatalf("node %s is %+v, limited: %t", p, q, limited[p])
		}
	}
	if len(nodes) != len(limited) || w.marked() != int64(len(limited)) {
		w.r.Fatalf("nodes %v, directories with limits %v, %d are marked", sorted(nodes), sorted(limited), w.marked())
	}
	want, rows := usage(w.files, sorted(limited)), w.rows()
	for k, row := range rows {
		if row.Used != want[k] || row.Limits != w.limits[k] || row.Counting {
			w.r.Fatalf("%+v: want %+v of %+v", row, want[k], w.limits[k])
		}
		if row.Used == (hemera.QuotaAmount{}) && row.Limits == (hemera.QuotaAmount{}) {
			w.r.Fatalf("%+v is of nothing", row)
		}
	}
	for k := range w.limits {
		if _, listed := rows[k]; !listed {
			w.r.Fatalf("the limit of %+v is not listed", k)
		}
	}
	for k := range want {
		if _, listed := rows[k]; !listed && k.Kind != hemera.QuotaProject {
			w.r.Fatalf("the usage of %+v is not listed", k)
		}
	}
}

// TestManyAccountsMoveInParts counts a node of more users than one change moves, is cut off between two parts, and ends the node.
func TestManyAccountsMoveInParts(t *testing.T) {
	t.Parallel()
	const users = 300
	for cut := range 9 {
		tr := newTree(t, "/a", "/a/b")
		tr.Limit("/a", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 1})
		tr.count(t)
		files := map[string]file{}
		first := hemera.FileID(tr.Take())
		for range users {
			tr.Take()
		}
		tr.Change(func(l accounts.Ledger) error {
			for uid := range users {
				e := hemera.Entry{ID: first + hemera.FileID(uid), Name: fmt.Sprint(uid), Kind: hemera.KindFile, UID: uint32(uid), GID: 1, Size: 3, Gen: 1, Layout: hemera.Replica(1), Pieces: []hemera.Piece{{Disk: 1}}}
				if err := records.Add(l, "/a/b", &e); err != nil {
					return err
				}
				files["/a/b/"+e.Name] = file{uint32(uid), 1, 3, 1}
			}
			return nil
		})
		tr.Limit("/a/b", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 1})
		steps := 0
		tr.store.before = func() error {
			if steps++; steps > cut {
				return errCutOff
			}
			tr.Put(fmt.Sprintf("/a/b/new%d", steps), records.File{UID: 299, GID: 1, Size: 1, Disks: []hemera.DiskID{1}})
			files[fmt.Sprintf("/a/b/new%d", steps)] = file{299, 1, 1, 1}
			return nil
		}
		if err := tr.counter.CountAll(context.Background()); !errors.Is(err, errCutOff) && steps > cut {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		tr.store.before = nil
		if bad := tr.problems(); bad != nil {
			t.Fatalf("cut at %d: %v", cut, bad)
		}
		tr.count(t)
		rows := tr.rows()
		for k, want := range usage(files, []string{"/a", "/a/b"}) {
			if got := rows[k].Used; got != want && k.Kind != hemera.QuotaProject {
				t.Fatalf("cut at %d: %+v uses %+v, not %+v", cut, k, got, want)
			}
		}
		tr.Limit("/a/b", hemera.QuotaUser, 1, hemera.QuotaAmount{})
		tr.count(t)
		if bad := tr.problems(); bad != nil || len(tr.nodes()) != 1 || tr.Count(schema.TableAccount) != users+1 {
			t.Fatalf("cut at %d: %v, nodes %v, %d accounts", cut, bad, tr.nodes(), tr.Count(schema.TableAccount))
		}
	}
}

// TestDamagedNodesAreNamed: a record that cannot be read, or is gone, is Corrupt, and nothing is charged past it.
func TestDamagedNodesAreNamed(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "/a")
	tr.Limit("/a", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 1})
	node := string(schema.IDKey(schema.TableQuotaNode, tr.Find("/a").ID))
	tr.Plant(map[string][]byte{node: []byte("x")})
	if err := tr.counter.CountAll(t.Context()); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a damaged record: %v", err)
	}
	tr.Plant(map[string][]byte{node: nil})
	again := records.Reopen(t, tr.Engine)
	err := again.Try(func(l accounts.Ledger) error {
		walk, err := records.Walk(l, "/a")
		if err != nil {
			return err
		}
		return l.Charge(walk, nil, &hemera.Entry{ID: 9, Kind: hemera.KindFile})
	})
	if errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a record that is gone: %v", err)
	}
}

// TestANodeBelowADamagedDirectoryIsNotCounted: which node is above it cannot be known, so its usage would be charged wrongly.
func TestANodeBelowADamagedDirectoryIsNotCounted(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "/a", "/a/b")
	tr.Limit("/a/b", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 1})
	tr.Plant(map[string][]byte{string(schema.IDKey(schema.TableLocation, tr.Find("/a").ID)): nil})
	again := records.Reopen(t, tr.Engine)
	if err := accounts.NewCounter(again.Records, again.Numbers, slog.New(slog.DiscardHandler)).CountAll(t.Context()); errs.KindOf(err) != errs.Corrupt {
		t.Error(err)
	}
}
