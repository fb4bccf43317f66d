package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/platform/pki"
	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/test/conform"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// site is a manager and one node as separate processes.
type site struct {
	t    *testing.T
	dir  string
	log  bytes.Buffer // of the node
	addr string       // of the manager
	node string       // address of the node
}

// newSite returns a site in which nothing runs yet. Its listeners can be closed and opened again.
func newSite(t *testing.T) *site {
	return &site{t: t, dir: t.TempDir(), addr: heldAddr(t), node: heldAddr(t)}
}

// heldAddr returns an address that nothing else gets before the test ends.
func heldAddr(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", conform.FreePort(t))
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) manager() (*Manager, error) {
	return OpenManager(s.t.Context(), ManagerOptions{
		Dir: s.path("manager"), Listen: s.addr, CacheBytes: 1 << 28, TokenLifetime: time.Hour, Log: keptLog(s.t),
	})
}

func (s *site) start() (*Manager, func()) {
	s.t.Helper()
	m, err := s.manager()
	if err != nil {
		s.t.Fatal(err)
	}
	return m, serving(s.t, m.Run)
}

// joins starts the node until it has a lease, and returns its id.
func (s *site) joins(token string) hemera.NodeID {
	s.t.Helper()
	s.log.Reset()
	n, err := OpenNode(s.t.Context(), NodeOptions{
		Dir: s.path("node"), Listen: s.node, Disks: []hemera.AttachDisk{{Path: s.path("disk")}}, MakeDisks: true, Join: token,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	joining(s.t, n)()
	return n.ID()
}

func (s *site) token(m *Manager) string {
	s.t.Helper()
	text, err := tokens{m.authority, m.Addr, time.Hour}.CreateToken(s.t.Context(), adminapi.TokenRequest{Uses: 10})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// diskOf returns the node of the only disk.
func (s *site) diskOf(m *Manager) hemera.NodeID {
	s.t.Helper()
	v, err := m.Admin.View(s.t.Context())
	if err != nil || len(v.Disks) != 1 || v.Disks[0].ID != 1 {
		s.t.Fatalf("%+v, %v", v.Disks, err)
	}
	return v.Disks[0].Node
}

func TestALostAuthority(t *testing.T) {
	s := newSite(t)
	m, stop := s.start()
	file := filepath.Join(m.Dir(), pki.AuthorityFile)
	first := s.joins(s.token(m))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer // a running manager still has it
	if err := m.backups().Backup(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := s.manager(); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), file) || !strings.Contains(errs.RemedyOf(err), "rekey") {
		t.Fatalf("without its authority: %v, %q", err, errs.RemedyOf(err))
	}

	// With a backup its file alone is enough.
	unpacked := s.path("unpacked")
	if err := os.MkdirAll(filepath.Join(unpacked, "lost+found"), 0o700); err != nil { // as on a filesystem of its own
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), &archive, unpacked, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(unpacked, pki.AuthorityFile), file); err != nil {
		t.Fatal(err)
	}
	m, stop = s.start()
	if id := s.joins(""); id != first || s.diskOf(m) != first {
		t.Errorf("node %v came back as %v", first, id)
	}
	if _, err := backup.Rekey(t.Context(), m.Dir(), keptLog(t)); !errors.Is(err, errs.Unavailable) {
		t.Errorf("beside a manager that runs: %v", err)
	}
	stop()
	if _, err := backup.Rekey(t.Context(), m.Dir(), keptLog(t)); !errors.Is(err, errs.Exists) {
		t.Errorf("with an authority: %v", err)
	}

	// Without a backup the manager makes a new one, and the node joins again and keeps its disk.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if made, err := backup.Rekey(t.Context(), m.Dir(), keptLog(t)); err != nil || made != file {
		t.Fatalf("made %s, %v", made, err)
	}
	m, stop = s.start()
	defer stop()
	if err := os.Remove(s.path("node/node.pem")); err != nil {
		t.Fatal(err)
	}
	second := s.joins(s.token(m))
	if second == first {
		t.Error("an id was given out twice")
	}
	if s.diskOf(m) != second {
		t.Errorf("the disk is node %v's", s.diskOf(m))
	}
}

// A node finds a manager that has moved with a token of its new address; a token of another cluster changes nothing.
func TestATokenTellsAJoinedNodeNews(t *testing.T) {
	s := newSite(t)
	m, stop := s.start()
	id := s.joins(s.token(m))
	stop()
	s.addr = heldAddr(t)
	m, stop = s.start()
	defer stop()
	if again := s.joins(s.token(m)); again != id {
		t.Errorf("node %v came back as %v", id, again)
	}
	if again := s.joins(""); again != id { // it was stored
		t.Errorf("node %v came back as %v", id, again)
	}
	stranger, err := pki.NewAuthority(t.TempDir(), pki.AuthorityOptions{Tokens: new(pki.MemoryTokens)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := stranger.CreateToken(t.Context(), pki.TokenOptions{Addrs: []string{"127.0.0.1:1"}, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if again := s.joins(text); again != id || !strings.Contains(s.log.String(), "the join token is not used") || !strings.Contains(s.log.String(), "node.pem") {
		t.Errorf("node %v came back as %v; its log: %s", id, again, s.log.String())
	}
}

func TestRekeyNeedsAManagersState(t *testing.T) {
	log := keptLog(t)
	if _, err := backup.Rekey(t.Context(), t.TempDir(), log); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	dir := t.TempDir()
	store, err := statedir.Open(dir, true, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Rekey(t.Context(), dir, log); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}
