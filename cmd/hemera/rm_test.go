package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/test/conform"
)

// rm -r removes a whole tree, or names the entries that stay; without consent it removes nothing.
func TestATreeIsRemovedWithConsent(t *testing.T) {
	url, tree := conform.StockServer(t)
	var said bytes.Buffer
	run := func(in string, args ...string) int {
		said.Reset()
		e := &cli.Env{Console: cli.Console{In: strings.NewReader(in), Out: &said, Err: &said, Asks: in != "", Getenv: func(string) string { return "" }}, Now: time.Now}
		return cli.Run(t.Context(), e, newRootCommand(e), append([]string{"--url", strings.TrimRight(url, "/"), "rm"}, args...))
	}
	const dirs, files = 12, 30
	fill := func(top string) {
		for i := range dirs {
			dir := filepath.Join(tree, top, fmt.Sprintf("d%d", i%4), fmt.Sprintf("e%d", i))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			for j := range files {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), make([]byte, 1000), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := filepath.WalkDir(filepath.Join(tree, top), func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			return os.Chmod(name, 0o777) // the server is another user
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		_ = filepath.WalkDir(tree, func(_ string, d os.DirEntry, _ error) error {
			if !d.IsDir() {
				n++
			}
			return nil
		})
		return n
	}
	fill("a")
	for _, c := range [][]string{{"", "-r", "/a"}, {"no\n", "-r", "/a"}, {"", "-r", "--dry-run", "/a"}} {
		run(c[0], c[1:]...)
		if left() != dirs*files || !strings.Contains(said.String(), "/a: 17 directories, 360 files, 360.00 kB will go") {
			t.Errorf("%q: %d files are left, %s", c, left(), &said)
		}
	}
	if code := run("yes\n", "-r", "/a"); code != 0 || left() != 0 {
		t.Errorf("exit code %d, %d files are left, %s", code, left(), &said)
	}
	if _, err := os.Stat(filepath.Join(tree, "a")); err == nil {
		t.Error("the directory is there still")
	}
	fill("b")
	if os.Getuid() != 0 {
		return // the server would be this user, who may change modes
	}
	if err := os.Chmod(filepath.Join(tree, "b/d1/e5"), 0o555); err != nil {
		t.Fatal(err)
	}
	code := run("", "-r", "--yes", "/b")
	if code != cli.ExitFailed || left() != files || !strings.Contains(said.String(), "could not be removed") || strings.Count(said.String(), "\n") > 3*10+10 {
		t.Errorf("exit code %d, %d files are left, %s", code, left(), &said)
	}
}
