package nscheck_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hemera/namespace/accounts"
	"hemera/namespace/nscheck"
	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/test/fixture/records"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

func be(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// change plants a record behind the store's back; without a value it takes one away.
type change struct {
	key   string
	value func(old string) string
}

func gone(key string) change { return change{key: key} }
func is(key, value string) change {
	return change{key, func(string) string { return value }}
}

func plant(t *testing.T, tr *records.Tree, changes []change) {
	t.Helper()
	values := map[string][]byte{}
	for _, c := range changes {
		old, err := tr.Engine.Get(t.Context(), []byte(c.key))
		if c.value == nil {
			if err != nil {
				t.Fatalf("%q: %v", c.key, err)
			}
			values[c.key] = nil
			continue
		}
		values[c.key] = []byte(c.value(string(old)))
		if values[c.key] = append([]byte{}, values[c.key]...); string(values[c.key]) == string(old) && err == nil {
			t.Fatalf("%q is as it was: %q", c.key, old)
		}
	}
	tr.Plant(values)
}

// encoded returns the record of a value.
func encoded[T any](t *testing.T, encode func(*T) ([]byte, error), v *T) []byte {
	t.Helper()
	raw, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// job returns the job of file 5, which waits for a first copy.
func job() *tapeapi.Job {
	return &tapeapi.Job{JobKey: tapeapi.JobKey{File: 5, Kind: tapeapi.Archive, Copy: 1}, Queue: "pool", Size: 100, UID: 7, Asked: records.Now()}
}

func orderKey() string { return string(schema.OrderKey(job())) }
func queueKey() string { return string(schema.SumKey(job())) }

const (
	disk1 = "\x00\x00\x00\x01"
	vid   = "VR0001"
)

// patient returns a small tree with one of everything. Directory /d has id 2, /d/e, which has a quota, 3; file /d/f is 4, which lacks a
// piece, and is on tape; /d/e/g is 5, and waits for tape; 6, which is on tape too, is gone, and its piece is to be removed.
func patient(t *testing.T) *records.Tree {
	t.Helper()
	tr := records.New(t, memkv.New())
	tr.Mkdir("/d")
	tr.Mkdir("/d/e")
	one := []hemera.DiskID{1}
	on := func(fseq uint64) hemera.TapeCopy { return hemera.TapeCopy{Number: 1, VID: vid, FSeq: fseq} }
	second := on(2)
	second.Number = 2
	tr.Put("/d/f", records.File{UID: 1, Size: 75, Gen: 9, Disks: one, Pieces: 2, Tape: []hemera.TapeCopy{on(1), second}})
	tr.Put("/d/e/g", records.File{UID: 1, Size: 100, Disks: one})
	tr.Put("/d/h", records.File{UID: 1, Size: 50, Disks: one})
	tr.Remove("/d/h")
	tr.Limit("/d/e", hemera.QuotaUser, 1, hemera.QuotaAmount{Files: 5})
	tr.Change(func(l accounts.Ledger) error {
		for _, f := range []tapeapi.File{{TapeCopy: on(1), File: 4, Size: 75}, {TapeCopy: second, File: 4, Size: 75}, {TapeCopy: on(3), File: 6, Size: 50, Dead: &tapeapi.DeadFile{Path: "/d/h"}}} {
			l.Set(schema.TapeFileKey(vid, f.FSeq, 0), record.Opaque{}, encoded(t, schema.EncodeTapeFile, &f))
		}
		tape := tapeapi.Tape{VID: vid, Files: 2, Bytes: 150, LastFSeq: 3}
		l.Set(schema.TapeKey(schema.TableTape, vid), &tape, encoded(t, schema.EncodeTape, &tape))
		l.Set(schema.JobKey(job().JobKey), record.Opaque{}, encoded(t, schema.EncodeJob, job()))
		l.Mark(schema.OrderKey(job()))
		sum := schema.QueueSum{Files: 1, Bytes: 100}
		l.Set(schema.SumKey(job()), &sum, schema.AppendQueueSum(nil, &sum))
		return records.Unlink(l, 1, hemera.PieceID{File: 4, Gen: 1}) // of its first content
	})
	if r := check(t, tr, nscheck.Options{Workers: 1}); !r.Healthy() {
		t.Fatal(r.Problems)
	}
	return tr
}

// check checks the tree as a new process finds it.
func check(t *testing.T, tr *records.Tree, o nscheck.Options) adminapi.NamespaceCheck {
	t.Helper()
	report, err := nscheck.Run(t.Context(), records.Reopen(t, tr.Engine).Records, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// damage is a change of a record, and the problem that must be reported.
type damage struct {
	changes []change
	says    string
}

// more makes a byte of a record larger, one from its end if at is negative.
func more(at int) func(string) string {
	return func(v string) string {
		b := []byte(v)
		b[(at+len(b))%len(b)] += 2
		return string(b)
	}
}

// swap puts one text of a record in place of another.
func swap(old, fresh string) func(string) string {
	return func(v string) string { return strings.Replace(v, old, fresh, 1) }
}

// damages returns every kind there is of files and directories.
func damages(tr *records.Tree) map[string]damage {
	get := func(key string) string {
		v, _ := tr.Engine.Get(context.Background(), []byte(key))
		return string(v)
	}
	f, g, e := "ne"+be(2)+"f", "ne"+be(3)+"g", "ne"+be(2)+"e"
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
		"barred content":              {[]change{is("no"+be(9), be(1<<40)+be(4))}, "fid 4: generation 9 is committed, and its write is barred"},
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
		"usage of more bytes":         {[]change{{"ng" + disk1, more(2)}}, "disk 1: stored usage"},
		"usage of more to remove":     {[]change{{"ng" + disk1, more(-1)}}, "disk 1: stored usage"},
		"usage gone":                  {[]change{gone("ng" + disk1)}, "disk 1: no stored usage"},
		"usage of no disk":            {[]change{is("ng\x00\x00\x00\x09", get("ng"+disk1))}, "disk 9: stored usage"},
		"unlinked gone":               {[]change{gone("nu" + disk1 + be(6) + be(1) + "\x00")}, "1 unlinked pieces, the counter says 2"},
		"unlinked of a current piece": {[]change{is("nu"+disk1+be(4)+be(9)+"\x00", "")}, "fid 4: piece 0 is current, and disk 1 is to remove it"},
		"held without an order":       {[]change{is("nw"+disk1+be(4)+be(1)+"\x01", "\x01"+be(1)+"\x02")}, "is not in the order of time"},
		"held garbage":                {[]change{is("nw"+disk1+be(4)+be(1)+"\x01", "x")}, "held piece"},
		"held in order only":          {[]change{is("nh"+disk1+be(1)+be(4)+be(1)+"\x01", "")}, "0 held pieces of 0 bytes, 1 in the order of time"},
		"held and current":            {[]change{is("nw"+disk1+be(4)+be(9)+"\x00", "\x01"+be(1)+"\x02")}, "fid 4: piece 0 is current, and disk 1 is to remove it"},
		"short not listed":            {[]change{gone("nx" + be(4))}, "fid 4: incomplete is true, the index says false"},
		"short listed for a whole":    {[]change{is("nx"+be(5), "")}, "fid 5: incomplete is false, the index says true"},
		"short of another":            {[]change{gone("nx" + be(4)), is("nx"+be(5), "")}, "fid 5: incomplete is false"},
		"event gone":                  {[]change{gone("nl" + be(2))}, "event 3 where 2 should be"},
		"last event gone":             {[]change{gone("nl" + be(6))}, "events end before 6, not before 7"},
		"event beyond":                {[]change{is("nl"+be(7), get("nl"+be(6)))}, "events end before 8, not before 7"},
		"event garbage":               {[]change{is("nl"+be(3), "x")}, "event 3 where 3 should be"},
		"ids handed out again":        {[]change{is("nmi", be(5)+be(0))}, "fid 5 is beyond the reserved ids (5)"},
		"unlinked with content":       {[]change{is("nu"+disk1+be(6)+be(1)+"\x00", "x")}, "piece to remove 6e75"},
		"broken with content":         {[]change{is("nk"+disk1+be(6)+be(1)+"\x00", "x")}, "broken piece 6e6b"},
		"a bar of a wrong length":     {[]change{is("no"+be(5)+"x", be(1<<40)+be(4))}, "does not have 10 bytes"},
		"reserve of ids damaged":      {[]change{is("nmi", be(100)+be(0)+"x")}, "the reserve of ids is damaged"},
		"held twice in the order":     {[]change{is("nw"+disk1+be(4)+be(1)+"\x01", "\x01"+be(1)+"\x02"), is("nh"+disk1+be(1)+be(4)+be(1)+"\x01", ""), is("nh"+disk1+be(2)+be(4)+be(1)+"\x01", "")}, "1 held pieces of 1 bytes, 2 in the order of time, the counters say 0 of 0"},
		"quota node without a record": {[]change{gone("nq" + be(3))}, "1 directories say that they are quota nodes, 0 have records"},
		"account wrong":               {[]change{is("nb"+be(3)+"\x01"+"\x00\x00\x00\x07", "\x01\x02\x02\x02")}, "2 limits, its record says 1"},
	}
}

// tapeDamages returns every kind there is of tapes and their jobs.
func tapeDamages() map[string]damage {
	return map[string]damage{
		"tape file garbage":          {[]change{is("nf"+vid+be(1)+"\x00\x00\x00\x00", "x")}, "tape file 6e66"},
		"tape file gone":             {[]change{gone("nf" + vid + be(1) + "\x00\x00\x00\x00")}, "2 copies on tape in entries, 1 in the lists of tapes"},
		"tape file of another place": {[]change{{"nf" + vid + be(1) + "\x00\x00\x00\x00", swap(`"FSeq":1`, `"FSeq":2`)}}, "tape VR0001, fSeq 2: fid 4 does not have this copy"},
		"tape file of no file":       {[]change{{"nf" + vid + be(1) + "\x00\x00\x00\x00", swap(`"File":4`, `"File":77`)}}, "fid 77 does not have this copy"},
		"dead tape file that lives":  {[]change{{"nf" + vid + be(3) + "\x00\x00\x00\x00", swap(`"Dead":{`, `"Other":{`)}}, "2 copies on tape in entries, 3 in the lists of tapes"},
		"tape of fewer files":        {[]change{{"nc" + vid, swap(`"nbMasterFiles":2`, `"nbMasterFiles":1`)}}, "tape VR0001: stored 1 files of 150 bytes up to fSeq 3, counted 2 of 150"},
		"tape of more bytes":         {[]change{{"nc" + vid, swap(`"masterDataInBytes":150`, `"masterDataInBytes":151`)}}, "stored 2 files of 151 bytes"},
		"tape that ends too early":   {[]change{{"nc" + vid, swap(`"lastFseq":3`, `"lastFseq":1`)}}, "up to fSeq 1, counted 2 of 150 up to 2"},
		"tape garbage":               {[]change{is("nc"+vid, "x")}, "tape 6e63"},
		"job garbage":                {[]change{is("nj"+be(4)+"\x01\x02", "x")}, "job 6e6a"},
		"job not in its order":       {[]change{gone(orderKey())}, "is not in the order of its queue"},
		"job gone":                   {[]change{gone("nj" + be(5) + "\x01\x01")}, "0 jobs, 1 in the orders of queues"},
		"queue of more bytes":        {[]change{is(queueKey(), be(1)+be(101))}, "queue \"\\x01\\x04pool"},
		"queue without a sum":        {[]change{gone(queueKey())}, "no stored sum"},
		"queue of nothing":           {[]change{is(queueKey()+"policy", be(1)+be(100))}, "counted {Files:0 Bytes:0}"},
	}
}

// TestEveryDamageIsNamed plants each kind, and checks the tree with several goroutines.
func TestEveryDamageIsNamed(t *testing.T) {
	t.Parallel()
	all := damages(patient(t))
	maps.Copy(all, tapeDamages())
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := patient(t)
			plant(t, tr, d.changes)
			report := check(t, tr, nscheck.Options{Workers: 2})
			if report.Healthy() || !report.Done || int64(len(report.Problems)) != report.ProblemCount {
				t.Fatalf("%+v", report)
			}
			problems := strings.Join(report.Problems, "\n")
			if !slices.ContainsFunc(strings.Split(d.says, " or "), func(says string) bool { return strings.Contains(problems, says) }) {
				t.Errorf("%q is not in %q", d.says, report.Problems)
			}
		})
	}
}

