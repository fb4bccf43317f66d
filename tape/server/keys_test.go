package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// clearWords are in each cartridge of the files of a rig that is not encrypted: see TestClearWords.
var clearWords = []string{"UHL10000000001", "hemera tape index", `":"/f1`}

// TestClearWords: without a key they are there, so that TestEncryption would find them.
func TestClearWords(t *testing.T) {
	c := newControl(t, 5, 40)
	x := newRig(t, c)
	x.start()
	x.archived()
	x.stop()
	images, err := filepath.Glob(filepath.Join(x.dir, "cartridges", "*.data"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, image := range images {
		b, err := os.ReadFile(image)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for _, word := range clearWords {
		if !bytes.Contains(all, []byte(word)) {
			t.Errorf("no cartridge has %q", word)
		}
	}
}

// TestEncryption: what is archived with a key is on no cartridge in clear, comes back with the key, and not with another one or none. That is
// told with the name of the key, and the tape is put aside.
func TestEncryption(t *testing.T) {
	c := newControl(t, 5, 40)
	right := tapeapi.Key{Name: "raw-2026", Secret: bytes.Repeat([]byte{9}, tapeapi.SecretSize)}
	c.key = right
	x := newRig(t, c)
	x.start()
	x.archived()
	x.stop()
	images, err := filepath.Glob(filepath.Join(x.dir, "cartridges", "*.data"))
	if err != nil || len(images) == 0 {
		t.Fatal(images, err)
	}
	labels := 0
	for _, image := range images {
		b, err := os.ReadFile(image)
		if err != nil {
			t.Fatal(err)
		}
		// Which tape it is, everybody can read; files, labels of files, and indexes with their paths not.
		if bytes.HasPrefix(b, []byte("VOL1")) {
			labels++
		}
		for _, f := range c.files {
			if part := f.data[:min(len(f.data), 24)]; len(part) == 24 && bytes.Contains(b, part) {
				t.Errorf("a file is in clear in %s", filepath.Base(image))
			}
		}
		// Of five bytes and more: a word of three is in a cartridge of random bytes in one run of twenty.
		for _, word := range clearWords {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s is in clear in %s", word, filepath.Base(image))
			}
		}
	}
	if labels == 0 {
		t.Error("no cartridge has a label")
	}
	for name, key := range map[string]tapeapi.Key{"no key": {}, "another key": {Name: "other", Secret: bytes.Repeat([]byte{8}, tapeapi.SecretSize)}} {
		x.refused(name, key)
	}
	// A mount without its secret is no fault of the drive, nor of the tape.
	c.mu.Lock()
	c.key = tapeapi.Key{Name: "raw-2026"}
	c.mu.Unlock()
	x.start()
	x.await("the mount is refused", func(c *control) bool {
		for _, r := range c.last {
			if strings.Contains(r.Session.Error, "without the secret of encryption key raw-2026") && r.Problem == "" {
				return true
			}
		}
		return false
	})
	c.mu.Lock()
	for _, d := range c.seen.Drives {
		if d.Status == tapeapi.DriveDown {
			t.Errorf("%+v", d)
		}
	}
	c.key = right
	c.mu.Unlock()
	x.recalled()
}

// refused recalls with a key that is not the right one.
func (x *rig) refused(name string, key tapeapi.Key) {
	x.t.Helper()
	c := x.control
	c.mu.Lock()
	c.key = key
	for _, tape := range c.tapes {
		tape.State, tape.Reason = "", ""
	}
	for _, f := range c.files {
		f.recall, f.back = true, false
	}
	c.mu.Unlock()
	x.start()
	x.await("a tape is put aside: "+name, func(c *control) bool {
		for _, tape := range c.tapes {
			if tape.State == tapeapi.Disabled {
				return true
			}
		}
		return false
	})
	x.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, tape := range c.tapes {
		if tape.State != "" && (!strings.Contains(tape.Reason, "raw-2026") || !strings.Contains(tape.Reason, "encrypted")) {
			x.t.Errorf("%s: tape %s: %s", name, tape.VID, tape.Reason)
		}
		tape.State, tape.Reason = "", ""
	}
	for id, f := range c.files {
		if f.back {
			x.t.Errorf("%s: file %d came back", name, id)
		}
	}
	c.open, c.in = map[tapeapi.MountID]*openMount{}, map[string]hemera.VID{}
}

// TestScanOfAnEncryptedTape: a scan without the right key says what a person types, whether the catalogue has the tape, or not.
func TestScanOfAnEncryptedTape(t *testing.T) {
	c := newControl(t, 1, 10)
	right := tapeapi.Key{Name: "raw-2026", Secret: bytes.Repeat([]byte{9}, tapeapi.SecretSize)}
	c.key = right
	x := newRig(t, c)
	x.start()
	x.archived()
	c.mu.Lock()
	vid := c.used()
	c.mu.Unlock()
	for _, one := range []struct {
		key   tapeapi.Key
		words []string
	}{
		{tapeapi.Key{}, []string{"raw-2026", "the catalogue does not say with which key", "hemera tape key add NAME --from FILE", "hemera tape tape add " + string(vid) + " encryptionKeyName=NAME"}},
		{tapeapi.Key{Name: "other", Secret: bytes.Repeat([]byte{8}, tapeapi.SecretSize)}, []string{"raw-2026", "with another key than other"}},
	} {
		c.mu.Lock()
		c.key, c.wanted = one.key, vid
		c.changed()
		c.mu.Unlock()
		x.await("the scan has ended", func(c *control) bool {
			for _, r := range c.last {
				said := r.Ended && r.Session.Error != ""
				for _, word := range one.words {
					said = said && strings.Contains(r.Session.Error, word)
				}
				if said {
					return true
				}
			}
			return false
		})
	}
}
