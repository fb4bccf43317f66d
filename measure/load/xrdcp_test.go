package load

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"hemera/measure/result"
	"hemera/words/errs"
)

// withXrdcp puts a program of the test's in the place of xrdcp. It copies between a pipe and files below dir.
func withXrdcp(t *testing.T, dir, script string) {
	t.Helper()
	bin := t.TempDir()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo v5.0 >&2; exit; }\nlast() { p=${1%%\\?*}; echo \"" + dir + "/${p##*/}\"; }\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xrdcp"), []byte(text), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// copying is a script for xrdcp --nopbar FROM TO.
const copying = `if [ "$2" = - ]; then cat >"$(last "$3")"; else cat "$(last "$2")"; fi`

// remote is a directory that is named as one at a server.
type remote struct{ directory }

func (remote) path(name string) string { return "root://host//top/" + name }

// putAndGet copies one file with xrdcp, and back.
func putAndGet(t *testing.T) (put, get error) {
	t.Helper()
	o := &Options{Size: 3*pageSize + 5, Driver: DriverXrdcp}
	g := &group{at: remote{directory{root: "/"}}, data: newContent(7)}
	c := &client{group: g}
	g.clients = []*client{c}
	s := set{"d", "c", 1}
	return putter(o.Driver)(c, t.Context(), o, s, 0), getter(o.Driver)(c, t.Context(), o, s, 0)
}

func TestXrdcpCopiesWhatIsCompared(t *testing.T) {
	dir := t.TempDir()
	withXrdcp(t, dir, copying)
	put, get := putAndGet(t)
	if put != nil || get != nil {
		t.Fatal(put, get)
	}
	if st, err := os.Stat(filepath.Join(dir, "c1-client0-file0")); err != nil || st.Size() != 3*pageSize+5 {
		t.Errorf("%v, %v", st, err)
	}
}

func TestXrdcpThatFailsOrChangesData(t *testing.T) {
	for script, want := range map[string]string{
		`echo "[ERROR] Server responded with an error: [3009] no room" >&2; exit 54`: "no room",
		`[ "$2" = - ] && exec cat >/dev/null; head -c 12288 /dev/zero`:               "not what was written",
		copying + `; [ "$2" = - ] && truncate -s 5000 "$(last "$3")"; true`:          "5000 bytes came of 12293",
		copying + `; [ "$2" = - ] || echo more`:                                      "not what was written",
		`[ "$2" = - ] && { cat >/dev/null; exit 0; }; exit 0`:                        "0 bytes came",
	} {
		withXrdcp(t, t.TempDir(), script)
		_, err := putAndGet(t)
		if !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

func TestContentIsComparedInAnyPieces(t *testing.T) {
	data := newContent(3)
	whole, err := io.ReadAll(iotest.HalfReader(&contentReader{data: data, key: 5, left: 5*pageSize + 77}))
	if err != nil || len(whole) != 5*pageSize+77 || data.check(whole, 5, 0) != -1 {
		t.Fatal(len(whole), err)
	}
	for _, size := range []int{1, 100, pageSize - 1, pageSize, pageSize + 1, 3*pageSize + 9, len(whole)} {
		g := &group{at: directory{}, data: data}
		w := &contentWriter{c: &client{group: g}, it: item{"x", 5}}
		for part := range slices.Chunk(whole, size) {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(size, n, err)
			}
		}
		if err := w.end(); err != nil || w.off != int64(len(whole)) {
			t.Errorf("%d: %d, %v", size, w.off, err)
		}
		bad := bytes.Clone(whole)
		bad[len(bad)-1] ^= 1
		w = &contentWriter{c: &client{group: g}, it: item{"x", 5}}
		if _, err := w.Write(bad); errors.Join(err, w.end()) == nil {
			t.Errorf("%d: a changed byte is not noticed", size)
		}
	}
}

func TestDriversAreSkippedWithARemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct {
		target string
		loads  []string
		want   []string
	}{
		{"/x", []string{Copies}, []string{"driver xrdcp"}},
		{"root://localhost//x", []string{Copies, Random}, []string{"load random", "driver xrdcp"}},
		{"root://localhost//x", []string{Small}, []string{"load small"}},
	} {
		rec := recorder(t)
		o := Options{Targets: []string{c.target}, Loads: c.loads, Driver: DriverXrdcp}
		ready, err := (&run{o: &o, rec: rec}).drive(t.Context(), directory{root: c.target})
		var what []string
		for _, s := range rec.End().Skipped {
			what = append(what, s.What)
			if s.Why == "" || s.Remedy == "" {
				t.Errorf("%+v", s)
			}
		}
		if ready || err != nil || !slices.Equal(what, c.want) {
			t.Errorf("%+v: ready %v, skipped %q, %v", c, ready, what, err)
		}
	}
}

func TestTheVersionOfADriverIsKept(t *testing.T) {
	withXrdcp(t, t.TempDir(), copying)
	rec := recorder(t)
	o := Options{Targets: []string{"root://localhost//x"}, Loads: []string{Copies}, Driver: DriverXrdcp, Sync: true}
	ready, err := (&run{o: &o, rec: rec}).drive(t.Context(), &server{})
	level := rec.End()
	if !ready || err != nil || !slices.Equal(level.Tools, []result.Tool{{Name: "xrdcp", Version: "v5.0"}}) {
		t.Errorf("%v, %v, %+v", ready, err, level.Tools)
	}
	if !strings.Contains(strings.Join(level.Notes, " "), "kXR_sync") {
		t.Errorf("%q", level.Notes)
	}
}
