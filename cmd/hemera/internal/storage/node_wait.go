package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// waitInterval is the time between two requests of `hemera node wait`. A starting node is online within a second.
const waitInterval = 200 * time.Millisecond

// awaited is the state that `hemera node wait` waits for. The zero value stands for online.
type awaited struct {
	offline bool
	version string // that it runs; "" for any
	after   int64  // the instance that it must not be; 0 for any
}

// missing returns why the node is not in this state yet, or "" if it is.
func (w awaited) missing(n hemera.NodeInfo) string {
	switch status := nodeStatus(n); {
	case w.offline && n.Status == hemera.NodeOffline:
		return ""
	case w.offline || status != string(hemera.NodeOnline):
		return "it is " + status
	// The first report, which has the instance, comes right after the registration.
	case w.after != 0 && (instance(n) == w.after || instance(n) == 0):
		return "it is the same process as before"
	case w.version != "" && n.Version != w.version:
		return "it runs version " + n.Version
	}
	return ""
}

// nodeWaitCommand makes `hemera node wait`, for scripts. It fails with Timeout, and the error says which condition did
// not hold. The command also waits for a manager that does not answer, which may be one that is being upgraded.
func nodeWaitCommand(e *cli.Env) *cobra.Command {
	var want awaited
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait <node>", Short: "Wait until a node is online again", Args: cobra.ExactArgs(1),
		Long: `Waits until a node is online and not about to stop, for scripts that restart nodes one by one.
A node that stops in good order is offline for the manager before its process has ended. One that was
killed looks online for some seconds more: --instance-not waits for another process than that one.`,
		Example: `  systemctl restart hemera-node && hemera node wait node3.example.org
  hemera node wait 3 --version 0.2.1
  was=$(hemera -m node ls | sed -n 's/.* id=3 .* instance=\([0-9]*\).*/\1/p')
  hemera node wait 3 --instance-not $was`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				tick := time.NewTicker(waitInterval)
				defer tick.Stop()
				var missing string // what was not so when the manager answered last
				for {
					n, err := FindNode(ctx, m, args[0])
					switch {
					case err == nil:
						missing = want.missing(n)
					case ctx.Err() != nil && missing != "":
					case ctx.Err() != nil, errors.Is(err, errs.Unavailable), errors.Is(err, errs.Timeout):
						missing = err.Error()
					default:
						return err
					}
					if missing == "" {
						e.Say("node %d at %s is %s", n.ID, n.Addr, nodeStatus(n))
						return nil
					}
					select {
					case <-ctx.Done():
						return errs.New(errs.Timeout, "hemera.NodeWait", "node "+args[0], fmt.Sprintf("after %s %s", timeout, missing)).
							WithRemedy("see hemera why node " + args[0] + " and the log of its process")
					case <-tick.C:
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&want.offline, "offline", false, "wait until it is offline")
	c.Flags().StringVar(&want.version, "version", "", "wait until it runs this version")
	c.Flags().Int64Var(&want.after, "instance-not", 0, "wait until its instance, as in node ls -m, is another")
	c.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "fail after this time")
	c.MarkFlagsMutuallyExclusive("offline", "version")
	c.MarkFlagsMutuallyExclusive("offline", "instance-not")
	return c
}
