package files

import (
	"strings"
	"testing"

	"hemera/rules/policy"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestWishesOfCopies(t *testing.T) {
	for _, c := range []struct {
		o    cpOptions
		to   string
		want string // "" for an error of the command line
	}{
		{cpOptions{}, "/tmp/x", "/tmp/x"},
		{cpOptions{}, "root://h:1094//x?a=b", "root://h:1094//x?a=b"},
		{cpOptions{layout: "rs:4+2"}, "root://h:1094//x", "root://h:1094//x?hem.layout=rs:4+2"},
		{cpOptions{layout: "raid6", blockSize: "4M"}, "root://h:1094//x?a=b&hem.layout=plain", "root://h:1094//x?a=b&hem.layout=raid6&hem.blocksize=4M"},
		{cpOptions{blockSize: "64k"}, "root://h:1094//x", "root://h:1094//x?hem.blocksize=64k"},
		{cpOptions{layout: "rs:4"}, "root://h:1094//x", ""},
		{cpOptions{blockSize: "4k"}, "root://h:1094//x", ""},
		{cpOptions{layout: "rs:4+2"}, "/tmp/x", ""},
		{cpOptions{layout: "rs:4+2"}, "-", ""},
	} {
		got, err := c.o.wishing(c.to)
		if (err == nil) != (c.want != "") || err == nil && got != c.want || err != nil && errs.KindOf(err) != errs.Invalid {
			t.Errorf("%+v to %s: %q, %v, want %q", c.o, c.to, got, err, c.want)
		}
	}
}

func TestLayoutsThatAreSearched(t *testing.T) {
	for text, want := range map[string]string{"": "", "rs": "rs", "plain": "plain", "replica:2": "replica:2", "raid6:6": "rs:4+2", "lrc:12+2+2": "lrc:12+2+2", "raid6": "!", "rs:4": "!", "x": "!"} {
		r := adminapi.WalkRequest{Layout: text}
		err := findOptions{layout: text}.readLayout(&r)
		if (err != nil) != (want == "!") || err == nil && r.Layout != want {
			t.Errorf("%q: %q, %v, want %q", text, r.Layout, err, want)
		}
	}
}

// Records of a coded file show its whole layout, its block size, and the role of each piece.
func TestRecordsOfCodedFiles(t *testing.T) {
	l := hemera.Local(2, 2, 1)
	r := fileRecord(adminapi.FileReport{Path: "/f", Entry: hemera.Entry{Kind: hemera.KindFile, Layout: l}})
	if got := []any{r.Get("layout"), r.Get("nstripes"), r.Get("blocksize")}; got[0] != "lrc:2+2+1" || got[1] != 5 || got[2] != "1M" {
		t.Errorf("%v", got)
	}
	for i, want := range []string{"data", "data", "local0", "local1", "parity"} {
		if got := pieceRecord(l, adminapi.PieceReport{Piece: hemera.Piece{Index: uint8(i)}}).Get("role"); got != want {
			t.Errorf("piece %d is %v, want %s", i, got, want)
		}
	}
	plain := fileRecord(adminapi.FileReport{Path: "/f", Entry: hemera.Entry{Kind: hemera.KindFile, Layout: hemera.Replica(2)}})
	if plain.Get("layout") != "replica" || plain.Get("blocksize") != nil {
		t.Errorf("%v", plain)
	}
}

// If the number of pieces is not configured, the text calls it an assumption and names the command that sets it.
func TestAnAssumedNumberOfPiecesIsTold(t *testing.T) {
	set := policy.Attributes{Sys: map[string][]byte{policy.AttrStripes: []byte("6")}}
	for _, c := range []struct {
		a     assumed
		attrs policy.Attributes
		want  string // "" for no note
	}{
		{assumed{"sys.forced.layout", "archive"}, policy.Attributes{}, "archive without it stands for 8 pieces"},
		{assumed{"sys.forced.layout", "qrain"}, policy.Attributes{}, "hemera attr set sys.forced.nstripes=N /exp"},
		{assumed{"sys.forced.layout", "qrain"}, set, ""},
		{assumed{"sys.forced.layout", "rs:4+2"}, policy.Attributes{}, ""},
		{assumed{"sys.forced.layout", "raid6:6"}, policy.Attributes{}, ""},
		{assumed{"sys.forced.layout", "plain"}, policy.Attributes{}, ""},
		{assumed{"sys.forced.nstripes", "12"}, policy.Attributes{}, ""},
	} {
		if got := c.a.note(c.attrs, "/exp"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.a, got, c.want)
		}
	}
}

func TestLayoutsThatSurviveNothing(t *testing.T) {
	for attribute, want := range map[string]bool{
		"sys.forced.layout=plain": true, "user.forced.layout=stripe": true, "sys.forced.layout=stripe:8": true, "sys.forced.layout=replica:1": true,
		"sys.forced.layout=replica": false, "sys.forced.layout=rs:4+2": false, "sys.forced.layout=raid5": false, "sys.forced.nstripes=1": false,
		"sys.forced.layout=nonsense": false, "user.layout=plain": false,
	} {
		name, value, _ := strings.Cut(attribute, "=")
		if got := survivesNothing(name, value); got != want {
			t.Errorf("%s: %t", attribute, got)
		}
	}
}
