package doctor

import (
	"fmt"
	"time"
)

// filesWanted is the least limit of open files that suffices for a node with many disks and clients.
const filesWanted = 4096

// limits judges the limits of processes.
func limits(s *Snapshot) (list []Finding) {
	for _, p := range s.Limits.Processes {
		if p.FilesMax > 0 && int64(p.Open)*10 >= p.FilesMax*8 {
			list = append(list, Finding{
				ID: "limit-files", Subject: fmt.Sprintf("process %d", p.PID), Severity: Problem,
				Evidence: fmt.Sprintf("it has %d of %d files open: new connections are refused soon", p.Open, p.FilesMax),
				Remedy:   fmt.Sprintf("LimitNOFILE=%d in its systemd unit, or ulimit -Hn, and start it again", max(65536, 4*p.FilesMax)),
			})
		}
	}
	if n := s.Limits.Files; n > 0 && n < filesWanted {
		list = append(list, Finding{
			ID: "limit-files", Severity: Risk, Evidence: fmt.Sprintf("a process may open %d files; a node divides them among its disks and clients", n),
			Remedy: "LimitNOFILE=65536 in the systemd unit, or a line in /etc/security/limits.conf",
		})
	}
	if f, bad := memory(s); bad {
		list = append(list, f)
	}
	return list
}

// memory reports little memory of the machine or of the control group.
func memory(s *Snapshot) (Finding, bool) {
	f := Finding{ID: "limit-memory", Remedy: "give the machine or the control group more memory (MemoryMax= of the unit), or lower what its processes may take"}
	// Events precede risks.
	l, m := s.Limits, s.Memory
	switch {
	case l.Killed > 0:
		f.Severity = Problem
		f.Evidence = fmt.Sprintf("%d processes of this control group were ended for want of memory", l.Killed)
	case l.MemoryMax > 0 && l.MemoryUsed*10 >= l.MemoryMax*9:
		f.Severity = Risk
		f.Evidence = fmt.Sprintf("the control group uses %s of %s", SizeText(float64(l.MemoryUsed)), SizeText(float64(l.MemoryMax)))
	case m.Total > 0 && m.Available*20 < m.Total:
		f.Severity = Risk
		f.Evidence = fmt.Sprintf("%s of %s are available", SizeText(float64(m.Available)), SizeText(float64(m.Total)))
	default:
		return Finding{}, false
	}
	if m.SwapUsed > 0 {
		f.Evidence += fmt.Sprintf(", and %s are swapped out", SizeText(float64(m.SwapUsed)))
	}
	return f, true
}

// skewMax is the difference of clocks that counts as a fault: certificates and capabilities have times.
const skewMax = 2 * time.Second

// skew reports a clock that differs from the cluster's by more than skewMax and the error of the measurement.
func skew(s *Snapshot, c *Cluster) (Finding, bool) {
	if c.Skew.Abs() < skewMax+c.SkewBy {
		return Finding{}, false
	}
	// Skew is the cluster's clock minus this one.
	word := "behind"
	if c.Skew < 0 {
		word = "ahead of"
	}
	f := Finding{
		ID: "clock-skew", Severity: Problem,
		Evidence: fmt.Sprintf("this clock is %v %s the cluster's (± %v)", c.Skew.Abs().Round(100*time.Millisecond), word, c.SkewBy.Round(100*time.Millisecond)),
		Remedy:   "run an NTP service on both (systemctl enable --now chronyd or systemd-timesyncd), then chronyc tracking",
	}
	if !s.Clock.Synchronised {
		f.Evidence += "; the kernel has no synchronised clock"
	}
	return f, true
}

// cluster judges whether the manager and the nodes answer, and their versions. Without a named cluster it reports
// nothing.
func cluster(s *Snapshot) (list []Finding) {
	for _, c := range s.peers() {
		switch {
		case c.Failed != "":
			list = append(list, Finding{
				ID: "cluster-unreachable", Subject: c.Address, Severity: Problem, Evidence: c.Failed,
				Remedy: "is it running there (systemctl status, hemera status on the manager's machine), and does a firewall let its port through (nc -vz HOST PORT)?",
			})
		case c.Version != "" && s.Version != "" && c.Version != s.Version:
			list = append(list, Finding{
				ID: "cluster-version", Subject: c.Address, Severity: Risk, Evidence: fmt.Sprintf("it runs %s, this machine has %s", c.Version, s.Version),
				Remedy: "install the same version; docs/operations.md has the order of upgrades",
			})
		}
	}
	return list
}
