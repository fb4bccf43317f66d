package pebblekv_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/kv"
	"hemera/kv/kvtest"
	"hemera/kv/pebblekv"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.Store {
		s, err := pebblekv.Open("db", pebblekv.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
