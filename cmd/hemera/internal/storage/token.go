package storage

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/pki"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// TokenCommand makes `hemera token`, the commands for join tokens. A node joins with a token; after that its certificate
// identifies it.
func TokenCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("token", "Join tokens for new nodes", tokenCreateCommand(e), tokenLsCommand(e), tokenRmCommand(e))
	c.Long = `A new storage node joins the cluster with a token. A token admits one node, works for a day, and can be
revoked. The node needs it at its first start only.`
	c.Example = `  hemera token create > token
  hemera node --listen 10.1.0.2 --disk /disk1 --join-file token     (on the new machine)
  hemera token ls`
	return c
}

// tokenCreateCommand makes `hemera token create`. The token alone goes to standard output, so that it can be piped to a
// node. Each call makes a new token.
func tokenCreateCommand(e *cli.Env) *cobra.Command {
	// Zero values leave the choice to the manager.
	var r adminapi.TokenRequest
	var nodes []string
	c := &cobra.Command{
		Use: "create", Short: "Make a token with which a new node joins", Args: cobra.NoArgs,
		Long: `Makes a join token. Until it is used or expires, anybody who has it can add a storage node to the
cluster, so treat it as a password. It is printed alone on one line. Give it to the node by its
standard input, a file or its environment: everybody on a machine can read the arguments of its processes.`,
		Example: `  hemera token create | ssh node1 hemera node --listen 10.1.0.2 --disk /disk1 --join-file -
  hemera token create --node 10.1.0.2
  hemera token create --uses 20 --node 10.1.0.0/24 --lifetime 1h`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				for _, n := range nodes {
					from, err := addressesOf(ctx, n)
					if err != nil {
						return err
					}
					r.From = append(r.From, from...)
				}
				t, err := m.Trust.CreateToken(ctx, r)
				if err != nil {
					return err
				}
				// The warning goes to standard error, so that the pipe gets the token alone.
				warnOfToken(e, t)
				// A token is a secret: it is printed once, to this user, and not in a table.
				p := e.Printer()
				if p.Format == output.Table {
					_, err = fmt.Fprintln(e.Out, t)
					return err
				}
				return p.List(nil, []output.Record{{{Key: "token", Value: t}}})
			})
		},
	}
	c.Flags().DurationVar(&r.Lifetime, "lifetime", 0, "how long it works: 30m, 24h; 0 is the manager's auth.token_lifetime")
	c.Flags().DurationVar(&r.Lifetime, "expires", 0, "the same as --lifetime") // hidden: kept for scripts that use it
	_ = c.Flags().MarkHidden("expires")
	c.Flags().IntVar(&r.Uses, "uses", 1, fmt.Sprintf("how many nodes it admits, at most %d", pki.UsesMax)) // one node each
	c.Flags().StringSliceVar(&nodes, "node", nil, "address, network or host name that the node must come from, as the manager sees it; may be repeated")
	return c
}

// warnOfToken warns if the token leads to a loopback address, which only nodes of the manager's machine can use. A token
// that does not parse gives no warning, because it may be of a newer form.
func warnOfToken(e *cli.Env, text string) {
	t, err := pki.ParseToken(text)
	if err != nil || len(t.Addrs) == 0 {
		return
	}
	host, _, _ := net.SplitHostPort(t.Addrs[0])
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		fmt.Fprintf(e.Err, "hemera: this token leads to %s, which other machines cannot reach: nodes there need a manager started with --listen\n", t.Addrs[0])
	}
}

// addressesOf returns an address or network as it is, and looks up the addresses of a host name. The manager compares the
// address of a joining node with these. A later change of the name does not change the token. addressesOf fails with
// NotFound if the name is unknown.
func addressesOf(ctx context.Context, node string) ([]string, error) {
	if _, err := netip.ParsePrefix(node); err == nil {
		return []string{node}, nil
	}
	if _, err := netip.ParseAddr(node); err == nil {
		return []string{node}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", node)
	if err != nil {
		return nil, errs.As(err, errs.NotFound, "hemera.TokenCreate", node)
	}
	var list []string
	for _, a := range found {
		// An IPv4 address in IPv6 form would not equal the address that the manager sees.
		list = append(list, a.Unmap().String())
	}
	return list, nil
}

// tokenLsCommand makes `hemera token ls`. It shows ids, never secrets: the manager keeps only a hash of a token.
func tokenLsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the tokens that have not expired", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists join tokens by ids that do not reveal their secrets: how many nodes each still admits, from
where, and which nodes it has admitted.`,
		Example: `  hemera token ls`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				list, err := m.Trust.Tokens(ctx)
				if err != nil {
					return err
				}
				var rows []output.Record
				for _, t := range list {
					var used []string
					for _, u := range t.Used {
						// The address is that from which the manager saw the node join.
						used = append(used, fmt.Sprintf("node %d at %s", u.Node, u.From))
					}
					rows = append(rows, output.Record{
						{Key: "id", Value: t.ID}, {Key: "made", Value: cli.Unix(t.Made)}, {Key: "expires", Value: cli.Unix(t.Expires)},
						{Key: "left", Value: t.Left}, {Key: "from", Value: strings.Join(t.From, ",")}, {Key: "used", Value: strings.Join(used, ", ")},
					})
				}
				return e.List(tokenColumns, rows, "there is no token that could be used")
			})
		},
	}
}

// tokenColumns are the table of token ls.
var tokenColumns = []output.Column{
	{Title: "id", Key: "id"},                              // begins the token; says nothing of its secret
	{Title: "made", Key: "made", Show: output.Time},       // when it was created
	{Title: "expires", Key: "expires", Show: output.Time}, // no node can join with it afterwards
	{Title: "nodes left", Key: "left"},                    // how many it still admits
	{Title: "only from", Key: "from"},                     // addresses and networks; none: from anywhere
	{Title: "used by", Key: "used"},                       // the nodes that it admitted
}

// tokenRmCommand makes `hemera token rm`. It needs no consent, because a new token is easy to make.
func tokenRmCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rm <id>", Short: "Revoke a token", Args: cobra.ExactArgs(1),
		Long: `Revokes a join token by the id that token ls shows. Nodes that it has admitted stay; node rm ends
the trust in one.`,
		Example:           `  hemera token rm 0123456789ab`,
		ValidArgsFunction: complete.Tokens(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.Trust.RemoveToken(ctx, args[0]); err != nil {
					return err
				}
				e.Say("token %s is revoked", args[0])
				return nil
			})
		},
	}
}
