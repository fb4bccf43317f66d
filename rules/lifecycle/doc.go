// Package lifecycle decides in which form files are to be stored, whether they are stored in it, and which files to
// convert or remove because of their age and size. It is pure.
//
// A [hemera.Form] names a layout, a block size, a space or a checksum, or several of them; the other properties of the
// file stay. [Wanted] is the one place that compares a file with a form: a request to convert a tree uses it for each
// file, and so does the command that only counts them.
//
// # Rules
//
// Attributes of a directory have rules for the files below it:
//
//	sys.lifecycle.expire  = rule {";" rule} | "off"
//	sys.lifecycle.convert = rule {";" rule} | "off"
//	rule = word {" " word}
//	word = "age="    duration    since the content was written: the later of mtime and birth
//	     | "unused=" duration    since it was read or written last
//	     | "min="    size        files of at least this size
//	     | "max="    size        files of at most this size
//	     | "name="   pattern     as in a shell, of the last part of the path
//	     | "layout=" layout | "blocksize=" size | "space=" name | "checksum=" kind     of convert alone
//
// Durations are written 30m, 12h, 30d, 4w, 6mo or 1y, sizes 500k, 100M, 10G, 1T (powers of 1000) or 64KiB, 1MiB, 4GiB.
// All words of a rule have to hold. For example "layout=rs:4+2 age=7d min=100M; layout=replica:2 max=1M" stores large
// files with parity after a week and small ones with two copies, and leaves all others as they are. The first rule of an
// attribute whose words hold decides; a file that expires is not converted. A rule that expires needs an age or a time
// without use.
//
// Attributes are inherited like all sys.* attributes, each by itself: the nearest directory with one decides, and "off"
// ends what directories above say.
//
// # EOS's attributes
//
// Where sys.lifecycle.expire is not set, EOS's sys.lru.expire.match ("*.tmp:3d,*:1mo:>1G") is read, and where
// sys.lifecycle.convert is not set, sys.lru.convert.match with the layout ids in sys.conversion.MATCH. They become the
// same rules, each time that rules are read (eos.go): no other code has EOS's syntax. As all attributes are inherited,
// they apply to a whole tree. [Rules.Statements] shows them in our syntax. A value that rules cannot express is refused
// when it is set.
package lifecycle
