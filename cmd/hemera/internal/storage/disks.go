package storage

import (
	"context"
	"syscall"
	"time"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/core/cluster"
)

// diskSource is what the records of disks are made from.
type diskSource interface {
	View(context.Context) (*hemera.View, error)
	Jobs(context.Context) ([]hemera.JobStatus, error)
}

// loadDisks makes one record of each disk, with EOS's keys.
func loadDisks(ctx context.Context, m diskSource) ([]output.Record, error) {
	v, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := m.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	records := make([]output.Record, len(v.Disks))
	for i, d := range v.Disks {
		records[i] = diskRecord(v, d, jobOf(jobs, d.ID))
	}
	return records, nil
}

// jobOf is the job that says most of a disk: one under way, else the newest.
func jobOf(jobs []hemera.JobStatus, id hemera.DiskID) (best *hemera.JobStatus) {
	for i := range jobs {
		j := &jobs[i]
		if j.Disk != id {
			continue
		}
		if best == nil || best.State == "done" && (j.State != "done" || j.Started.After(best.Started)) {
			best = j
		}
	}
	return best
}

func diskRecord(v *hemera.View, d hemera.Disk, job *hemera.JobStatus) output.Record {
	n, _ := v.Node(d.Node)
	s, _ := v.Space(d.Space)
	host, port := cli.HostPort(n.Addr)
	in, out, speed := network(n.Stats.Net)
	code, message := trouble(n, d)
	r := output.Record{
		{Key: "host", Value: host}, {Key: "port", Value: port}, {Key: "hostport", Value: n.Addr}, {Key: "id", Value: uint32(d.ID)},
		{Key: "uuid", Value: d.UUID}, {Key: "path", Value: d.Path}, {Key: "space", Value: d.Space}, {Key: "schedgroup", Value: d.Group},
		{Key: "configstatus", Value: string(d.Config)}, {Key: "headroom", Value: cluster.Headroom(s.Headroom, d.Capacity)},
		{Key: "stat.geotag", Value: d.Zone}, {Key: "stat.boot", Value: boot(n, d)}, {Key: "stat.active", Value: cli.OnOff(d.Active, "online", "offline")},
		{Key: "stat.health", Value: healthWord(d.Health)}, {Key: "stat.errc", Value: code}, {Key: "stat.errmsg", Value: message},
		{Key: "stat.usage", Value: cli.Percent(d.Used, d.Capacity)},
		{Key: "stat.statfs.usedbytes", Value: d.Used}, {Key: "stat.statfs.freebytes", Value: d.Free}, {Key: "stat.statfs.capacity", Value: d.Capacity},
		{Key: "stat.lastaudit", Value: cli.Unix(d.LastAudit)}, {Key: "stat.lastscrub", Value: cli.Unix(d.LastScrub)},
		{Key: "stat.usedfiles", Value: d.Pieces}, {Key: "stat.held.pieces", Value: d.Held}, {Key: "stat.held.bytes", Value: d.HeldBytes},
		{Key: "stat.statfs.files", Value: d.Inodes}, {Key: "stat.statfs.ffree", Value: d.InodesFree}, {Key: "stat.statfs.fused", Value: d.Inodes - d.InodesFree},
		{Key: "stat.disk.load", Value: d.Load.Busy}, {Key: "stat.disk.readratemb", Value: float64(d.Load.ReadBytes) / 1e6},
		{Key: "stat.disk.writeratemb", Value: float64(d.Load.WriteBytes) / 1e6},
		{Key: "stat.disk.read.p50ms", Value: milliseconds(d.Load.Read.Quantile(0.5))}, {Key: "stat.disk.read.p99ms", Value: milliseconds(d.Load.Read.Quantile(0.99))},
		{Key: "stat.disk.write.p50ms", Value: milliseconds(d.Load.Write.Quantile(0.5))}, {Key: "stat.disk.write.p99ms", Value: milliseconds(d.Load.Write.Quantile(0.99))},
		{Key: "stat.disk.sync.p50ms", Value: milliseconds(d.Load.Sync.Quantile(0.5))}, {Key: "stat.disk.sync.p99ms", Value: milliseconds(d.Load.Sync.Quantile(0.99))},
		{Key: "stat.disk.checksumerrors", Value: d.Load.ChecksumErrors}, {Key: "stat.disk.ioerrors", Value: d.Load.IOErrors},
		{Key: "stat.net.ethratemib", Value: speed}, {Key: "stat.net.inratemib", Value: in}, {Key: "stat.net.outratemib", Value: out},
		{Key: "stat.ropen", Value: d.Load.ReadOpens}, {Key: "stat.wopen", Value: d.Load.WriteOpens},
		{Key: "local.drain", Value: drainState(d, job)},
	}
	r = append(r, drainKeys(v, d, job)...)
	if job == nil {
		return r
	}
	return append(r, jobFields(*job)...)
}

