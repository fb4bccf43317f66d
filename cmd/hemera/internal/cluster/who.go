package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nobody and nothing are the texts of empty tables. Programs get an empty list.
const (
	nobody  = "nobody is connected"
	nothing = "no such file is open"
)

// WhoCommand makes `hemera who`: sessions at the manager and open files at the nodes. The manager asks the nodes for open
// files.
func WhoCommand(e *cli.Env) *cobra.Command {
	var all bool
	var files, disk string
	c := &cobra.Command{
		Use: "who", Short: "Users that are connected, and the files they have open", Args: cobra.NoArgs,
		Long: `Shows the users with sessions at the manager and open files at the nodes, by mechanism of
authentication, host and application, with the nodes they use and the bytes that move there. Rates are
averages since the last question to the nodes, or since a file was opened. Each node lists up to 1000
open files, those that move most first.`,
		Example: `  hemera who                        sessions and open files by user, host and application
  hemera who -a                     every session at the manager
  hemera who --files /exp/run1      who has a file open there, or below
  hemera who --disk 4               who reads or writes disk 4`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if all {
					sessions, err := m.Observe.Sessions(ctx)
					if err != nil {
						return err
					}
					return e.List(sessionColumns, sessionRecords(e, sessions), nobody)
				}
				if files != "" || disk != "" {
					return whoseFiles(ctx, e, m, files, disk)
				}
				return whoIsThere(ctx, e, m)
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "one line for each session at the manager")                        // at the manager only
	c.Flags().StringVar(&files, "files", "", "open files with this path or below it, one on each line; / for all") // a tree as well as a file
	c.Flags().StringVar(&disk, "disk", "", "open files that are read from this disk or written to it")             // an id
	c.MarkFlagsMutuallyExclusive("all", "files")
	c.MarkFlagsMutuallyExclusive("all", "disk")
	_ = c.RegisterFlagCompletionFunc("disk", complete.Flag(complete.Disks(e)))
	_ = c.RegisterFlagCompletionFunc("files", complete.Paths(e))
	return c
}

// whoIsThere lists users with their sessions, open files and rates. It combines two requests and a view, so a user may
// appear in only one of them.
func whoIsThere(ctx context.Context, e *cli.Env, m *admin.Client) error {
	sessions, err := m.Observe.Sessions(ctx)
	if err != nil {
		return err
	}
	open, v, err := openFiles(ctx, e, m)
	if err != nil {
		return err
	}
	return e.List(whoColumns, whoRecords(v, sessions, open), nobody)
}

// openFiles asks for the open files, and tells the user which nodes did not answer, on standard error, so that the list
// can be piped. The view has the addresses of the nodes. The manager asks the nodes, and waits a bounded time for each.
func openFiles(ctx context.Context, e *cli.Env, m *admin.Client) ([]hemera.OpenFile, *hemera.View, error) {
	v, err := m.Cluster.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	open, err := m.Observe.OpenFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	// A slow node must not make the command fail.
	for _, id := range open.Silent {
		fmt.Fprintf(e.Err, "hemera: node %d did not answer in time: its open files are not listed\n", id)
	}
	if open.Cut {
		fmt.Fprintln(e.Err, "hemera: a node has more open files than it lists: those that move least are left out")
	}
	return open.Files, v, nil
}

// whoseFiles lists open files at or below a path, on a disk, or both. path is compared as text, with the names at the
// time of the opens.
func whoseFiles(ctx context.Context, e *cli.Env, m *admin.Client, path, disk string) error {
	var id hemera.DiskID
	if disk != "" {
		var err error
		if id, err = storage.ParseDisk(disk); err != nil {
			return err
		}
	}
	open, v, err := openFiles(ctx, e, m)
	if err != nil {
		return err
	}
	// For a mistyped disk an empty list would mean that the disk is not used.
	if _, ok := v.Disk(id); id != 0 && !ok {
		return errs.New(errs.NotFound, "hemera.Who", "disk "+id.String(), "there is no such disk").WithRemedy("hemera fs ls shows the disks there are")
	}
	// The root becomes "", which is above every path.
	path = strings.TrimRight(strings.TrimPrefix(path, ":"), "/") // a colon is allowed, as everywhere
	var records []output.Record
	for _, f := range open {
		if path != "" && f.Path != path && !strings.HasPrefix(f.Path, path+"/") || id != 0 && !slices.Contains(f.Disks, id) {
			continue
		}
		disks := make([]string, len(f.Disks))
		for i, d := range f.Disks {
			disks[i] = d.String()
		}
		// The node may have been removed since; then its address is empty.
		n, _ := v.Node(f.Node)
		records = append(records, output.Record{
			{Key: "user", Value: f.Who.Name}, {Key: "uid", Value: f.Who.UID}, {Key: "auth", Value: f.Who.Protocol}, {Key: "host", Value: f.Who.Host}, {Key: "app", Value: f.Who.App}, // as the manager knew it at the open
			// Rates are in 10^6 bytes a second, uptime in seconds since the open.
			{Key: "mode", Value: cli.OnOff(f.Write, "write", "read")}, {Key: "node", Value: n.Addr}, {Key: "fs", Value: strings.Join(disks, ",")},
			{Key: "bytes", Value: f.Bytes}, {Key: "ratemb", Value: f.Rate / 1e6}, {Key: "uptime", Value: cli.Since(e.Now(), f.Since)}, // moved so far
			{Key: "fxid", Value: f.File.Hex()}, {Key: "path", Value: f.Path},
		})
	}
	return e.List(openColumns, records, nothing)
}

