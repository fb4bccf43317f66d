package translate

import (
	"strconv"
	"time"

	"hemera/rules/access"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// Decimal returns the protocol's form of users and groups.
func Decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// StatOfEntry returns an entry's stat line for the identity who. Its permissions are those of package access.
func StatOfEntry(e hemera.Entry, who hemera.Identity) wire.StatInfo {
	s := wire.StatInfo{
		ID: uint64(e.ID), Size: e.Size, Mtime: e.Mtime.Unix(), Ctime: e.Ctime.Unix(), Atime: e.Mtime.Unix(),
		Mode: e.Mode, Owner: Decimal(e.UID), Group: Decimal(e.GID),
	}
	if e.IsDir() { // a directory's size is the sum of all files below it
		s.Flags, s.Size = wire.StatIsDir, e.Tree.Bytes
	}
	if e.OnTape() {
		s.Flags |= wire.StatBkpExist
	}
	if e.Evicted() {
		s.Flags |= wire.StatOffline
	}
	rights := access.Rights(who, access.Of(e)) // the same rule decides about opens
	if rights&4 != 0 {
		s.Flags |= wire.StatReadable
	}
	if rights&2 != 0 {
		s.Flags |= wire.StatWritable
	}
	if rights&1 != 0 || e.IsDir() && who.Admin { // admins pass all directories
		s.Flags |= wire.StatXset
	}
	return s
}

// StatOf returns the stat line of an open file. Its flags state how the mode allows to open the file, and whether it is
// open for writing.
func StatOf(i hemera.FileInfo) wire.StatInfo {
	flags := wire.StatReadable
	if i.Writable || i.Mode&0o222 != 0 {
		flags |= wire.StatWritable
	}
	if i.Mode&0o111 != 0 {
		flags |= wire.StatXset
	}
	t := i.Mtime.Unix() // an open file has one time
	if i.Mtime.IsZero() {
		t = time.Now().Unix()
	}
	return wire.StatInfo{
		ID: uint64(i.ID), Size: i.Size, Flags: flags, Mtime: t, Ctime: t, Atime: t,
		Mode: i.Mode, Owner: Decimal(i.UID), Group: Decimal(i.GID),
	}
}
