package hemera

import (
	"strings"
	"testing"
)

func TestParseLayout(t *testing.T) {
	for _, c := range []struct {
		text   string
		pieces int
		want   string // of String; "" for an error
	}{
		{"plain", 0, "plain"}, {"plain", 3, "plain"}, {"plain:1", 0, ""},
		{"replica:3", 0, "replica:3"}, {"replica", 2, "replica:2"}, {"replica", 0, ""}, {"replica:32", 0, "replica:32"}, {"replica:33", 0, ""}, {"replica:0", 0, ""},
		{"rs:4+2", 0, "rs:4+2"}, {"rs:4+2", 9, "rs:4+2"}, {"rs", 6, ""}, {"rs:4", 0, ""}, {"rs:4+0", 0, ""}, {"rs:1+2", 0, "replica:3"}, {"rs:1+31", 0, "replica:32"}, {"rs:1+32", 0, ""},
		{"rs:31+1", 0, "rs:31+1"}, {"rs:31+2", 0, ""}, {"rs:64+64", 0, ""}, {"rs:4+2+1", 0, ""}, {"rs:-4+2", 0, ""}, {"rs:4+", 0, ""},
		{"stripe:4", 0, "stripe:4"}, {"stripe", 8, "stripe:8"}, {"stripe:1", 0, ""},
		{"lrc:12+2+2", 0, "lrc:12+2+2"}, {"lrc:2+3+1", 0, ""}, {"lrc:4+2", 0, ""}, {"lrc:16+16+1", 0, ""},
		{"raid5", 6, "rs:5+1"}, {"raid6", 6, "rs:4+2"}, {"raiddp:6", 0, "rs:4+2"}, {"archive", 10, "rs:7+3"}, {"qrain", 12, "rs:8+4"},
		{"qrain", 4, ""}, {"raid5", 0, ""}, {"raid5", 2, "replica:2"}, {"raid7", 6, ""}, {"", 2, ""},
	} {
		l, err := ParseLayout(c.text, c.pieces)
		switch {
		case (err != nil) != (c.want == ""):
			t.Errorf("%q with %d pieces: %v, %v", c.text, c.pieces, l, err)
		case err == nil && l.String() != c.want:
			t.Errorf("%q with %d pieces is %s, want %s", c.text, c.pieces, l, c.want)
		case err == nil:
			if again, err := ParseLayout(l.String(), 0); err != nil || again != l {
				t.Errorf("%s is read as %+v, %v, and was %+v", l, again, err, l)
			}
			var stored Layout
			stored.SetKindByte(l.KindByte())
			if stored.Kind != l.Kind || stored.Local != l.Local {
				t.Errorf("%s is stored as kind %d with %d local parities", l, stored.Kind, stored.Local)
			}
		}
	}
}

// The error says which limit was passed: what is asked for has data pieces enough.
func TestTooManyPiecesNameTheLimit(t *testing.T) {
	for text, want := range map[string]string{
		"rs:30+3": "at most 32 pieces in all, not 33", "stripe:33": "at most 32 pieces in all, not 33", "lrc:40+16+1": "at most 32 pieces in all, not 57",
		"rs:64+64": "at most 32 pieces in all, not 128", "stripe:65": "at most 32 pieces in all, not 65", "raid6:40": "at most 32 pieces in all, not 40",
		"rs:1+32": "1 to 32 replicas, not 33", "replica:64": "1 to 32 replicas, not 64", "stripe:1": "at least 2 data pieces", "lrc:15+16+1": "local parity",
	} {
		if l, err := ParseLayout(text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, l, err, want)
		}
	}
}

func TestValidateLayout(t *testing.T) {
	good := ReedSolomon(4, 2)
	for _, c := range []struct {
		name   string
		change func(l *Layout)
	}{
		{"blocks of parts of pages", func(l *Layout) { l.BlockSize = 65<<10 + 1 }},
		{"small blocks", func(l *Layout) { l.BlockSize = PageSize }},
		{"large blocks", func(l *Layout) { l.BlockSize = 32 << 20 }},
		{"no data", func(l *Layout) { l.Data = 0 }},
		{"no parity", func(l *Layout) { l.Pieces = l.Data }},
		{"local parities", func(l *Layout) { l.Local = 1 }},
		{"too many pieces", func(l *Layout) { l.Pieces = 33 }},
		{"no kind", func(l *Layout) { l.Kind = 0 }},
		{"blocks of copies", func(l *Layout) { *l = Replica(2); l.BlockSize = 1 << 20 }},
	} {
		l := good
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		if c.change(&l); l.Validate() == nil {
			t.Errorf("%s: %+v is valid", c.name, l)
		}
	}
}