// jobFields are the keys of a drain or repair.
func jobFields(job hemera.JobStatus) output.Record {
	return output.Record{
		{Key: "stat.drain.kind", Value: job.Kind}, {Key: "stat.drain.state", Value: job.State}, {Key: "stat.drain.why", Value: job.Why},
		{Key: "stat.drain.progress", Value: progress(job)}, {Key: "stat.drain.files", Value: job.FilesLeft}, {Key: "stat.drain.filesdone", Value: job.FilesDone},
		{Key: "stat.drain.bytesleft", Value: job.BytesLeft}, {Key: "stat.drain.bytesdone", Value: job.BytesDone},
		{Key: "stat.drain.ratemb", Value: job.Rate / 1e6}, {Key: "stat.drain.timeleft", Value: int64(job.Remaining.Seconds())},
		{Key: "stat.drain.started", Value: cli.Unix(job.Started)},
	}
}

// drainKeys are the keys of a drain that EOS's tools read, and those of things that only EOS has.
func drainKeys(v *hemera.View, d hemera.Disk, job *hemera.JobStatus) output.Record {
	var j hemera.JobStatus
	progressNow := 0.0
	if job != nil && job.Kind == "drain" {
		j, progressNow = *job, progress(*job)
	}
	ill := cli.OnOff(d.Health == hemera.HealthFailing || d.Health == hemera.HealthGone, "1", "0")
	return output.Record{
		{Key: "drainstatus", Value: drainState(d, job)}, {Key: "stat.drainprogress", Value: progressNow}, {Key: "stat.drainfiles", Value: j.FilesLeft},
		{Key: "stat.drainbytesleft", Value: j.BytesLeft}, {Key: "stat.drainretry", Value: 0}, {Key: "stat.drain.failed", Value: j.Failed},
		{Key: "graceperiod", Value: int64(v.Grace.Seconds())}, {Key: "stat.timeleft", Value: int64(j.Remaining.Seconds())},
		{Key: "stat.balancer.running", Value: 0}, {Key: "stat.drainer.running", Value: drainers(job)},
		{Key: "stat.disk.iops", Value: 0}, {Key: "stat.disk.bw", Value: 0},
		{Key: "stat.health.redundancy_factor", Value: 0}, {Key: "stat.health.drives_failed", Value: 0}, {Key: "stat.health.drives_total", Value: 0},
		{Key: "stat.health.indicator", Value: ill},
	}
}

// drainers is 1 while a drain moves files away from its disk, else 0.
func drainers(job *hemera.JobStatus) int {
	if job != nil && job.Kind == "drain" && job.State == "running" {
		return 1
	}
	return 0
}

// healthWord is a disk's health; a good one is spelt as EOS's tools expect it.
func healthWord(h hemera.DiskHealth) string {
	if h == hemera.HealthOK {
		return "OK"
	}
	return string(h)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// boot is EOS's word for whether the disk is in use by its node.
func boot(n hemera.NodeInfo, d hemera.Disk) string {
	switch {
	case n.Status == hemera.NodeOffline:
		return "down"
	case d.Health == hemera.HealthGone:
		return "bootfailure"
	case d.Health == hemera.HealthFailing:
		return "opserror"
	}
	return "booted"
}

// trouble is what is wrong with a disk, as an errno and in words; 0 when nothing is.
func trouble(n hemera.NodeInfo, d hemera.Disk) (int, string) {
	if n.Status == hemera.NodeOffline {
		return int(syscall.EHOSTDOWN), "its node is offline"
	}
	code := map[hemera.DiskHealth]syscall.Errno{
		hemera.HealthFull: syscall.ENOSPC, hemera.HealthReadOnly: syscall.EROFS,
		hemera.HealthFailing: syscall.EIO, hemera.HealthGone: syscall.ENODEV,
	}[d.Health]
	return int(code), d.Why
}

// drainState is EOS's word for how far the emptying of a disk is.
func drainState(d hemera.Disk, job *hemera.JobStatus) string {
	switch {
	case d.Config == hemera.ConfigEmpty:
		return "drained"
	case job == nil || job.Kind != "drain" || d.Config != hemera.ConfigDrain:
		return cli.OnOff(d.Config == hemera.ConfigDrain, "wait", "nodrain")
	case job.State == "done":
		return "drained"
	case job.State == "stalled":
		return "stalling"
	case job.State == "waiting":
		return "wait"
	}
	return "draining"
}

func progress(j hemera.JobStatus) float64 {
	if total := j.BytesDone + j.BytesLeft; total > 0 {
		return cli.Percent(j.BytesDone, total)
	}
	if j.FilesLeft == 0 {
		return 100
	}
	return cli.Percent(j.FilesDone, j.FilesDone+j.FilesLeft)
}

// network sums a node's interfaces: rates and nominal speed in MiB/s.
func network(interfaces []hemera.NetStats) (in, out, speed float64) {
	for _, i := range interfaces {
		in += i.InRate / (1 << 20)
		out += i.OutRate / (1 << 20)
		speed += float64(i.Speed) / 8 / (1 << 20)
	}
	return in, out, speed
}
