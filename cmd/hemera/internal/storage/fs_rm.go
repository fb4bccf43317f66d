package storage

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
)

func fsRmCommand(e *cli.Env) *cobra.Command {
	var force bool
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <id>", Short: "Forget a disk that holds nothing any more", Args: cobra.ExactArgs(1),
		Long: `Removes a disk from the cluster. It must hold no piece: empty it first with
hemera fs set <id> drain. With --force the pieces on it are given up: files that have
other pieces are repaired from them, files that have none are lost. The command says first what
will go, and asks; a script gives its consent with --yes. The disk is remembered until no file
has a piece on it: hemera fs add takes it in again as it was. A node that is started with
--disk for the path adds it anew: take that out too.`,
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
	c.Flags().BoolVar(&force, "force", false, "even if it still holds pieces")
	k.Flags(c)
	c.ValidArgsFunction = complete.Disks(e)
	return c
}

// removeDisk forgets a disk. One that holds pieces goes only by force, and after it was said what goes.
func removeDisk(ctx context.Context, e *cli.Env, m *admin.Client, id hemera.DiskID, force bool, k cli.Consent) error {
	r := hemera.Removal{Force: force}
	if force || k.Dry {
		sum, err := m.Impact(ctx, []hemera.DiskID{id})
		if err != nil {
			return err
		}
		if sum.Pieces > 0 || k.Dry {
			if ok, err := e.Agree(ctx, k, "hemera.FsRm", append([]string{"disk " + id.String() + " " + holds(sum)}, stakes(sum)...)); !ok {
				return err
			}
		}
		r.Lose = sum.Lost+sum.Unreadable > 0 || sum.Partial
	}
	if err := m.RemoveDisk(ctx, id, r); err != nil {
		return err
	}
	e.Say("disk %d is forgotten", id)
	return nil
}

func holds(sum hemera.Impact) string {
	return fmt.Sprintf("holds %s, %s", output.Count(sum.Pieces, "piece"), output.Bytes(sum.Bytes))
}

// NamesShown is how many files a command names before it destroys them.
const NamesShown = 5

// stakes says what files would lose.
func stakes(sum hemera.Impact) (lines []string) {
	atLeast := ""
	if sum.Partial {
		atLeast = "at least "
	}
	if sum.Lost > 0 {
		names := strings.Join(sum.Names[:min(NamesShown, len(sum.Names))], ", ")
		if sum.Lost > NamesShown {
			names += ", …"
		}
		lines = append(lines, fmt.Sprintf("  LOST for ever: %s%s, %s, whose last piece it is: %s", atLeast, output.Count(sum.Lost, "file"), output.Bytes(sum.LostBytes), names))
	}
	if sum.Unreadable > 0 {
		lines = append(lines, fmt.Sprintf("  out of reach: %s%s with other pieces only on disks that cannot be read now", atLeast, output.Count(sum.Unreadable, "file")))
	}
	if sum.Weakened > 0 {
		lines = append(lines, fmt.Sprintf("  fewer copies: %s%s, to be made whole from the others", atLeast, output.Count(sum.Weakened, "file")))
	}
	if sum.Partial {
		lines = append(lines, "  there are too many pieces to count all of them")
	}
	return lines
}
