package serve

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/app/config"
	"hemera/app/daemon"
	"hemera/cmd/hemera/internal/cli"
	"hemera/errs"
)

// RunsNode lets the command `hemera node`, without a sub-command, run a storage node.
func RunsNode(e *cli.Env, c *cobra.Command) {
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "http.metrics_networks", "node", "scrub", "log")
	c.Example = `  hemera node --join-file token --listen 10.1.0.2 --disk /disk1 --disk /disk2
  hemera node ls`
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UnknownCommand(c, args[0])
		}
		addProcessors()
		keepPrivate()
		l, log, err := settings(e, c)
		if err != nil {
			return err
		}
		var disks []hemera.AttachDisk
		for _, d := range l.Node.Disks {
			path, space := d, ""
			// --disk PATH=SPACE
			if i := lastEqual(d); i > 0 {
				path, space = d[:i], d[i+1:]
			}
			disks = append(disks, hemera.AttachDisk{Path: path, Space: space})
		}
		token, err := joinToken(e, l.Node)
		if err != nil {
			return err
		}
		n, err := daemon.OpenNode(c.Context(), daemon.NodeOptions{
			Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone,
			Disks: disks, Join: token, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate),
			Version: e.Build.Version, Commit: e.Build.Commit, Log: log,
		})
		if err != nil {
			return err
		}
		// The node serves before it has joined: its manager may be away.
		go func() {
			select {
			case <-n.Joined():
				log.Info("node is serving", "addr", n.Addr, "node", n.ID())
			case <-c.Context().Done():
			}
		}()
		return serve(c.Context(), log, func() error { return n.Run(c.Context()) })
	}
}

// joinToken returns the token from the setting or environment, the file, or standard input ("-"). "" means none: a node
// that has joined needs none.
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
const joinMax = 16 << 10

// lastEqual is the position of the last = in s, or -1: paths may contain one, spaces' names cannot.
func lastEqual(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '=' {
			return i
		}
	}
	return -1
}
