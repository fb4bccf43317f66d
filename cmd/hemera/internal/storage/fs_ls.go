package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fsLsCommand makes `hemera fs ls`. Each flag selects another table of the same records. If the table is empty, a
// sentence says why.
func fsLsCommand(e *cli.Env) *cobra.Command {
	var long, drain, failed, io, latency bool
	c := &cobra.Command{
		Use: "ls [match…]", Short: "List disks", Aliases: []string{"list"}, ValidArgsFunction: complete.Matches(e),
		Long: `Lists disks: all of them, or those that match one of the words: a disk's id or path, a
node's host or host:port, or a space.`,
		Example: `  hemera fs ls              every disk, what is wanted of it and how it is
  hemera fs ls fast         those of a space; or of a node
  hemera fs ls -d           only disks that are being emptied, with progress
  hemera fs ls -e           only disks with something wrong, and what it is
  hemera fs ls --io         rates and loads
  hemera fs ls --latency    slow disks, and those with errors
  hemera fs ls -m | grep stat.health=failing`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				disks, err := loadDisks(ctx, disksOf(m))
				if err == nil {
					// Words are checked before the flags: a word that names no disk is an error, whatever the flag.
					disks, err = matching(disks, args)
				}
				// Words select disks, and these rows are not disks.
				if err == nil && drain && len(args) == 0 {
					disks, err = withJobs(ctx, disksOf(m), disks)
				}
				if err != nil {
					return err
				}
				v, err := m.Cluster.View(ctx)
				if err != nil {
					return err
				}
				// Each reason for an empty table has its own sentence.
				columns, none := fsColumns, "there are no disks yet: hemera fs add"
				switch {
				case drain:
					// A disk is listed if it is to be drained, or if it has a job of any kind that is not done.
					none = "no disk is being emptied or repaired"
					columns, disks = fsDrainColumns, keep(disks, func(r output.Record) bool {
						state := r.Get("stat.drain.state")
						return r.Get("local.drain") != "nodrain" || state != nil && state != adminapi.JobDone
					})
				case failed:
					none, columns = "nothing is wrong with any disk", fsErrorColumns
					s, err := m.Status.Status(ctx)
					if err != nil {
						return err
					}
					disks = unwell(v, s, disks)
				case io:
					columns = fsIOColumns
				case latency:
					columns = fsLatencyColumns
				case long:
					// The full slice expression keeps append from writing into fsColumns.
					columns = append(columns[:len(columns):len(columns)], fsLongColumns...)
				}
				refused := refusedPaths(v)
				if len(v.Disks) == 0 && len(refused) > 0 && !drain && !failed {
					none = "there are no disks yet: no path that the nodes were given can be used"
				}
				if err := e.List(columns, disks, none); err != nil || e.ForPrograms() || drain || len(args) > 0 {
					return err
				}
				// These paths have no id and no row. A user who misses a disk looks here first.
				for _, line := range refused {
					fmt.Fprintln(e.Err, "hemera: warning: "+e.Visible(line))
				}
				return nil
			})
		},
	}
	c.Flags().BoolVarP(&long, "long", "l", false, "more columns")                   // what df shows
	c.Flags().BoolVarP(&drain, "drain", "d", false, "disks being emptied")          // repairs, too
	c.Flags().BoolVarP(&failed, "errors", "e", false, "disks with something wrong") // by the errno of their record
	c.Flags().BoolVar(&io, "io", false, "rates and loads")
	c.Flags().BoolVar(&latency, "latency", false, "how long calls to the disk take, and errors, since its node started") // quantiles
	c.MarkFlagsMutuallyExclusive("long", "drain", "errors", "io", "latency")
	return c
}

// unwell keeps the disks that the cluster's status warns of, or whose nodes are offline or disabled by it, and adds the
// status's texts and remedies. Thus fs ls and status say the same of a disk.
func unwell(v *hemera.View, s adminapi.ClusterStatus, disks []output.Record) (out []output.Record) {
	for _, r := range disks {
		id, _ := r.Get("id").(uint32)
		d, _ := v.Disk(hemera.DiskID(id))
		var codes, texts, remedies []string
		for _, c := range s.Conditions {
			ofNode := c.Subject == "node "+d.Node.String() && (c.Code == condition.NodeOffline || c.Code == condition.NodeDisabled)
			if c.Severity != adminapi.SeverityInfo && c.Subject == "disk "+d.ID.String() || ofNode {
				codes, texts, remedies = append(codes, c.Code), append(texts, c.Text), append(remedies, c.Remedy)
			}
		}
		if len(codes) > 0 {
			out = append(out, append(r, output.Field{Key: "condition", Value: strings.Join(codes, ",")}, output.Field{Key: "condition.text", Value: strings.Join(texts, "; ")},
				output.Field{Key: "condition.remedy", Value: strings.Join(remedies, "; ")}))
		}
	}
	return out
}

