package scsi

import "testing"

// FuzzDecoders holds every decoder to what doc.go says: no bytes make it panic, loop, or return more than it was given.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x72, 2, 4, 1, 0, 0, 0, 0xFF, 0, 0xFF})
	f.Add([]byte{0x2E, 0, 0xFF, 0xFF, 0, 3, 0x60, 0xFF, 1})
	f.Add([]byte{1, 0, 0, 1, 0, 0xFF, 0xFF, 0xFF, 4, 0xC0, 0, 1, 0, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4})
	f.Add([]byte{0xFF, 0, 0x90, 0xFF, 0x96, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := DecodeSense(b); err == nil {
			if s.Err() != nil && s.String() == "" {
				t.Error("an error without a text")
			}
		}
		_, _ = DecodeInquiry(b)
		_, _ = DecodeSerial(b)
		_, _ = DecodePositionShort(b)
		_, _ = DecodePositionLong(b)
		if m, err := DecodeMode(b); err == nil {
			if p, err := m.Protection(); err == nil {
				if c := m.SelectProtection(p); len(c.Out) > len(b) {
					t.Errorf("sends %d bytes after an answer of %d", len(c.Out), len(b))
				}
			}
			_, _ = m.Addresses()
		}
		if l, err := DecodeLog(b); err == nil {
			if l.Sequential().Received < 0 || len(l.Alerts()) > 64 || 4*len(l.Values) > len(b) {
				t.Errorf("%+v", l)
			}
			_ = l.Volume()
		}
		if order, err := DecodeOrder(b, 3); err == nil && len(order) != 3 {
			t.Errorf("%v", order)
		}
		_, _, _ = DecodeOrderLimits(b)
		_, _ = DecodeCapabilities(b)
		_, _ = DecodeStatus(b)
		if name, _ := DecodeNextBlock(b); len(name) > len(b) {
			t.Errorf("%d bytes of a name in %d", len(name), len(b))
		}
		if found, _ := DecodeElements(b); 4*len(found) > len(b) {
			t.Errorf("%d elements in %d bytes", len(found), len(b))
		}
	})
}
