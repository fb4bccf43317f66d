package translate

import (
	"strconv"

	"hemera/rules/wire"
)

// CheckEOSKeys checks the keys of EOS in the URL of an upload that state properties of the file. eos.targetsize states
// the size, and must agree with an announced one. Keys that Hemera cannot fulfil are refused, because a client that
// requests a check must not believe that it took place. Other keys of EOS do not change what is stored, and are ignored.
// docs/clients.md has the table.
func CheckEOSKeys(opaque wire.Opaque, o wire.Open) error {
	const changes = wire.OpenNew | wire.OpenDelete | wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend
	if opaque == "" || o.Options&changes == 0 || !CreatesFile(o) && o.Options&wire.OpenRead != 0 {
		return nil
	}
	for _, refused := range [][2]string{
		{"eos.checksum", "compare after the copy, as xrdcp --cksum TYPE does"},
		{"eos.mtime", "copy with `hemera cp --preserve`, which keeps the time of the source"},
	} {
		if opaque.Value(refused[0]) != "" {
			return Refuse(wire.Unsupported, refused[0]+" is not supported: leave it out, and "+refused[1])
		}
	}
	text := opaque.Value(targetSize)
	if text == "" {
		return nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return Refuse(wire.ArgInvalid, targetSize+" is not a size")
	}
	if announced := opaque.Value(wireSize); announced != "" && announced != strconv.FormatInt(size, 10) {
		return Refuse(wire.ArgInvalid, targetSize+" is "+text+", and the client announces "+announced+" bytes: the source is not the file that was meant")
	}
	return CheckSize(size)
}

const (
	// targetSize is EOS's key for the expected size of a file, wireSize that of XRootD's clients.
	targetSize = "eos.targetsize"
	wireSize   = "oss.asize"
)
