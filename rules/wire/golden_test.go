package wire

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// unhex reads hexadecimal with blanks.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRequestsGolden compares every request's fixed part with bytes written by hand from the protocol's tables, and
// checks that decoding is the inverse of encoding.
func TestRequestsGolden(t *testing.T) {
	fh := Handle{1, 2, 3, 4}
	sid := SessionID{0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}
	for _, c := range []struct {
		request Request
		header  string                 // request id and body
		decode  func([16]byte) Request // nil: nothing reads it
	}{
		{Auth{"unix"}, "0bb8 000000000000000000000000 756e6978", nil},
		{Query{QueryChecksum, fh}, "0bb9 0003 0000 01020304 0000000000000000", func(p [16]byte) Request { return DecodeQuery(p) }},
		{Chmod{0o755}, "0bba 0000000000000000000000000000 01ed", func(p [16]byte) Request { return DecodeChmod(p) }},
		{Close{fh}, "0bbb 01020304 000000000000000000000000", func(p [16]byte) Request { return DecodeClose(p) }},
		{Dirlist{DirlistStat}, "0bbc 000000000000000000000000000000 02", func(p [16]byte) Request { return DecodeDirlist(p) }},
		{Protocol{0x520, ClientSecReqs | ClientAbleTLS, ExpectLogin}, "0bbe 00000520 03 03 00000000000000000000", func(p [16]byte) Request { return DecodeProtocol(p) }},
		{Login{7, "alice", 0, 0xdd, 0x85}, "0bbf 00000007 616c696365000000 00 dd 85 00", func(p [16]byte) Request { return DecodeLogin(p) }},
		{Mkdir{MkdirPath, 0o750}, "0bc0 01 00000000000000000000000000 01e8", func(p [16]byte) Request { return DecodeMkdir(p) }},
		{Mv{5}, "0bc1 0000000000000000000000000000 0005", func(p [16]byte) Request { return DecodeMv(p) }},
		{Open{0o644, OpenNew | OpenUpdate | OpenAsync | OpenRetStat, 0, Handle{}}, "0bc2 01a4 0468 0000 000000000000 00000000", func(p [16]byte) Request { return DecodeOpen(p) }},
		{Ping{}, "0bc3 00000000000000000000000000000000", func(p [16]byte) Request { return Ping{} }},
		{Chkpoint{fh, CkpXeq}, "0bc4 01020304 0000000000000000000000 04", func(p [16]byte) Request { return DecodeChkpoint(p) }},
		{Read{fh, 0x100000001, 4096}, "0bc5 01020304 0000000100000001 00001000", func(p [16]byte) Request { return DecodeRead(p) }},
		{Rm{}, "0bc6 00000000000000000000000000000000", func(p [16]byte) Request { return Rm{} }},
		{Rmdir{}, "0bc7 00000000000000000000000000000000", func(p [16]byte) Request { return Rmdir{} }},
		{Sync{fh}, "0bc8 01020304 000000000000000000000000", func(p [16]byte) Request { return DecodeSync(p) }},
		{Stat{StatVFS, 1, fh}, "0bc9 01 00000000000000 00000001 01020304", func(p [16]byte) Request { return DecodeStat(p) }},
		{Set{9}, "0bca 000000000000000000000000000000 09", nil},
		{Write{fh, -1, 2}, "0bcb 01020304 ffffffffffffffff 02 000000", func(p [16]byte) Request { return DecodeWrite(p) }},
		{Fattr{fh, FattrSet, 2, FattrIsNew}, "0bcc 01020304 03 02 01 000000000000000000", func(p [16]byte) Request { return DecodeFattr(p) }},
		{Prepare{PrepareStage, 1, 0x0203, PrepareEvict}, "0bcd 08 01 0203 0001 00000000000000000000", func(p [16]byte) Request { return DecodePrepare(p) }},
		{Statx{}, "0bce 00000000000000000000000000000000", func(p [16]byte) Request { return Statx{} }},
		{Endsess{sid}, "0bcf a00102030405060708090a0b0c0d0eff", func(p [16]byte) Request { return DecodeEndsess(p) }},
		{Bind{sid}, "0bd0 a00102030405060708090a0b0c0d0eff", func(p [16]byte) Request { return DecodeBind(p) }},
		{Readv{3}, "0bd1 000000000000000000000000000000 03", nil},
		{Pgwrite{fh, 4096, 1, PageRetry}, "0bd2 01020304 0000000000001000 01 01 0000", func(p [16]byte) Request { return DecodePgwrite(p) }},
		{Locate{LocateRefresh | LocatePrefName}, "0bd3 0180 0000000000000000000000000000", func(p [16]byte) Request { return DecodeLocate(p) }},
		{Truncate{fh, 10}, "0bd4 01020304 000000000000000a 00000000", func(p [16]byte) Request { return DecodeTruncate(p) }},
		{Pgread{fh, 1, 2}, "0bd6 01020304 0000000000000001 00000002", func(p [16]byte) Request { return DecodePgread(p) }},
		{Writev{WritevSync}, "0bd7 01 000000000000000000000000000000", func(p [16]byte) Request { return DecodeWritev(p) }},
	} {
		t.Run(c.request.ID().String(), func(t *testing.T) {
			want := append(unhex(t, "0102"+c.header), 0, 0, 0, 9)
			got := AppendRequest(nil, StreamID{1, 2}, c.request, 9)
			if !bytes.Equal(got, want) {
				t.Fatalf("encoded\n%x, want\n%x", got, want)
			}
			h := ParseRequestHeader(got)
			if h.Stream != (StreamID{1, 2}) || h.ID != c.request.ID() || h.Length != 9 {
				t.Errorf("header %+v", h)
			}
			if c.decode != nil {
				if back := c.decode(h.Body); back != c.request {
					t.Errorf("decoded %+v, want %+v", back, c.request)
				}
			}
		})
	}
}

