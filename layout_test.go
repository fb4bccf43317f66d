package hemera

import "testing"

func TestParseLayout(t *testing.T) {
	for _, c := range []struct {
		text   string
		pieces int
		want   string // of String; "" for an error
	}{
		{"plain", 0, "plain"}, {"plain", 3, "plain"}, {"plain:1", 0, ""},
		{"replica:3", 0, "replica:3"}, {"replica", 2, "replica:2"}, {"replica", 0, ""}, {"replica:17", 0, ""}, {"replica:0", 0, ""},
		{"rs:4+2", 0, "rs:4+2"}, {"rs:4+2", 9, "rs:4+2"}, {"rs", 6, ""}, {"rs:4", 0, ""}, {"rs:4+0", 0, ""}, {"rs:1+2", 0, "replica:3"},
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
