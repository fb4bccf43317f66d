package host

import "strconv"

// Text returns the text of a file of the kernel below root, at most 4 MiB. It fails with NotFound if this kernel does not
// have the file.
func Text(root, name string) (string, error) { return read(root, name) }

// Line returns the first line of a file of the kernel below root, without spaces around it; "" if there is none.
func Line(root, name string) string { return line(root, name) }

// Number returns the number in a file of the kernel below root; false if there is none.
func Number(root, name string) (int64, bool) {
	n, err := strconv.ParseInt(line(root, name), 10, 64)
	return n, err == nil
}

// Names returns the sorted names in a directory of the kernel below root, or nil.
func Names(root, dir string) []string { return names(root, dir) }
