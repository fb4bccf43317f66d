package node

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"hemera/words/hemera"
)

// meter measures the process and the machine's network interfaces, from /proc and /sys. Values that the system does not
// have are zero.
type meter struct {
	kernel, arch string
	instead      func() hemera.NodeStats // replaces the measurements if not nil

	mu    sync.Mutex
	at    time.Time                    // of the last reading; zero before the first
	net   map[string]procfs.NetDevLine // at the previous reading
	stats hemera.NodeStats
}

// newMeter makes a meter, and reads the values that do not change while the process runs.
func newMeter(instead func() hemera.NodeStats) *meter {
	m := &meter{arch: runtime.GOARCH, instead: instead}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.kernel, m.arch = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:])
	}
	return m
}

// last returns the last reading, or takes a first one.
func (m *meter) last(started time.Time) hemera.NodeStats {
	m.mu.Lock()
	at, stats := m.at, m.stats
	m.mu.Unlock()
	// Only heartbeats take readings; others use the last one, so that rates are over one interval.
	if at.IsZero() {
		return m.read(started)
	}
	return stats
}

// read measures now. Rates are averages since the previous reading.
func (m *meter) read(started time.Time) hemera.NodeStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.instead != nil {
		return m.instead()
	}
	now := time.Now()
	s := hemera.NodeStats{Kernel: m.kernel, Arch: m.arch, Started: started, Goroutines: runtime.NumGoroutine()}
	// The process, then the machine.
	if p, err := procfs.Self(); err == nil {
		if st, err := p.Stat(); err == nil {
			s.VSize = int64(st.VirtualMemory())
			s.RSS, s.Threads, s.CPUSeconds = int64(st.ResidentMemory()), st.NumThreads, st.CPUTime()
		}
	}
	if f, err := procfs.NewDefaultFS(); err == nil {
		if load, err := f.LoadAvg(); err == nil {
			s.Load1 = load.Load1
		}
		if sockets, err := f.NetSockstat(); err == nil && sockets.Used != nil {
			s.Sockets = *sockets.Used
		}
		if dev, err := f.NetDev(); err == nil {
			s.Net = rates(m.net, dev, now.Sub(m.at))
			m.net = dev
		}
	}
	for i := range s.Net {
		s.Net[i].Speed = linkSpeed(s.Net[i].Name)
	}
	m.at, m.stats = now, s
	return s
}

// rates converts two readings of the interfaces' counters into rates, by name. The loopback counts only if it is the only
// interface. A counter that went back was reset; its rate is zero.
func rates(before, now map[string]procfs.NetDevLine, took time.Duration) []hemera.NetStats {
	var list []hemera.NetStats
	for name, line := range now {
		if name == "lo" && len(now) > 1 {
			continue
		}
		st := hemera.NetStats{Name: name, InErrors: int64(line.RxErrors), OutErrors: int64(line.TxErrors), InDrops: int64(line.RxDropped)}
		if b, ok := before[name]; ok && took > 0 {
			st.InRate = rate(b.RxBytes, line.RxBytes, took)
			st.OutRate = rate(b.TxBytes, line.TxBytes, took)
		}
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b hemera.NetStats) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// rate returns the growth of a counter per second.
func rate(before, now uint64, took time.Duration) float64 {
	if now < before {
		return 0
	}
	return float64(now-before) / took.Seconds()
}

// linkSpeed returns an interface's nominal rate in bits per second; zero if it has none, like most virtual ones.
func linkSpeed(name string) int64 {
	text, err := os.ReadFile(filepath.Join("/sys/class/net", filepath.Base(name), "speed"))
	if err != nil {
		return 0
	}
	megabits, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || megabits <= 0 { // -1: the link is down or has no rate
		return 0
	}
	return megabits * 1_000_000
}
