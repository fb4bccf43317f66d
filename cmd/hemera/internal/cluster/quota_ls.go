package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
)

// quotaLsCommand makes `hemera quota ls`. The manager leaves out the limits of others if a user asks.
func quotaLsCommand(e *cli.Env) *cobra.Command {
	var w whose
	var numeric bool
	c := &cobra.Command{
		Use: "ls", Short: "List limits and what is used of them", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists everybody with files or limits at the quota nodes: all of them, or with -p those at
and above a path, which are the ones whose limits hold there. Users see the limits that bound
them: their own, their groups' and those of projects.

  bytes, files       what the files hold, without directories
  physical           the same bytes with every replica counted
  max …              the limit of each; set with --bytes, --files and --physical
  filled             the fuller of bytes and physical
  volume, inodes     ok, warning (from 90 %), exceeded; ignored without a limit

counting means that files which were there before are still being counted.`,
		Example: `  hemera quota ls
  hemera quota ls -p /exp/run3 -u alice
  hemera quota ls -m`,
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := w.key(e)
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				rows, err := m.Quotas(ctx, key.Path)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, r := range rows {
					if key.Kind == 0 || key.Kind == r.Kind && key.ID == r.ID {
						records = append(records, quotaRecord(r, numeric))
					}
				}
				return e.List(quotaColumns, records, "no limits; an admin sets them with hemera quota set")
			})
		},
	}
	w.flags(e, c, false)
	c.Flags().BoolVarP(&numeric, "numeric", "n", false, "numbers instead of names")
	return c
}

// quotaColumns are the table of quota ls.
var quotaColumns = []output.Column{
	{Title: "quota node", Key: "space"}, // the directory
	{Title: "user", Key: "uid"},
	{Title: "group", Key: "gid"},
	{Title: "bytes", Key: "usedlogicalbytes", Show: output.Bytes},             // without copies
	{Title: "physical", Key: "usedbytes", Show: output.Bytes, Wide: 1},        // with all copies
	{Title: "files", Key: "usedfiles"},                                        // directories do not count
	{Title: "max bytes", Key: "maxlogicalbytes", Show: limited(output.Bytes)}, // the limits
	{Title: "max physical", Key: "maxbytes", Show: limited(output.Bytes), Wide: 1},
	{Title: "max files", Key: "maxfiles", Show: limited(output.Digits(0))},
	{Title: "filled", Key: "percentageusedbytes", Show: output.Percent}, // the fuller of both
	{Title: "volume", Key: "statusbytes", Wide: 1},                      // state of the limits of bytes
	{Title: "inodes", Key: "statusfiles", Wide: 1},                      // state of the limit of files
}

// limited shows "no limit", which is stored as 0, as nothing.
func limited(show func(any) string) func(any) string {
	return func(v any) string {
		if n, _ := v.(int64); n == 0 {
			return ""
		}
		return show(v)
	}
}

// quotaRecord makes a record with EOS's keys. "filled" is the fuller of bytes and physical bytes.
func quotaRecord(r hemera.QuotaRow, numeric bool) output.Record {
	logical, physical := cli.Percent(r.Used.Bytes, r.Limits.Bytes), cli.Percent(r.Used.Physical, r.Limits.Physical)
	volume, inodes := quotaStatus(max(logical, physical), r.Limits.Bytes+r.Limits.Physical), quotaStatus(cli.Percent(r.Used.Files, r.Limits.Files), r.Limits.Files)
	if r.Counting {
		volume, inodes = "counting", "counting"
	}
	who := output.Field{Key: "gid", Value: "project"}
	switch r.Kind {
	case hemera.QuotaUser:
		who = output.Field{Key: "uid", Value: cli.NameOf(r.ID, numeric, cli.UserName)}
	case hemera.QuotaGroup:
		who.Value = cli.NameOf(r.ID, numeric, cli.GroupName)
	}
	return output.Record{
		{Key: "quota", Value: "node"}, who, {Key: "space", Value: r.Path},
		{Key: "usedbytes", Value: r.Used.Physical}, {Key: "usedlogicalbytes", Value: r.Used.Bytes}, {Key: "usedfiles", Value: r.Used.Files},
		{Key: "maxbytes", Value: r.Limits.Physical}, {Key: "maxlogicalbytes", Value: r.Limits.Bytes}, {Key: "maxfiles", Value: r.Limits.Files},
		{Key: "percentageusedbytes", Value: max(logical, physical)}, {Key: "statusbytes", Value: volume}, {Key: "statusfiles", Value: inodes},
	}
}

// warnFrom is the share of a limit, in percent, from which its owner should remove files.
const warnFrom = 90

// quotaStatus is EOS's word for how full a limit is.
func quotaStatus(filled float64, limit int64) string {
	switch {
	case limit == 0:
		return "ignored"
	case filled >= 100:
		return "exceeded"
	case filled >= warnFrom:
		return "warning"
	}
	return "ok"
}
