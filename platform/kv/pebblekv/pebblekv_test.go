package pebblekv_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/pebblekv"
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
