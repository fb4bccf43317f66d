package wire

import (
	"bytes"
	"testing"
)

// FuzzRequest decodes any header and payload as a request of its kind: it must not panic, and a decoded fixed part must
// be the same after encoding and decoding it again.
func FuzzRequest(f *testing.F) {
	for id := reqFirst; id <= reqLast; id++ {
		f.Add(RequestHeader{ID: id, Body: [16]byte{3: 1, 5: 2}}.Append(nil), []byte("/a b/c?d=e\x00\x00\x00n\x00\x00\x00\x00\x01v"))
	}
	f.Fuzz(func(t *testing.T, head, payload []byte) {
		if len(head) < RequestHeaderSize {
			return
		}
		h := ParseRequestHeader(head)
		if again := ParseRequestHeader(h.Append(nil)); again != h {
			t.Fatalf("header %+v came back as %+v", h, again)
		}
		if r := decodeAny(h); r != nil {
			if again := decodeAny(RequestHeader{ID: r.ID(), Body: r.Body()}); again != r {
				t.Fatalf("request %+v came back as %+v", r, again)
			}
		}
		fuzzPayload(t, h, payload)
	})
}

func decodeAny(h RequestHeader) Request {
	p := h.Body
	switch h.ID {
	case ReqQuery:
		return DecodeQuery(p)
	case ReqChmod:
		return DecodeChmod(p)
	case ReqClose:
		return DecodeClose(p)
	case ReqDirlist:
		return DecodeDirlist(p)
	case ReqProtocol:
		return DecodeProtocol(p)
	case ReqLogin:
		return DecodeLogin(p)
	case ReqMkdir:
		return DecodeMkdir(p)
	case ReqMv:
		return DecodeMv(p)
	case ReqOpen:
		return DecodeOpen(p)
	case ReqChkpoint:
		return DecodeChkpoint(p)
	case ReqRead:
		return DecodeRead(p)
	case ReqSync:
		return DecodeSync(p)
	case ReqStat:
		return DecodeStat(p)
	case ReqWrite:
		return DecodeWrite(p)
	case ReqFattr:
		return DecodeFattr(p)
	case ReqPrepare:
		return DecodePrepare(p)
	case ReqEndsess:
		return DecodeEndsess(p)
	case ReqBind:
		return DecodeBind(p)
	case ReqPgwrite:
		return DecodePgwrite(p)
	case ReqLocate:
		return DecodeLocate(p)
	case ReqTruncate:
		return DecodeTruncate(p)
	case ReqPgread:
		return DecodePgread(p)
	case ReqWritev:
		return DecodeWritev(p)
	}
	return nil
}

func fuzzPayload(t *testing.T, h RequestHeader, payload []byte) {
	raw, opaque := SplitPath(payload)
	_ = opaque.With("k", "v").Value("k")
	if path, err := CleanPath(raw); err == nil {
		if again, err := CleanPath(path); err != nil || again != path {
			t.Fatalf("clean path %q came back as %q, %v", path, again, err)
		}
	}
	_, _, _ = DecodeMv(h.Body).Split(payload)
	_, _ = ReadArgs(payload)
	_, _, _ = PgreadArgs(payload)
	_, _ = CheckSegments(payload)
	r := DecodeFattr(h.Body)
	if args, err := ParseFattrArgs(r, payload); err == nil && r.Subcode != FattrList {
		if !bytes.Equal(args.Append(nil), payload) {
			t.Fatalf("attribute arguments %+v do not encode to %q", args, payload)
		}
	}
}

// FuzzResponse decodes any body as every kind of answer a client reads.
func FuzzResponse(f *testing.F) {
	f.Add(HandshakeReply{ProtocolVersion, 1}.Append(nil)[8:])
	f.Add(LoginReply{SessionID{1}, "&P=unix"}.Append(nil))
	f.Add(StatusFrame{Request: ReqPgread, DataLength: 7}.Append(nil)[8:])
	f.Add(PageErrors{1, 2, []int64{3}}.Append(nil))
	f.Add(AppendAsync(nil, StreamID{1}, StatusOK, []byte("x"))[8:])
	f.Add(Redirect{1094, "h", "a=b"}.Append(nil))
	f.Add(AppendFattrResults(nil, []FattrResult{{0, "a", []byte("1")}}, true))
	f.Add(AppendFattrList(nil, []FattrResult{{0, "a", []byte("1")}}, true))
	f.Add(EndDirlist(DirEntry{Name: "n", Stat: &StatInfo{}}.Append(AppendDirlistLead(nil))))
	f.Add(AppendLocations(nil, []Location{{'S', 'r', "h:1"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseSpaceInfo(b)
		_, _ = ParseProtocolReply(b)
		_, _ = ParseLoginReply(b)
		_, _ = ParseOpenReply(b)
		_, _ = ParseStat(b)
		_, _ = ParseDirlist(b)
		_, _ = ParseLocations(b)
		_, _, _ = ParseChecksumReply(b)
		_, _ = ParseFattrResults(b, false)
		_, _ = ParseFattrResults(b, true)
		_, _ = ParseFattrList(b, true)
		_, _, _, _ = ParseAttn(b)
		_ = ParseError(b)
		_, _ = ParseWait(b)
		if r, err := ParseRedirect(b); err == nil {
			if again, err := ParseRedirect(r.Append(nil)); err != nil || again != r {
				t.Fatalf("redirect %+v came back as %+v, %v", r, again, err)
			}
		}
		if s, err := ParseStatusFrame(b); err == nil && s.Request.Known() {
			if again, err := ParseStatusFrame(s.Append(nil)[8:]); err != nil || again != s {
				t.Fatalf("status frame %+v came back as %+v, %v", s, again, err)
			}
		}
		if e, err := ParsePageErrors(b); err == nil && len(b) > 0 && !bytes.Equal(e.Append(nil), b) {
			t.Fatalf("list of bad pages %+v does not encode to %x", e, b)
		}
	})
}

// FuzzPages splits page data and joins it again.
func FuzzPages(f *testing.F) {
	f.Add([]byte("1234data"), uint16(4090))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		off := int64(at)
		want := bytes.Clone(b)
		data, sums, err := CutPages(b, make([]uint32, len(want)/5+2), off)
		n, lenErr := PagesDataLen(off, int64(len(want)))
		if (err == nil) != (lenErr == nil) {
			t.Fatalf("CutPages says %v, PagesDataLen %v", err, lenErr)
		}
		if err != nil {
			return
		}
		if int64(len(data)) != n || len(sums) != Fragments(off, n) || !bytes.Equal(AppendPages(nil, data, sums, off), want) {
			t.Fatalf("%d bytes at %d: %d of data, %d sums", len(want), off, len(data), len(sums))
		}
	})
}
