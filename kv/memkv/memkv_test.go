package memkv_test

import (
	"testing"

	"hemera/kv"
	"hemera/kv/kvtest"
	"hemera/kv/memkv"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.Store { return memkv.New() })
}
