package storage

import (
	"context"
	"syscall"
	"time"

	"hemera/client/admin"
	"hemera/cluster"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// diskSource is the part of the admin API that records of disks are made from. *admin.Client has these methods; tests
// implement their own.
type diskSource interface {
	View(context.Context) (*hemera.View, error)
	Jobs(context.Context) ([]adminapi.JobStatus, error)
}

// disksOf returns the diskSource of a manager.
func disksOf(m *admin.Client) diskSource {
	return struct {
		admin.Cluster
		admin.Maint
	}{m.Cluster, m.Maint}
}

// viewAndJobs asks for the cluster and then for its jobs, so a job may be newer than the view.
func viewAndJobs(ctx context.Context, m diskSource) (*hemera.View, []adminapi.JobStatus, error) {
	v, err := m.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := m.Jobs(ctx)
	return v, jobs, err
}

// loadDisks makes a record for each disk, in two requests.
func loadDisks(ctx context.Context, m diskSource) ([]output.Record, error) {
	v, jobs, err := viewAndJobs(ctx, m)
	if err != nil {
		return nil, err
	}
	records := make([]output.Record, len(v.Disks))
	for i, d := range v.Disks {
		records[i] = diskRecord(v, d, jobOf(jobs, d.ID))
	}
	return records, nil
}

// jobOf returns the job of a disk to show: one that is not done, else the newest; nil if there is none. jobs may be in
// any order. The result points into jobs.
func jobOf(jobs []adminapi.JobStatus, id hemera.DiskID) (best *adminapi.JobStatus) {
	for i := range jobs {
		j := &jobs[i]
		if j.Disk != id {
			continue
		}
		// At most one job of a disk is not done.
		if best == nil || best.Over() && (!j.Over() || j.Started.After(best.Started)) {
			best = j
		}
	}
	return best
}

// diskRecord makes the record of a disk. The keys are EOS's where EOS has the key. If job is nil, the keys of EOS's drain
// are 0, and Hemera's own keys of a job are left out. An unknown node or space leaves its values empty.
func diskRecord(v *hemera.View, d hemera.Disk, job *adminapi.JobStatus) output.Record {
	n, _ := v.Node(d.Node)
	s, _ := v.Space(d.Space)
	host, port := cli.HostPort(n.Addr)
	// The network belongs to the node: all its disks show the same rates.
	in, out, speed := network(n.Stats.Net)
	code, message := trouble(n, d)
	r := output.Record{
		{Key: "host", Value: host}, {Key: "port", Value: port}, {Key: "hostport", Value: n.Addr}, {Key: "id", Value: uint32(d.ID)}, // which disk
		{Key: "uuid", Value: d.UUID}, {Key: "path", Value: d.Path}, {Key: "space", Value: string(d.Space)}, {Key: "schedgroup", Value: string(d.Space) + ".0"}, // uuid is in the label on the disk
		{Key: "configstatus", Value: string(d.Config)}, {Key: "headroom", Value: cluster.Headroom(s.Headroom, d.Capacity)}, // what an admin wants
		{Key: "stat.geotag", Value: d.Zone}, {Key: "stat.boot", Value: boot(n, d)}, {Key: "stat.active", Value: cli.OnOff(d.Active, "online", "offline")}, // whether it works
		{Key: "stat.health", Value: healthWord(n, d)}, {Key: "stat.errc", Value: code}, {Key: "stat.errmsg", Value: message}, // errc is an errno
		// Usage is the percentage of used bytes in used and free ones: data of others on the file system counts, room
		// that is kept free does not.
		{Key: "stat.usage", Value: 100 * d.Filling()},
		{Key: "stat.statfs.usedbytes", Value: d.Used}, {Key: "stat.statfs.freebytes", Value: d.Free}, {Key: "stat.statfs.capacity", Value: d.Capacity}, // bytes of the file system
		{Key: "stat.lastaudit", Value: cli.Unix(d.LastAudit)}, {Key: "stat.lastscrub", Value: cli.Unix(d.LastScrub)}, // seconds since 1970
		{Key: "stat.usedfiles", Value: d.Pieces}, {Key: "stat.held.pieces", Value: d.Held}, {Key: "stat.held.bytes", Value: d.HeldBytes}, // pieces; held ones belong to replaced content
		{Key: "stat.statfs.files", Value: d.Inodes}, {Key: "stat.statfs.ffree", Value: d.InodesFree}, {Key: "stat.statfs.fused", Value: d.Inodes - d.InodesFree}, // inodes
		{Key: "stat.disk.load", Value: d.Load.Busy}, {Key: "stat.disk.readratemb", Value: float64(d.Load.ReadBytes) / 1e6}, // rates in 10^6 bytes a second
		{Key: "stat.disk.writeratemb", Value: float64(d.Load.WriteBytes) / 1e6},
		{Key: "stat.disk.read.p50ms", Value: milliseconds(quantile(d.Load.Read, 0.5))}, {Key: "stat.disk.read.p99ms", Value: milliseconds(quantile(d.Load.Read, 0.99))}, // since the node started
		{Key: "stat.disk.write.p50ms", Value: milliseconds(quantile(d.Load.Write, 0.5))}, {Key: "stat.disk.write.p99ms", Value: milliseconds(quantile(d.Load.Write, 0.99))},
		{Key: "stat.disk.sync.p50ms", Value: milliseconds(quantile(d.Load.Sync, 0.5))}, {Key: "stat.disk.sync.p99ms", Value: milliseconds(quantile(d.Load.Sync, 0.99))},
		{Key: "stat.disk.checksumerrors", Value: d.Load.ChecksumErrors}, {Key: "stat.disk.ioerrors", Value: d.Load.IOErrors},
		{Key: "stat.net.ethratemib", Value: speed}, {Key: "stat.net.inratemib", Value: in}, {Key: "stat.net.outratemib", Value: out}, // of the node
		{Key: "stat.ropen", Value: d.Load.ReadOpens}, {Key: "stat.wopen", Value: d.Load.WriteOpens}, // open pieces
		// The table shows this word; drainstatus has the same for EOS's tools.
		{Key: "local.drain", Value: drainState(d, job)},
	}
	r = append(r, drainKeys(v, d, job)...)
	if job == nil {
		return r
	}
	return append(r, jobFields(*job)...)
}

// jobFields returns the fields of a job that Hemera adds to EOS's. Drains, repairs and heals share the keys;
// stat.drain.kind tells them apart. They come after those of EOS.
func jobFields(job adminapi.JobStatus) output.Record {
	return output.Record{
		{Key: "stat.drain.kind", Value: string(job.Kind)}, {Key: "stat.drain.state", Value: string(job.State)}, {Key: "stat.drain.why", Value: job.Why}, // drain, repair or heal
		{Key: "stat.drain.progress", Value: job.Progress()}, {Key: "stat.drain.files", Value: job.FilesLeft}, {Key: "stat.drain.filesdone", Value: job.FilesDone}, // in percent; files left and done
		{Key: "stat.drain.bytesleft", Value: job.BytesLeft}, {Key: "stat.drain.bytesdone", Value: job.BytesDone},
		{Key: "stat.drain.ratemb", Value: job.Rate / 1e6}, {Key: "stat.drain.timeleft", Value: cli.TimeLeft(job.Remaining)}, // time left in seconds
		{Key: "stat.drain.started", Value: cli.Unix(job.Started)},
	}
}

// drainKeys returns the fields of a drain that EOS's tools read. Keys for parts that only EOS has, such as its balancer,
// are always 0. EOS does not count a repair as a drain, so its progress is in jobFields only.
func drainKeys(v *hemera.View, d hemera.Disk, job *adminapi.JobStatus) output.Record {
	var j adminapi.JobStatus
	progressNow := 0.0
	if job != nil && job.Kind == adminapi.JobDrain {
		j, progressNow = *job, job.Progress()
	}
	// EOS has a number here; Hemera only knows good and bad.
	ill := cli.OnOff(d.Health == hemera.HealthFailing || d.Health == hemera.HealthGone, "1", "0")
	return output.Record{
		{Key: "drainstatus", Value: drainState(d, job)}, {Key: "stat.drainprogress", Value: progressNow}, {Key: "stat.drainfiles", Value: j.FilesLeft}, // EOS's words
		{Key: "stat.drainbytesleft", Value: j.BytesLeft}, {Key: "stat.drainretry", Value: 0}, {Key: "stat.drain.failed", Value: j.Failed},
		// All disks have the same value: the repair grace of the cluster.
		{Key: "graceperiod", Value: int64(v.Grace.Seconds())}, {Key: "stat.timeleft", Value: cli.TimeLeft(j.Remaining)}, // seconds
		{Key: "stat.balancer.running", Value: 0}, {Key: "stat.drainer.running", Value: drainers(job)},
		{Key: "stat.disk.iops", Value: 0}, {Key: "stat.disk.bw", Value: 0}, // not measured
		{Key: "stat.health.redundancy_factor", Value: 0}, {Key: "stat.health.drives_failed", Value: 0}, {Key: "stat.health.drives_total", Value: 0}, // of RAID sets, which Hemera does not have
		{Key: "stat.health.indicator", Value: ill},
	}
}

// drainers returns 1 while a drain moves files off its disk, else 0, because EOS counts processes here. A drain that
// waits or is stalled does not count.
func drainers(job *adminapi.JobStatus) int {
	if job != nil && job.Kind == adminapi.JobDrain && job.State == adminapi.JobRunning {
		return 1
	}
	return 0
}

// healthWord returns the word for a disk's health. Good health is spelt OK, as EOS's tools expect; other words, such as
// failing, are Hemera's. The health is unknown while the node is offline: stat.errmsg says since when.
func healthWord(n hemera.NodeInfo, d hemera.Disk) string {
	switch {
	case n.Status == hemera.NodeOffline:
		return "unknown"
	case d.Health == hemera.HealthOK:
		return "OK"
	}
	return string(d.Health)
}

// milliseconds converts a latency for a table.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// boot returns EOS's word that says whether a node uses the disk. The state of an offline node comes first, because such
// a node does not report its disks. A full or read-only disk is booted, because it can be read.
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

// trouble returns the errno and the text of the problem of a disk: the errno for programs, the text for people. It
// returns 0 and "" if there is none. For a node that is offline, the last reports of its disks do not count.
func trouble(n hemera.NodeInfo, d hemera.Disk) (int, string) {
	why := d.Why
	if cannot := d.Unreadable(n); cannot != "" {
		why = "the disk " + cannot
	}
	if n.Status == hemera.NodeOffline {
		return int(syscall.EHOSTDOWN), why
	}
	// A health that is not listed, such as ok, is 0.
	code := map[hemera.DiskHealth]syscall.Errno{
		hemera.HealthFull: syscall.ENOSPC, hemera.HealthReadOnly: syscall.EROFS,
		hemera.HealthOlder: syscall.ESTALE, hemera.HealthFailing: syscall.EIO, hemera.HealthGone: syscall.ENODEV,
	}[d.Health]
	return int(code), why
}

// drainState returns EOS's word for the state of a drain. configstatus and the job may disagree for a moment, because the
// manager makes the job after the change of configstatus.
func drainState(d hemera.Disk, job *adminapi.JobStatus) string {
	switch {
	// The manager sets empty when the drain is done and nothing is left.
	case d.Config == hemera.ConfigEmpty:
		return "drained"
	// wait means that a drain is configured, and its job does not exist yet.
	case job == nil || job.Kind != adminapi.JobDrain || d.Config != hemera.ConfigDrain:
		return cli.OnOff(d.Config == hemera.ConfigDrain, "wait", "nodrain")
	case job.State == adminapi.JobDone:
		return "drained"
	case job.State == adminapi.JobStalled:
		return "stalling"
	case job.State == adminapi.JobWaiting:
		return "wait"
	}
	return "draining"
}

// network adds up a node's interfaces: rates and nominal speed, in MiB/s. The loopback interface counts only on a machine
// without others. The speed of an interface that does not report one counts as 0.
func network(interfaces []hemera.NetStats) (in, out, speed float64) {
	for _, i := range interfaces {
		in += i.InRate / (1 << 20)
		out += i.OutRate / (1 << 20)
		speed += float64(i.Speed) / 8 / (1 << 20)
	}
	return in, out, speed
}
