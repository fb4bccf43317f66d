package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func spaceCommand(e *env) *cobra.Command {
	c := noun("space", "Spaces: list, look at, change", spaceLsCommand(e), spaceStatusCommand(e), spaceSetCommand(e), spaceRmCommand(e))
	c.Long = `A space is a set of disks with one policy: the layout and checksum of new files, and the room
that stays free on each disk. New files go to the space "default", which is always there, unless
a directory above them says otherwise by the attribute sys.forced.space.`
	c.Example = `  hemera space ls
  hemera space set fast define=24                     make a space ...
  hemera fs add node1 /nvme0 --space fast             ... give it a disk ...
  hemera attr set sys.forced.space=fast /exp/hot      ... and use it for new files below /exp/hot`
	return c
}

func spaceLsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List spaces", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists spaces: their disks, how full these are, and what new files get.`,
		Example: `  hemera space ls
  hemera space ls -m | grep name=default`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				v, err := m.View(ctx)
				if err != nil {
					return err
				}
				jobs, err := m.Jobs(ctx)
				if err != nil {
					return err
				}
				var spaces []output.Record
				for _, s := range v.Spaces {
					spaces = append(spaces, spaceRecord(v, s, jobs))
				}
				return e.printer().List(spaceColumns, spaces)
			})
		},
	}
}

// spaceRecord sums a space's disks. Its zone is shown when all its disks are in one.
func spaceRecord(v *hemera.View, s hemera.Space, jobs []hemera.JobStatus) output.Record {
	var disks, writable []hemera.Disk
	groups, zones := map[string]bool{}, map[string]bool{}
	for _, d := range v.Disks {
		if d.Space != s.Name {
			continue
		}
		disks = append(disks, d)
		groups[d.Group], zones[d.Zone] = true, true
		if d.Writable() {
			writable = append(writable, d)
		}
	}
	zone := ""
	if len(zones) == 1 {
		for z := range zones {
			zone = z
		}
	}
	p, all, rw := s.Policy, v.Room(disks), v.Room(writable)
	r := output.Record{
		{Key: "type", Value: "spaceview"}, {Key: "name", Value: s.Name}, {Key: "geotag", Value: zone},
		{Key: "cfg.groupsize", Value: s.GroupSize}, {Key: "cfg.groupmod", Value: len(groups)},
		{Key: "nofs", Value: len(disks)}, {Key: "sum.<n>?configstatus@rw", Value: len(writable)},
	}
	r = append(r, sumsOf(v, disks)...)
	return append(r, output.Record{
		{Key: "sum.stat.statfs.ffiles", Value: all.InodesFree},
		{Key: "sum.stat.statfs.capacity?configstatus@rw", Value: rw.Capacity}, {Key: "sum.stat.statfs.freebytes?configstatus@rw", Value: rw.Free},
		{Key: "sum.stat.disk.iops?configstatus@rw", Value: 0}, {Key: "sum.stat.disk.bw?configstatus@rw", Value: 0},
		{Key: "cfg.quota", Value: "on"}, {Key: "cfg.nominalsize", Value: 0}, {Key: "cfg.balancer", Value: "off"}, {Key: "cfg.balancer.threshold", Value: 0},
		{Key: "sum.stat.balancer.running", Value: 0}, {Key: "sum.stat.drainer.running", Value: drainersOf(disks, jobs)},
		{Key: "usage", Value: percent(all.Used, all.Capacity)},
		{Key: "policy.layout", Value: p.Layout.Kind.String()}, {Key: "policy.nstripes", Value: int(p.Layout.Pieces)}, {Key: "policy.checksum", Value: p.Checksum.String()},
		{Key: "policy.minpieces", Value: int(p.PiecesMin)}, {Key: "policy.sync", Value: onOff(p.Sync, "on", "off")}, {Key: "headroom", Value: s.Headroom},
	}...)
}

var spaceColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2},
	{Title: "name", Key: "name"},
	{Title: "zone", Key: "geotag", Wide: 2},
	{Title: "groupsize", Key: "cfg.groupsize", Wide: 2},
	{Title: "groupmod", Key: "cfg.groupmod", Wide: 2},
	{Title: "disks", Key: "nofs"},
	{Title: "disks(rw)", Key: "sum.<n>?configstatus@rw", Wide: 2},
	{Title: "sum(usedbytes)", Key: "sum.stat.statfs.usedbytes", Show: output.Bytes},
	{Title: "sum(capacity)", Key: "sum.stat.statfs.capacity", Show: output.Bytes},
	{Title: "capacity(rw)", Key: "sum.stat.statfs.capacity?configstatus@rw", Show: output.Bytes, Wide: 1},
	{Title: "usage", Key: "usage", Show: output.Percent},
	{Title: "layout", Key: "policy.layout"},
	{Title: "nstripes", Key: "policy.nstripes"},
	{Title: "checksum", Key: "policy.checksum", Wide: 1},
	{Title: "minpieces", Key: "policy.minpieces", Show: output.Auto(output.Digits(0)), Wide: 2},
	{Title: "sync", Key: "policy.sync", Wide: 2},
	{Title: "headroom", Key: "headroom", Show: output.Auto(output.Bytes), Wide: 1},
}

func spaceStatusCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "status <space>", Short: "Everything about one space", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSpaces(e),
		Long: `Shows the policy of a space, the room on its disks, and how many of them can be written.`,
		Example: `  hemera space status default
  hemera space status default -j | jq .result[0].cfg`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				v, err := m.View(ctx)
				if err != nil {
					return err
				}
				s, ok := v.Space(args[0])
				if !ok {
					return errs.New(errs.NotFound, "space status", args[0], "there is no such space").
						WithRemedy("hemera space ls shows the spaces there are")
				}
				jobs, err := m.Jobs(ctx)
				if err != nil {
					return err
				}
				r := spaceRecord(v, s, jobs)
				return e.printer().One(columnsOf(r), r)
			})
		},
	}
}

func spaceSetCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "set <space> <key>=<value>", Short: "Change a space's policy", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a space:

  define             makes the space; the value is its groupsize
  policy.layout      plain (one copy), replica, or replica:3
  policy.nstripes    the number of copies, 1 to 16
  policy.checksum    adler32, crc32c, crc64nvme, md5, sha256, xxh3, blake3, crc32, zcrc32 or none
  policy.minpieces   the number of copies that must be safe before a close is acknowledged, or auto
  policy.sync        on: a copy is safe when it is on the disk; off: a power cut can lose it
  headroom           the room that stays free on each disk: 10G is 10,000,000,000 bytes; or auto,
                     which is 1 % of the disk, at most 1 GiB
  groupsize          the number of disks in a group

New files get what the space says. Attributes sys.forced.* of a directory override it, and files
that exist keep what they have.`,
		Example: `  hemera space set default policy.nstripes=3       three copies of each new file
  hemera space set scratch define=24               make a space ...
  hemera space set scratch policy.layout=plain     ... whose files have one copy
  hemera space set scratch headroom=50G            keep 50 GB free on each of its disks`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []cobra.Completion{"policy.layout=", "policy.nstripes=", "policy.checksum=", "policy.minpieces=", "define=", "policy.sync=", "headroom=", "groupsize="},
					cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return completeSpaces(e)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			key, value, ok := strings.Cut(args[1], "=")
			if !ok || key == "" {
				return usage(errs.New(errs.Invalid, "read property", args[1], "want key=value"))
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.SetSpace(ctx, args[0], key, value); err != nil {
					return err
				}
				e.say("space %s: %s=%s", args[0], key, value)
				return e.warnOfSpace(ctx, m, args[0])
			})
		},
	}
}

func spaceRmCommand(e *env) *cobra.Command {
	var k consent
	c := &cobra.Command{
		Use: "rm <space>", Short: "Forget a space that nothing refers to", Args: cobra.ExactArgs(1),
		Long: `Removes a space. No disk may belong to it, no file may be stored under it, and no directory may
send new files to it (sys.forced.space): the whole tree is searched for that, which takes about a
second for a million files. The space "default" always stays.`,
		Example:           `  hemera space rm scratch --yes`,
		ValidArgsFunction: completeSpaces(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				stake := []string{"the policy of space " + args[0] + " is forgotten; no file goes, and it is refused while anything refers to the space"}
				if ok, err := e.agree(ctx, k, "space rm", stake); !ok {
					return err
				}
				if err := m.RemoveSpace(ctx, args[0]); err != nil {
					return err
				}
				e.say("space %s is forgotten", args[0])
				return nil
			})
		},
	}
	k.flags(c)
	return c
}

// warnOfSpace says so when a space asks for more pieces than it has disks.
func (e *env) warnOfSpace(ctx context.Context, m *admin.Client, name string) error {
	v, err := m.View(ctx)
	if err != nil {
		return err
	}
	s, ok := v.Space(name)
	disks := 0
	for _, d := range v.Disks {
		if d.Space == name {
			disks++
		}
	}
	if ok && disks > 0 && int(s.Policy.Layout.Pieces) > disks {
		fmt.Fprintf(e.Err, "hemera: warning: space %s asks for %d pieces of each file and has %s\n  what to do: add disks, or hemera space set %s policy.nstripes=%d\n",
			name, s.Policy.Layout.Pieces, output.Count(int64(disks), "disk"), name, disks)
	}
	return nil
}
