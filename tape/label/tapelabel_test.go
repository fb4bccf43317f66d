package label_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"hemera/tape/label"
	"hemera/words/errs"
)

// golden returns the labels of testdata/labels.txt.
func golden(t testing.TB) (labels [][]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/labels.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			labels = append(labels, []byte(strings.ReplaceAll(strings.TrimSpace(line), "~", " ")))
		}
	}
	return labels
}

var june = label.Day{Year: 2026, YearDay: 152}

func TestLabelsAreThoseOfTheFormat(t *testing.T) {
	file := label.File{ArchiveID: 4294967306, VID: "V01007", FSeq: 12345, Created: june, System: "CTA 5.11.20.0"}
	trailer := file
	trailer.Trailer, trailer.Blocks = true, 3
	user := label.User{FSeq: 12345, BlockSize: 262144, Site: "cern", Host: "tpsrv001", Vendor: "IBM", Model: "ULT3580-TD9", Serial: "1013000123"}
	utl := user
	utl.Trailer = true
	want := golden(t)
	for i, got := range []label.Label{
		label.Volume{VID: "V01007", Owner: "CTA", Protection: label.CRC32C}.Encode(),
		label.File{Prelabel: true, VID: "V01007", FSeq: 1, Created: june, System: "CTA 5.11.20.0"}.Encode(),
		file.Encode(),
		label.Format{BlockSize: 262144}.Encode(),
		user.Encode(),
		trailer.Encode(),
		utl.Encode(),
	} {
		if !bytes.Equal(got[:], want[i]) {
			t.Errorf("label %d:\n%q\nwant\n%q", i, got[:], want[i])
		}
	}
}

func TestParsedLabelsAreWhatTheyWereMadeFrom(t *testing.T) {
	l := golden(t)
	volume, err := label.ParseVolume(l[0])
	if want := (label.Volume{VID: "V01007", Owner: "CTA", Protection: label.CRC32C}); err != nil || volume != want {
		t.Errorf("%+v, %v", volume, err)
	}
	prelabel, err := label.ParseFile(l[1])
	if err != nil || !prelabel.Prelabel || prelabel.ArchiveID != 0 {
		t.Errorf("%+v, %v", prelabel, err)
	}
	trailer, err := label.ParseFile(l[5])
	want := label.File{Trailer: true, ArchiveID: 4294967306, VID: "V01007", FSeq: 2345, Created: june, Blocks: 3, System: "CTA 5.11.20.0"}
	if err != nil || trailer != want {
		t.Errorf("%+v, %v", trailer, err)
	}
	user, err := label.ParseUser(l[6])
	wantUser := label.User{Trailer: true, FSeq: 12345, BlockSize: 262144, Site: "CERN", Host: "TPSRV001", Vendor: "IBM", Model: "ULT3580-", Serial: "1013000123"}
	if err != nil || user != wantUser {
		t.Errorf("%+v, %v", user, err)
	}
	format, err := label.ParseFormat(l[3])
	if err != nil || format != (label.Format{}) {
		t.Errorf("%+v, %v", format, err)
	}
}

