package policy

import (
	"testing"

	"hemera/words/hemera"
)

// TestLayoutsAreCombined has the table of docs/operations.md, and more: a kind, a number and a block size from different
// places.
func TestLayoutsAreCombined(t *testing.T) {
	for _, c := range []struct {
		name  string
		space string // its policy.layout
		attrs Attributes
		wish  hemera.Wish
		want  string // layout and block size
	}{
		{"of the space", "rs:4+2", attrs(), hemera.Wish{}, "rs:4+2 1M"},
		{"forced", "replica:2", attrs(AttrLayout, "rs:4+2"), hemera.Wish{}, "rs:4+2 1M"},
		{"a wish", "replica:2", attrs(), hemera.Wish{Layout: "lrc:12+2+2"}, "lrc:12+2+2 1M"},
		{"a directory's default", "replica:2", attrs("user.forced.layout", "stripe:8"), hemera.Wish{}, "stripe:8 1M"},
		{"forced beats a wish", "replica:2", attrs(AttrLayout, "rs:4+2"), hemera.Wish{Layout: "plain"}, "rs:4+2 1M"},
		{"a wish beats a default", "replica:2", attrs("user.forced.layout", "rs:4+2"), hemera.Wish{Layout: "replica:3"}, "replica:3"},

		// A kind with its numbers decides alone.
		{"numbers beside a number", "replica:2", attrs(AttrLayout, "rs:4+2", AttrStripes, "9"), hemera.Wish{}, "rs:4+2 1M"},
		{"numbers and a weaker number", "replica:2", attrs(AttrLayout, "rs:4+2"), hemera.Wish{Pieces: 9}, "rs:4+2 1M"},
		{"numbers and a stronger number", "replica:2", attrs(AttrStripes, "9"), hemera.Wish{Layout: "rs:4+2"}, "rs:7+2 1M"},
		{"plain and a stronger number", "replica:2", attrs(AttrStripes, "3"), hemera.Wish{Layout: "plain"}, "replica:3"},
		{"plain and a weaker number", "replica:2", attrs(AttrLayout, "plain"), hemera.Wish{Pieces: 3}, "plain"},

		// A kind without numbers takes a number from anywhere.
		{"EOS's two attributes", "replica:2", attrs(AttrLayout, "raid6", AttrStripes, "12"), hemera.Wish{}, "rs:10+2 1M"},
		{"EOS's two wishes", "replica:2", attrs(), hemera.Wish{Layout: "qrain", Pieces: 12}, "rs:8+4 1M"},
		{"a weaker number", "replica:2", attrs(AttrLayout, "raid5"), hemera.Wish{Pieces: 4}, "rs:3+1 1M"},
		{"a stronger number", "replica:2", attrs(AttrStripes, "10"), hemera.Wish{Layout: "archive"}, "rs:7+3 1M"},
		{"no number", "replica:2", attrs(AttrLayout, "raiddp"), hemera.Wish{}, "rs:4+2 1M"},
		{"no number, the space has that kind", "rs:10+2", attrs(AttrLayout, "raid6"), hemera.Wish{}, "rs:10+2 1M"},
		{"no number, the space has another", "rs:10+2", attrs(AttrLayout, "qrain"), hemera.Wish{}, "rs:8+4 1M"},
		{"copies in a coded space", "rs:10+2", attrs(AttrLayout, "replica"), hemera.Wish{}, "replica:2"},
		{"stripe without a number", "replica:2", attrs(AttrLayout, "stripe"), hemera.Wish{}, "stripe:4 1M"},
		{"one data piece is a copy", "replica:2", attrs(AttrLayout, "raid6", AttrStripes, "3"), hemera.Wish{}, "replica:3"},

		// A number without a kind changes the space's layout, which keeps its parities.
		{"a number for rs", "rs:4+2", attrs(AttrStripes, "12"), hemera.Wish{}, "rs:10+2 1M"},
		{"a number for lrc", "lrc:12+2+2", attrs(AttrStripes, "10"), hemera.Wish{}, "lrc:6+2+2 1M"},
		{"a number for stripe", "stripe:4", attrs(), hemera.Wish{Pieces: 8}, "stripe:8 1M"},
		{"a number for a default's kind", "replica:2", attrs("user.forced.layout", "raid6:6"), hemera.Wish{Pieces: 8}, "rs:6+2 1M"},

		// Block sizes.
		{"forced size", "rs:4+2", attrs(AttrBlockSize, "4M"), hemera.Wish{BlockSize: "64k"}, "rs:4+2 4M"},
		{"wished size", "rs:4+2", attrs("user.forced.blocksize", "4M"), hemera.Wish{BlockSize: "128KiB"}, "rs:4+2 128k"},
		{"default size", "replica:2", attrs("user.forced.blocksize", "4MiB", AttrLayout, "raid5"), hemera.Wish{}, "rs:4+1 4M"},
		{"size of copies", "replica:2", attrs(AttrBlockSize, "4M"), hemera.Wish{}, "replica:2"},
		{"forbidden wishes", "rs:4+2", attrs(AttrNoUserLayout, "1"), hemera.Wish{Layout: "plain", Pieces: 9, BlockSize: "64k"}, "rs:4+2 1M"},
	} {
		l, err := hemera.ParseLayout(c.space, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Decide(c.attrs, hemera.Space{Policy: hemera.Policy{Layout: l}}, c.wish, hemera.Identity{})
		if err != nil || p.Layout.Validate() != nil {
			t.Errorf("%s: %v, %v", c.name, err, p.Layout.Validate())
			continue
		}
		got := p.Layout.String()
		if p.Layout.Coded() {
			got += " " + hemera.FormatBlockSize(p.Layout.BlockSize)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBlockSizeOfTheSpace(t *testing.T) {
	space := hemera.Space{Policy: hemera.Policy{Layout: hemera.Replica(2), BlockSize: 4 << 20}}
	for _, c := range []struct {
		attrs Attributes
		want  uint32
	}{
		{attrs(), 0}, {attrs(AttrLayout, "rs:4+2"), 4 << 20}, {attrs(AttrLayout, "rs:4+2", AttrBlockSize, "64k"), 64 << 10},
	} {
		if p, err := Decide(c.attrs, space, hemera.Wish{}, hemera.Identity{}); err != nil || p.Layout.BlockSize != c.want {
			t.Errorf("%s: blocks of %d bytes, %v, want %d", c.attrs.Sys, p.Layout.BlockSize, err, c.want)
		}
	}
}

// The number of a space is for its own layout. For others it determines how many pieces may be lost.
func TestMinimumOfOtherLayouts(t *testing.T) {
	for _, c := range []struct {
		space string
		min   uint8
		file  string
		want  uint8
	}{
		{"replica:2", 0, "rs:4+2", 0}, {"replica:2", 2, "plain", 1}, {"replica:2", 2, "replica:2", 2}, {"replica:3", 2, "replica:5", 2},
		{"replica:3", 3, "replica:2", 2}, {"replica:2", 9, "replica:4", 4},
		{"replica:2", 1, "rs:4+2", 4}, {"replica:2", 2, "rs:4+2", 5}, {"replica:3", 3, "rs:10+4", 12}, {"replica:9", 9, "rs:4+2", 6},
		{"rs:4+2", 5, "rs:10+4", 11}, {"rs:4+2", 5, "replica:2", 2}, {"rs:4+2", 6, "replica:2", 2}, {"rs:4+2", 4, "replica:2", 1},
		{"rs:4+2", 5, "stripe:4", 4}, {"rs:4+2", 5, "lrc:12+2+2", 14},
		{"replica:2", 1, "lrc:12+2+2", 13}, {"replica:9", 9, "lrc:12+2+2", 16}, {"lrc:4+2+1", 6, "replica:2", 2}, {"rs:4+2", 2, "rs:4+2", 4},
	} {
		space, err1 := hemera.ParseLayout(c.space, 0)
		file, err2 := hemera.ParseLayout(c.file, 0)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		policy := hemera.Policy{Layout: space, PiecesMin: c.min}
		if got := MinimumOf(policy, file); got != c.want {
			t.Errorf("space %s with at least %d, file %s: at least %d, want %d", c.space, c.min, c.file, got, c.want)
		}
		p, err := Decide(attrs(AttrLayout, c.file), hemera.Space{Policy: policy}, hemera.Wish{}, hemera.Identity{})
		if err != nil || p.PiecesMin != c.want {
			t.Errorf("Decide: at least %d, %v, want %d", p.PiecesMin, err, c.want)
		}
	}
}
