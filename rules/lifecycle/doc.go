// Package lifecycle decides in which form files are to be stored, and whether they are stored so. It is pure.
//
// A [hemera.Form] names a layout, a block size, a space or a checksum, or several of them; what it does not name stays as a
// file has it. [Wanted] is the one place that compares a file with a form: a request to convert a tree goes through its
// files with it, and so does the command that only counts them.
package lifecycle
