package hemera

import (
	"encoding/json"
	"testing"
)

func TestChecksumsAreReadableInJSON(t *testing.T) {
	type both struct {
		Sum  Checksum
		Kind ChecksumKind
	}
	sum, err := ParseChecksum("adler32:0062a1b2")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []both{{sum, BLAKE3}, {}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back both
		if err := json.Unmarshal(text, &back); err != nil || back != v {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	}
	var k ChecksumKind
	if err := json.Unmarshal([]byte(`"crc17"`), &k); err == nil {
		t.Error("an unknown kind was accepted")
	}
}
