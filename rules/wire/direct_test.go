package wire

import (
	"reflect"
	"strings"
	"testing"

	"hemera/words/hemera"
)

var sealed = hemera.SealInfo{FileSize: 5_000_000, Sync: true, Checksums: []hemera.Checksum{{Kind: hemera.Adler32, Value: [32]byte{1, 2, 3, 4}}}}

func TestDirectRequestsAreReadBack(t *testing.T) {
	pieces := []hemera.Piece{{Index: 0, Disk: 7}, {Index: 31, Disk: 4_000_000_000}}
	if s, list, err := ParseAdopt(EncodeAdopt(sealed, pieces)); err != nil || !reflect.DeepEqual(s, sealed) || !reflect.DeepEqual(list, pieces) {
		t.Errorf("%+v %v %v", s, list, err)
	}
	disks := []hemera.DiskID{1, 9}
	if list, err := ParseReplace(EncodeReplace(disks)); err != nil || !reflect.DeepEqual(list, disks) {
		t.Errorf("%v %v", list, err)
	}
	q := hemera.ProofRequest{Seal: sealed, Key: hemera.SketchKey{1, 15: 255}, Off: 1 << 40, Length: 3}
	if got, err := ParseProve(EncodeProve(q)); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("%+v %v", got, err)
	}
	p := hemera.PieceProof{Blocks: []hemera.BlockSums{{CRC32C: 1, Adler32: 2}, {CRC32C: 1 << 31, Adler32: 7}}, Sketches: [][8]byte{{1}, {7: 9}, {}}}
	if got, err := ParseProof(EncodeProof(p)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestBadDirectRequestsAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"another request":   third(ParseAdopt("hem.seal&size=1")),
		"no pieces":         third(ParseAdopt("hem.adopt&size=1&sync=true&sums=&pieces=")),
		"disk 0":            third(ParseAdopt("hem.adopt&size=1&sync=true&sums=&pieces=1:0")),
		"index 256":         third(ParseAdopt("hem.adopt&size=1&sync=true&sums=&pieces=256:1")),
		"too many pieces":   third(ParseAdopt("hem.adopt&size=1&sync=true&sums=&pieces=" + strings.Repeat("1:1,", 300))),
		"a negative size":   third(ParseAdopt("hem.adopt&size=-1&sync=true&sums=&pieces=1:1")),
		"no disks":          second(ParseReplace("hem.replace&disks=")),
		"a short key":       second(ParseProve("hem.prove&size=1&sync=true&sums=&key=00&off=0&length=1")),
		"a long key":        second(ParseProve("hem.prove&size=1&sync=true&sums=&key=" + strings.Repeat("00", 17) + "&off=0&length=1")),
		"a negative offset": second(ParseProve("hem.prove&size=1&sync=true&sums=&key=" + strings.Repeat("00", 16) + "&off=-1&length=1")),
		"a short proof":     second(ParseProof("AAAA")),
		"a proof of more":   second(ParseProof(EncodeProof(hemera.PieceProof{Sketches: make([][8]byte, 2)}) + "AAAA")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func third[A, B any](_ A, _ B, err error) error { return err }

func FuzzParseDirect(f *testing.F) {
	f.Add(EncodeAdopt(sealed, []hemera.Piece{{Index: 1, Disk: 2}}))
	f.Add(EncodeReplace([]hemera.DiskID{3}))
	f.Add(EncodeProve(hemera.ProofRequest{Seal: sealed, Length: 4}))
	f.Add(EncodeProof(hemera.PieceProof{Blocks: make([]hemera.BlockSums, 1), Sketches: make([][8]byte, 2)}))
	f.Fuzz(func(t *testing.T, text string) {
		if s, pieces, err := ParseAdopt(text); err == nil {
			if again, list, err := ParseAdopt(EncodeAdopt(s, pieces)); err != nil || !reflect.DeepEqual(again, s) || !reflect.DeepEqual(list, pieces) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if list, err := ParseReplace(text); err == nil {
			if again, err := ParseReplace(EncodeReplace(list)); err != nil || !reflect.DeepEqual(again, list) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if q, err := ParseProve(text); err == nil {
			if again, err := ParseProve(EncodeProve(q)); err != nil || !reflect.DeepEqual(again, q) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if p, err := ParseProof(text); err == nil {
			if again, err := ParseProof(EncodeProof(p)); err != nil || !reflect.DeepEqual(again, p) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