func TestAWrongFieldIsNamed(t *testing.T) {
	l := golden(t)
	change := func(label, off int, s string) []byte {
		b := bytes.Clone(l[label])
		copy(b[off:], s)
		return b
	}
	volume := func(b []byte) error { _, err := label.ParseVolume(b); return err }
	file := func(b []byte) error { _, err := label.ParseFile(b); return err }
	format := func(b []byte) error { _, err := label.ParseFormat(b); return err }
	user := func(b []byte) error { _, err := label.ParseUser(b); return err }
	for _, c := range []struct {
		parse func([]byte) error
		b     []byte
		field string
	}{
		{volume, l[0][:79], "length"},
		{volume, l[1], "identifier"},
		{volume, change(0, 4, "      "), "VID"},
		{volume, change(0, 10, "X"), "accessibility"},
		{volume, change(0, 20, "X"), "reserved field"},
		{volume, change(0, 30, "X"), "implementation id"},
		{volume, change(0, 77, "03"), "block protection"},
		{volume, change(0, 79, "0"), "label standard"},
		{file, change(2, 4, "NOT HEX"), "archive id"},
		{file, change(2, 21, "      "), "VID"},
		{file, change(2, 27, "0002"), "section"},
		{file, change(2, 31, "12 4"), "sequence"},
		{file, change(2, 35, "0002"), "generation"},
		{file, change(2, 41, "026400"), "creation date"},
		{file, change(2, 47, "0xxxxx"), "expiration date"},
		{file, change(2, 53, "A"), "accessibility"},
		{file, change(5, 54, "00000 "), "block count"},
		{file, change(2, 60, "             "), "system code"},
		{file, change(2, 79, "X"), "reserved field"},
		{format, change(3, 4, "U"), "record format"},
		{format, change(3, 5, "-0001"), "block length"},
		{format, change(3, 34, "X "), "recording technique"},
		{format, change(3, 50, "01"), "version"},
		{user, change(4, 4, "0000000000"), "fSeq"},
		{user, change(4, 14, "0000000000"), "block size"},
		{user, change(4, 34, "        "), "site"},
		{user, change(4, 42, "          "), "host"},
		{user, change(4, 68, "            "), "drive serial number"},
	} {
		err := c.parse(c.b)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), c.field+": ") {
			t.Errorf("%q: %v, want Corrupt that names %s", c.b, err, c.field)
		}
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	l := label.File{VID: "V01007", FSeq: 123456, Trailer: true, Blocks: 3_000_001, ArchiveID: 1<<64 - 1, System: "HEMERA 10.20.30-dirty"}.Encode()
	f, err := label.ParseFile(l[:])
	if err != nil || f.FSeq != 3456 || f.Blocks != 1 || f.ArchiveID != 1<<64-1 || f.System != "HEMERA 10.20." {
		t.Errorf("%+v, %v", f, err)
	}
	l = label.User{FSeq: 1, BlockSize: 1, Host: "häuschen\n", Site: " "}.Encode()
	u, err := label.ParseUser(l[:])
	if err != nil || u.Host != "H??USCHEN?" || u.Site != "NONE" || u.Serial != "NONE" {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestDays(t *testing.T) {
	for _, year := range []int{1999, 2000, 2024, 2026, 2099, 2100, 2999} {
		day := label.DayOf(time.Date(year, 12, 31, 12, 0, 0, 0, time.UTC))
		l := label.File{VID: "V01007", Created: day, System: "X"}.Encode()
		if f, err := label.ParseFile(l[:]); err != nil || f.Created != day {
			t.Errorf("%v: %v, %v", day, f.Created, err)
		}
	}
}

func TestVIDs(t *testing.T) {
	for _, vid := range []string{"V01007", "ABCDEF", "000001", "A1"} {
		if err := label.CheckVID(vid); err != nil {
			t.Error(err)
		}
	}
	for _, vid := range []string{"", "V010071", "v01007", "V 1007", "V01_07"} {
		if err := label.CheckVID(vid); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", vid, err)
		}
	}
}

// FuzzParse gives any block to all parsers. What one accepts is written and parsed again without a difference.
func FuzzParse(f *testing.F) {
	for _, l := range golden(f) {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := label.ParseVolume(b); err == nil && v.Owner != "" {
			again(t, v.Encode(), v, label.ParseVolume)
		}
		if v, err := label.ParseFile(b); err == nil {
			again(t, v.Encode(), v, label.ParseFile)
		}
		if v, err := label.ParseFormat(b); err == nil {
			again(t, v.Encode(), v, label.ParseFormat)
		}
		if v, err := label.ParseUser(b); err == nil && strings.ToUpper(v.Site+v.Host) == v.Site+v.Host {
			again(t, v.Encode(), v, label.ParseUser)
		}
	})
}

func again[T comparable](t *testing.T, l label.Label, want T, parse func([]byte) (T, error)) {
	t.Helper()
	for _, c := range l {
		if c == '?' {
			return // a byte that is not printable
		}
	}
	if got, err := parse(l[:]); err != nil || got != want {
		t.Errorf("%q: %+v, %v; want %+v", l, got, err, want)
	}
}
