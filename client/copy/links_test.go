package copy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLinksOfATree checks the result for each kind of link and each option.
func TestLinksOfATree(t *testing.T) {
	top := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(top, "there"), 0o755), os.MkdirAll(filepath.Join(top, "tree"), 0o755),
		os.WriteFile(filepath.Join(top, "there", "f"), nil, 0o644),
		os.Symlink("../there/f", filepath.Join(top, "tree", "file")), os.Symlink("../there", filepath.Join(top, "tree", "dir")),
		os.Symlink("nothing", filepath.Join(top, "tree", "none")), os.Symlink("loop", filepath.Join(top, "tree", "loop")),
		os.Symlink("../tree", filepath.Join(top, "tree", "up")), os.Symlink("/dev/null", filepath.Join(top, "tree", "device")),
	); err != nil {
		t.Fatal(err)
	}
	for links, want := range map[Links][]string{
		LinksFiles:  {"device fails", "dir fails", "file", "loop fails", "none fails", "up fails"},
		LinksFollow: {"device fails", "dir", "dir/f", "file", "loop fails", "none fails", "up fails"},
		LinksSkip:   {"device passed over", "dir passed over", "file passed over", "loop passed over", "none passed over", "up passed over"},
		LinksGood:   {"device passed over", "dir", "dir/f", "file", "loop passed over", "none passed over", "up passed over"},
	} {
		var got []string
		err := machine{1 << 16, links}.walk(t.Context(), Place{Path: filepath.Join(top, "tree")}, func(rel string, s state) error {
			switch {
			case s.fault != nil:
				rel += " fails"
			case s.link:
				rel += " passed over"
			}
			got = append(got, rel)
			return nil
		})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("way %d: %q, %v", links, got, err)
		}
	}
}
