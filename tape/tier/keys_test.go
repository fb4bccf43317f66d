package tier_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// addKey makes a key.
func (s *site) addKey(name string, secret ...byte) adminapi.TapeKeyRow {
	s.Helper()
	row, err := s.tier.Config.AddTapeKey(s.Context(), "ada", tapeapi.Key{Name: name, Secret: secret}, "for tests")
	s.good(err)
	return row
}

// archived writes a file to tape by d1, and returns the mount.
func (s *site) archived(file string) tapeapi.Mount {
	s.Helper()
	s.put(alice(), file, 1000)
	m := s.mount("d1", tapeapi.Archive)
	s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
	s.loaded("d1", "")
	return m
}

func TestATapeKeepsTheKeyThatItWasBegunWith(t *testing.T) {
	at(t, func(s *site) {
		first := s.addKey("k1")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		// The label is in clear, and asks for checksums of blocks.
		s.put(alice(), "/single/f", 1000)
		m := s.ask("d1")
		if m.Kind != tapeapi.MountLabel || m.Labels.Key.Name != "" || m.Labels.Key.Secret != nil || !m.Labels.Protected {
			t.Errorf("%+v", m)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Labelled: true, Ended: true}))
		m = s.mount("d1", tapeapi.Archive)
		if m.Labels.Key.Name != "k1" || !bytes.Equal(m.Labels.Key.Secret, s.keys["k1"]) || len(s.keys["k1"]) != tapeapi.SecretSize {
			t.Errorf("%+v, %d bytes", m, len(s.keys["k1"]))
		}
		// Recorded with what was written, not before.
		if key := s.tape("AAA001").Key; key != "" {
			t.Errorf("key %q of a tape without files", key)
		}
		report := s.written(m, s.jobs(m))
		s.good(s.tier.Results.TapeDone(s.Context(), server, report))
		s.good(s.tier.Results.TapeDone(s.Context(), server, report)) // an answer that was lost
		if key := s.tape("AAA001").Key; key != "k1" {
			t.Errorf("key %q of a tape that was written with k1", key)
		}
		s.loaded("d1", "")
		// Another key of the pool is for tapes that are begun later.
		s.addKey("k2")
		s.change("pool", "set", "default", "encryptionKeyName", "k2")
		if m := s.archived("/single/g"); m.VID != "AAA001" || m.Labels.Key.Name != "k1" {
			t.Errorf("%+v", m)
		}
		s.change("tape", "set", "AAA001", "full", "true")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.label()
		if m := s.archived("/single/h"); m.VID != "BBB001" || m.Labels.Key.Name != "k2" || s.tape("BBB001").Key != "k2" {
			t.Errorf("%+v", m)
		}
		// Reading takes the key of the tape.
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
		stageOf(s, alice(), "/single/f")
		if m := s.mount("d1", tapeapi.Recall); m.VID != "AAA001" || !bytes.Equal(m.Labels.Key.Secret, s.keys["k1"]) {
			t.Errorf("%+v", m)
		}
		// A server that reports another key than that of the tape has written on another tape, or for another catalogue.
		report = tapeapi.Results{Mount: s.givenBefore(tapeapi.Archive, "AAA001"), VID: "AAA001", Key: "k2", Written: []tapeapi.Written{{FSeq: 3, ArchiveID: 1 << 63}}}
		s.wantKind("another key", s.tier.Results.TapeDone(s.Context(), server, report), errs.Conflict)
		if s.tape("AAA001").State != tapeapi.Disabled {
			t.Errorf("%+v", s.tape("AAA001"))
		}
		rows, err := s.tier.Config.TapeKeyList(s.Context())
		if err != nil || len(rows) != 2 || rows[0].Fingerprint != first.Fingerprint || rows[0].Tapes != 1 || rows[0].Files != 2 || !slices.Equal(rows[1].Pools, []string{"default"}) {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// A pool that gets a key has nothing written in clear from then on.
func TestNothingIsAddedInClear(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.archived("/single/f")
		s.addKey("k1")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.put(alice(), "/single/g", 1000)
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		why, err := s.tier.Reports.ExplainTape(s.Context(), "AAA001")
		if text := strings.Join(why, "\n"); err != nil || !strings.Contains(text, "begun without encryption") || !strings.Contains(text, "full=true") {
			t.Errorf("%s, %v", text, err)
		}
		// It is read as before.
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
		stageOf(s, alice(), "/single/f")
		if m := s.mount("d1", tapeapi.Recall); m.Labels.Key.Name != "" {
			t.Errorf("%+v", m)
		}
		s.loaded("d1", "")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		if m := s.mount("d1", tapeapi.Archive); m.VID != "BBB001" || m.Labels.Key.Name != "k1" {
			t.Errorf("%+v", m)
		}
	})
}

