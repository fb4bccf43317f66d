package storage

import (
	"cmp"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// SpaceCommand makes `hemera space`, the commands for spaces and their policies. As in EOS, space set NAME define makes a
// space.
func SpaceCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("space", "Spaces: list, look at, change", spaceLsCommand(e), spaceStatusCommand(e), spaceSetCommand(e), spaceRmCommand(e))
	c.Long = `A space is a set of disks with one policy: the layout and checksum of new files, and the room
that stays free on each disk. New files go to the space "default", which is always there, unless
a directory above them says otherwise by the attribute sys.forced.space.`
	c.Example = `  hemera space ls
  hemera space set fast define=on                     make a space ...
  hemera fs add node1 /nvme0 --space fast             ... give it a disk ...
  hemera attr set sys.forced.space=fast /exp/hot      ... and use it for new files below /exp/hot`
	return c
}

// spaceRecord makes the record of a space: its policy and the sums of its disks. The zone is shown if all disks are in
// the same one.
// jobs are those of the whole cluster. writable are the disks that take new files now.
func spaceRecord(v *hemera.View, s hemera.Space, jobs []adminapi.JobStatus) output.Record {
	var disks, writable []hemera.Disk
	zones := map[string]bool{}
	for _, d := range v.Disks {
		if d.Space != s.Name {
			continue
		}
		disks = append(disks, d)
		zones[d.Zone] = true
		if d.Writable() {
			writable = append(writable, d)
		}
	}
	zone := ""
	if len(zones) == 1 {
		for z := range zones {
			zone = z
		}
	}
	threshold, rate := s.Balancer.Limits()
	p, all, rw := s.Policy, v.Room(disks), v.Room(writable)
	r := output.Record{
		// EOS's word for the kind of record.
		{Key: "type", Value: "spaceview"}, {Key: "name", Value: string(s.Name)}, {Key: "geotag", Value: zone},
		// Constants for EOS's tools: all disks are one group.
		{Key: "cfg.groupsize", Value: 0}, {Key: "cfg.groupmod", Value: 1},
		{Key: "nofs", Value: len(disks)}, {Key: "sum.<n>?configstatus@rw", Value: len(writable)},
	}
	r = append(r, sumsOf(v, disks)...)
	r = append(r, output.Record{
		// EOS's name; the same value as ffree.
		{Key: "sum.stat.statfs.ffiles", Value: all.InodesFree},
		// Of the disks that take new files.
		{Key: "sum.stat.statfs.capacity?configstatus@rw", Value: rw.Capacity}, {Key: "sum.stat.statfs.freebytes?configstatus@rw", Value: rw.Free},
		{Key: "sum.stat.disk.iops?configstatus@rw", Value: 0}, {Key: "sum.stat.disk.bw?configstatus@rw", Value: 0},
		// Constants for EOS's tools: quotas always hold.
		{Key: "cfg.quota", Value: "on"}, {Key: "cfg.nominalsize", Value: 0},
		{Key: "cfg.balancer", Value: cli.OnOff(!s.Balancer.Off, "on", "off")}, {Key: "cfg.balancer.threshold", Value: threshold}, {Key: "cfg.balancer.rate", Value: rate},
		{Key: "sum.stat.balancer.running", Value: balancers(jobs, s.Name)}, {Key: "sum.stat.drainer.running", Value: drainersOf(disks, jobs)},
		{Key: "usage", Value: 100 * all.Filling()},
		{Key: "policy.layout", Value: cli.LayoutName(p.Layout)}, {Key: "policy.nstripes", Value: int(p.Layout.Pieces)},
		// Of coded files, whatever the layout of the space is: directories and clients may ask for one.
		{Key: "policy.blocksize", Value: hemera.FormatBlockSize(cmp.Or(p.Layout.BlockSize, p.BlockSize, hemera.BlockSizeDefault))},
		{Key: "policy.checksum", Value: p.Checksum.String()},
		// 0 is auto.
		{Key: "policy.minpieces", Value: int(p.PiecesMin)}, {Key: "policy.sync", Value: cli.OnOff(p.Sync, "on", "off")}, {Key: "policy.recycle", Value: cmp.Or(s.Recycle, recycle.Off)}, {Key: "headroom", Value: s.Headroom},
	}...)
	return append(r, balanceFields(jobs, s.Name)...)
}
