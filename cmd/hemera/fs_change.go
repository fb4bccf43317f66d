package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func fsAddCommand(e *env) *cobra.Command {
	var space string
	var folder bool
	c := &cobra.Command{
		Use: "add <node> <path>", Short: "Make a node use a mounted filesystem as a disk", Args: cobra.ExactArgs(2),
		Long: `Tells a node to use a directory, normally the mount point of an empty filesystem, as a
disk, and waits a moment for it. The node is named by its id, host or host:port. The
directory must exist on the node's machine: a misspelt mount point is an error. A directory where
nothing is mounted is refused too, unless --folder says that a folder is meant (hemera up takes
folders as they are). A node that is offline takes the disk when it is back.`,
		Example: `  hemera fs add node1.example.org /data07
  hemera fs add 2 /data07 --space fast`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := findNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.AddDisk(ctx, n.ID, hemera.AttachDisk{Path: args[1], Space: space, Folder: folder}); err != nil {
					return err
				}
				return e.awaitDisk(ctx, m, n, args[1])
			})
		},
	}
	c.Flags().BoolVar(&folder, "folder", false, "take a directory that is no filesystem of its own")
	c.Flags().StringVar(&space, "space", hemera.DefaultSpace, "the `space` the disk belongs to")
	_ = c.RegisterFlagCompletionFunc("space", completeSpaces(e))
	c.ValidArgsFunction = completeNodes(e)
	return c
}

// attachTime is how long fs add waits for the node, and attachPoll how often it looks.
const (
	attachTime = 3 * hemera.HeartbeatTimeout
	attachPoll = 100 * time.Millisecond
)

// awaitDisk waits until the node has taken the path as a disk, or said why it cannot.
func (e *env) awaitDisk(ctx context.Context, m *admin.Client, n hemera.NodeInfo, path string) error {
	tick := time.NewTicker(attachPoll)
	defer tick.Stop()
	for end := time.Now().Add(attachTime); ; {
		v, err := m.View(ctx)
		if err != nil {
			return err
		}
		for _, d := range v.Disks {
			if d.Node == n.ID && d.Path == path {
				e.say("disk %d of space %s: %s on node %s", d.ID, d.Space, path, n.Addr)
				return nil
			}
		}
		n, _ := v.Node(n.ID)
		for _, u := range n.Stats.Unusable {
			if u.Path == path {
				return errs.New(errs.Invalid, "fs add", path, u.Why).WithRemedy("put that right on the node, then add it again; --folder takes a directory where nothing is mounted")
			}
		}
		if n.Status != hemera.NodeOnline || !time.Now().Before(end) {
			e.say("node %s will use %s when it can; see hemera fs ls", n.Addr, path)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "fs add", path)
		}
	}
}

func fsSetCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use: "set <id> <key>=<value>", Short: "Change what is wanted of a disk", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a disk:

  configstatus   rw      use it fully
                 ro      read only
                 drain   read only, and move every piece to other disks
                 (empty  the system's word for a drained disk with nothing left)
                 off     do not use it at all
  space          the space it belongs to
  zone           its failure domain, such as a room or rack; - for its node's

A configstatus may be given without its key.`,
		Example: `  hemera fs set 4 drain             empty disk 4; then watch hemera fs status 4 --watch
  hemera fs set 4 configstatus=rw   and take it back
  hemera fs set 4 zone=hall-b`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseDisk(args[0])
			if err != nil {
				return err
			}
			key, value, err := parseDiskProperty(args[1])
			if err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.SetDisk(ctx, id, key, value); err != nil {
					return err
				}
				e.say("disk %d: %s=%s", id, key, value)
				return nil
			})
		},
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return completeDisks(e)(c, args, word)
		case 1:
			return []cobra.Completion{"rw", "ro", "drain", "off", "configstatus=", "space=", "zone="}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// parseDiskProperty reads key=value, or a configstatus alone.
func parseDiskProperty(s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		key, value = "configstatus", s
	}
	if key != "configstatus" {
		return key, value, nil
	}
	switch hemera.DiskConfig(value) {
	case hemera.ConfigRW, hemera.ConfigRO, hemera.ConfigDrain, hemera.ConfigOff:
		return key, value, nil
	}
	return "", "", usage(errs.New(errs.Invalid, "read configstatus", value, "there is no such status").
		WithRemedy("it is one of rw, ro, drain, off"))
}

func fsRmCommand(e *env) *cobra.Command {
	var force bool
	var k consent
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
			id, err := parseDisk(args[0])
			if err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error { return e.removeDisk(ctx, m, id, force, k) })
		},
	}
	c.Flags().BoolVar(&force, "force", false, "even if it still holds pieces")
	k.flags(c)
	c.ValidArgsFunction = completeDisks(e)
	return c
}

// removeDisk forgets a disk. One that holds pieces goes only by force, and after it was said what goes.
func (e *env) removeDisk(ctx context.Context, m *admin.Client, id hemera.DiskID, force bool, k consent) error {
	r := hemera.Removal{Force: force}
	if force || k.dry {
		sum, err := m.Impact(ctx, []hemera.DiskID{id})
		if err != nil {
			return err
		}
		if sum.Pieces > 0 || k.dry {
			if ok, err := e.agree(ctx, k, "fs rm", append([]string{"disk " + id.String() + " " + holds(sum)}, stakes(sum)...)); !ok {
				return err
			}
		}
		r.Lose = sum.Lost+sum.Unreadable > 0 || sum.Partial
	}
	if err := m.RemoveDisk(ctx, id, r); err != nil {
		return err
	}
	e.say("disk %d is forgotten", id)
	return nil
}

func holds(sum hemera.Impact) string {
	return fmt.Sprintf("holds %s, %s", output.Count(sum.Pieces, "piece"), output.Bytes(sum.Bytes))
}

// namesShown is how many files a command names before it destroys them.
const namesShown = 5

// stakes says what files would lose.
func stakes(sum hemera.Impact) (lines []string) {
	atLeast := ""
	if sum.Partial {
		atLeast = "at least "
	}
	if sum.Lost > 0 {
		names := strings.Join(sum.Names[:min(namesShown, len(sum.Names))], ", ")
		if sum.Lost > namesShown {
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

// findNode finds a node by id, host:port or host. A host with several nodes needs the port.
func findNode(ctx context.Context, m *admin.Client, name string) (hemera.NodeInfo, error) {
	v, err := m.View(ctx)
	if err != nil {
		return hemera.NodeInfo{}, err
	}
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		if n, ok := v.Node(hemera.NodeID(id)); ok {
			return n, nil
		}
	}
	var found []hemera.NodeInfo
	for _, n := range v.Nodes {
		host, _ := hostPort(n.Addr)
		if n.Addr == name {
			return n, nil
		}
		if host == name {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return hemera.NodeInfo{}, errs.New(errs.NotFound, "find node", name, "there is no such node").
			WithRemedy("hemera node ls shows the nodes there are")
	}
	return hemera.NodeInfo{}, errs.New(errs.Invalid, "find node", name, "this host has several nodes").
		WithRemedy("name it by host:port or by its id")
}
