package piece

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// Command makes `hemera piece`. It is among the commands of the cluster, because pieces belong to a cluster; it contacts
// none.
func Command(e *cli.Env) *cobra.Command {
	c := cli.Noun("piece", "Piece files of disks, without a cluster: what they are, whether they are good, files made of them",
		showCommand(e), verifyCommand(e), joinCommand(e))
	c.Long = `A disk holds a file for each piece, <disk>/<number>/<file id>.<generation>.<piece>, all hexadecimal.
Its end says which file it is of, and has a checksum of each page. These commands read such files and
nothing else: no manager and no node need to run. The names of the files mean nothing to them, so
copies are as good.`
	c.Example = `  hemera piece show /disk1/0/*          what these pieces are
  hemera piece verify /disk1/0/*        whether every page of them is good
  hemera piece join -o data.root /disk1/0/0000002a.1.0 /disk2/0/0000002a.1.3`
	return c
}

// record makes the record of a piece's footer. Sizes are bytes, and times seconds since 1970, as in all records. The keys
// are those of hemera file info where it has the same.
func record(path string, s hemera.PieceStat) output.Record {
	// One field for all checksums, as in hemera file check: most files have one.
	sums := make([]string, len(s.Checksums))
	for i, c := range s.Checksums {
		sums[i] = c.String()
	}
	// Pieces of earlier versions do not have the owner.
	owner := ""
	if s.Owner != nil {
		owner = fmt.Sprintf("%d:%d %04o", s.Owner.UID, s.Owner.GID, s.Owner.Mode)
	}
	return output.Record{
		{Key: "file", Value: path}, {Key: "fxid", Value: s.ID.File.Hex()}, {Key: "generation", Value: uint64(s.ID.Gen)}, {Key: "no", Value: int(s.ID.Index)},
		{Key: "layout", Value: s.Layout.String()}, {Key: "blocksize", Value: int64(s.Layout.BlockSize)}, {Key: "size", Value: s.Size},
		{Key: "filesize", Value: s.FileSize}, {Key: "sealed", Value: cli.Unix(s.Sealed)}, {Key: "checksums", Value: strings.Join(sums, ",")},
		{Key: "owner", Value: owner}, {Key: "kept", Value: s.Kept}, {Key: "path", Value: s.Path},
	}
}
