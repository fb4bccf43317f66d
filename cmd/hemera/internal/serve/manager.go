package serve

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/process/config"
	"hemera/process/daemon"
)

// ManagerCommand makes `hemera manager`, which runs a manager. The command returns when its context ends, or with an
// error of the start.
func ManagerCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "manager", Short: "Run a manager: the namespace, placement and administration", GroupID: "serve",
		Long: `Runs the manager of a cluster until Ctrl-C. Storage nodes join it with a token:

  hemera manager --listen 10.1.0.1 --trusted-networks 10.1.0.0/24
  hemera token create                       (on the manager's machine)
  hemera node --listen 10.1.0.2 --join-file TOKENFILE --disk /disk1     (on each node)`,
		Example: `  hemera manager --listen 10.1.0.1 --trusted-networks 10.1.0.0/24
  hemera manager --data /srv/hemera --port 1095        for tests, on this machine only`,
		Args: cobra.NoArgs,
	}
	// The groups of settings of a manager; each setting is a flag, a variable and a key of the file.
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "connections", "http", "auth", "tpc", "space", "repair", "removal", "writes", "cache", "log")
	_ = c.RegisterFlagCompletionFunc("layout", complete.Layouts)
	c.RunE = func(c *cobra.Command, _ []string) error {
		// Before any file is opened.
		keepPrivate()
		l, v, err := settings(e, c, true)
		if err != nil {
			return err
		}
		addProcessors(l)
		options, err := managerOptions(e, l, "manager", v)
		if err != nil {
			return err
		}
		// It returns when the namespace is open and the port is bound; Run serves requests.
		m, err := daemon.OpenManager(c.Context(), options)
		if err != nil {
			return err
		}
		// Only now is it known whether the socket could be made.
		noteSocket(l, m)
		warnOfSpace(c.Context(), l, m, v.log)
		v.log.Info("manager is serving", "addr", m.Addr, "socket", m.Socket)
		limitMemory(l)
		v.apply = func(now config.Config, _ []config.Changed) { m.Change(managerLive(now)) }
		return v.serve(c.Context(), func() error { return m.Run(c.Context()) })
	}
	return c
}
