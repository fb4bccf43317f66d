package translate

import (
	"strings"
	"testing"

	"hemera/rules/wire"
)

// TestKeysOfEOS checks that wishes about an upload are fulfilled or refused, and that reads ignore them.
func TestKeysOfEOS(t *testing.T) {
	for _, c := range []struct {
		options uint16
		opaque  wire.Opaque
		size    int64
		refused string // a part of the error; "" for none
	}{
		{wire.OpenDelete, "eos.targetsize=42", 42, ""},
		{wire.OpenDelete, "oss.asize=42&eos.targetsize=42", 42, ""},
		{wire.OpenNew, "oss.asize=41&eos.targetsize=42", 0, "the client announces 41 bytes"},
		{wire.OpenNew, "eos.targetsize=0&oss.asize=5", 0, "the client announces 5 bytes"},
		{wire.OpenNew, "eos.targetsize=4k", 0, "is not a size"},
		{wire.OpenNew, "eos.targetsize=-1", 0, "is not a size"},
		{wire.OpenNew, "eos.targetsize=9223372036854775807", 0, "no file can have this size"},
		{wire.OpenDelete, "eos.checksum=01234567", 0, "eos.checksum is not supported"},
		{wire.OpenUpdate, "eos.checksum=01234567", 0, "eos.checksum is not supported"},
		{wire.OpenDelete, "eos.mtime=1700000000", 0, "eos.mtime is not supported"},
		{wire.OpenDelete, "eos.bookingsize=1000&eos.app=fts&eos.ruid=0&oss.asize=7", 7, ""},
		{wire.OpenRead, "eos.checksum=01234567&eos.targetsize=x", 0, ""},
		{wire.OpenRead | wire.OpenUpdate, "eos.checksum=01234567", 0, ""},
	} {
		o := wire.Open{Options: c.options}
		err := CheckEOSKeys(c.opaque, o)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%d %s: %v, want %q", c.options, c.opaque, err, c.refused)
		}
		if got := OpenRequest("/f", c.opaque, o).Size; err == nil && c.size > 0 && got != c.size {
			t.Errorf("%d %s: size %d", c.options, c.opaque, got)
		}
	}
}
