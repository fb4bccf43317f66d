package serve

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/process/config"
	"hemera/process/daemon"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// RunsNode lets the command `hemera node`, without a sub-command, run a storage node.
// The command is made by package storage, where it is the noun of admins' commands. The flags registered here are the
// settings of a node; sub-commands do not inherit them.
func RunsNode(e *cli.Env, c *cobra.Command) {
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "connections", "http.metrics_networks", "http.hosts", "node", "scrub", "log")
	c.Example = `  hemera node --join-file token --listen 10.1.0.2 --disk /disk1 --disk /disk2
  hemera node ls`
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UnknownCommand(c, args[0])
		}
		keepPrivate()
		l, v, err := settings(e, c, false)
		if err != nil {
			return err
		}
		addProcessors(l)
		var disks []hemera.AttachDisk
		for _, d := range l.Node.Disks {
			path, space := d, ""
			// --disk PATH=SPACE
			// An empty space means: the one the disk had, or the default one if it is new.
			if i := lastEqual(d); i > 0 {
				path, space = d[:i], d[i+1:]
			}
			disks = append(disks, hemera.AttachDisk{Path: path, Space: space})
		}
		// Read before anything is opened: standard input may be a pipe that ends.
		token, err := joinToken(e, l.Node)
		if err != nil {
			return err
		}
		// It returns when the node listens. Joining goes on in the background and is repeated until it succeeds.
		n, err := daemon.OpenNode(c.Context(), daemon.NodeOptions{
			Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone, WithoutLoop: !l.Connections.EventLoop,
			Disks: disks, Join: token, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate),
			Executable: executable(), Version: e.Build.Version, Commit: e.Build.Commit, Log: v.log,
		})
		if err != nil {
			return err
		}
		// The node serves before it has joined: its manager may be away.
		// The goroutine ends when the node has joined, or with the command.
		go func() {
			select {
			case <-n.Joined():
				v.log.Info("node is serving", "addr", n.Addr, "node", n.ID())
			// Interrupted before it joined: the goroutine ends with the command.
			case <-c.Context().Done():
			}
		}()
		v.apply = func(now config.Config, _ []config.Changed) { n.Change(nodeLive(now)) }
		return v.serve(c.Context(), func() error { return n.Run(c.Context()) })
	}
}

// executable is this program, for measurements that the manager asks for; "" if the system does not say.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

// joinToken returns the token from the setting or environment, the file, or standard input ("-"). "" means none: a node
// that has joined needs none.
// The token is a secret. It is in no log and in no error.
func joinToken(e *cli.Env, n config.Node) (string, error) {
	if n.Join != "" || n.JoinFile == "" {
		return n.Join, nil
	}
	// "-" is standard input, so that a token can be piped from ssh.
	from := e.In
	if n.JoinFile != "-" {
		f, err := os.Open(n.JoinFile)
		if err != nil {
			return "", errs.Wrap(err, "hemera.ReadTheJoinToken", n.JoinFile)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, joinMax))
	return strings.TrimSpace(string(text)), errs.Wrap(err, "hemera.ReadTheJoinToken", n.JoinFile)
}

// joinMax bounds what is read of a token file, in bytes; tokens are shorter.
// It protects against a path such as /dev/zero.
const joinMax = 16 << 10

// lastEqual is the position of the last = in s, or -1: paths may contain one, spaces' names cannot.
// A path without = has none, so it is all path.
func lastEqual(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '=' {
			return i
		}
	}
	return -1
}
