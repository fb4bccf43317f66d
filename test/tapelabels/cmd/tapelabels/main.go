// Tapelabels lists and extracts the files of a tape by its labels alone.
// usage: go run ./test/tapelabels/cmd/tapelabels [-x DIRECTORY] IMAGE|LIBRARY/cartridges/BARCODE
//
// IMAGE is in SIMH's format. Files are extracted as DIRECTORY/<fSeq>, those of a container as DIRECTORY/<fSeq>.<member>.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"hemera/test/tapelabels"
)

func main() {
	to := flag.String("x", "", "the directory into which files are extracted")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: tapelabels [-x DIRECTORY] IMAGE|LIBRARY/cartridges/BARCODE")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *to); err != nil {
		fmt.Fprintln(os.Stderr, "tapelabels:", err)
		os.Exit(1)
	}
}

// run prints what is on the tape as JSON, and extracts it to a directory if there is one. What is not a whole file is an error, after the others.
func run(name, to string) error {
	objects, err := read(name)
	if err != nil {
		return err
	}
	tape := tapelabels.Read(objects)
	for _, f := range tape.Files {
		if to == "" {
			break
		}
		file := fmt.Sprint(f.FSeq)
		if f.Member != 0 {
			file = fmt.Sprintf("%d.%d", f.FSeq, f.Member)
		}
		if err := os.WriteFile(filepath.Join(to, file), f.Content, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(json.NewEncoder(os.Stdout).Encode(struct {
		VID   string            `json:"vid"`
		Files []tapelabels.File `json:"files"`
	}{tape.VID, tape.Files}), tape.Rest)
}

// read reads an image, or a cartridge if there is an index of that name.
func read(name string) ([]tapelabels.Object, error) {
	if _, err := os.Stat(name + ".index"); err == nil {
		return tapelabels.Cartridge(name)
	}
	image, err := os.ReadFile(name) // #nosec G304 -- the user names it
	if err != nil {
		return nil, err
	}
	return tapelabels.Image(image)
}
