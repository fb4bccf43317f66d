package namespace_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

func be(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// change plants a record behind the namespace's back; without a value it takes one away.
type change struct {
	key   string
	value func(old string) string
}

func gone(key string) change { return change{key: key} }
func is(key, value string) change {
	return change{key, func(string) string { return value }}
}

func plant(t *testing.T, s kv.Store, changes []change) {
	t.Helper()
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "test"))
	b := new(kv.Batch)
	for _, c := range changes {
		old, err := s.Get(t.Context(), []byte(c.key))
		if c.value == nil {
			if err != nil {
				t.Fatalf("%q: %v", c.key, err)
			}
			b.Delete([]byte(c.key))
			continue
		}
		b.Put([]byte(c.key), []byte(c.value(string(old))))
	}
	must[kv.Ticket](t)(w.Enqueue(b))
}

// patient is a small tree with one of everything. Directory /d has id 2, /d/e 3; file /d/f is 4, of
// which generation 1 is to be removed and generation 6 lacks a piece; /d/e/g is 5.
func patient(t *testing.T) kv.Store {
	t.Helper()
	s := memkv.New()
	n := open(t, s, namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d", 0o755, false))
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d/e", 0o755, false))
	put(t, n, alice(), "/d/f", 100)
	put(t, n, alice(), "/d/e/g", 100)
	c := prepare(t, n, alice(), "/d/f")
	c.Size, c.Pieces = 50, c.Pieces[:1]
	must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
	if c.ID != 4 || c.Gen != 6 {
		t.Fatalf("the file is %d, generation %d", c.ID, c.Gen)
	}
	checked(t, n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

const disk1 = "\x00\x00\x00\x01"

// damages is every kind there is, each with what must be said of it.
func damages(s kv.Store) map[string]struct {
	changes []change
	says    string
} {
	get := func(key string) string {
		v, _ := s.Get(context.Background(), []byte(key))
		return string(v)
	}
	more := func(at int) func(string) string {
		return func(v string) string {
			b := []byte(v)
			b[(at+len(b))%len(b)] += 2
			return string(b)
		}
	}
	f, g, e := "ne"+be(2)+"f", "ne"+be(3)+"g", "ne"+be(2)+"e"
	type damage = struct {
		changes []change
		says    string
	}
	return map[string]damage{
		"entry gone":                  {[]change{gone(f)}, "fid 4: it has a location, below 2 as \"f\", and no entry"},
		"entry garbage":               {[]change{is(f, "\x01garbage")}, "the stored record is damaged"},
		"entry at another name":       {[]change{gone(f), is("ne"+be(2)+"ff", get(f))}, "fid 4: its location does not say parent 2, name \"ff\""},
		"entry in another directory":  {[]change{gone(f), is("ne"+be(3)+"f", get(f))}, "fid 4: its location does not say parent 3"},
		"entry below nothing":         {[]change{gone(f), is("ne"+be(77)+"f", get(f)), is("ni"+be(4), be(77)+"f")}, "its parent fid:77 is no directory"},
		"entry below a file":          {[]change{gone(g), is("ne"+be(4)+"g", get(g)), is("ni"+be(5), be(4)+"g")}, "its parent fid:4 is no directory"},
		"entry twice":                 {[]change{is("ne"+be(2)+"g", get(g))}, "fid 5: its location does not say or fid 5, below 2 as \"g\": it has no location"}, // by which is seen first
		"two files with one id":       {[]change{is(g, get(f))}, "fid 4"},
		"locations swapped":           {[]change{is("ni"+be(4), get("ni"+be(5))), is("ni"+be(5), get("ni"+be(4)))}, "fid 5: its location does not say parent 3, name \"g\""},
		"directory of itself":         {[]change{gone(e), is("ne"+be(3)+"e", get(e)), is("ni"+be(3), be(3)+"e")}, "directory 3 is not below the root"},
		"nameless entry":              {[]change{is("ne"+be(2), get(g))}, "only the root has no name"},
		"root gone":                   {[]change{gone("ne" + be(0))}, "totals of 1, which is no directory"},
		"barred file":                 {[]change{is("no"+be(5), be(1<<40)+be(5))}, "fid 5: generation 1 is committed, and its write is barred"},
		"barred content":              {[]change{is("no"+be(6), be(1<<40)+be(4))}, "fid 4: generation 6 is committed, and its write is barred"},
		"bar garbage":                 {[]change{is("no"+be(9), "x")}, "barred write 9: the stored record is damaged"},
		"renamed file":                {[]change{is("nv"+be(5), be(1<<40)+"h")}, "fid 5: it is committed, and a name is kept for its commit"},
		"rename garbage":              {[]change{is("nv"+be(9), be(1<<40)+"a/b")}, "renamed write 9: the stored record is damaged"},
		"place gone":                  {[]change{gone("ni" + be(5))}, "fid 5, below 3 as \"g\": it has no location"},
		"place beyond":                {[]change{is("ni"+be(99), be(2)+"x")}, "fid 99: it has a location, below 2 as \"x\", and no entry"},
		"one place for another":       {[]change{gone("ni" + be(5)), is("ni"+be(99), be(2)+"x")}, "fid 5, below 3 as \"g\": it has no location"},
		"place of a wrong length":     {[]change{is("ni"+be(5)+"x", be(2)+"x")}, "does not have 10 bytes"},
		"totals wrong":                {[]change{{"nt" + be(3), more(-1)}}, "directory 3: stored totals"},
		"totals gone":                 {[]change{gone("nt" + be(3))}, "directory 3 has no totals"},
		"totals of nothing":           {[]change{is("nt"+be(88), get("nt"+be(3)))}, "totals of 88, which is no directory"},
		"totals garbage":              {[]change{is("nt"+be(3), "x")}, "totals of directory 3: "},
		"totals moved":                {[]change{{"nt" + be(3), more(-2)}, {"nt" + be(2), more(-2)}}, "directory 2: stored totals"},
		"piece not listed":            {[]change{gone("nd" + disk1 + be(5) + "\x00")}, "fid 5: piece 0 is not in the list of disk 1"},
		"piece listed for nothing":    {[]change{is("nd"+disk1+be(99)+"\x00", "")}, "disk 1 lists piece 0 of fid 99, which has none there"},
		"piece listed elsewhere":      {[]change{gone("nd" + disk1 + be(5) + "\x00"), is("nd"+"\x00\x00\x00\x07"+be(5)+"\x00", "")}, "disk 7 lists piece 0 of fid 5"},
		"piece key of a wrong length": {[]change{is("nd"+disk1+be(5)+"\x00\x00", "")}, "does not have 15 bytes"},
		"usage wrong":                 {[]change{{"ng" + disk1, more(1)}}, "disk 1: stored usage"},
		"usage gone":                  {[]change{gone("ng" + disk1)}, "disk 1: no stored usage"},
		"usage of no disk":            {[]change{is("ng\x00\x00\x00\x09", get("ng"+disk1))}, "disk 9: stored usage"},
		"unlinked gone":               {[]change{gone("nu" + disk1 + be(4) + be(1) + "\x00")}, "the counter says 2"},
		"unlinked of a current piece": {[]change{is("nu"+disk1+be(4)+be(6)+"\x00", "")}, "fid 4: piece 0 is current, and disk 1 is to remove it"},
		"held without an order":       {[]change{is("nw"+disk1+be(4)+be(1)+"\x01", "\x01"+be(1)+"\x02")}, "is not in the order of time"},
		"held garbage":                {[]change{is("nw"+disk1+be(4)+be(1)+"\x01", "x")}, "held piece"},
		"held in order only":          {[]change{is("nh"+disk1+be(1)+be(4)+be(1)+"\x01", "")}, "0 held pieces of 0 bytes, 1 in the order of time"},
		"held and current":            {[]change{is("nw"+disk1+be(4)+be(6)+"\x00", "\x01"+be(1)+"\x02")}, "fid 4: piece 0 is current, and disk 1 is to remove it"},
		"short not listed":            {[]change{gone("nx" + be(4))}, "fid 4: incomplete is true, the index says false"},
		"short listed for a whole":    {[]change{is("nx"+be(5), "")}, "fid 5: incomplete is false, the index says true"},
		"short of another":            {[]change{gone("nx" + be(4)), is("nx"+be(5), "")}, "fid 5: incomplete is false"},
		"event gone":                  {[]change{gone("nl" + be(2))}, "event 3 where 2 should be"},
		"last event gone":             {[]change{gone("nl" + be(5))}, "events end before 5, not before 6"},
		"event beyond":                {[]change{is("nl"+be(6), get("nl"+be(5)))}, "events end before 7, not before 6"},
		"event garbage":               {[]change{is("nl"+be(3), "x")}, "event 3 where 3 should be"},
		"ids handed out again":        {[]change{is("nmi", be(5)+be(0))}, "fid 5 is beyond the reserved ids (5)"},
	}
}

// TestCheckNamesEveryDamage plants each kind, and opens the namespace again over it.
func TestCheckNamesEveryDamage(t *testing.T) {
	for name, d := range damages(patient(t)) {
		t.Run(name, func(t *testing.T) {
			s := patient(t)
			plant(t, s, d.changes)
			report, err := open(t, s, namespace.Options{}).Inspection.CheckWith(t.Context(), namespace.CheckOptions{Workers: 2})
			if err != nil || report.Healthy() || !report.Done || int64(len(report.Problems)) != report.ProblemCount {
				t.Fatalf("%+v, %v", report, err)
			}
			problems := strings.Join(report.Problems, "\n")
			if !slices.ContainsFunc(strings.Split(d.says, " or "), func(says string) bool { return strings.Contains(problems, says) }) {
				t.Errorf("%q is not in %q", d.says, report.Problems)
			}
		})
	}
}

// TestCheckNamesACachedDamage: a cached record that the store does not have is found.
func TestCheckNamesACachedDamage(t *testing.T) {
	s := patient(t)
	n := open(t, s, namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/d/e/g"))
	plant(t, s, []change{{"ne" + be(3) + "g", func(v string) string { return v[:3] + "\xff\x01" + v[5:] }}})
	problems := must[[]string](t)(n.Inspection.Check(t.Context()))
	if !strings.Contains(strings.Join(problems, "\n"), fmt.Sprintf("cached record %x differs", "ne"+be(3)+"g")) {
		t.Errorf("problems: %q", problems)
	}
}

// TestCheckOfManyDamages: what cannot all be named is counted, and memory has its bound.
func TestCheckOfManyDamages(t *testing.T) {
	s := memkv.New()
	loadTree(t, s, "/load", nsload.Shape{Files: 20_000, Size: 10, Disks: []hemera.DiskID{1, 2}})
	var lost []change
	n := uint64(0)
	if err := s.Scan(t.Context(), []byte("nd"+disk1), []byte("nd"+"\x00\x00\x00\x02"), func(k, _ []byte) bool {
		if n++; n%5 == 0 {
			lost = append(lost, gone(string(k)))
		}
		return len(lost) < 4000
	}); err != nil {
		t.Fatal(err)
	}
	plant(t, s, lost)
	report, err := open(t, s, namespace.Options{}).Inspection.CheckWith(t.Context(), namespace.CheckOptions{})
	if err != nil || report.Files != 20_000 || report.Pieces != 40_000 || report.Dirs != 21 {
		t.Errorf("%d files, %d pieces, %d directories, %v", report.Files, report.Pieces, report.Dirs, err)
	}
	if n := len(report.Problems); n < 17 || n > 1000 || !strings.Contains(report.Problems[n-1], "more groups of files do not agree") {
		t.Errorf("%d problems: %q", n, report.Problems[max(0, n-2):])
	}
}

// TestCheckBesideWriters: a check that runs while everything changes finds nothing wrong.
func TestCheckBesideWriters(t *testing.T) {
	s := memkv.New()
	loadTree(t, s, "/load", nsload.Shape{Files: 3000, FilesPerDir: 50, Size: 10, Disks: []hemera.DiskID{1, 2, 3}})
	n := open(t, s, namespace.Options{CacheBytes: 1 << 20})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil && i < 2000; i++ {
				p := fmt.Sprintf("/load/run%06d/new%d", (i*7+g)%60, i%13)
				_, _ = n.Tree.Mkdir(ctx, boss(), p, 0o755, false)
				_ = n.Tree.Rename(ctx, boss(), p, fmt.Sprintf("/load/moved%d-%d", g, i))
				_ = n.Tree.Remove(ctx, boss(), fmt.Sprintf("/load/run%06d/evt-%06d.root", (i+g)%60, i%50), hemera.KindFile)
			}
		})
	}
	var progress []adminapi.NamespaceCheck
	for range 5 {
		report, err := n.Inspection.CheckWith(t.Context(), namespace.CheckOptions{Workers: 3, Progress: func(c adminapi.NamespaceCheck) { progress = append(progress, c) }})
		if err != nil || !report.Healthy() {
			t.Errorf("%+v, %v", report, err)
		}
	}
	stop()
	wg.Wait()
	if len(progress) == 0 || progress[0].Done || progress[0].Took > time.Hour {
		t.Errorf("progress %+v", progress)
	}
	checked(t, n)
}
