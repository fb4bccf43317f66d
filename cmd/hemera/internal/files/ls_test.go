package files

import (
	"strings"
	"testing"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// ls -l shows the names that this machine knows, and numbers for others; -n only numbers.
func TestOwnersAreShownByName(t *testing.T) {
	record := func(owner, group string) output.Record {
		return output.Record{{Key: "name", Value: "f"}, {Key: "type", Value: "file"}, {Key: "size", Value: int64(1)}, {Key: "mode", Value: "0644"},
			{Key: "owner", Value: owner}, {Key: "group", Value: group}, {Key: "mtime", Value: int64(0)}}
	}
	for _, test := range []struct {
		owner, group string
		numeric      bool
		want         string
	}{
		{"0", "0", false, "root root"}, {"0", "0", true, "0 0"}, {"3999999999", "3999999999", false, "3999999999 3999999999"},
		{"alice", "users", false, "alice users"}, // what servers other than Hemera send
	} {
		o := lsOptions{long: true, numeric: test.numeric, names: cli.Owners{}}
		if f := strings.Fields(o.line(record(test.owner, test.group))); strings.Join(f[1:3], " ") != test.want {
			t.Errorf("%+v: %q", test, f)
		}
	}
}

// TestCopiesAreShown: ls -y and file info say where a file is in EOS's words.
func TestCopiesAreShown(t *testing.T) {
	tape := []hemera.TapeCopy{{Number: 1, VID: "V00001", FSeq: 7, Block: 42}, {Number: 2, VID: "V00002", FSeq: 9, Block: 60, Member: 3}}
	disks := []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}
	for _, test := range []struct {
		e    hemera.Entry
		want string // how the line begins
	}{
		{hemera.Entry{Kind: hemera.KindFile, Name: "new", Size: 1, Pieces: disks}, "d2::t0   -"},
		{hemera.Entry{Kind: hemera.KindFile, Name: "both", Size: 1, Pieces: disks, Tape: tape}, "d2::t1   -"},
		{hemera.Entry{Kind: hemera.KindFile, Name: "gone", Size: 1, Tape: tape}, "d0::t1   -"},
		{hemera.Entry{Kind: hemera.KindDirectory, Name: "dir"}, "         d"},
	} {
		o := lsOptions{long: true, copies: true, names: cli.Owners{}}
		if got := o.line(copiesOf(test.e).record("/" + test.e.Name)); !strings.HasPrefix(got, test.want) || !strings.HasSuffix(strings.TrimSuffix(got, "/"), test.e.Name) {
			t.Errorf("%s: %q", test.e.Name, got)
		}
	}
	report := adminapi.FileReport{Path: "/f", Entry: hemera.Entry{Kind: hemera.KindFile, Size: 1, Tape: tape, Xattrs: map[string][]byte{
		hemera.AttrArchiveID: []byte("77"), hemera.AttrRecallIDs: []byte("a,b"), "user.x": []byte("y"), "sys.forced.layout": []byte("plain"),
	}}}
	r := fileRecord(report)
	if r.Get("redundancy") != "d0::t1" || r.Get(hemera.AttrArchiveID) != "77" || r.Get(hemera.AttrRecallIDs) != "a,b" || r.Get("user.x") != nil || r.Get("sys.forced.layout") != nil {
		t.Errorf("%+v", r)
	}
	c := tapeRecord(tape[1])
	if c.Get("copyNb") != 2 || c.Get("vid") != "V00002" || c.Get("fSeq") != uint64(9) || c.Get("blockId") != uint64(60) || c.Get("member") != uint32(3) {
		t.Errorf("%+v", c)
	}
}
