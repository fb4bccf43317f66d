package replkv_test

import (
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/memjournal"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
	"hemera/platform/kv/replkv"
)

// open returns a store over a local engine and a journal.
func open(t testing.TB, local kv.Store, j journal.Journal) *replkv.Store {
	t.Helper()
	s, err := replkv.Open(t.Context(), local, j, replkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// created returns the journal of a machine, after it was created.
func created(t testing.TB, c *memjournal.Cluster, name string) *memjournal.Journal {
	t.Helper()
	j := c.Machine(name)
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.Store { return open(t, memkv.New(), created(t, memjournal.New(), "a")) })
}
