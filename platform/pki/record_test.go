package pki

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/errs"
)

// memory is an AuthorityRecord whose fields tests read and change.
type memory struct {
	fingerprint []byte
	nodes       int
}

func (m *memory) Authority() ([]byte, bool) { return m.fingerprint, m.nodes > 0 }

func (m *memory) SetAuthority(_ context.Context, fingerprint []byte) error {
	m.fingerprint = bytes.Clone(fingerprint)
	return nil
}

func TestAnAuthorityIsNeverReplacedInSilence(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, AuthorityFile)
	m := new(memory)
	open := func() (*Authority, error) { return OpenAuthority(t.Context(), dir, AuthorityOptions{Record: m}) }
	first, err := open()
	if fp := first.Fingerprint(); err != nil || !bytes.Equal(m.fingerprint, fp[:]) {
		t.Fatalf("recorded %x, %v", m.fingerprint, err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if file, err := first.File(); err != nil || !bytes.Equal(file, good) {
		t.Errorf("a backup would hold %q, %v", file, err)
	}
	refused := func(what string, kind errs.Kind) {
		t.Helper()
		before, _ := os.ReadFile(path)
		_, err := open()
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), path) || !strings.Contains(errs.RemedyOf(err), "ns rekey "+dir) {
			t.Errorf("%s: %v, remedy %q", what, err, errs.RemedyOf(err))
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", what)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused("lost", errs.NotFound)
	m.fingerprint, m.nodes = nil, 1 // as left by a version that recorded nothing
	refused("lost, with nodes", errs.NotFound)
	if _, err := NewAuthority(other, AuthorityOptions{}); err != nil {
		t.Fatal(err)
	}
	stranger, err := os.ReadFile(filepath.Join(other, AuthorityFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stranger, 0o600); err != nil {
		t.Fatal(err)
	}
	fp := first.Fingerprint()
	m.fingerprint = fp[:]
	refused("another's", errs.Conflict)
	if err := os.WriteFile(path, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	refused("damaged", errs.Corrupt)
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	m.fingerprint = nil // a version that recorded nothing ran last
	if again, err := open(); err != nil || again.Fingerprint() != fp || !bytes.Equal(m.fingerprint, fp[:]) {
		t.Errorf("put back: %v", err)
	}
	if _, err := NewAuthority(dir, AuthorityOptions{}); !errors.Is(err, errs.Exists) || errs.RemedyOf(err) == "" {
		t.Errorf("made where there is one: %v", err)
	}
}
