package hemera

import "testing"

// FuzzParseChecksum: a checksum is written as it is read.
func FuzzParseChecksum(f *testing.F) {
	f.Add("adler32:00000001")
	f.Add("md5")
	f.Fuzz(func(t *testing.T, text string) {
		var c Checksum
		if err := c.UnmarshalText([]byte(text)); err == nil {
			if again, err := ParseChecksum(c.String()); err != nil || again != c {
				t.Errorf("%q is %v, and then %v, %v", text, c, again, err)
			}
		}
		var k ChecksumKind
		if err := k.UnmarshalText([]byte(text)); err == nil && !k.Valid() {
			t.Errorf("%q is a kind", text)
		}
	})
}