// TestACheckCountsWhatItSees: files, directories without the root, pieces, and those that leave.
func TestACheckCountsWhatItSees(t *testing.T) {
	t.Parallel()
	tr := patient(t)
	r := check(t, tr, nscheck.Options{})
	all := 0
	tr.Scan([]byte("n"), func(_, _ []byte) { all++ })
	if r.Files != 2 || r.Dirs != 2 || r.Pieces != 2 || r.Leaving != 2 || r.Records < int64(all)-10 || r.RecordsTotal < r.Records {
		t.Errorf("%+v, %d records", r, all)
	}
}

// crowd returns a tree with many files in its root.
func crowd(t *testing.T, files int) *records.Tree {
	t.Helper()
	tr := records.New(t, memkv.New())
	tr.Crowd("/", files)
	return tr
}

// TestWhatCannotAllBeNamedIsCounted: of records that differ from their index those of a few groups of files are named; of other problems a
// thousand are spelled out, and all are counted.
func TestWhatCannotAllBeNamedIsCounted(t *testing.T) {
	t.Parallel()
	tr := crowd(t, 1100)
	var lost []change
	tr.Scan(schema.TableKey(schema.TablePiece), func(k, _ []byte) {
		if len(lost) < 60 {
			lost = append(lost, gone(string(k)))
		}
	})
	plant(t, tr, lost)
	report := check(t, tr, nscheck.Options{Workers: 3})
	n := len(report.Problems)
	// The groups are of ids that a hash has spread: 60 files are in 50 groups or more.
	var more int
	if _, err := fmt.Sscanf(report.Problems[n-1], "%d more groups of files do not agree", &more); err != nil || n < 17 || n > 30 || more < 60-16-10 || more > 60-16 {
		t.Errorf("%d problems, %d more groups: %q", n, more, report.Problems)
	}
	for _, p := range report.Problems[:n-1] {
		if !strings.Contains(p, "piece 0 is not in the list of disk 1") {
			t.Errorf("what agrees is named: %q", p)
		}
	}
	plant(t, tr, []change{is("nmi", be(2)+be(0))})
	if report = check(t, tr, nscheck.Options{}); len(report.Problems) != 1000 || report.ProblemCount < 1100 || report.ProblemCount > 1150 {
		t.Errorf("%d problems, %d counted", len(report.Problems), report.ProblemCount)
	}
}