func TestResponsesGolden(t *testing.T) {
	for _, c := range []struct{ name, want, got string }{
		{"handshake", "00000000 00000000 00000000 00000004 000007dc", string(AppendHandshake(nil))},
		{"handshake answer", "0000 0000 00000008 00000512 00000001", string(HandshakeReply{0x512, 1}.Append(nil))},
		{"protocol", "00000512 00300001", string(ProtocolReply{0x512, 0x300001}.Append(nil))},
		{"login", "0102030405060708090a0b0c0d0e0f10 26503d756e697800", string(LoginReply{SessionID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "&P=unix"}.Append(nil))},
		{"login without security", "01000000000000000000000000000000", string(LoginReply{SessionID{1}, ""}.Append(nil))},
		{"error", "0102 0fa3 00000007 00000bc3 6e6f00", string(AppendResponse(nil, StreamID{1, 2}, StatusError, AppendError(nil, Error{NotFound, "no"})))},
		{"redirect", "0000 0446 683f61 3d62", string(Redirect{1094, "h", "a=b"}.Append(nil))},
		{"wait", "00000005 6f6b", string(Wait{5, "ok"}.Append(nil))},
		{"async", "0000 0fa1 00000012 00001390 00000000 0007 0000 00000002 6869", string(AppendAsync(nil, StreamID{0, 7}, StatusOK, []byte("hi")))},
		{"segment", "01020304 00000010 0000000000000020", string(Segment{Handle{1, 2, 3, 4}, 16, 32}.Append(nil))},
		{"checkpoint", "00000001 00000002", string(ChkpointReply{1, 2}.Append(nil))},
		{"read path", "05 00000000000000", string(AppendReadArgs(nil, 5))},
		// CRC32C("123456789") is e3069283; frames below were summed with an independent bitwise CRC.
		{"open, handle only", "01000000", string(OpenReply{Handle{1}, nil}.Append(nil, false))},
		{"open, compress", "01000000 00000000 00000000", string(OpenReply{Handle{1}, nil}.Append(nil, true))},
		{"fattr get", "0102 0000 6100 0bd3 6200 00000001 78 00000000",
			string(AppendFattrResults(nil, []FattrResult{{0, "a", []byte("x")}, {AttrNotFound, "b", nil}}, true))},
		{"fattr list", "6100 00000001 78", string(AppendFattrList(nil, []FattrResult{{0, "a", []byte("x")}}, true))},
	} {
		if want := string(unhex(t, c.want)); c.got != want {
			t.Errorf("%s: encoded\n%x, want\n%x", c.name, c.got, want)
		}
	}
}

// crcSlow computes the CRC32C bit by bit. It is the twin of the table-driven one.
func crcSlow(p []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range p {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0x82f63b78&-(crc&1)
		}
	}
	return ^crc
}

