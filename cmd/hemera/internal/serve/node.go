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

// RunsNode makes the command `hemera node` run a storage node if it has no sub-command. Package storage makes the
// command, as the noun of the admins' commands; RunsNode registers the settings of a node on it. Sub-commands do not
// inherit these flags.
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
			// Without =SPACE, a disk keeps its space; a new disk gets the default one.
			if i := lastEqual(d); i > 0 {
				path, space = d[:i], d[i+1:]
			}
			disks = append(disks, hemera.AttachDisk{Path: path, Space: hemera.SpaceName(space)})
		}
		// The token is read before anything is opened: standard input may be a pipe that ends.
		token, err := joinToken(e, l.Node)
		if err != nil {
			return err
		}
		// OpenNode returns when the node listens. The node joins in the background and retries until it succeeds.
		n, err := daemon.OpenNode(c.Context(), daemon.NodeOptions{
			Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone, WithoutLoop: !l.Connections.EventLoop,
			Disks: disks, Join: token, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate),
			Executable: executable(), Version: e.Build.Version, Commit: e.Build.Commit, Log: v.log,
		})
		if err != nil {
			return err
		}
		// The node serves before it has joined, because its manager may be unreachable. The goroutine ends when the node
		// has joined, or with the command.
		go func() {
			select {
			case <-n.Joined():
				v.log.Info("node is serving", "addr", n.Addr, "node", n.ID())
			// The command was interrupted before the node had joined.
			case <-c.Context().Done():
			}
		}()
		v.apply = func(now config.Config, _ []config.Changed) { n.Change(nodeLive(now)) }
		return v.serve(c.Context(), func() error { return n.Run(c.Context()) })
	}
}

// executable returns the path of this program, which the node starts for measurements that the manager asks for. It
// returns "" if the system does not know the path.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

// joinToken returns the token from the setting or environment, from the file, or from standard input ("-"). It returns ""
// if there is none; a node that has joined needs none. The token is a secret and must not appear in a log or an error.
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

// joinMax bounds the bytes that are read of a token file. Tokens are shorter. The bound protects against a path such as
// /dev/zero.
const joinMax = 16 << 10

// lastEqual returns the position of the last "=" in s, or -1 if there is none. A path may contain "=", the name of a
// space may not.
func lastEqual(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '=' {
			return i
		}
	}
	return -1
}
