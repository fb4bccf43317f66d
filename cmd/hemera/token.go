package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"hemera/admin"
	"hemera/auth"
	"hemera/cmd/hemera/internal/output"
)

// warnOfToken says so when only the manager's own machine can use a token.
func (e *env) warnOfToken(text string) {
	t, err := auth.ParseToken(text)
	if err != nil || len(t.Addrs) == 0 {
		return
	}
	host, _, _ := net.SplitHostPort(t.Addrs[0])
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		fmt.Fprintf(e.Err, "hemera: this token leads to %s, which other machines cannot reach: nodes there need a manager started with --listen\n", t.Addrs[0])
	}
}

func tokenCommand(e *env) *cobra.Command {
	var lifetime time.Duration
	create := &cobra.Command{
		Use: "create", Short: "Make a token with which new nodes join", Args: cobra.NoArgs,
		Long: `Makes a join token: whoever has it can add storage nodes to the cluster until it expires,
so treat it as a password. The token is printed alone on one line.`,
		Example: `  hemera token create --expires 1h
  ssh node1 hemera node --listen 10.1.0.2 --disk /disk1 --join "$(hemera token create)"`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				t, err := m.CreateToken(ctx, lifetime)
				if err != nil {
					return err
				}
				e.warnOfToken(t)
				p := e.printer()
				if p.Format == output.Table {
					_, err = fmt.Fprintln(e.Out, t)
					return err
				}
				return p.List(nil, []output.Record{{{Key: "token", Value: t}}})
			})
		},
	}
	create.Flags().DurationVar(&lifetime, "expires", 0, "how long it works: 30m, 24h; 0 is the manager's auth.token_lifetime")
	return noun("token", "Join tokens for new nodes", create)
}
