package client

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hemera/errs"
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

// Two copies to one target at once would mix what they write.
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
	content(t, name+partSuffix, "first")
	if err := first.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	content(t, name, "first")
	second := begin(t, name, targetOptions{replace: true})
	_ = second.write([]byte("2"))
	if err := second.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	content(t, name, "2")
}

func TestAPartIsGoneOnWith(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	first := begin(t, name, targetOptions{})
	_ = first.write([]byte("one "))
	first.abandon(t.Context(), true)
	if _, err := (machine{}).target(t.Context(), Place{Path: name}, targetOptions{off: 3}); !errors.Is(err, errs.Conflict) {
		t.Errorf("a part that is longer than was known: %v", err)
	}
	second := begin(t, name, targetOptions{off: 4})
	_ = second.write([]byte("two"))
	if err := second.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	content(t, name, "one two")

	third := begin(t, name, targetOptions{off: 7}) // a file that another program left unfinished
	if _, err := os.Stat(name); err == nil {
		t.Error("an unfinished file kept its final name")
	}
	_ = third.write([]byte(" three"))
	if err := third.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	content(t, name, "one two three")
	if left, _ := filepath.Glob(name + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Who did not ask to replace a file does not replace one that was made while the copy was under way.
func TestACopyDoesNotReplaceWhatWasMadeMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	to := begin(t, name, targetOptions{})
	_ = to.write([]byte("copy"))
	if err := os.WriteFile(name, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := to.commit(t.Context()); !errors.Is(err, errs.Exists) || errs.RemedyOf(err) == "" {
		t.Errorf("commit: %v", err)
	}
	content(t, name, "theirs")
	if left, _ := filepath.Glob(name + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A copy to /dev/null is how rates are measured; as root it must not put a file there.
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
	for _, o := range []CopyOptions{{}, {Force: true}, {Continue: true}} {
		if act, err := choose(state{exists: true, size: 3}, s, name, o); act != actCopy || err != nil {
			t.Errorf("%+v: %v, %v", o, act, err)
		}
	}
	to, err := machine{}.target(t.Context(), Place{Path: name}, targetOptions{replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(to.write([]byte("abc")), to.commit(t.Context())); err != nil {
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
		if got := behind(name); got != want {
			t.Errorf("behind %s is %s, not %s", name, got, want)
		}
	}
}
