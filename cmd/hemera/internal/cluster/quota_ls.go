package cluster

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// quotaLsCommand makes `hemera quota ls`. For users the manager leaves out the limits of others. It makes one request.
// Filters by owner are applied here.
func quotaLsCommand(e *cli.Env) *cobra.Command {
	var w whose
	var numeric bool
	c := &cobra.Command{
		Use: "ls", Short: "List limits and what is used of them", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists everybody with files or limits at the quota nodes: all of them, or with -p those at
and above a path, which are the ones whose limits hold there. Users and groups without a
limit are in the list with what they use. Users see the limits that hold
for them: their own, their groups' and those of projects.

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
				rows, err := m.Quota.Quotas(ctx, key.Path)
				if err != nil {
					return err
				}
				var records []output.Record
				var unbounded int64
				for _, r := range rows {
					// Kind 0 means no filter.
					if key.Kind == 0 || key.Kind == r.Kind && key.ID == r.ID {
						records = append(records, quotaRecord(r, numeric))
						if r.Limits == (hemera.QuotaAmount{}) {
							unbounded++
						}
					}
				}
				if err := e.List(quotaColumns, records, noQuotas(key, len(rows))); err != nil || e.ForPrograms() || unbounded == 0 {
					return err
				}
				e.Say("%s without a limit: that is what is used, and nothing bounds it", output.Count(unbounded, "row"))
				return nil
			})
		},
	}
	w.flags(e, c, false)
	c.Flags().BoolVarP(&numeric, "numeric", "n", false, "numbers instead of names")
	return c
}

// noQuotas returns the reason for an empty list, and where to see the use without limits. rows is the number of rows
// before the filter.
func noQuotas(k hemera.QuotaKey, rows int) string {
	if rows > 0 {
		return quotaName(k) + " has neither files nor limits at the quota nodes here"
	}
	where := cmp.Or(k.Path, "/")
	return "no limits here (users see those that hold for them). What users and groups use is counted below limits alone: hemera du --depth 1 " + where +
		" shows what directories hold, and an admin sets limits with hemera quota set"
}

// quotaColumns has the columns of quota ls.
var quotaColumns = []output.Column{
	{Title: "quota node", Key: "space"},                                            // the directory
	{Title: "user", Key: "uid"},                                                    // a name, or default; a dash if the row is of a group
	{Title: "group", Key: "gid"},                                                   // a name, default, or project
	{Title: "bytes", Key: "usedlogicalbytes", Show: output.Bytes},                  // without copies
	{Title: "physical", Key: "usedbytes", Show: output.Bytes, Wide: 1},             // with all copies
	{Title: "files", Key: "usedfiles"},                                             // directories do not count
	{Title: "max bytes", Key: "maxlogicalbytes", Show: limited(output.Bytes)},      // the limits
	{Title: "max physical", Key: "maxbytes", Show: limited(output.Bytes), Wide: 1}, // of all copies
	{Title: "max files", Key: "maxfiles", Show: limited(output.Digits(0))},         // of files
	{Title: "filled", Key: "percentageusedbytes", Show: output.Percent},            // the fuller of both
	{Title: "volume", Key: "statusbytes", Wide: 1},                                 // state of the limits of bytes
	{Title: "inodes", Key: "statusfiles", Wide: 1},                                 // state of the limit of files
}

// limited shows "no limit", which is stored as 0, as nothing, because it is the usual case.
func limited(show func(any) string) func(any) string {
	return func(v any) string {
		if n, _ := v.(int64); n == 0 {
			return ""
		}
		return show(v)
	}
}

// quotaRecord makes a record with EOS's keys. "filled" is the greater of the percentages of bytes and physical bytes. A
// limit of a project has the group "project", where EOS writes the number 99. Percentages are 0 without a limit.
func quotaRecord(r hemera.QuotaRow, numeric bool) output.Record {
	logical, physical := cli.Percent(r.Used.Bytes, r.Limits.Bytes), cli.Percent(r.Used.Physical, r.Limits.Physical)
	volume, inodes := quotaStatus(max(logical, physical), r.Limits.Bytes+r.Limits.Physical), quotaStatus(cli.Percent(r.Used.Files, r.Limits.Files), r.Limits.Files)
	if r.Counting {
		volume, inodes = "counting", "counting" // the limits of users and groups do not hold yet
	}
	who := output.Field{Key: "gid", Value: "project"}
	switch r.Kind {
	case hemera.QuotaUser:
		who = output.Field{Key: "uid", Value: cli.NameOf(r.ID, numeric, cli.UserName)}
	case hemera.QuotaGroup:
		who.Value = cli.NameOf(r.ID, numeric, cli.GroupName)
	}
	return output.Record{
		{Key: "quota", Value: "node"}, who, {Key: "space", Value: r.Path}, // EOS's word for the kind of record
		{Key: "usedbytes", Value: r.Used.Physical}, {Key: "usedlogicalbytes", Value: r.Used.Bytes}, {Key: "usedfiles", Value: r.Used.Files}, // usedbytes counts every copy, usedlogicalbytes does not
		{Key: "maxbytes", Value: r.Limits.Physical}, {Key: "maxlogicalbytes", Value: r.Limits.Bytes}, {Key: "maxfiles", Value: r.Limits.Files}, // 0 is no limit
		{Key: "percentageusedbytes", Value: max(logical, physical)}, {Key: "statusbytes", Value: volume}, {Key: "statusfiles", Value: inodes}, // of the fuller limit
	}
}

// warnFrom is the percentage of a limit from which quota ls shows warning.
const warnFrom = 90

// quotaStatus returns EOS's word for the state of a limit. limit is 0 if there is none. filled is in percent.
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