// whoKey groups sessions and open files: those of one user, mechanism, host and application are one line. The groups of a
// user are not part of the key.
type whoKey struct {
	name, auth, host, app string
	uid                   uint32
}

// doing has the activity of the sessions with one key.
type doing struct {
	sessions, open int             // numbers
	rate           float64         // bytes a second, over all open files
	nodes          map[string]bool // addresses
}

// whoRecords counts sessions and open files for each key. A file that the manager itself serves is open at a node of its
// process.
// A user with sessions and no open file has rate 0 and no nodes.
func whoRecords(v *hemera.View, sessions []adminapi.SessionInfo, open []hemera.OpenFile) (out []output.Record) {
	sums := map[whoKey]*doing{}
	of := func(w hemera.Identity) *doing {
		k := whoKey{w.Name, w.Protocol, w.Host, w.App, w.UID}
		if sums[k] == nil {
			sums[k] = &doing{nodes: map[string]bool{}}
		}
		return sums[k]
	}
	for _, s := range sessions {
		of(s.Who).sessions++
	}
	for _, f := range open {
		d := of(f.Who)
		d.open++
		d.rate += f.Rate
		n, _ := v.Node(f.Node)
		d.nodes[n.Addr] = true
	}
	// By user, because maps have no order.
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b whoKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.auth, b.auth), cmp.Compare(a.host, b.host), cmp.Compare(a.app, b.app))
	})
	for _, k := range keys {
		d := sums[k]
		out = append(out, output.Record{
			{Key: "user", Value: k.name}, {Key: "uid", Value: k.uid}, {Key: "auth", Value: k.auth}, {Key: "host", Value: k.host}, // as the manager authenticated it
			{Key: "app", Value: k.app}, {Key: "nsessions", Value: d.sessions}, {Key: "open", Value: d.open}, // open counts files at all nodes
			{Key: "ratemb", Value: d.rate / 1e6}, {Key: "nodes", Value: strings.Join(slices.Sorted(maps.Keys(d.nodes)), ",")}, // 10^6 bytes a second
		})
	}
	return out
}

// sessionRecords makes the record of each session. The client and the gateway differ if a proxy connects for a user.
func sessionRecords(e *cli.Env, sessions []adminapi.SessionInfo) (out []output.Record) {
	for _, s := range sessions {
		// The address of the connection.
		gateway, _ := cli.HostPort(s.Addr)
		out = append(out, output.Record{
			{Key: "client", Value: s.Who.Name + "@" + s.Who.Host}, {Key: "gateway", Value: gateway}, // gateway is the address that the connection comes from
			{Key: "user", Value: s.Who.Name}, {Key: "uid", Value: s.Who.UID}, {Key: "gid", Value: s.Who.GID}, {Key: "auth", Value: s.Who.Protocol},
			{Key: "host", Value: s.Who.Host}, {Key: "app", Value: s.Who.App}, {Key: "open", Value: s.Open}, // open handles of this session
			{Key: "uptime", Value: cli.Since(e.Now(), s.Since)}, {Key: "idletime", Value: s.Idle.Seconds()}, // seconds; idletime is since the last request
			{Key: "tls", Value: cli.OnOff(s.TLS, "on", "off")}, {Key: "addr", Value: s.Addr}, // addr is gateway with its port
		})
	}
	return out
}

// whoColumns has the columns of who.
var whoColumns = []output.Column{
	{Title: "user", Key: "user"},
	{Title: "uid", Key: "uid", Wide: 1},
	{Title: "auth", Key: "auth", Wide: 1}, // the mechanism: unix, host
	{Title: "host", Key: "host"},          // of the client
	{Title: "app", Key: "app", Wide: 1},   // what the client says of itself
	{Title: "sessions", Key: "nsessions"}, // at the manager
	{Title: "open", Key: "open"},          // open files at all nodes
	{Title: "MB/s", Key: "ratemb"},        // since the nodes were asked before
	{Title: "nodes", Key: "nodes"},        // where these files are open
}

// openColumns has the columns of who --files and --disk.
var openColumns = []output.Column{
	{Title: "user", Key: "user"},
	{Title: "host", Key: "host"},
	{Title: "app", Key: "app", Wide: 1},
	{Title: "mode", Key: "mode"}, // read or write
	{Title: "node", Key: "node"}, // address of the node
	{Title: "disk", Key: "fs"},   // those with its pieces
	{Title: "MB/s", Key: "ratemb"},
	{Title: "bytes", Key: "bytes", Show: output.Bytes, Wide: 1}, // moved since the open
	{Title: "since", Key: "uptime", Show: output.Seconds},       // since it was opened
	{Title: "path", Key: "path"},                                // as of the open
}

// sessionColumns has the columns of who --all.
var sessionColumns = []output.Column{
	{Title: "user", Key: "user"},
	{Title: "uid", Key: "uid", Wide: 1},
	{Title: "auth", Key: "auth", Wide: 1},
	{Title: "host", Key: "host"},
	{Title: "app", Key: "app"},
	{Title: "open", Key: "open"},
	{Title: "since", Key: "uptime", Show: output.Seconds},
	{Title: "idle", Key: "idletime", Show: output.Seconds}, // since its last request
	{Title: "tls", Key: "tls", Wide: 1},                    // on or off
	{Title: "addr", Key: "addr", Wide: 1},                  // where the connection comes from
}