func TestAMissingKeyWaitsForAPerson(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.addKey("k1")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.archived("/single/f")
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
		right := s.keys["k1"]
		delete(s.keys, "k1")
		for _, name := range []string{"no file", "another key"} { // which is still there behind the loop
			if name == "another key" {
				s.keys["k1"] = bytes.Repeat([]byte{7}, 32)
			}
			id := stageOf(s, alice(), "/single/f")
			s.put(alice(), "/single/"+name, 1000)
			if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
				t.Errorf("%s: %+v", name, m)
			}
			for _, subject := range []string{"/single/f", "AAA001", "/single/" + name} {
				why, err := s.tier.Reports.ExplainTape(s.Context(), subject)
				if text := strings.Join(why, "\n"); err != nil || !strings.Contains(text, "key k1") || !strings.Contains(text, "hemera tape key add k1 --from FILE") {
					t.Errorf("%s: why %s: %s, %v", name, subject, text, err)
				}
			}
			p, err := s.tier.Reports.TapePicture(s.Context())
			s.good(err)
			at := slices.IndexFunc(p.Attention, func(a tapeapi.Attention) bool { return a.Subject == "key k1" })
			if at < 0 || p.Attention[at].Command != "hemera tape key add k1 --from FILE" || !strings.Contains(p.Attention[at].What, "1 tapes with 1 files") {
				t.Errorf("%s: %+v", name, p.Attention)
			}
			s.good(s.tier.Stager.CancelStage(s.Context(), alice(), id, nil, true))
		}
		// What is there is not written over, and another secret of the name is refused.
		_, err := s.tier.Config.AddTapeKey(s.Context(), "ada", tapeapi.Key{Name: "k1", Secret: right}, "")
		s.wantKind("a file with another key is there", err, errs.Exists)
		delete(s.keys, "k1")
		_, err = s.tier.Config.AddTapeKey(s.Context(), "ada", tapeapi.Key{Name: "k1", Secret: bytes.Repeat([]byte{7}, 32)}, "")
		s.wantKind("another key of the name", err, errs.Conflict)
		_, err = s.tier.Config.AddTapeKey(s.Context(), "ada", tapeapi.Key{Name: "k1"}, "")
		s.wantKind("a new key of the name", err, errs.Exists)
		s.addKey("k1", right...)
		stageOf(s, alice(), "/single/f")
		if m := s.ask("d1"); m.VID != "AAA001" || !bytes.Equal(m.Labels.Key.Secret, right) {
			t.Errorf("with the key: %+v", m)
		}
		if a := s.attention(); len(a) > 0 {
			t.Errorf("%v", a)
		}
	})
}

func TestAKeyIsRemovedWhenNothingUsesIt(t *testing.T) {
	at(t, func(s *site) {
		remove := adminapi.TapeChange{Object: "key", Verb: "remove", Name: "k1"}
		s.wantKind("a key that is not there", s.tier.Config.ChangeTape(s.Context(), "ada", remove), errs.NotFound)
		s.wantKind("a pool with a key that is not there",
			s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "pool", Verb: "set", Name: "default", Values: map[string]string{"encryptionKeyName": "k1"}}), errs.Invalid)
		s.label()
		s.change("key", "add", "k1", "comment", "first")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.wantKind("a key of a pool", s.tier.Config.ChangeTape(s.Context(), "ada", remove), errs.NotEmpty)
		s.archived("/single/f")
		s.change("pool", "set", "default", "encryptionKeyName", "")
		s.wantKind("a key of a tape", s.tier.Config.ChangeTape(s.Context(), "ada", remove), errs.NotEmpty)
		set := adminapi.TapeChange{Object: "tape", Verb: "set", Name: "AAA001", Values: map[string]string{"encryptionKeyName": ""}}
		s.wantKind("the key of what is on a tape", s.tier.Config.ChangeTape(s.Context(), "ada", set), errs.Invalid)
		s.wantKind("a fingerprint", s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "key", Verb: "set", Name: "k1", Values: map[string]string{"fingerprint": "0"}}), errs.Invalid)
		s.good(s.tree.Tree.Remove(s.Context(), admin(), "/single/f", 0))
		s.change("tape", "set", "AAA001", "full", "true")
		_, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderReclaim, Subject: "AAA001"})
		s.good(err)
		if key := s.tape("AAA001").Key; key != "" {
			t.Errorf("key %q of an empty tape", key)
		}
		s.good(s.tier.Config.ChangeTape(s.Context(), "ada", remove))
		if len(s.keys) > 0 {
			t.Errorf("%d secrets are left", len(s.keys))
		}
	})
}

