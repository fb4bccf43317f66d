package tapeconfig

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"

	"github.com/google/go-cmp/cmp"
)

func by() Author { return Author{"alice", time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)} }

// values reads "key=value key=value".
func values(text string) map[string]string {
	m := map[string]string{}
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		m[key] = value
	}
	return m
}

// apply makes changes of the form "verb kind name key=value ...", one a line.
func apply(t *testing.T, c Config, lines string) Config {
	t.Helper()
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		w := strings.Fields(line)
		next, err := c.Apply(adminapi.TapeChange{Verb: w[0], Object: w[1], Name: w[2], Values: values(strings.Join(w[3:], " "))}, by(), Usage{})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		c = next
	}
	return c
}

// site returns a configuration with two organisations and two copies.
func site(t *testing.T) Config {
	return apply(t, Defaults(), `
		add organisation atlas readMaxDrives=2 writeMaxDrives=3 maxFileSize=1T
		add key k1
		add pool blank vo=atlas
		add pool raw1 vo=atlas numPartialTapes=2 supply=blank
		add pool raw2 vo=atlas supply=blank,default encryptionKeyName=k1
		add class raw nbCopies=2 vo=atlas
		add route raw/1 tapepool=raw1
		add route raw/2 tapepool=raw2
		add route raw/1/REPACK tapepool=raw2
		add policy fast archivePriority=10 archiveMinRequestAge=1m retrievePriority=20 retrieveMinRequestAge=10
		add policy slow archivePriority=1 retrievePriority=1 retrieveMinRequestAge=1h
		add rule bob requester=bob mountPolicy=slow
		add rule prod group=production mountPolicy=fast
		add rule bobT0 requester=bob activityRegex=^T0 mountPolicy=fast
		add library lib1 isDisabled=true disabledReason=moved
	`)
}

func TestDefaultsArchiveWithoutSetUp(t *testing.T) {
	c := Defaults()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	got, err := c.Resolve("default", false)
	if err != nil || !cmp.Equal(got, []Destination{{1, "default"}}) {
		t.Fatalf("%v %v", got, err)
	}
	if err := c.Admit("default", 1<<40); err != nil {
		t.Fatal(err)
	}
	if name, _ := c.PolicyOf(Request{User: "nobody"}); name != "default" {
		t.Fatal(name)
	}
}

