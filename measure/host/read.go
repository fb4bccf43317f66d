package host

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hemera/words/errs"
)

// fileMax bounds a file of /proc or /sys: the largest is /proc/stat of a machine with thousands of interrupts.
const fileMax = 4 << 20

// read returns the text of a file below root. It fails with NotFound if this kernel does not have the file.
func read(root, name string) (string, error) {
	path := filepath.Join(root, name)
	f, err := os.Open(path) // #nosec G304 -- names are fixed, or of a directory of the kernel
	if err != nil {
		return "", errs.Wrap(err, "host.Read", path)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, fileMax))
	if err != nil {
		return "", errs.Wrap(err, "host.Read", path)
	}
	return string(text), nil
}

// line returns the first line of a file below root, or "".
func line(root, name string) string {
	text, err := read(root, name)
	if err != nil {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimRight(text, "\x00")) // files of the device tree end with a zero byte
}

// number returns the number in a file below root, or 0.
func number(root, name string) int64 {
	n, err := strconv.ParseInt(line(root, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// names returns the sorted names in a directory below root, or nil.
func names(root, dir string) []string {
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return nil
	}
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name()
	}
	return list
}
