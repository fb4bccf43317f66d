package scsi

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"hemera/tape/device"
	"hemera/words/errs"
)

// The bytes in these tests are written by hand from the tables of SPC-5, SSC-5 and SMC-3. None was recorded from a device.

func bytesOf(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCommandsHaveTheBytesOfTheStandards(t *testing.T) {
	key := bytes.Repeat([]byte{0xA5}, device.KeySize)
	for i := range key {
		key[i] = byte(i)
	}
	mode, err := DecodeMode(bytesOf(t, "2B 00 90 08 96000000 00000000 8AF0001C 00 00 00"+strings.Repeat("00", 25)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command  Command
		cdb, out string
		in       int
	}{
		{TestUnitReady(), "000000000000", "", 0},
		{Inquiry(), "120000006000", "", 96},
		{InquirySerial(), "12018000FC00", "", 252},
		{LoadUnload(true), "1B0000000100", "", 0},
		{LoadUnload(false), "1B0000000000", "", 0},
		{Locate(0x01020304), "2B000001020304000000", "", 0},
		{Locate(0x0102030405), "92000000000000010203040500000000", "", 0},
		{SpaceMarks(3), "110100000300", "", 0},
		{SpaceMarks(-1), "1101FFFFFF00", "", 0},
		{SpaceMarks(1 << 40), "11017FFFFF00", "", 0},
		{SpaceEnd(), "110300000000", "", 0},
		{Read(262144), "080004000000", "", 262144},
		{ReadPositionShort(), "34000000000000000000", "", 20},
		{ReadPositionLong(), "34060000000000000000", "", 32},
		{ModeSenseHeader(), "1A000000FF00", "", 255},
		{ModeSenseProtection(), "1A000AF0FF00", "", 255},
		{ModeSenseElements(), "1A001D00FF00", "", 255},
		{mode.SelectProtection(Protection{Method: MethodCRC32C, Length: CRC32CLength, Read: true, Write: true}), "151000002C00",
			"00001008 96000000 00000000 0AF0001C 0204C0" + strings.Repeat("00", 25), 0},
		{LogSense(LogAlerts), "4D006E00000000400000", "", 16384},
		{OrderLimits(), "A39D00000000000000080000", "", 8},
		{GenerateOrder([]device.Segment{{Begin: 16, End: 32}}), "A41D02000000000000280000",
			"00000000 00000020 001E 000000 30202020202020202020 00 0000000000000010 000000000000001F", 0},
		{ReceiveOrder(1), "A31D00000000000000280000", "", 40},
		{EncryptionCapabilities(), "A22000100000000004000000", "", 1024},
		{EncryptionStatus(), "A22000200000000004000000", "", 1024},
		{NextBlockStatus(), "A22000210000000004000000", "", 1024},
		{SetKey(Algorithm{1, 32}, device.Key{Secret: key, Name: "k-26"}), "B520001000000000003C0000", "0010 0038 20 04 02 03 01 00 00000000 00000000 0020" +
			hex.EncodeToString(key) + "00 00 0004 6B2D3236", 0},
		{SetKey(Algorithm{1, 3}, device.Key{Secret: key, Name: "k-26"}), "B52000100000000000340000", "0010 0030 20 04 02 03 01 00 00000000 00000000 0020" + hex.EncodeToString(key), 0},
		{ClearKey(1), "B52000100000000000140000", "0010 0010 20 00 00 00 01 00 00000000 00000000 0000", 0},
		{ReadElementStatus(device.ElementDrive, 0x100, 4, true), "B81401000004031000000000", "", 1 << 20},
		{ReadElementStatus(device.ElementSlot, 0x400, 1000, false), "B812040003E8021000000000", "", 1 << 20},
		{MoveMedium(1, 0x400, 0x100), "A50000010400010000000000", "", 0},
	} {
		if got := bytesOf(t, c.cdb); !reflect.DeepEqual(c.command.CDB, got) {
			t.Errorf("%s: %X, want %X", c.command.Name, c.command.CDB, got)
		}
		if out := bytesOf(t, c.out); hex.EncodeToString(c.command.Out) != hex.EncodeToString(out) {
			t.Errorf("%s sends %X, want %X", c.command.Name, c.command.Out, out)
		}
		want := NoData
		if c.out != "" {
			want = ToDevice
		} else if c.in > 0 {
			want = FromDevice
		}
		if c.command.Direction != want || c.command.In != c.in {
			t.Errorf("%s: direction %d, %d bytes in; want %d, %d", c.command.Name, c.command.Direction, c.command.In, want, c.in)
		}
	}
}

func TestSense(t *testing.T) {
	for _, c := range []struct {
		data  string
		want  error
		retry bool
		text  string
	}{
		{"70 00 02 00000000 0A 00000000 0401 00 000000", device.ErrNotReady, true, "becoming ready"},
		{"70 00 02 00000000 0A 00000000 0402 00 000000", device.ErrNotReady, false, "load command"},
		{"70 00 02 00000000 0A 00000000 3A00 00 000000", device.ErrNoMedium, false, "no cartridge"},
		{"70 00 06 00000000 0A 00000000 2800 00 000000", device.ErrNotReady, true, "may have changed"},
		{"70 00 06 00000000 0A 00000000 2900 00 000000", device.ErrNotReady, true, "reset"},
		{"F0 00 80 00040000 0A 00000000 0001 00 000000", device.ErrFileMark, false, "filemark"},
		{"F0 00 20 FFFC0000 0A 00000000 0000 00 000000", device.ErrBlockTooBig, false, ""},
		{"F0 00 20 0003FFB0 0A 00000000 0000 00 000000", nil, false, ""}, // a shorter block was read
		{"70 00 08 00000000 0A 00000000 0005 00 000000", device.ErrEndOfData, false, "end of data"},
		{"70 00 40 00000000 0A 00000000 0002 00 000000", device.ErrEndOfTape, false, "end of partition"},
		{"70 00 4D 00000000 0A 00000000 0002 00 000000", device.ErrEndOfTape, false, ""},
		{"70 00 03 00000000 0A 00000000 1100 00 000000", device.ErrMedium, false, "cannot be read"},
		{"70 00 03 00000000 0A 00000000 3000 00 000000", device.ErrMedium, false, "does not fit"},
		{"70 00 04 00000000 0A 00000000 4400 00 000000", device.ErrHardware, false, "internal failure"},
		{"70 00 05 00000000 0A 00000000 2400 00 000000", device.ErrHardware, false, "field of the command"},
		{"70 00 05 00000000 0A 00000000 3B0D 00 000000", device.ErrFull, false, "holds a cartridge"},
		{"70 00 05 00000000 0A 00000000 3B0E 00 000000", device.ErrEmpty, false, "no cartridge"},
		{"70 00 05 00000000 0A 00000000 5303 00 000000", device.ErrNotReady, false, "drive holds"},
		{"70 00 07 00000000 0A 00000000 2700 00 000000", device.ErrWriteProtected, false, "write-protected"},
		{"70 00 07 00000000 0A 00000000 7402 00 000000", device.ErrEncrypted, false, "no key"},
		{"70 00 0B 00000000 0A 00000000 1001 00 000000", device.ErrProtection, false, "wrong checksum"},
		{"70 00 01 00000000 0A 00000000 1700 00 000000", nil, false, ""},
		{"72 02 04 01 000000 00", device.ErrNotReady, true, "becoming ready"},
		{"72 00 00 01 000000 10 00 0A 80 00 0000000000040000 04 02 00 80", device.ErrFileMark, false, "filemark"},
		{"72 00 00 00 000000 10 00 0A 80 00 FFFFFFFFFFFC0000 04 02 00 20", device.ErrBlockTooBig, false, ""},
	} {
		s, err := DecodeSense(bytesOf(t, c.data))
		if err != nil {
			t.Errorf("%s: %v", c.data, err)
			continue
		}
		if got := s.Err(); !errors.Is(got, c.want) || got == nil != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.data, got, c.want)
		}
		if s.Retry() != c.retry {
			t.Errorf("%s: retry %v", c.data, s.Retry())
		}
		if !strings.Contains(s.String(), c.text) {
			t.Errorf("%s: %q does not say %q", c.data, s, c.text)
		}
	}
	if _, err := DecodeSense(bytesOf(t, "00000000")); !errors.Is(err, errs.Corrupt) {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestFixedSenseIsReadAgain(t *testing.T) {
	for _, s := range []Sense{
		{Key: BlankCheck, ASCQ: 5}, {Key: NotReady, ASC: 4, ASCQ: 1}, {FileMark: true, ASCQ: 1, Valid: true, Rest: 80},
		{WrongSize: true, Valid: true, Rest: -4096}, {EndOfTape: true, ASCQ: 2, Deferred: true},
	} {
		if got, err := DecodeSense(s.Fixed()); err != nil || got != s {
			t.Errorf("%+v became %+v, %v", s, got, err)
		}
	}
}

func TestInquiry(t *testing.T) {
	b := append(bytesOf(t, "01 80 06 02 45 01 0000"), "IBM     ULT3580-TD9     R3G3"...)
	want := Device{Type: TypeTape, Protectable: true, Identity: device.Identity{Vendor: "IBM", Product: "ULT3580-TD9", Revision: "R3G3"}}
	if d, err := DecodeInquiry(b); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if s, err := DecodeSerial(append(bytesOf(t, "01 80 00 0A"), "10130001234567"...)); err != nil || s != "1013000123" {
		t.Errorf("serial %q, %v", s, err)
	}
	if _, err := DecodeSerial(bytesOf(t, "01 83 0004 41414141")); !errors.Is(err, errs.Corrupt) {
		t.Errorf("another page: %v", err)
	}
}

func TestPositions(t *testing.T) {
	for _, c := range []struct {
		b    string
		read func([]byte) (Position, error)
		want Position
	}{
		{"80 00 0000 00000000 00000000 00 000000 00000000", DecodePositionShort, Position{Known: true, CountKnown: true, BeginOfTape: true}},
		{"00 00 0000 00012345 00012340 00 000005 00140000", DecodePositionShort,
			Position{Known: true, CountKnown: true, Object: 0x12345, Buffered: 5, BufferedBytes: 0x140000}},
		{"75 01 0000 00012345 00012340 00 000005 00140000", DecodePositionShort, Position{EndOfTape: true, EarlyWarning: true, Partition: 1}},
		{"01 000000 00000000 0000000123456789 0000000000000042 0000000000000000", DecodePositionLong,
			Position{Known: true, EarlyWarning: true, Object: 0x123456789, File: 0x42}},
		{"4C 000000 00000001 0000000123456789 0000000000000042 0000000000000000", DecodePositionLong, Position{EndOfTape: true, Partition: 1}},
	} {
		if got, err := c.read(bytesOf(t, c.b)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.b, got, err, c.want)
		}
	}
}

func TestModePages(t *testing.T) {
	m, err := DecodeMode(bytesOf(t, "1B 00 90 08 94 000000 00 040000 90 0E 20 00 00 00 0000 40 00 04 000000 01 00"))
	if err != nil || !m.WriteProtected || m.Density != 0x94 || m.BlockLength != 0x40000 {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := m.Protection(); !errors.Is(err, errs.Unsupported) {
		t.Errorf("protection of another page: %v", err)
	}
	m, _ = DecodeMode(bytesOf(t, "23 00 10 00 8A F0 001C 02 04 C0"+strings.Repeat("00", 25)))
	if p, err := m.Protection(); err != nil || p != (Protection{Read: true, Write: true, Method: 2, Length: 4}) {
		t.Errorf("%+v, %v", p, err)
	}
	m, _ = DecodeMode(bytesOf(t, "17 00 00 00 1D 12 0001 0001 0400 0014 0300 0002 0100 0004 0000"))
	if a, err := m.Addresses(); err != nil || a != (Addresses{Range{1, 1}, Range{0x400, 20}, Range{0x300, 2}, Range{0x100, 4}}) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestLogPages(t *testing.T) {
	l, err := DecodeLog(bytesOf(t, "03 00 0010 0003 60 02 0102 0006 60 04 00000007 0000")) // the last parameter is cut
	if err != nil || l.Page != LogReadErrors || l.Corrected() != 0x102 || l.Uncorrected() != 7 {
		t.Errorf("%+v, %v", l, err)
	}
	l, _ = DecodeLog(bytesOf(t, "2E 00 000F 0003 60 01 01 0004 60 01 00 0014 60 01 01"))
	if got := l.Alerts(); !reflect.DeepEqual(got, []int{3, 20}) {
		t.Errorf("alerts %v", got)
	}
	l, _ = DecodeLog(bytesOf(t, "0C 00 0029 0000 60 08 0000000000001000 0001 60 08 0000000000000800 0003 60 04 00000020 0100 60 01 01"))
	if got := l.Sequential(); got != (Sequential{Received: 4096, Written: 2048, Sent: 32, CleaningRequired: true}) {
		t.Errorf("%+v", got)
	}
	l, _ = DecodeLog(append(bytesOf(t, "57 00 0022 0001 03 04 0000002A 0016 03 04 01000000 0042 01 0A"), "V00001L9  "...))
	if got := l.Volume(); got != (Volume{Mounts: 42, CapacityMB: 1 << 24, Barcode: "V00001L9"}) {
		t.Errorf("%+v", got)
	}
}

func TestOrder(t *testing.T) {
	descriptor := func(name string) string {
		return "001E 000000" + hex.EncodeToString([]byte(name)) + strings.Repeat("00", 17)
	}
	b := bytesOf(t, "02 00 0000 00000040"+descriptor("1         ")+descriptor("0         "))
	if got, err := DecodeOrder(b, 2); err != nil || !reflect.DeepEqual(got, []int{1, 0}) {
		t.Errorf("%v, %v", got, err)
	}
	for name, n := range map[string]int{"one is missing": 3, "one was not sent": 1} {
		if got, err := DecodeOrder(b, n); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if n, size, err := DecodeOrderLimits(bytesOf(t, "0AA9 0020 00000000")); err != nil || n != 2729 || size != 32 {
		t.Errorf("%d, %d, %v", n, size, err)
	}
}

func TestEncryption(t *testing.T) {
	header := "0010 0028 05" + strings.Repeat("00", 15)
	descriptor := "01 00 0014 3A 30 0020 003C %s 8000 000000000000 00010014"
	if a, err := DecodeCapabilities(bytesOf(t, header+strings.Replace(descriptor, "%s", "0020", 1))); err != nil || a != (Algorithm{Index: 1, NameMax: 32}) {
		t.Errorf("algorithm %+v, %v", a, err)
	}
	if _, err := DecodeCapabilities(bytesOf(t, header+strings.Replace(descriptor, "%s", "0010", 1))); !errors.Is(err, errs.Unsupported) {
		t.Errorf("keys of 16 bytes: %v", err)
	}
	if e, err := DecodeStatus(bytesOf(t, "0020 0014 21 02 03 01 00000001")); err != nil || e != (Encryption{Encrypts: true, Decrypts: true, Algorithm: 1}) {
		t.Errorf("%+v, %v", e, err)
	}
	// A drive without a key; one that reads encrypted blocks as they are on tape does not decrypt.
	for _, modes := range []string{"00 00", "01 01"} {
		if e, err := DecodeStatus(bytesOf(t, "0020 0014 21 "+modes+" 00 00000000")); err != nil || e.Encrypts || e.Decrypts {
			t.Errorf("modes %s: %+v, %v", modes, e, err)
		}
	}
	// The position, the states of compression and encryption, the algorithm, two flags, then data: authenticated (type 1), and in clear (type 0).
	next := "0021 %s 0000000000000012 16 01 00 00"
	for text, want := range map[string]string{
		strings.Replace(next, "%s", "0018", 1) + "01 01 0000 00 01 0004 6B2D3236": "k-26",
		strings.Replace(next, "%s", "000C", 1):                                    "",
		strings.Replace(next, "%s", "0014", 1) + "00 01 0040 6B2D3236":            "", // longer than what came
	} {
		if name, err := DecodeNextBlock(bytesOf(t, text)); err != nil || name != want {
			t.Errorf("%s: %q, %v", text, name, err)
		}
	}
}

func TestElements(t *testing.T) {
	tag := func(s string) string {
		return hex.EncodeToString([]byte(s+strings.Repeat(" ", 32-len(s)))) + "00000000"
	}
	drive := "0100 09 00 0000 000000 80 0405" + tag("V00001L9") + "02 00 00 0A" + hex.EncodeToString([]byte("1013000123"))
	other := "0101 0C 00 3003 000000 00 0000" + tag("") + "02 01 00 0A" + hex.EncodeToString([]byte("HP      X ")) // shorter than its form
	slot := "0400 09 00 0000 000000 00 0000" + tag("V00002L9")
	empty := "0401 08 00 0000 000000 00 0000" + tag("V00003L9") // a barcode that was left behind
	page := func(kind, size, bytes, descriptors string) string {
		return kind + "80" + size + "00" + bytes + descriptors
	}
	b := bytesOf(t, "0100 0004 00 0000EC"+page("04", "003E", "00007C", drive+other)+page("02", "0030", "000060", slot+empty))
	got, err := DecodeElements(b)
	want := []device.Element{
		{Address: 0x100, Kind: device.ElementDrive, Full: true, Barcode: "V00001L9", Source: 0x405, Serial: "1013000123"},
		{Address: 0x101, Kind: device.ElementDrive, Why: "a cleaning cartridge is in the drive (sense 4/30/03)"},
		{Address: 0x400, Kind: device.ElementSlot, Full: true, Barcode: "V00002L9"},
		{Address: 0x401, Kind: device.ElementSlot},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if id := identifier(append(bytesOf(t, "02 01 00 22"), "IBM     ULT3580-TD9     1013000123"...)); id != "1013000123" {
		t.Errorf("serial in a T10 identifier: %q", id)
	}
}