func TestApply(t *testing.T) {
	c := site(t)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if p := c.Policies["fast"]; p.ArchivePriority != 10 || p.ArchiveMinAge != 60 || p.RecallMinAge != 10 || p.MadeBy != "alice" || p.ChangedBy != "alice" {
		t.Errorf("%+v", p)
	}
	if o := c.Organisations["atlas"]; o.ReadDrives != 2 || o.WriteDrives != 3 || o.MaxFileSize != 1e12 {
		t.Errorf("%+v", o)
	}
	if got := c.Pools["raw2"].Supplies(); !cmp.Equal(got, []tapeapi.PoolName{"blank", "default"}) {
		t.Error(got)
	}
	// What is not said stays.
	next := apply(t, c, "set policy fast archivePriority=11")
	if p := next.Policies["fast"]; p.ArchivePriority != 11 || p.RecallPriority != 20 {
		t.Errorf("%+v", p)
	}
	if c.Policies["fast"].ArchivePriority != 10 {
		t.Error("the configuration before was changed")
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, one := range []struct {
		verb, kind, name, values string
		want                     errs.Kind
		text                     string // in the message
	}{
		{"add", "banana", "x", "", errs.Invalid, "no such kind"},
		{"add", "pool", "raw1", "", errs.Exists, "already"},
		{"set", "pool", "none", "", errs.NotFound, "no such object"},
		{"paint", "pool", "raw1", "", errs.Invalid, "no verb"},
		{"add", "pool", "x", "vo=cms", errs.Invalid, "there is no organisation cms"},
		{"add", "pool", "x", "supply=nowhere", errs.Invalid, "there is no pool nowhere"},
		{"add", "pool", "x", "supply=x", errs.Invalid, "own supply"},
		{"add", "pool", "x", "numPartialTapes=0", errs.Invalid, "at least 1"},
		{"add", "pool", "x", "numPartialTapes=two", errs.Invalid, "whole number"},
		{"add", "pool", "x", "colour=red", errs.Invalid, "numPartialTapes"},
		{"add", "pool", "x", "createdBy=eve", errs.Invalid, "no such value"},
		{"add", "pool", "bad\nname", "", errs.Invalid, "letters"},
		{"add", "pool", "x", "encryptionKeyName=nokey", errs.Invalid, "there is no key nokey"},
		{"add", "key", "a/b", "", errs.Invalid, "name of a key"},
		{"add", "key", ".k", "", errs.Invalid, "name of a key"},
		{"add", "key", strings.Repeat("k", 33), "", errs.Invalid, "name of a key"},
		{"remove", "key", "k1", "", errs.NotEmpty, "used by pool raw2"},
		{"add", "class", "x", "nbCopies=5", errs.Invalid, "1 to 4"},
		{"add", "class", "x", "nbCopies=0", errs.Invalid, "1 to 4"},
		{"add", "route", "raw/3", "tapepool=raw1", errs.Invalid, "same pool"},
		{"add", "route", "raw/x", "tapepool=raw1", errs.Invalid, "1 to 4"},
		{"add", "route", "other/1", "storageClass=raw tapepool=default", errs.Invalid, "the name of this route is raw/1"},
		{"add", "route", "none/1", "tapepool=raw1", errs.Invalid, "there is no class none"},
		{"add", "rule", "x", "mountPolicy=fast", errs.Invalid, "requester or for a group"},
		{"add", "rule", "x", "requester=a group=b", errs.Invalid, "requester or for a group"},
		{"add", "rule", "x", "group=b activityRegex=x", errs.Invalid, "needs a requester"},
		{"add", "rule", "x", "requester=b activityRegex=(", errs.Invalid, "activityRegex"},
		{"add", "rule", "x", "requester=bob", errs.Invalid, "same requests"},
		{"add", "organisation", "x", "maxFileSize=big", errs.Invalid, "not a size"},
		{"add", "policy", "x", "archiveMinRequestAge=soon", errs.Invalid, "not a time"},
		{"set", "library", "lib1", "disabledReason=", errs.Invalid, "disabledReason"},
		{"set", "library", "lib1", "isDisabled=perhaps", errs.Invalid, "true or false"},
		{"add", "mounting", "other", "", errs.Invalid, "the one object"},
		{"set", "mounting", "default", "turnSeconds=10", errs.Invalid, "at least 60"},
		{"set", "mounting", "default", "minFreeToRecall=-1", errs.Invalid, "negative"},
		{"set", "buffer", "default", "evictBelowPercentFree=16", errs.Invalid, "evictUntilPercentFree"},
		{"set", "buffer", "default", "recallKeepPercentFree=50", errs.Invalid, "could never make room"},
		{"remove", "buffer", "default", "", errs.Invalid, "has to stay"},
		{"remove", "policy", "default", "", errs.Invalid, "has to stay"},
		{"remove", "pool", "blank", "", errs.NotEmpty, "it is used by pool raw1, pool raw2"},
		{"remove", "organisation", "atlas", "", errs.NotEmpty, "pool blank, pool raw1, pool raw2, class raw"},
		{"remove", "class", "raw", "", errs.NotEmpty, "route raw/1, route raw/1/REPACK, route raw/2"},
		{"remove", "policy", "fast", "", errs.NotEmpty, "rule bobT0, rule prod"},
		{"remove", "media", "LTO-9", "", errs.NotEmpty, "7 tapes"},
		{"remove", "pool", "lone", "", errs.NotEmpty, "2 tapes"},
	} {
		c := apply(t, site(t), "add pool lone")
		before := c.Objects()
		change := adminapi.TapeChange{Verb: one.verb, Object: one.kind, Name: one.name, Values: values(one.values)}
		next, err := c.Apply(change, by(), Usage{Media: map[string]int64{"LTO-9": 7}, Pools: map[string]int64{"lone": 2}})
		if !errors.Is(err, one.want) || !strings.Contains(err.Error(), one.text) {
			t.Errorf("%+v: %v", one, err)
		}
		if one.text == "1 to 4" && errs.RemedyOf(err) == "" {
			t.Errorf("%+v: nothing says what to do: %v", one, err)
		}
		if !cmp.Equal(next.Objects(), before) {
			t.Errorf("%+v: the configuration was changed", one)
		}
	}
}

func TestRemoveTakesWhatNobodyUses(t *testing.T) {
	c := apply(t, site(t), `
		remove rule bob
		remove rule bobT0
		remove policy slow
		remove route raw/1/REPACK
		remove library lib1
		remove media LTO-7
	`)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if _, there := c.Policies["slow"]; there {
		t.Error("policy slow is still there")
	}
}

func TestEachObjectIsStoredByItself(t *testing.T) {
	c := site(t)
	var again Config
	objects := c.Objects()
	// The order does not matter.
	for i := range objects {
		var err error
		if again, err = again.Put(objects[len(objects)-1-i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Error(diff)
	}
	one, there := c.Object(Ref{KindPool, "raw1"})
	if !there || !strings.Contains(string(one.JSON), `"numPartialTapes":2`) {
		t.Errorf("%s", one.JSON)
	}
	if _, there := c.Object(Ref{KindPool, "none"}); there {
		t.Error("an object that is not there")
	}
	for _, bad := range []Stored{{Ref{"banana", "x"}, []byte("{}")}, {Ref{KindPool, "x"}, []byte("{")}} {
		if _, err := c.Put(bad); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestKeysAreThoseOfCTA(t *testing.T) {
	c := Config{
		Pools:    map[string]Pool{"p": {}},
		Policies: map[string]Policy{"q": {}},
		Routes:   map[string]Route{"r": {}},
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"vo", "numPartialTapes", "encryptionKeyName", "supply", "storageClass", "copyNumber", "archiveRouteType", "tapepool",
		"archivePriority", "archiveMinRequestAge", "retrievePriority", "retrieveMinRequestAge", "comment",
	} {
		if !strings.Contains(string(data), `"`+key+`":`) {
			t.Errorf("no key %s in %s", key, data)
		}
	}
}

func TestParseValues(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000000": 1e6, "500M": 5e8, "100G": 1e11, "100GB": 1e11, "1.5T": 15e11, "4GiB": 4 << 30, "1k": 1000, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "G", "B", "i", "1X", "NaN", "Inf", "9e30", "1e9E", "--1"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	for text, want := range map[string]int64{"90": 90, "15m": 900, "2h": 7200} {
		if got, err := parseSeconds(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
}
