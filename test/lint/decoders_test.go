package lint

import "testing"

// unfuzzed returns the decoders that need no fuzz target, each with its reason.
func unfuzzed() map[string]string {
	return map[string]string{
		"process/backup.attachment":     "it decodes into any and compares",
		"process/config.parse":          "flags and variables are of the user of the process; what a file has goes through FuzzParseFile",
		"process/config.readFile":       "it reads the file for parseFile",
		"client/copy.ParsePlace":        "an argument of the user of the process",
		"process/daemon.ParseEmulation": "a setting of the admin of the process",
		"cluster.Token":                 "it decodes three plain fields with encoding/json, and uses none as a place",
		"words/adminapi.Unmarshal":      "FuzzCall reaches it through the server",
		"measure/net.farCPU":            "it decodes plain numbers with encoding/json",
		"tape/device/emulated.Open":     "the library stands in for hardware, in tests and trials",
		"rules/policy.parseMode":        "one strconv.ParseUint with a bound",
		"tape/tier.readScan":            "it decodes plain fields with encoding/json, and uses none as a place",
	}
}

func TestDecodersAreFuzzed(t *testing.T) {
	files, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range Decoders(files, unfuzzed()) {
		t.Error(b)
	}
}

func TestADecoderWithoutATargetIsFound(t *testing.T) {
	for _, test := range []struct {
		code, fuzz string
		exceptions map[string]string
		want       int
	}{
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\n", nil, 1},
		{"package a\nfunc decodeX(s string) {}\nfunc readLabel(r io.Reader) {}\n", "package a\n", nil, 2},
		{"package a\nfunc (x X) UnmarshalText(b []byte) error { return nil }\n", "package a\n", nil, 1},
		{"package a\nfunc open(dir int) { json.Unmarshal(read(dir), &x) }\n", "package a\n", nil, 1},
		{"package a\nfunc open(r R) { json.NewDecoder(r).Decode(&x) }\n", "package a\n", nil, 1},
		{"package a\nfunc open(dir string) {}\nfunc parse(n int) {}\nfunc ReadAt(b []byte) {}\n", "package a\n", nil, 0},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\nfunc TestX(t *testing.T) { ParseX(nil) }\n", nil, 1},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\nfunc FuzzX(f *testing.F) { ParseX(nil) }\n", nil, 0},
		{"package a\nfunc ParseX(b []byte) { parseY(b) }\nfunc parseY(b []byte) {}\n", "package a_test\nimport \"hemera/a\"\nfunc FuzzX(f *testing.F) { help() }\nfunc help() { a.ParseX(nil) }\n", nil, 0},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\nimport \"hemera/b\"\nfunc FuzzX(f *testing.F) { b.ParseX(nil) }\n", nil, 1},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\n", map[string]string{"a.ParseX": "a reason"}, 0},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\n", map[string]string{"a.ParseX": ""}, 1},
		{"package a\nfunc ParseX(b []byte) {}\n", "package a\nfunc FuzzX(f *testing.F) { ParseX(nil) }\n", map[string]string{"a.ParseX": "a reason"}, 1},
		{"package a\n", "package a\n", map[string]string{"a.ParseGone": "a reason"}, 1},
	} {
		files := []*File{source(t, "a/a.go", test.code), source(t, "a/a_test.go", test.fuzz)}
		if bad := Decoders(files, test.exceptions); len(bad) != test.want {
			t.Errorf("%q with %q: %v, want %d", test.code, test.fuzz, bad, test.want)
		}
	}
}
