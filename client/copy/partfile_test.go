package copy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func begin(t *testing.T, name string, o targetOptions) *localTarget {
	t.Helper()
	to, err := machine{}.target(t.Context(), Place{Path: name}, o)
	if err != nil {
		t.Fatal(err)
	}
	return to.(*localTarget)
}

func content(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

// Two concurrent copies to one target would mix their bytes.
func TestAPartBelongsToOneCopy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	first := begin(t, name, targetOptions{})
	if err := first.write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, 5} {
		if _, err := (machine{}).target(t.Context(), Place{Path: name}, targetOptions{off: off, replace: true}); !errors.Is(err, errs.Locked) {
			t.Errorf("a second copy from %d on: %v", off, err)
		}
	}
	content(t, partOf(name), "first")
	if err := first.commit(t.Context(), hemera.Checksum{}); err != nil {
		t.Fatal(err)
	}
	content(t, name, "first")
	second := begin(t, name, targetOptions{replace: true})
	_ = second.write([]byte("2"))
	if err := second.commit(t.Context(), hemera.Checksum{}); err != nil {
		t.Fatal(err)
	}
	content(t, name, "2")
}

func TestAPartIsGoneOnWith(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	first := begin(t, name, targetOptions{})
	_ = first.write([]byte("one "))
	if !first.abandon(t.Context(), true) {
		t.Error("nothing was kept")
	}
	if _, err := (machine{}).target(t.Context(), Place{Path: name}, targetOptions{off: 3}); !errors.Is(err, errs.Conflict) {
		t.Errorf("a part that is longer than was known: %v", err)
	}
	second := begin(t, name, targetOptions{off: 4})
	_ = second.write([]byte("two"))
	if err := second.commit(t.Context(), hemera.Checksum{}); err != nil {
		t.Fatal(err)
	}
	content(t, name, "one two")
	nothingBeside(t, name)
}

// A part of a source that was replaced meanwhile must not be continued.
func TestAPartIsOfOneSource(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	src := state{size: 10, mtime: time.Unix(1000, 0)}
	first := begin(t, name, targetOptions{src: src})
	_ = first.write([]byte("one "))
	first.abandon(t.Context(), true)
	changed, shorter := src, src
	changed.mtime = changed.mtime.Add(time.Second)
	shorter.size = 3
	for _, c := range []struct {
		src  state
		want int64
	}{{src, 4}, {changed, 0}, {shorter, 0}} {
		if n, err := (machine{}).part(t.Context(), Place{Path: partOf(name)}, c.src); n != c.want || err != nil {
			t.Errorf("%+v goes on from %d, %v; want %d", c.src, n, err, c.want)
		}
	}
}

// In a directory that others may write to, the name of a part may already be taken by any kind of entry.
func TestAPartIsAFileOfOnesOwn(t *testing.T) {
	for what, plant := range map[string]func(part, victim string) error{
		"link":      func(part, victim string) error { return os.Symlink(victim, part) },
		"hard link": func(part, victim string) error { return os.Link(victim, part) },
		"pipe":      func(part, _ string) error { return unix.Mkfifo(part, 0o600) },
		"directory": func(part, _ string) error { return os.Mkdir(part, 0o700) },
	} {
		dir := t.TempDir()
		name, victim := filepath.Join(dir, "f"), filepath.Join(dir, "victim")
		if err := errors.Join(os.WriteFile(victim, []byte("victim"), 0o600), plant(partOf(name), victim)); err != nil {
			t.Fatal(err)
		}
		if _, err := (machine{}).target(t.Context(), Place{Path: name}, targetOptions{}); err == nil || what != "directory" && errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
		content(t, victim, "victim")
	}
	name := filepath.Join(t.TempDir(), "f")
	_, err := machine{}.target(t.Context(), Place{Path: name}, targetOptions{off: 4})
	if !errors.Is(err, errs.NotFound) {
		t.Errorf("a part that is gone: %v", err)
	}
}

// The copy of a private file must not be readable for others, not even while it is written.
func TestAPartHasTheModeOfItsSource(t *testing.T) {
	for mode, want := range map[uint32][2]os.FileMode{0o600: {0o600, 0o600}, 0o444: {0o644, 0o444}, 0o750: {0o750, 0o750}} {
		name := filepath.Join(t.TempDir(), "f")
		to := begin(t, name, targetOptions{mode: mode})
		for at, file := range []string{partOf(name), name} {
			i, err := os.Stat(file)
			if err != nil || i.Mode().Perm() != want[at] {
				t.Errorf("%s of %04o has mode %04o, %v; want %04o", file, mode, i.Mode().Perm(), err, want[at])
			}
			if at == 0 {
				if err := to.commit(t.Context(), hemera.Checksum{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestPartNamesFit(t *testing.T) {
	long := strings.Repeat("ä", 127)
	for _, name := range []string{"f", "x.root", long, long[2:] + "x", strings.Repeat("x", 255)} {
		part := partName(name)
		if len(part) > nameMax || !isPart(part) || isPart(name) || !utf8.ValidString(part) {
			t.Errorf("part of %q is %q", name, part)
		}
	}
	if partName(long+"x") == partName(long+"y") {
		t.Error("two files have the same part")
	}
}

func partOf(name string) string { return Place{Path: name}.part().Path }

func nothingBeside(t *testing.T, name string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(all) != 1 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

// A copy without Force does not replace a file that was made while the copy ran.
func TestACopyDoesNotReplaceWhatWasMadeMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	to := begin(t, name, targetOptions{})
	_ = to.write([]byte("copy"))
	if err := os.WriteFile(name, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := to.commit(t.Context(), hemera.Checksum{}); !errors.Is(err, errs.Exists) || errs.RemedyOf(err) == "" {
		t.Errorf("commit: %v", err)
	}
	content(t, name, "theirs")
	nothingBeside(t, name)
}

// People measure rates with copies to /dev/null. As root such a copy must not replace the device by a file.
func TestADeviceIsWrittenToAsItIs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s, err := machine{}.stat(t.Context(), Place{Path: name})
	if err != nil || !s.special {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, o := range []Options{{}, {Force: true}, {Continue: true}} {
		if act, err := choose(state{exists: true, size: 3}, s, name, o); act != actCopy || err != nil {
			t.Errorf("%+v: %v, %v", o, act, err)
		}
	}
	to, err := machine{}.target(t.Context(), Place{Path: name}, targetOptions{replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(to.write([]byte("abc")), to.commit(t.Context(), hemera.Checksum{})); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := reader.Read(got); err != nil || string(got) != "abc" {
		t.Errorf("read %q, %v", got, err)
	}
	if i, err := os.Lstat(name); err != nil || !special(i) {
		t.Errorf("it is a file now: %v, %v", i, err)
	}
}

func TestALinkIsWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	file, link, nowhere := filepath.Join(dir, "f"), filepath.Join(dir, "link"), filepath.Join(dir, "nowhere")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Symlink("f", link), os.Symlink("gone", nowhere)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: file, link: file, nowhere: nowhere, filepath.Join(dir, "new"): filepath.Join(dir, "new")} {
		if got := followLink(name); got != want {
			t.Errorf("behind %s is %s, not %s", name, got, want)
		}
	}
}