// TestAHealthyTreeIsHealthyHoweverItIsCut checks wide and deep trees, whose tables are cut into chunks in many ways.
func TestAHealthyTreeIsHealthyHoweverItIsCut(t *testing.T) {
	t.Parallel()
	for _, dirs := range []int{0, 1, 63, 64, 65, 200} {
		tr := records.New(t, memkv.New())
		p := ""
		for i := range dirs {
			if i%20 == 0 {
				p = ""
			}
			p = fmt.Sprintf("%s/%d", p, i)
			tr.Mkdir(p)
			tr.Put(p+"/f", records.File{Size: int64(i), Disks: []hemera.DiskID{hemera.DiskID(1 + i%3), 9}})
		}
		for _, workers := range []int{1, 4} {
			if r := check(t, tr, nscheck.Options{Workers: workers}); !r.Healthy() || r.Files != int64(dirs) || r.Dirs != int64(dirs) {
				t.Errorf("%d directories, %d goroutines: %+v", dirs, workers, r)
			}
		}
	}
}

// TestProgressGrows: it counts records up to about the total, and never says that the check is done.
func TestProgressGrows(t *testing.T) {
	t.Parallel()
	last := int64(-1)
	r := check(t, crowd(t, 1000), nscheck.Options{Workers: 2, Progress: func(c adminapi.NamespaceCheck) {
		if c.Done || c.Records < last || c.RecordsTotal < c.Records {
			t.Errorf("%+v after %d records", c, last)
		}
		last = c.Records
	}})
	if last < 0 || !r.Done || r.Records < last {
		t.Errorf("%d, then %+v", last, r)
	}
}

// failing is a store whose snapshots fail to scan a table.
type failing struct {
	kv.Store
	table byte
}

var errDisk = errors.New("the disk is gone")

func (s failing) Snapshot(ctx context.Context) (kv.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	return failingSnapshot{snap, s.table}, err
}

type failingSnapshot struct {
	kv.Snapshot
	table byte
}

func (s failingSnapshot) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	if lo[1] == s.table {
		return errs.Wrap(errDisk, "test.Scan", "")
	}
	return s.Snapshot.Scan(ctx, lo, hi, visit)
}

// TestAStoreThatFailsEndsTheCheck: with its error, whichever table it is, and the report says that the check is not done.
func TestAStoreThatFailsEndsTheCheck(t *testing.T) {
	t.Parallel()
	tr := patient(t)
	for _, table := range "eitdxguwhovkcfjpslqba" {
		opened := records.Reopen(t, failing{tr.Engine, byte(table)})
		report, err := nscheck.Run(t.Context(), opened.Records, nscheck.Options{Workers: 2})
		if !errors.Is(err, errDisk) || report.Done || report.Healthy() {
			t.Errorf("table %c: %+v, %v", table, report, err)
		}
	}
}
