package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// WhoamiCommand makes `hemera whoami`: the identity of the caller as the manager authenticated it. It needs no admin and
// works on any machine whose clients the manager serves.
func WhoamiCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Who you are for the cluster", Args: cobra.NoArgs, GroupID: "other",
		Long: `Shows as which user the manager serves you, with uid, groups and how that was proved, and whether you
are an admin. Any user may ask, from any machine that the manager serves.`,
		Example: `  hemera whoami
  hemera whoami -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				who, err := m.About.WhoAmI(ctx)
				if err != nil {
					return err
				}
				if e.ForPrograms() {
					return e.Printer().List(nil, []output.Record{whoamiRecord(who)})
				}
				_, err = fmt.Fprintln(e.Out, e.Visible(whoamiText(who)))
				return err
			})
		},
	}
}

// whoamiRecord makes the record of an identity for programs.
func whoamiRecord(who hemera.Identity) output.Record {
	return output.Record{
		{Key: "user", Value: who.Name}, {Key: "uid", Value: who.UID}, {Key: "gid", Value: who.GID}, {Key: "groups", Value: groupList(who.Groups)},
		{Key: "auth", Value: who.Protocol}, {Key: "claimed", Value: who.Claimed}, {Key: "host", Value: who.Host}, {Key: "admin", Value: cli.OnOff(who.Admin, "on", "off")},
	}
}

// groupList joins numbers of groups by commas.
func groupList(groups []uint32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(groups), " ", ","), "[]")
}

// whoamiText returns one sentence about the user, with the reason if the user is nobody.
func whoamiText(who hemera.Identity) string {
	text := fmt.Sprintf("you are %s (uid %d, gid %d)", who.Name, who.UID, who.GID)
	if len(who.Groups) > 0 {
		text = fmt.Sprintf("you are %s (uid %d, gid %d, groups %s)", who.Name, who.UID, who.GID, groupList(who.Groups))
	}
	if who.Admin {
		text += ", an admin"
	}
	if who.Host != "" {
		text += ", from " + who.Host
	}
	switch {
	case who.Protocol == "host":
		return text + ": this connection proved no name (host)"
	case who.Protocol == "unix" && who.UID == hemera.NobodyID && who.Name == "nobody":
		const rule = "root and the server's own user of other machines are nobody here, and so are all users of networks that are set so (unix; see auth.trusted_networks)"
		switch who.Claimed {
		case "":
			return text + ": " + rule
		case "nobody":
			return text + ": your client said nobody (unix)"
		}
		return text + ": your client said " + who.Claimed + ", and " + rule
	case who.Mapped() != "":
		return text + ": your client said " + who.Claimed + ", an account that the manager's machine does not have; the number is that of your connection's owner (unix)"
	case who.UID == hemera.NobodyID:
		return text + ": the manager's machine has no account of this name or number (" + who.Protocol + ")"
	case who.Protocol == "socket":
		return text + ": you own this end of the connection (socket)"
	case who.Protocol == "unix":
		return text + ": your client said the name, and the manager believes it (unix)"
	}
	return text
}
