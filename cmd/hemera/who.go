package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
)

// nobody stands for an empty table.
const nobody = "nobody is connected"

func whoCommand(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "who", Short: "Who is connected", Args: cobra.NoArgs,
		Example: `  hemera who        sessions by user, way of authentication, host and application
  hemera who -a     every session`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				sessions, err := m.Sessions(ctx)
				if err != nil {
					return err
				}
				if all {
					return e.list(sessionColumns, e.sessionRecords(sessions), nobody)
				}
				return e.list(whoColumns, whoRecords(sessions), nobody)
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "one line a session")
	return c
}

// whoRecords counts sessions and open files of one user, mechanism, host and application.
func whoRecords(sessions []hemera.SessionInfo) (out []output.Record) {
	type key struct {
		name, auth, host, app string
		uid                   uint32
	}
	type sum struct{ sessions, open int }
	sums := map[key]sum{}
	var keys []key
	for _, s := range sessions {
		k := key{s.Who.Name, s.Who.Protocol, s.Who.Host, s.Who.App, s.Who.UID}
		if _, seen := sums[k]; !seen {
			keys = append(keys, k)
		}
		sums[k] = sum{sums[k].sessions + 1, sums[k].open + s.Open}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.auth, b.auth), cmp.Compare(a.host, b.host), cmp.Compare(a.app, b.app))
	})
	for _, k := range keys {
		out = append(out, output.Record{
			{Key: "user", Value: k.name}, {Key: "uid", Value: k.uid}, {Key: "auth", Value: k.auth}, {Key: "host", Value: k.host},
			{Key: "app", Value: k.app}, {Key: "nsessions", Value: sums[k].sessions}, {Key: "open", Value: sums[k].open},
		})
	}
	return out
}

func (e *env) sessionRecords(sessions []hemera.SessionInfo) (out []output.Record) {
	for _, s := range sessions {
		gateway, _ := hostPort(s.Addr)
		out = append(out, output.Record{
			{Key: "client", Value: s.Who.Name + "@" + s.Who.Host}, {Key: "gateway", Value: gateway},
			{Key: "user", Value: s.Who.Name}, {Key: "uid", Value: s.Who.UID}, {Key: "gid", Value: s.Who.GID}, {Key: "auth", Value: s.Who.Protocol},
			{Key: "host", Value: s.Who.Host}, {Key: "app", Value: s.Who.App}, {Key: "open", Value: s.Open},
			{Key: "uptime", Value: since(e.Now(), s.Since)}, {Key: "idletime", Value: s.Idle.Seconds()},
			{Key: "tls", Value: onOff(s.TLS, "on", "off")}, {Key: "addr", Value: s.Addr},
		})
	}
	return out
}

var whoColumns = []output.Column{
	{Title: "user", Key: "user"},
	{Title: "uid", Key: "uid"},
	{Title: "auth", Key: "auth"},
	{Title: "host", Key: "host"},
	{Title: "app", Key: "app"},
	{Title: "sessions", Key: "nsessions"},
	{Title: "open", Key: "open"},
}

var sessionColumns = []output.Column{
	{Title: "user", Key: "user"},
	{Title: "uid", Key: "uid"},
	{Title: "auth", Key: "auth"},
	{Title: "host", Key: "host"},
	{Title: "app", Key: "app"},
	{Title: "open", Key: "open"},
	{Title: "since", Key: "uptime", Show: output.Seconds},
	{Title: "idle", Key: "idletime", Show: output.Seconds},
	{Title: "tls", Key: "tls"},
	{Title: "addr", Key: "addr"},
}
