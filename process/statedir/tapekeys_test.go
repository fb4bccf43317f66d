package statedir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

func TestTapeKeys(t *testing.T) {
	state := t.TempDir()
	k, err := OpenTapeKeys(state)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := k.All(); err != nil || len(all) > 0 {
		t.Errorf("without a directory: %v, %v", all, err)
	}
	one, other := tapeapi.Secret(bytes.Repeat([]byte{1}, 32)), tapeapi.Secret(bytes.Repeat([]byte{2}, 32))
	if _, err := k.Secret("k1"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a key that is not there: %v", err)
	}
	for range 2 { // the same key again is not an error
		if err := k.Keep("k1", one); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Keep("k1", other); !errors.Is(err, errs.Exists) || !strings.Contains(errs.RemedyOf(err), "--from") {
		t.Errorf("another secret of the same name: %v", err)
	}
	file := filepath.Join(state, TapeKeysDir, "k1.key")
	dir, err := os.Stat(filepath.Dir(file))
	if err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 65 {
		t.Errorf("%v, %v", info, err)
	}
	// A copy by hand may have opened it.
	if err := os.Chmod(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if k, err = OpenTapeKeys(state); err != nil {
		t.Fatal(err)
	}
	if dir, err = os.Stat(filepath.Dir(file)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("after a start: %v, %v", dir.Mode(), err)
	}
	if got, err := k.Secret("k1"); err != nil || !bytes.Equal(got, one) {
		t.Errorf("%x, %v", []byte(got), err)
	}
	// A name never leads out of the directory.
	if _, err := k.Secret("../tape-keys/k1"); err != nil {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(state, TapeKeysDir, "k2.key"), []byte("half\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Secret("k2"); !errors.Is(err, errs.Corrupt) || strings.Contains(err.Error(), "half") {
		t.Errorf("a damaged file: %v", err)
	}
	if err := k.Keep("k2", one); !errors.Is(err, errs.Exists) {
		t.Errorf("over a damaged file: %v", err)
	}
	if _, err := k.All(); !errors.Is(err, errs.Corrupt) {
		t.Errorf("all, one damaged: %v", err)
	}
	for range 2 {
		if err := k.Forget("k2"); err != nil {
			t.Error(err)
		}
	}
	if all, err := k.All(); err != nil || len(all) != 1 || !bytes.Equal(all["k1"], one) {
		t.Errorf("%v, %v", all, err)
	}
}

func TestParseTapeSecret(t *testing.T) {
	for text, ok := range map[string]bool{
		strings.Repeat("0a", 32): true, strings.Repeat("0A", 32) + "\n": true, strings.Repeat("x", 32): false,
		"": false, strings.Repeat("0a", 16): false, strings.Repeat("0a", 31): false, strings.Repeat("zz", 32): false,
	} {
		if s, err := ParseTapeSecret([]byte(text)); (err == nil) != ok || ok && len(s) != 32 {
			t.Errorf("%q: %d bytes, %v", text, len(s), err)
		}
	}
}
