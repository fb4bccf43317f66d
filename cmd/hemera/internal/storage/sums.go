package storage

import (
	"math"

	"hemera"
	"hemera/cmd/hemera/internal/output"
)

// sumsOf are several disks together, under the keys that EOS has for nodes, spaces and groups. Room is
// counted once for disks that share a filesystem, and a node's network once for all its disks.
func sumsOf(v *hemera.View, disks []hemera.Disk) output.Record {
	var load spread
	var read, written, ropen, wopen, pieces int64
	var in, out, speed float64
	seen := map[hemera.NodeID]bool{}
	for _, d := range disks {
		load.add(d.Load.Busy)
		read, written, pieces = read+d.Load.ReadBytes, written+d.Load.WriteBytes, pieces+d.Pieces
		ropen, wopen = ropen+d.Load.ReadOpens, wopen+d.Load.WriteOpens
		if !seen[d.Node] {
			seen[d.Node] = true
			n, _ := v.Node(d.Node)
			i, o, s := network(n.Stats.Net)
			in, out, speed = in+i, out+o, speed+s
		}
	}
	all := v.Room(disks)
	return output.Record{
		{Key: "avg.stat.disk.load", Value: load.mean()}, {Key: "sig.stat.disk.load", Value: load.sigma()},
		{Key: "sum.stat.disk.readratemb", Value: float64(read) / 1e6}, {Key: "sum.stat.disk.writeratemb", Value: float64(written) / 1e6},
		{Key: "sum.stat.net.ethratemib", Value: speed}, {Key: "sum.stat.net.inratemib", Value: in}, {Key: "sum.stat.net.outratemib", Value: out},
		{Key: "sum.stat.ropen", Value: ropen}, {Key: "sum.stat.wopen", Value: wopen},
		{Key: "sum.stat.statfs.usedbytes", Value: all.Used}, {Key: "sum.stat.statfs.freebytes", Value: all.Free}, {Key: "sum.stat.statfs.capacity", Value: all.Capacity},
		{Key: "sum.stat.usedfiles", Value: pieces},
		{Key: "sum.stat.statfs.ffree", Value: all.InodesFree}, {Key: "sum.stat.statfs.files", Value: all.Inodes},
	}
}

// drainersOf is on how many of the disks a drain moves files now.
func drainersOf(disks []hemera.Disk, jobs []hemera.JobStatus) (n int) {
	for _, d := range disks {
		n += drainers(jobOf(jobs, d.ID))
	}
	return n
}

// spread is the mean and the deviations of some values.
type spread struct {
	n, sum float64
	values []float64
}

func (s *spread) add(x float64) {
	s.n, s.sum = s.n+1, s.sum+x
	s.values = append(s.values, x)
}

func (s *spread) mean() float64 { return s.sum / max(s.n, 1) }

// sigma is the standard deviation.
func (s *spread) sigma() float64 {
	var squares float64
	for _, x := range s.values {
		squares += (x - s.mean()) * (x - s.mean())
	}
	return math.Sqrt(squares / max(s.n, 1))
}

// worst is the largest deviation from the mean.
func (s *spread) worst() (most float64) {
	for _, x := range s.values {
		most = max(most, math.Abs(x-s.mean()))
	}
	return most
}
