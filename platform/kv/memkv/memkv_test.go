package memkv_test

import (
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.Store { return memkv.New() })
}
