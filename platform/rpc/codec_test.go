package rpc

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"hemera/words/hemera"
)

func sampleCommit() commitRequest {
	sum := hemera.Checksum{Kind: hemera.Adler32, Value: [32]byte{1, 2, 3, 4}}
	return commitRequest{Token: string(make([]byte, 600)), Size: 1 << 30, Checksums: []hemera.Checksum{sum, sum},
		Pieces: []hemera.Piece{{Disk: 1}, {Index: 1, Disk: 2}}, Mtime: time.Unix(1, 2).UTC()}
}

// BenchmarkCodec encodes and decodes one commit. It is the reason for CBOR.
func BenchmarkCodec(b *testing.B) {
	c, err := newCodec()
	if err != nil {
		b.Fatal(err)
	}
	forms := map[string]struct {
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{"cbor": {c.Marshal, c.Unmarshal}, "json": {json.Marshal, json.Unmarshal}}
	for name, f := range forms {
		b.Run(name, func(b *testing.B) {
			message := sampleCommit()
			for b.Loop() {
				data, err := f.marshal(message)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(data)))
				var back commitRequest
				if err := f.unmarshal(data, &back); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzCodec: any bytes decode or fail, and a decoded message encodes again.
func FuzzCodec(f *testing.F) {
	c, err := newCodec()
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range []any{sampleCommit(), joinRequest{"s", []byte("r")}, exchangeRequest{Results: []hemera.OrderResult{{ID: 1}}}, empty{}} {
		b, err := c.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, into := range []any{new(hemera.CommitRequest), new(joinRequest), new(exchangeRequest), new(failure)} {
			if c.Unmarshal(b, into) != nil {
				continue
			}
			if _, err := c.Marshal(into); err != nil {
				t.Errorf("%T decoded from %x does not encode: %v", into, b, err)
			}
		}
	})
}

// TestNeighbouringVersions: a field that one side lacks is skipped, or zero.
func TestNeighbouringVersions(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	type newer struct {
		Token string
		Extra map[string][]int
	}
	b, err := c.Marshal(newer{"t", map[string][]int{"a": {1}}})
	if err != nil {
		t.Fatal(err)
	}
	var old abortRequest
	if err := c.Unmarshal(b, &old); err != nil || old.Token != "t" {
		t.Errorf("new to old: %+v, %v", old, err)
	}
	b, err = c.Marshal(abortRequest{"t"})
	if err != nil {
		t.Fatal(err)
	}
	var back newer
	if err := c.Unmarshal(b, &back); err != nil || back.Token != "t" || back.Extra != nil {
		t.Errorf("old to new: %+v, %v", back, err)
	}
}

// TestCommitRepliesOfNeighbouringVersions: managers up to 0.2 answered a commit with the entry, which nodes dropped.
func TestCommitRepliesOfNeighbouringVersions(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	old, err := c.Marshal(hemera.Entry{ID: 7, Name: "f", Xattrs: map[string][]byte{"user.a": []byte("b")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(old, new(empty)); err != nil {
		t.Errorf("an older manager's reply: %v", err)
	}
	now, err := c.Marshal(empty{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(now, new(hemera.Entry)); err != nil {
		t.Errorf("to an older node: %v", err)
	}
}

// TestPermitsTravelAsBefore: a commit and a grant have the bytes that versions up to 0.2 write.
func TestPermitsTravelAsBefore(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	type oldCommit struct {
		Token      string
		Size       int64
		Checksums  []hemera.Checksum
		Pieces     []hemera.Piece
		Mtime      time.Time
		Xattrs     map[string][]byte
		XattrsGone []string `cbor:",omitempty"`
	}
	type oldGrant struct {
		Addr  string
		Token string
		Cap   hemera.Capability
	}
	say := hemera.Capability{File: 5, Path: "/f", Targets: []hemera.Target{{Disk: 1, Node: 2, Addr: "n:1"}}}
	p := hemera.VerifiedPermit(say, "t")
	at := time.Unix(1, 2).UTC()
	attrs := map[string][]byte{"user.a": []byte("b")}
	commit, err := newCommitRequest(&hemera.CommitRequest{Permit: p, Size: 5, Pieces: []hemera.Piece{{Disk: 1}}, Mtime: at, Xattrs: attrs, XattrsGone: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := newGrantReply(&hemera.Grant{Addr: "n:1", Permit: p})
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]any{
		{oldCommit{Token: "t", Size: 5, Pieces: []hemera.Piece{{Disk: 1}}, Mtime: at, Xattrs: attrs, XattrsGone: []string{"x"}}, *commit},
		{oldGrant{"n:1", "t", say}, *grant},
	} {
		old, err := c.Marshal(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.Marshal(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(old, now) {
			t.Errorf("%T: %x, was %x", pair[1], now, old)
		}
	}
}

// TestSamplesAreSmall: a thousand nodes send a sample of their network every ten seconds; other heartbeats have none.
func TestSamplesAreSmall(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	size := func(sample *hemera.NetworkSample) int {
		data, err := c.Marshal(&heartbeatRequest{Node: 1, Epoch: 2, Report: hemera.NodeReport{Network: sample}})
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}
	s := &hemera.NetworkSample{Taken: time.Unix(1, 2).UTC(), Interval: hemera.NetworkInterval, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	traffic := hemera.NetworkTraffic{Bytes: 12e9, Packets: 9e6}
	s.Interfaces = []hemera.NetworkInterface{{Name: "ens1f0np0", Up: true, Carrier: true, Speed: 100e9, In: traffic, Out: traffic}}
	none, idle := size(nil), size(s)
	for i := range hemera.NetworkPathsMax {
		s.Paths = append(s.Paths, hemera.NetworkPath{Peer: netip.AddrFrom4([4]byte{10, 1, 2, byte(i)}), Sent: 70_000, Lost: 7, Received: 90_000, OutOfOrder: 70, RTT: 250 * time.Microsecond})
	}
	full := size(s)
	t.Logf("%d bytes without a sample, %d with one of an idle node, %d with %d paths", none, idle, full, hemera.NetworkPathsMax)
	if idle-none > 150 || full-none > 32*hemera.NetworkPathsMax {
		t.Errorf("%d, %d and %d bytes", none, idle, full)
	}
}
