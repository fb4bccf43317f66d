package disk

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

func sampleStat(size int64) hemera.PieceStat {
	sum, _ := checksum.Of(hemera.SHA256, []byte("x"))
	adler, _ := checksum.Of(hemera.Adler32, []byte("x"))
	return hemera.PieceStat{
		ID: hemera.PieceID{File: 0x1234, Gen: 7, Index: 3}, Size: size, FileSize: 99, Layout: hemera.Replica(3),
		Checksums: []hemera.Checksum{adler, sum}, Path: "/data/run 1/é", Sealed: time.Unix(1_700_000_000, 5),
	}
}

// The bytes of a footer are written on disks: they never change within a version.
func TestFooterGolden(t *testing.T) {
	s := sampleStat(0)
	s.Checksums = s.Checksums[:1]
	got, err := appendFooter(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	want := "3412000000000000" + "0700000000000000" + "03" + "02" + "01" + "03" + "00000000" +
		"0000000000000000" + "6300000000000000" + "05002a36fe9c9717"
	var b strings.Builder
	for _, c := range got {
		b.WriteString(hexByte(c))
	}
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("footer begins\n%s, want\n%s", b.String()[:len(want)], want)
	}
	if rest := got[48:]; rest[0] != 14 || rest[1] != 0 || rest[2] != 1 || string(rest[3:17]) != s.Path ||
		!bytes.Equal(rest[17:22], []byte{1, 0, 0x79, 0, 0x79}) || string(got[len(got)-8:]) != "HemPiece" {
		t.Errorf("footer goes on % x", rest)
	}
}

