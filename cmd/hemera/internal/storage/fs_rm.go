package storage

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
	"hemera/words/hemera"
)

// fsRmCommand makes `hemera fs rm`. Without --force nothing is lost: the manager refuses a disk that holds pieces.
func fsRmCommand(e *cli.Env) *cobra.Command {
	var force bool
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <id>", Short: "Forget a disk that holds nothing any more", Args: cobra.ExactArgs(1),
		Long: `Removes a disk from the cluster. It must hold no piece: empty it first with
hemera fs set <id> drain. With --force the disk goes with the pieces on it: files that have
other pieces are repaired from them, and files that have none are lost. The command first prints
what will be lost, and asks. A script gives its consent with --yes. The cluster remembers the disk
until no file has a piece on it; until then hemera fs add adds it again as it was. A node that is
started with --disk for the path adds it again: remove that option too.`,
		Example: `  hemera fs set 4 drain && hemera fs status 4 --watch && hemera fs rm 4
  hemera fs rm 4 --force --dry-run     what would be lost?`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := ParseDisk(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return removeDisk(ctx, e, m, id, force, k) })
		},
	}
	c.Flags().BoolVar(&force, "force", false, "even if it still holds pieces") // needs consent
	k.Flags(c)
	c.ValidArgsFunction = complete.Disks(e)
	return c
}

// removeDisk removes a disk. With --force or --dry-run the manager first counts the pieces and files of the disk, and the
// user agrees to the loss. The request carries that consent (Lose): if files change between the count and the removal,
// the manager counts again and refuses if more would be lost than was shown.
func removeDisk(ctx context.Context, e *cli.Env, m *admin.Client, id hemera.DiskID, force bool, k cli.Consent) error {
	// The zero value removes a disk only if nothing is on it.
	r := adminapi.Removal{Force: force}
	if force || k.Dry {
		sum, err := m.Status.Impact(ctx, []hemera.DiskID{id})
		if err != nil {
			return err
		}
		// A disk without pieces needs no consent: nothing is lost.
		if sum.Pieces > 0 || sum.Unsure || k.Dry {
			if ok, err := e.Agree(ctx, k, "hemera.FsRm", append([]string{"disk " + id.String() + " " + holds(sum)}, stakes(sum)...)); !ok {
				return err
			}
		}
		// A partial count may have missed lost files, so it needs the same consent.
		r.Lose = sum.Lost+sum.Unreadable > 0 || sum.Partial || sum.Unsure
	}
	if err := m.Cluster.RemoveDisk(ctx, id, r); err != nil {
		return err
	}
	e.Say("disk %d is forgotten", id)
	return nil
}

// holds returns a text with the number and size of the pieces on a disk.
func holds(sum adminapi.Impact) string {
	return fmt.Sprintf("holds %s, %s", output.Count(sum.Pieces, "piece"), output.Bytes(sum.Bytes))
}

// NamesShown is the number of file names that a command shows before it destroys the files. The names help to recognize
// the data; a long list would push the sums off the screen.
const NamesShown = 5

// stakes returns a line for each kind of loss: files that are lost, out of reach, or with fewer copies, the worst first.
// It returns none if nothing is lost. A partial count says "at least".
func stakes(sum adminapi.Impact) (lines []string) {
	// The manager counts a bounded number of pieces; with more, the count is partial.
	atLeast := ""
	if sum.Partial {
		atLeast = "at least "
	}
	if sum.Lost > 0 {
		names := strings.Join(sum.Names[:min(NamesShown, len(sum.Names))], ", ")
		// Names holds a bounded number of names, too.
		if sum.Lost > NamesShown {
			names += ", …"
		}
		lines = append(lines, fmt.Sprintf("  LOST unless the disk is added again: %s%s, %s, which have no other piece: %s", atLeast, output.Count(sum.Lost, "file"), output.Bytes(sum.LostBytes), names))
	}
	if sum.OnTape > 0 {
		lines = append(lines, fmt.Sprintf("  from tape: %s%s, %s, which have no other piece on disks, and are recalled", atLeast, output.Count(sum.OnTape, "file"), output.Bytes(sum.OnTapeBytes)))
	}
	if sum.Unreadable > 0 {
		lines = append(lines, fmt.Sprintf("  out of reach: %s%s with other pieces only on disks that cannot be read now", atLeast, output.Count(sum.Unreadable, "file")))
	}
	if sum.Weakened > 0 {
		lines = append(lines, fmt.Sprintf("  fewer copies: %s%s, to be repaired from the others", atLeast, output.Count(sum.Weakened, "file")))
	}
	if sum.Unsure {
		lines = append(lines, "  NOT KNOWN: files that only pieces know, since the namespace went back; hemera ns rebuild --merge finds them")
	}
	if sum.Partial {
		lines = append(lines, "  there are too many pieces to count all of them")
	}
	return lines
}
