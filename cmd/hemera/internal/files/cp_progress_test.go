package files

import (
	"testing"

	"hemera/client/copy"
	"hemera/cmd/hemera/internal/cli"
)

func TestProgressOfACopy(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{progressForms(copy.Progress{Files: 1, FilesTotal: 4, Bytes: 25e6, BytesTotal: 1e8, Rate: 1e6, Failed: 2})[3],
			"[#...] 25.0%  25.00 MB of 100.00 MB+  1 of 4+ files  1.00 MB/s  2 failed  1m15s to go"},
		{progressForms(copy.Progress{Files: 2, FilesTotal: 2, Done: true})[3], "[####] 100.0%  0 B of 0 B  2 of 2 files  0 B/s"},
	} {
		if test.got != test.want {
			t.Errorf("%s\nnot\n%s", test.got, test.want)
		}
	}
}

// At any width, the line ends after a complete item, and the most important items stay.
func TestANarrowTerminalHasAShortLine(t *testing.T) {
	p := copy.Progress{Files: 1, FilesTotal: 4, Bytes: 25e6, BytesTotal: 1e8, Rate: 1e6, Listed: true}
	for width, want := range map[int]string{
		200: "[######..................] 25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		79:  "[##........] 25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		70:  "25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		59:  "25.0%  25.00 MB of 100.00 MB  1.00 MB/s  1m15s to go",
		45:  "25.0%  25.00 MB  1.00 MB/s  1m15s to go",
		20:  "25.0%  1m15s to go",
		10:  "25.0%",
		3:   "25.",
	} {
		if got := cli.Fitted(width, progressForms(p)); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
