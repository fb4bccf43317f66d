package daemon

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/tape/device/emulated"
	testserving "hemera/test/fixture/serving"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// withTape runs a cluster of two nodes with a library without delays.
func withTape(t *testing.T, dir string) *Up {
	t.Helper()
	up, _ := tapeUp(t, dir)
	return up
}

// tapeUp does the same as withTape, and also returns a function that stops the cluster.
func tapeUp(t *testing.T, dir string) (up *Up, stop func()) {
	t.Helper()
	up, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2,
		Tape: &TapeOptions{Name: "lib", Dir: filepath.Join(dir, "tape"), Spec: emulated.Spec{Drives: 2, Slots: 6, Cartridges: 4, Capacity: 32 << 20}},
		Manager: ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour,
			Log: keptLog(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return up, testserving.Run(t, up.Run)
}

// until waits until a condition is true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// TestTapeServerJoins: a node without disks and with a library reports it to a manager in another process, and its drives
// do the manager's orders.
func TestTapeServerJoins(t *testing.T) {
	dir := t.TempDir()
	log := keptLog(t)
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: filepath.Join(dir, "manager"), Listen: "127.0.0.1:0", CacheBytes: 8 << 20, TokenLifetime: time.Hour, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, m.Run)
	token, err := tokens{m.authority, m.Addr, time.Hour}.CreateToken(t.Context(), adminapi.TokenRequest{Uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	n, err := OpenNode(t.Context(), NodeOptions{Dir: filepath.Join(dir, "node"), Listen: "127.0.0.1:0", Join: token, Log: log,
		Tape: &TapeOptions{Name: "far", Dir: filepath.Join(dir, "tape"), Spec: emulated.Spec{Drives: 1, Slots: 3, Cartridges: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, n.Run)
	picture := func() adminapi.TapePicture {
		p, err := m.Tape.TapePicture(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// Until an admin admits it, a node that joined is not a tape server.
	until(t, "the node asks", func() bool {
		p := picture()
		return len(p.Attention) == 1 && p.Attention[0].Command == "hemera tape server add "+n.ID().String()
	})
	if p := picture(); len(p.Libraries) != 0 {
		t.Errorf("a node makes itself a tape server: %+v", p.Libraries)
	}
	if err := m.Tape.ChangeTape(t.Context(), "test", adminapi.TapeChange{Object: "server", Verb: "add", Name: n.ID().String()}); err != nil {
		t.Fatal(err)
	}
	until(t, "the library is known", func() bool { p := picture(); return len(p.Libraries) == 1 && len(p.Libraries[0].VIDs) == 2 })
	if p := picture(); p.Libraries[0].Name != "far" || len(p.Drives) != 1 || p.Drives[0].Name != "far-d1" || p.Drives[0].Node != n.ID() {
		t.Errorf("the library is %+v, its drives %+v", p.Libraries, p.Drives)
	}
	add := adminapi.TapeChange{Object: "tape", Verb: "add", Name: "V00002", Values: map[string]string{"tapepool": "default"}}
	if err := m.Tape.ChangeTape(t.Context(), "test", add); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Tape.OrderTape(t.Context(), "test", adminapi.TapeOrder{Kind: adminapi.OrderLabel, Subject: "V00002"}); err != nil {
		t.Fatal(err)
	}
	until(t, "the tape has a label", func() bool {
		tapes, err := m.Tape.Tapes(t.Context())
		return err == nil && len(tapes) == 1 && !tapes[0].Labelled.IsZero()
	})
}

// TestEmulation: valid and invalid descriptions of a library.
func TestEmulation(t *testing.T) {
	s, err := ParseEmulation("drives=2, slots=40,media=LTO-8,capacity=1000,cartridges=3,gates=1")
	if want := (emulated.Spec{Drives: 2, Slots: 40, Gates: 1, Cartridges: 3, Media: "LTO-8", Capacity: 1000}); err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseEmulation("prefix=W,media=LTO-9"); err != nil || s.Prefix != "W" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "drives", "drives=x", "drives=-1", "arms=2", "drives=2;slots=3", "drives=200", "slots=1,cartridges=2", "media=LTO-1", "prefix=w"} {
		if _, err := ParseEmulation(bad); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestMediaOfDrives: product names of drives of several vendors.
func TestMediaOfDrives(t *testing.T) {
	for product, want := range map[string]string{"ULT3580-TD8": "LTO-8", "ULTRIUM-HH9": "LTO-9", "Ultrium 9-SCSI": "LTO-9", "ULTRIUM-TD10": "LTO-10"} {
		if writes, _ := mediaOf(product); len(writes) == 0 || writes[0] != want {
			t.Errorf("%s writes %v", product, writes)
		}
	}
}

// TestUpWithTape: a new cluster archives without any set-up, evicts the disk copies, and recalls the files.
func TestUpWithTape(t *testing.T) {
	who := hemera.SystemIdentity()
	up := withTape(t, t.TempDir())
	m := up.Manager
	if _, err := m.Names.Mkdir(t.Context(), who, "/a", 0o777, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Attributes.SetXattr(t.Context(), who, "/a", hemera.AttrStorageClass, []byte("default"), false); err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	url := func(path string) xrootd.URL {
		u, err := xrootd.ParseURL("root://" + m.Addr + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	contents := map[string][]byte{}
	for i, size := range []int{1, 4097, 300_000, 5 << 20} {
		path := "/a/" + string(rune('a'+i))
		b := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(b)
		f, err := c.Open(t.Context(), url(path), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
		if err == nil {
			err = f.WriteAt(t.Context(), b, 0)
		}
		if err == nil {
			err = f.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		contents[path] = b
	}
	stat := func(path string) hemera.Entry {
		e, err := m.Names.Stat(t.Context(), who, path)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for path := range contents {
		until(t, path+" is on tape", func() bool { e := stat(path); return len(e.Tape) == 1 })
		until(t, path+" was read back", func() bool { _, err := m.Staging.Evict(t.Context(), who, path); return err == nil })
		if e := stat(path); !e.Evicted() {
			t.Errorf("%s is still on disk: %+v", path, e.Pieces)
		}
	}
	var r tapeapi.StageRequest
	for path := range contents {
		r.Files = append(r.Files, tapeapi.StageFile{Path: path})
	}
	if _, err := m.Staging.Stage(t.Context(), who, r); err != nil {
		t.Fatal(err)
	}
	for path, want := range contents {
		until(t, path+" is on disk again", func() bool { e := stat(path); return !e.Evicted() })
		f, err := c.Open(t.Context(), url(path), xrootd.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := f.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s came back with another content, %v", path, err)
		}
		_ = f.Close(t.Context())
	}
}