// A piece that is kept has another last byte, and nothing else.
func TestFooterOfAKeptPiece(t *testing.T) {
	s := sampleStat(0)
	plain, err := appendFooter(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Kept = true
	got, err := appendFooter(nil, s)
	end := len(got) - 1
	if err != nil || !bytes.Equal(got[:end], plain[:end]) || got[end] != 'k' || plain[end] != 'e' {
		t.Errorf("% x, %v", got, err)
	}
	if is, err := parseFooter(got, int64(len(got))); err != nil || !reflect.DeepEqual(is, s) {
		t.Errorf("%+v, %v", is, err)
	}
}

// The same of version 2: owner and mode are behind the checksums, and the version is another.
func TestFooterGoldenWithOwner(t *testing.T) {
	s := sampleStat(0)
	plain, err := appendFooter(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Owner = &hemera.FileOwner{UID: 1000, GID: 100, Mode: 0o2750}
	got, err := appendFooter(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	at := len(plain) - trailerSize
	want := append(plain[:at:at], 0xe8, 3, 0, 0, 100, 0, 0, 0, 0xe8, 5)
	if !bytes.HasPrefix(got, want) || len(got) != len(plain)+ownerSize || got[len(got)-16] != 2 {
		t.Errorf("% x, want % x", got, want)
	}
}

func hexByte(c byte) string {
	return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
}

func TestFooterRoundTrip(t *testing.T) {
	long := sampleStat(5000)
	long.Path = strings.Repeat("p", hemera.PathMax)
	for range sumsMax - 2 {
		long.Checksums = append(long.Checksums, long.Checksums[1])
	}
	owned := long
	owned.Owner = &hemera.FileOwner{UID: 1<<32 - 1, GID: 100, Mode: 0o7777}
	for _, s := range []hemera.PieceStat{sampleStat(0), sampleStat(1), sampleStat(1 << 40), long, owned} {
		b, err := appendFooter(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > footerMax {
			t.Errorf("footer of %d bytes", len(b))
		}
		got, err := parseFooter(b, footerOff(s.Size)+int64(len(b)))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("got %+v, %v; want %+v", got, err, s)
		}
		if _, err := parseFooter(b, footerOff(s.Size)+int64(len(b))+1); err == nil {
			t.Error("a footer at another offset passed")
		}
		for i := range b {
			b[i] ^= 4
			if _, err := parseFooter(b, footerOff(s.Size)+int64(len(b))); err == nil {
				t.Fatalf("a flip of byte %d passed", i)
			}
			b[i] ^= 4
		}
	}
}

func TestFooterRefuses(t *testing.T) {
	s := sampleStat(1)
	s.Path = strings.Repeat("p", hemera.PathMax+1)
	if _, err := appendFooter(nil, s); err == nil {
		t.Error("wrote a path that is too long")
	}
	s = sampleStat(1)
	s.Checksums[0].Kind = 99
	if _, err := appendFooter(nil, s); err == nil {
		t.Error("wrote an unknown checksum")
	}
}

// What parses, writes the same bytes again; nothing panics or allocates by what it reads.
func FuzzFooter(f *testing.F) {
	for _, size := range []int64{0, 1, 5000, 6000} {
		s := sampleStat(size)
		if size >= 5000 {
			s.Owner = &hemera.FileOwner{UID: 1000, GID: 100, Mode: 0o640}
		}
		b, err := appendFooter(nil, s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, footerOff(size)+int64(len(b)))
	}
	f.Fuzz(func(t *testing.T, b []byte, fileSize int64) {
		for _, fix := range []bool{false, true} {
			if fix && len(b) > trailerSize { // let the rest of the parser see it
				b = withCRC(bytes.Clone(b), footerPlain+byte(len(b)%2))
			}
			s, err := parseFooter(b, fileSize)
			if err != nil {
				continue
			}
			again, err := appendFooter(nil, s)
			if err != nil || !bytes.HasSuffix(b, again[:len(again)-trailerSize+6]) && !bytes.HasSuffix(b, again) {
				if !bytes.Equal(again[len(again)-trailerSize+6:len(again)-trailerSize+8], b[len(b)-trailerSize+6:len(b)-trailerSize+8]) {
					continue // reserved bytes are not kept
				}
				t.Errorf("%+v writes % x, read from % x; %v", s, again, b, err)
			}
		}
	})
}

// withCRC makes a footer of b that says it is as long as b, has the version and the right CRC.
func withCRC(b []byte, version byte) []byte {
	t := b[len(b)-trailerSize:]
	copy(t, []byte{byte(len(b)), byte(len(b) >> 8), byte(len(b) >> 16), 0, version, 0})
	copy(t[12:], footerMagic)
	crc := checksum.CRC32C(b[:len(b)-12])
	copy(t[8:], []byte{byte(crc), byte(crc >> 8), byte(crc >> 16), byte(crc >> 24)})
	return b
}

// FuzzPiece opens and reads any bytes as a piece file.
func FuzzPiece(f *testing.F) {
	for _, size := range []int{0, 10, 5000, 9000} {
		fsys := vfs.NewMemory(0, nil)
		if err := fsys.Mkdir("/d"); err != nil {
			f.Fatal(err)
		}
		d := newDisk(f, fsys, "/d", Options{})
		store(f, d, pieceID(1), randomBytes(1, size), 4096)
		file, err := fsys.Open(d.sealedPath(pieceID(1)), os.O_RDONLY)
		if err != nil {
			f.Fatal(err)
		}
		n, _ := file.Size()
		b := make([]byte, n)
		_, _ = file.ReadAt(b, 0)
		f.Add(b, int64(4000))
	}
	f.Fuzz(func(t *testing.T, b []byte, off int64) {
		fsys := vfs.NewMemory(0, nil)
		if err := fsys.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		d := newDisk(t, fsys, "/d", Options{})
		if err := writeFile(fsys, "/d/pending/x", string(b)); err != nil {
			t.Fatal(err)
		}
		id := pieceID(1)
		if s, err := parseFooter(b[max(0, len(b)-footerMax):], int64(len(b))); err == nil {
			id = s.ID
		}
		_ = fsys.Mkdir(d.sealedDir(id.File))
		if err := fsys.Rename("/d/pending/x", d.sealedPath(id)); err != nil {
			t.Fatal(err)
		}
		r, err := d.Open(id)
		if err != nil {
			return
		}
		p := make([]byte, 10_000)
		if n, err := r.ReadPages(p, nil, off); err == nil && n > 0 {
			if want := b[off : off+int64(n)]; !bytes.Equal(p[:n], want) {
				t.Errorf("read other bytes")
			}
		}
		_, _ = r.Verify()
		_ = r.Close()
	})
}

func TestGeometry(t *testing.T) {
	for _, c := range []struct{ size, table, footer int64 }{
		{0, 0, 0}, {1, 4096, 4104}, {4096, 4096, 4104}, {4097, 8192, 8204},
		{blockSums * 4096, blockSums * 4096, blockSums*4096 + 4096}, {blockSums*4096 + 1, 1024 * 4096, 1024*4096 + 4096 + 8},
	} {
		if tableOff(c.size) != c.table || footerOff(c.size) != c.footer {
			t.Errorf("%d: table at %d, footer at %d; want %d, %d", c.size, tableOff(c.size), footerOff(c.size), c.table, c.footer)
		}
	}
}
