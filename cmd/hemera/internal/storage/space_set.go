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
	"hemera/rules/condition"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// spaceSetCommand makes `hemera space set`. The manager checks the value; define makes the space. Files that exist keep
// their layout, so a change moves no data.
func spaceSetCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "set <space> <key>=<value>", Short: "Change a space's policy", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a space:

  define             makes the space, whatever the value is
  policy.layout      plain (one copy); replica:3 (copies); rs:4+2 (4 data and 2 parity pieces: any 2
                     may be lost); lrc:12+2+2 (2 local groups with a parity each, 2 parities of all);
                     stripe:4 (no parity); or EOS's raid5, raid6, raiddp, archive, qrain with :N
  policy.nstripes    the number of all pieces, 1 to 32; parities stay as they are
  policy.blocksize   of files with data pieces, 64k to 16M, or auto, which is 1M
  policy.checksum    adler32, crc32c, crc64nvme, md5, sha256, xxh3, blake3, crc32, zcrc32 or none
  policy.minpieces   the number of pieces that must be safe before a close is acknowledged, or auto
  policy.sync        on: a piece is safe when it is on the disk; off: a power cut can lose it
  policy.recycle     how long and how much of removed and replaced files is kept: 30d, 10T, 30d,10T
                     or off; sys.recycle of a directory overrides it
  headroom           the room that stays free on each disk: 10G is 10,000,000,000 bytes; or auto,
                     which is 1 % of the disk, at most 1 GiB
  balancer           on: pieces move from disks that are too full to others, also to new ones, and
                     pieces of one file move apart that share a node or a zone; off: none does
  balancer.threshold percent by which a disk's filling may differ from the space's mean, or auto (5)
  balancer.rate      bytes per second moved from a disk and to one, on average, or auto (50M)

New files get what the space says. Attributes sys.forced.* of a directory override it, and files
that exist already stay as they are.`,
		Example: `  hemera space set default policy.nstripes=3       three copies of each new file
  hemera space set big policy.layout=rs:10+4       any 4 of 14 disks may be lost, for 1.4 times the bytes
  hemera space set scratch define=on               make a space ...
  hemera space set scratch policy.layout=plain     ... whose files have one copy
  hemera space set scratch headroom=50G            keep 50 GB free on each of its disks
  hemera space set default balancer.rate=200M      fill a new disk four times as fast as by default`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []cobra.Completion{"policy.layout=", "policy.layout=plain", "policy.layout=replica:2", "policy.layout=rs:4+2", "policy.layout=rs:10+4",
						"policy.layout=lrc:12+2+2", "policy.layout=stripe:4", "policy.nstripes=", "policy.blocksize=", "policy.checksum=", "policy.minpieces=",
						"define=on", "policy.sync=", "policy.recycle=", "headroom=", "balancer=on", "balancer=off", "balancer.threshold=", "balancer.rate="},
					cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return complete.Spaces(e)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			key, value, ok := strings.Cut(args[1], "=")
			if !ok || key == "" {
				return cli.Usage(errs.New(errs.Invalid, "hemera.ReadProperty", args[1], "want key=value"))
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				name := hemera.SpaceName(args[0])
				if err := m.Cluster.SetSpace(ctx, name, key, value); err != nil {
					return err
				}
				e.Say("space %s: %s=%s", name, key, value)
				return warnOfSpace(ctx, e, m, name)
			})
		},
	}
}

// warnOfSpace warns if a space asks for more pieces than it has disks, because new files then have fewer pieces.
// Otherwise it says whether the loss of a node or zone would lose files. Disks may be added after the policy, so this is
// not an error.
func warnOfSpace(ctx context.Context, e *cli.Env, m *admin.Client, name hemera.SpaceName) error {
	v, err := m.Cluster.View(ctx)
	if err != nil {
		return err
	}
	s, ok := v.Space(name)
	disks := 0
	for _, d := range v.Disks {
		// Disks that are off count too: the warning is about the space as the admin planned it.
		if d.Space == name {
			disks++
		}
	}
	if ok && disks > 0 && int(s.Policy.Layout.Pieces) > disks {
		fmt.Fprintf(e.Err, "hemera: warning: space %s asks for %d pieces of each file and has %s\n  what to do: add disks, or hemera space set %s %s\n",
			name, s.Policy.Layout.Pieces, output.Count(int64(disks), "disk"), name, condition.Smaller(s.Policy.Layout, disks))
		return nil
	}
	status, err := m.Status.Status(ctx)
	if err != nil {
		return err
	}
	for _, c := range status.Conditions {
		if c.Subject == "space "+string(name) && (c.Code == condition.SpaceNodeLoss || c.Code == condition.SpaceZoneLoss) {
			fmt.Fprintf(e.Err, "hemera: warning: %s\n  what to do: %s\n", c.Text, c.Remedy)
		}
	}
	return nil
}