func TestStatusFrame(t *testing.T) {
	f := StatusFrame{StreamID{1, 2}, ReqPgread, true, 4100, 8192}
	b := f.Append(nil)
	want := unhex(t, "0102 0fa7 00000018 00000000 0102 1e 01 00000000 00001004 0000000000002000")
	be.PutUint32(want[8:], crcSlow(want[12:]))
	if !bytes.Equal(b, want) {
		t.Fatalf("encoded\n%x, want\n%x", b, want)
	}
	got, err := ParseStatusFrame(b[8:])
	if err != nil || got != f {
		t.Fatalf("decoded %+v, %v", got, err)
	}
	for i := 8; i < len(b); i++ {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		if _, err := ParseStatusFrame(bad[8:]); err == nil {
			t.Errorf("a flipped bit in byte %d was accepted", i)
		}
	}
	if CRC32C([]byte("123456789")) != 0xe3069283 {
		t.Error("CRC32C check value")
	}
}

func TestPageErrors(t *testing.T) {
	e := PageErrors{100, 4096, []int64{3996, 8192}}
	b := e.Append(nil)
	want := unhex(t, "00000000 0064 1000 0000000000000f9c 0000000000002000")
	be.PutUint32(want, crcSlow(want[4:]))
	if !bytes.Equal(b, want) {
		t.Fatalf("encoded\n%x, want\n%x", b, want)
	}
	if got, err := ParsePageErrors(b); err != nil || !reflect.DeepEqual(got, e) {
		t.Fatalf("decoded %+v, %v", got, err)
	}
	b[5] ^= 1
	if _, err := ParsePageErrors(b); err == nil {
		t.Error("a list with a bad checksum was accepted")
	}
}

func TestStatLine(t *testing.T) {
	s := StatInfo{ID: 42, Size: 1 << 40, Flags: StatReadable | StatWritable, Mtime: 1, Ctime: 2, Atime: 3, Mode: 0o644, Owner: "alice", Group: "cern"}
	if got, want := string(s.Append(nil)), "42 1099511627776 48 1 2 3 0644 alice cern"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	if got, err := ParseStat(append(s.Append(nil), 0)); err != nil || got != s {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if got, err := ParseStat([]byte("7 3 19 100")); err != nil || got != (StatInfo{ID: 7, Size: 3, Flags: 19, Mtime: 100}) {
		t.Errorf("short line decoded %+v, %v", got, err)
	}
	for _, bad := range []string{"", "1 2 3", "a 2 3 4", "1 2 3 x", "1 -z 3 4"} {
		if _, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if got := string(SpaceInfo{1, 2, 3, 4, 5, 6}.Append(nil)); got != "1 2 3 4 5 6\x00" {
		t.Errorf("space line %q", got)
	}
}

func TestDirlist(t *testing.T) {
	s := StatInfo{ID: 1, Size: 2, Flags: 16, Mtime: 3, Mode: 0o644}
	line := "1 2 16 3 0 0 0644 * *"
	for _, c := range []struct {
		name, want string
		stats      bool
		entries    []DirEntry
	}{
		{"empty", "", false, nil},
		{"empty with stats", ".\n0 0 0 0\x00", true, nil},
		{"names", "a\nb c\x00", false, []DirEntry{{Name: "a"}, {Name: "b c"}}},
		{"stats", ".\n0 0 0 0\na\n" + line + "\nb\n" + line + "\x00", true, []DirEntry{{Name: "a", Stat: &s}, {Name: "b", Stat: &s}}},
		{"checksums", ".\n0 0 0 0\na\n" + line + " [ adler32:1a2b3c4d ]\x00", true, []DirEntry{{"a", &s, "adler32:1a2b3c4d"}}},
	} {
		var b []byte
		if c.stats {
			b = AppendDirlistLead(b)
		}
		for _, e := range c.entries {
			b = e.Append(b)
		}
		b = EndDirlist(b)
		if string(b) != c.want {
			t.Errorf("%s: encoded %q, want %q", c.name, b, c.want)
		}
		s := s
		s.Owner, s.Group = "*", "*"
		got, err := ParseDirlist(b)
		if err != nil || len(got) != len(c.entries) {
			t.Errorf("%s: decoded %+v, %v", c.name, got, err)
			continue
		}
		for i, e := range got {
			want := c.entries[i]
			if e.Name != want.Name || e.Checksum != want.Checksum || (e.Stat == nil) != (want.Stat == nil) || e.Stat != nil && *e.Stat != s {
				t.Errorf("%s: entry %d is %+v", c.name, i, e)
			}
		}
	}
	if _, err := ParseDirlist([]byte(".\n0 0 0 0\na\n" + line + "\nb\x00")); err == nil {
		t.Error("a listing that lacks a stat line was accepted")
	}
}