func TestBlockSizes(t *testing.T) {
	for _, c := range []struct {
		text string
		size uint32 // 0 for an error
		want string // of FormatBlockSize
	}{
		{"64k", 64 << 10, "64k"}, {"64K", 64 << 10, "64k"}, {"64KiB", 64 << 10, "64k"}, {"1M", 1 << 20, "1M"}, {"1m", 1 << 20, "1M"}, {"16MiB", 16 << 20, "16M"},
		{"1048576", 1 << 20, "1M"}, {"1536k", 1536 << 10, "1536k"}, {"69632", 68 << 10, "68k"},
		{"4k", 0, ""}, {"64M", 0, ""}, {"65537", 0, ""}, {"", 0, ""}, {"M", 0, ""}, {"1G", 0, ""}, {"1MB", 0, ""}, {"-1M", 0, ""}, {"1.5M", 0, ""},
		{"65536iB", 0, ""}, {"4294967295M", 0, ""}, {"4294967296", 0, ""}, {" 1M", 0, ""},
	} {
		size, err := ParseBlockSize(c.text)
		if size != c.size || (err == nil) != (c.size != 0) {
			t.Errorf("%q: %d, %v, want %d", c.text, size, err, c.size)
		}
		if text := FormatBlockSize(size); text != c.want {
			t.Errorf("%d bytes are written %q, want %q", size, text, c.want)
		}
		if again, err := ParseBlockSize(FormatBlockSize(size)); size != 0 && (err != nil || again != size) {
			t.Errorf("%d bytes are read again as %d, %v", size, again, err)
		}
	}
	if l := Replica(2).WithBlockSize(1 << 20); l != Replica(2) {
		t.Errorf("copies got blocks: %+v", l)
	}
	if l := Stripe(2).WithBlockSize(64 << 10); l.BlockSize != 64<<10 || l.WithBlockSize(0) != l {
		t.Errorf("blocks of 64 KiB: %+v", l)
	}
}

func TestRoles(t *testing.T) {
	for _, c := range []struct {
		l     Layout
		roles []string
	}{
		{Plain(), []string{"copy"}}, {Replica(2), []string{"copy", "copy"}}, {Stripe(2), []string{"data", "data"}},
		{ReedSolomon(2, 1), []string{"data", "data", "parity"}}, {Local(2, 2, 1), []string{"data", "data", "local0", "local1", "parity"}},
	} {
		for i, want := range c.roles {
			if got := c.l.Role(uint8(i)); got != want {
				t.Errorf("piece %d of %s is %s, want %s", i, c.l, got, want)
			}
		}
	}
}

// FuzzParseLayout: what is read is valid, and is read again as the same.
func FuzzParseLayout(f *testing.F) {
	for _, text := range []string{"plain", "replica", "rs:4+2", "lrc:12+2+2", "stripe:4", "raid6", "qrain:12", "rs:1+1", "rs:32+1", "lrc:2+3+1"} {
		f.Add(text, 0, "1M")
		f.Add(text, 7, "64k")
	}
	f.Fuzz(func(t *testing.T, text string, pieces int, block string) {
		l, err := ParseLayout(text, pieces)
		if err != nil {
			return
		}
		if size, err := ParseBlockSize(block); err == nil {
			l = l.WithBlockSize(size)
		}
		if err := l.Validate(); err != nil {
			t.Fatalf("%q with %d pieces is %+v: %v", text, pieces, l, err)
		}
		again, err := ParseLayout(l.String(), 0)
		if again = again.WithBlockSize(l.BlockSize); err != nil || again != l {
			t.Fatalf("%q is %+v, and read again %+v, %v", text, l, again, err)
		}
	})
}
