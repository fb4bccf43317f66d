package files

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// fileCheckCommand makes `hemera file check`, and with repair `hemera file verify`. The nodes read the pieces at their
// own rate, without a transfer: for a large file it takes minutes. Repair changes only bad pieces.
func fileCheckCommand(e *cli.Env, verb string, repair bool) *cobra.Command {
	long := "The nodes read every piece of the file from its disk and check it, page by page and as a whole.\n" +
		"A piece is empty if the file is too small to have bytes for it: it is not stored, and not missing.\n"
	if repair {
		long += "Bad pages are repaired from other pieces. A piece that cannot be repaired in place is made\nagain on another disk (remade).\n"
	}
	c := &cobra.Command{
		Use: verb + " <file>", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Paths(e),
		Short:   cli.OnOff(repair, "Read and check every piece, and repair bad pages from good ones", "Read and check every piece; change nothing"),
		Long:    long + "The exit code is 1 when a piece is " + cli.OnOff(repair, "still bad at the end, or out of reach.", "bad, or out of reach."),
		Example: "  hemera file " + verb + " /exp/data.root",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				ref, err := fileRef(e, args[0])
				if err != nil {
					return err
				}
				checks, err := m.Maint.CheckFile(ctx, ref, repair)
				if err != nil {
					return err
				}
				return printChecks(e, checks, repair)
			})
		},
	}
	return c
}

// printChecks prints the result of each piece, and returns the verdict. A piece has one of five results; the last three
// columns have details.
func printChecks(e *cli.Env, checks []adminapi.PieceCheck, repair bool) error {
	var records []output.Record
	bad, offline, empty := 0, 0, 0 // numbers of pieces
	for _, c := range checks {
		sums := make([]string, len(c.Checksums)) // one for each kind of the file
		for i, s := range c.Checksums {
			sums[i] = s.String()
		}
		result, disk := cli.OnOff(c.OK, "ok", "bad"), any(uint32(c.Piece.Disk))
		switch {
		case c.Empty:
			result, disk = "empty", nil
			empty++
		// It was bad in place, and another disk has a good one now.
		case !c.OK && c.Repaired:
			result = "remade" // on another disk
		case c.Offline:
			result = "offline"
			offline++
		case !c.OK:
			bad++
		}
		records = append(records, output.Record{
			{Key: "no", Value: int(c.Piece.Index)}, {Key: "fsid", Value: disk}, {Key: "host", Value: c.Host}, // fsid is the number of the disk
			{Key: "result", Value: result}, {Key: "size", Value: c.Size}, {Key: "checksums", Value: strings.Join(sums, ",")}, // checksums are those of the bytes read now
			{Key: "badpages", Value: c.BadPages}, {Key: "repaired", Value: cli.OnOff(c.Repaired, "yes", "no")}, {Key: "error", Value: c.Error}, // the node's error
		})
	}
	// An empty file, or one that is on tape only, has nothing on disks.
	return e.ListAll(checkColumns, records, "the file has no pieces on disks: it is empty, or on tape only, which is not read for a check; hemera why FILE", checkVerdict(len(records)-empty, bad, offline, repair))
}

// checkVerdict returns the error of a check that found bad pieces, or pieces that no node could read. Corrupt precedes
// Unavailable, because bad data is worse than an unreachable disk.
func checkVerdict(pieces, bad, offline int, repair bool) error {
	switch {
	case bad == 0 && offline == 0:
		return nil
	case bad == 0:
		return errs.New(errs.Unavailable, "hemera.Check", "", fmt.Sprintf("%d of %d pieces are out of reach", offline, pieces)).
			WithRemedy("hemera why FILE says what to do for each of them")
	}
	text := fmt.Sprintf("%d of %d pieces are bad", bad, pieces)
	if offline > 0 {
		text += fmt.Sprintf(", %d out of reach", offline)
	}
	return errs.New(errs.Corrupt, "hemera.Check", "", text).
		WithRemedy(cli.OnOff(repair, "no other piece has what they lack now; if a disk is out of reach, bring it back and try again",
			"hemera file verify repairs what other pieces can repair; hemera why FILE says whether any can"))
}

// checkColumns has the columns of file check and file verify.
var checkColumns = []output.Column{
	{Title: "no.", Key: "no"},                     // index of the piece in the layout
	{Title: "disk", Key: "fsid"},                  // id
	{Title: "host", Key: "host"},                  // of the node
	{Title: "result", Key: "result"},              // ok, bad, remade (on another disk), offline, or empty
	{Title: "size", Key: "size"},                  // bytes of the piece
	{Title: "checksums", Key: "checksums"},        // of the whole file, as read from this piece
	{Title: "badpages", Key: "badpages"},          // pages of 4 KiB that did not match
	{Title: "repaired", Key: "repaired", Wide: 1}, // from other pieces
	{Title: "error", Key: "error"},                // what the node says
}