// A key that is removed while a session writes its first files takes none of them with it: they are not recorded, and wait for another session.
func TestAKeyThatIsRemovedInASession(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.addKey("k1")
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		report := s.written(m, s.jobs(m))
		s.change("pool", "set", "default", "encryptionKeyName", "")
		s.change("key", "remove", "k1")
		s.wantKind("a report of a key that is gone", s.tier.Results.TapeDone(s.Context(), server, report), errs.Conflict)
		if e := s.stat("/single/f"); len(e.Tape) != 0 || s.waiting(tapeapi.Archive) != 1 {
			t.Errorf("%+v", e)
		}
		if tape := s.tape("AAA001"); tape.State != tapeapi.Disabled || !strings.Contains(tape.Reason, "key k1, which was removed") || tape.LastFSeq != 0 {
			t.Errorf("%+v", tape)
		}
	})
}

// A secret is where it belongs and nowhere else: not in the store, not in what is printed.
func TestASecretIsNotShown(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.addKey("k1", bytes.Repeat([]byte{0xAB, 0xCD}, 16)...)
		s.change("pool", "set", "default", "encryptionKeyName", "k1")
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		config, err := s.tier.Config.TapeConfig(s.Context())
		s.good(err)
		rows, err := s.tier.Config.TapeKeyList(s.Context())
		s.good(err)
		var log strings.Builder
		logger := slog.New(slog.NewJSONHandler(&log, nil))
		logger.Info("m", "mount", m, "key", m.Labels.Key, "secret", m.Labels.Key.Secret, "at", time.Now())
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "mount", m, "key", m.Labels.Key, "secret", m.Labels.Key.Secret)
		all := string(config) + fmt.Sprint(m, rows) + fmt.Sprintf("%v %+v %#v %s %x %q %d", m, m, m, m.Labels.Key, m.Labels.Key, m.Labels.Key, m.Labels.Key.Secret) + log.String()
		secret := s.keys["k1"]
		for _, form := range []string{string(secret), hex.EncodeToString(secret[:4]), strings.ToUpper(hex.EncodeToString(secret[:4])), base64.StdEncoding.EncodeToString(secret[:6]), "171 205 171", "171, 205", "0xab, 0xcd"} {
			if strings.Contains(all, form) {
				t.Errorf("%q is in %s", form, all)
			}
		}
		if len(m.Labels.Key.Secret) != 32 || !strings.Contains(log.String(), "k1") {
			t.Errorf("%+v, %s", m, log.String())
		}
	})
}

// What a drive says of a cartridge is believed, and a catalogue that says something else is told of.
func TestACartridgeOfAnotherKind(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		if a := s.attention(); len(a) > 0 {
			t.Errorf("%v", a)
		}
		s.state.VIDs["AAA001"] = "LTO-8"
		s.report()
		p, err := s.tier.Reports.TapePicture(s.Context())
		s.good(err)
		want := tapeapi.Attention{Subject: "tape AAA001", What: "its cartridge is of media type LTO-8, and the catalogue says LTO-9",
			Command: `hemera tape tape set AAA001 mediaType="LTO-8" capacity=12000000000000`}
		if len(p.Attention) != 1 || p.Attention[0] != want {
			t.Errorf("%+v", p.Attention)
		}
		s.change("tape", "set", "AAA001", "mediaType", "LTO-8", "capacity", "12000000000000")
		// A name of the site's own for the same kind is right.
		s.change("media", "add", "ours", "barcodeSuffix", "L9", "capacity", "18T", "primaryDensityCode", "96")
		s.change("tape", "set", "BBB001", "mediaType", "ours")
		if a := s.attention(); len(a) > 0 {
			t.Errorf("%v", a)
		}
	})
}