// refusedPaths returns a line for each path that a node cannot use as a disk: why, and what to do.
func refusedPaths(v *hemera.View) (lines []string) {
	for _, n := range v.Nodes {
		for _, u := range n.Stats.Unusable {
			line := u.Text(n.Addr)
			if u.Remedy != "" {
				line += " (what to do: " + u.Remedy + ")"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// withJobs adds a row for each job without a disk of the cluster: the repair of files that lack pieces, and of removed
// disks. These rows have only the keys of the table and of the job. A removed disk is shown with its last address and
// path.
func withJobs(ctx context.Context, m diskSource, disks []output.Record) ([]output.Record, error) {
	v, jobs, err := viewAndJobs(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		// Jobs of present disks are in their records already.
		if _, ok := v.Disk(j.Disk); ok || j.Over() {
			continue
		}
		// A job without a disk works for the whole cluster.
		r := output.Record{{Key: "host", Value: ""}, {Key: "port", Value: nil}, {Key: "id", Value: nil}, {Key: "path", Value: j.Subject()}}
		if was, ok := v.RemovedDisk(j.Disk); ok || j.Disk != 0 {
			host, port := cli.HostPort(was.Addr)
			r = output.Record{{Key: "host", Value: host}, {Key: "port", Value: port}, {Key: "id", Value: uint32(j.Disk)}, {Key: "path", Value: was.Path}}
		}
		disks = append(disks, append(append(r, output.Field{Key: "local.drain", Value: "nodrain"}, output.Field{Key: "stat.drain.failed", Value: j.Failed}), jobFields(j)...))
	}
	return disks, nil
}

// matchKeys are the keys of a disk's record that a word of fs ls may equal.
var matchKeys = []string{"id", "path", "host", "hostport", "space"}

// matching selects the disks that at least one word names, each once; without words, all. A word that names no disk is an
// error, because it is probably misspelt. Words are compared as text, so "04" is not an id.
func matching(disks []output.Record, words []string) ([]output.Record, error) {
	if len(words) == 0 {
		return disks, nil
	}
	named := map[string]bool{}
	found := keep(disks, func(r output.Record) (any bool) {
		for _, key := range matchKeys {
			if value := fmt.Sprint(r.Get(key)); slices.Contains(words, value) {
				named[value], any = true, true
			}
		}
		return any
	})
	for _, w := range words {
		if !named[w] {
			return nil, errs.New(errs.NotFound, "hemera.FsLs", w, "no disk has this id, path, host or space").
				WithRemedy("hemera fs ls shows all disks")
		}
	}
	return found, nil
}

// lower shows one of EOS's words in lower case, like the rest of a table.
func lower(v any) string { return strings.ToLower(fmt.Sprint(v)) }

// keep returns the selected records in their order.
func keep(records []output.Record, want func(output.Record) bool) (out []output.Record) {
	for _, r := range records {
		if want(r) {
			out = append(out, r)
		}
	}
	return out
}

// fsColumns are the table of fs ls. The titles are EOS's, except that local.drain is titled drain.
var fsColumns = []output.Column{
	{Title: "host", Key: "host"},          // of the node
	{Title: "port", Key: "port", Wide: 1}, // of the node
	{Title: "id", Key: "id"},
	{Title: "path", Key: "path"},                              // on the node's machine
	{Title: "group", Key: "schedgroup", Wide: 2},              // for tools of EOS: all disks of a space are one
	{Title: "zone", Key: "stat.geotag", Wide: 1},              // failure domain
	{Title: "boot", Key: "stat.boot", Wide: 2},                // whether the node has it in use
	{Title: "configstatus", Key: "configstatus"},              // what an admin wants
	{Title: "drain", Key: "local.drain", Wide: 1},             // how far its drain is
	{Title: "usage", Key: "stat.usage", Show: output.Percent}, // of the file system
	{Title: "active", Key: "stat.active"},                     // whether it can be read now
	{Title: "health", Key: "stat.health", Show: lower},        // what the node reports
}

// fsLongColumns follow fsColumns with --long.
var fsLongColumns = []output.Column{
	{Title: "uuid", Key: "uuid", Wide: 1},                                         // in the disk's label
	{Title: "headroom", Key: "headroom", Show: output.Bytes, Wide: 1},             // bytes that new files leave free
	{Title: "used", Key: "stat.statfs.usedbytes", Show: output.Bytes, Wide: 1},    // of the file system
	{Title: "free", Key: "stat.statfs.freebytes", Show: output.Bytes},             // for users, as df shows it
	{Title: "capacity", Key: "stat.statfs.capacity", Show: output.Bytes, Wide: 1}, // of the file system
	{Title: "statuscomment", Key: "stat.errmsg", Wide: 1},                         // why the health is not ok
}

// fsErrorColumns are the table of --errors; see unwell.
var fsErrorColumns = []output.Column{
	{Title: "host", Key: "host"},
	{Title: "id", Key: "id"},
	{Title: "path", Key: "path"},
	{Title: "boot", Key: "stat.boot", Wide: 2},
	{Title: "configstatus", Key: "configstatus"},
	{Title: "drain", Key: "local.drain", Wide: 1},
	{Title: "errc", Key: "stat.errc", Wide: 1},      // an errno of Linux
	{Title: "condition", Key: "condition"},          // codes of the status
	{Title: "what is wrong", Key: "condition.text"}, // in the words of the status
	{Title: "what to do", Key: "condition.remedy"},
}

// fsDrainColumns are the table of --drain: a row for each drain, repair or heal.
var fsDrainColumns = []output.Column{
	{Title: "host", Key: "host"},
	{Title: "port", Key: "port", Wide: 1},
	{Title: "id", Key: "id"},
	{Title: "path", Key: "path"},
	{Title: "drain", Key: "local.drain", Wide: 1},
	{Title: "job", Key: "stat.drain.kind", Wide: 1},                        // drain, repair or heal
	{Title: "state", Key: "stat.drain.state"},                              // running, waiting, stalled or done
	{Title: "progress", Key: "stat.drain.progress", Show: output.Percent},  // of bytes
	{Title: "files", Key: "stat.drain.files"},                              // left
	{Title: "bytes-left", Key: "stat.drain.bytesleft", Show: output.Bytes}, // of pieces to be moved
	{Title: "timeleft", Key: "stat.drain.timeleft", Show: output.Estimate}, // an estimate from the present rate
	{Title: "failed", Key: "stat.drain.failed", Wide: 1},                   // files that could not be moved so far
	{Title: "why", Key: "stat.drain.why"},                                  // what it waits for
}

// fsIOColumns are the table of --io. Rates of a node's network are the same for all its disks.
var fsIOColumns = []output.Column{
	{Title: "hostport", Key: "hostport"}, // address of the node
	{Title: "id", Key: "id"},
	{Title: "group", Key: "schedgroup", Wide: 2},
	{Title: "zone", Key: "stat.geotag", Wide: 1},
	{Title: "diskload", Key: "stat.disk.load"},                // share of time with I/O under way, 0 to 1
	{Title: "diskr-MB/s", Key: "stat.disk.readratemb"},        // 10^6 bytes
	{Title: "diskw-MB/s", Key: "stat.disk.writeratemb"},       // 10^6 bytes
	{Title: "eth-MiB/s", Key: "stat.net.ethratemib", Wide: 1}, // nominal speed, 2^20 bytes
	{Title: "ethi-MiB", Key: "stat.net.inratemib", Wide: 1},   // received each second
	{Title: "etho-MiB", Key: "stat.net.outratemib", Wide: 1},  // sent each second
	{Title: "ropen", Key: "stat.ropen"},                       // pieces open for reading
	{Title: "wopen", Key: "stat.wopen"},                       // pieces open for writing
	{Title: "usage", Key: "stat.usage", Show: output.Percent},
	{Title: "used-bytes", Key: "stat.statfs.usedbytes", Show: output.Bytes},        // of the file system
	{Title: "max-bytes", Key: "stat.statfs.capacity", Show: output.Bytes, Wide: 1}, // capacity of the file system
	{Title: "used-files", Key: "stat.usedfiles", Wide: 1},                          // pieces
}

// fsLatencyColumns are the table of --latency. Quantiles and counts are since the node started.
var fsLatencyColumns = []output.Column{
	{Title: "host", Key: "host"},
	{Title: "id", Key: "id"},
	{Title: "path", Key: "path"},
	{Title: "r50-ms", Key: "stat.disk.read.p50ms", Wide: 1},  // median of reads
	{Title: "r99-ms", Key: "stat.disk.read.p99ms"},           // 99th percentile
	{Title: "w50-ms", Key: "stat.disk.write.p50ms", Wide: 1}, // median of writes
	{Title: "w99-ms", Key: "stat.disk.write.p99ms"},          // 99th percentile
	{Title: "sync99-ms", Key: "stat.disk.sync.p99ms"},        // 99th percentile of fdatasync
	{Title: "xs-err", Key: "stat.disk.checksumerrors"},       // pages with a wrong checksum
	{Title: "io-err", Key: "stat.disk.ioerrors"},             // errors that the kernel returned
}
