package observe

import (
	"context"
	"crypto/rand"
	"hash/crc32"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/host"
)

// processor reads instructions, frequencies and NUMA nodes.
func (v *observer) processor() {
	// Instructions and not names: a virtual machine may hide some.
	p := &v.s.Processor
	info, _ := host.Text(v.Root, "proc/cpuinfo")
	p.Flags = parseFlags(info)
	for _, name := range host.Names(v.Root, "sys/devices/system/node") {
		if number, ok := strings.CutPrefix(name, "node"); ok && strings.Trim(number, "0123456789") == "" {
			p.Nodes++
		}
	}
	p.Cores = v.frequencies(false)
	switch {
	case len(p.Cores) > 0:
	case info == "":
		v.unseen("frequencies of cores", "the kernel shows no processor here", "")
	default:
		v.unseen("frequencies of cores", "the kernel controls none; a hypervisor or the firmware does", "")
	}
}

// parseFlags returns the flags of a processor that matter for checksums and coding, from the text of /proc/cpuinfo.
func parseFlags(info string) []string {
	// Names of x86 and of aarch64; none has another meaning on the other.
	matter := []string{"sse4_2", "pclmulqdq", "ssse3", "avx2", "avx512f", "gfni", "aes", "crc32", "pmull", "asimd", "sve"}
	for l := range strings.Lines(info) {
		key, value, _ := strings.Cut(l, ":")
		if key = strings.TrimSpace(key); key != "flags" && key != "Features" {
			continue
		}
		var list []string
		for _, f := range strings.Fields(value) {
			if slices.Contains(matter, f) {
				list = append(list, f)
			}
		}
		slices.Sort(list)
		// A processor without any of these has flags, so it is not unknown.
		return append(list, "fpu")
	}
	return nil
}

// frequencies reads the governor of each core and, under load, its frequency: an idle core may be slow.
func (v *observer) frequencies(load bool) (list []doctor.Clocking) {
	const dir = "sys/devices/system/cpu"
	for _, name := range host.Names(v.Root, dir) {
		// Beside cpu0, cpu1 … there are directories such as cpufreq.
		id, err := strconv.Atoi(strings.TrimPrefix(name, "cpu"))
		at := filepath.Join(dir, name, "cpufreq")
		governor := host.Line(v.Root, at+"/scaling_governor")
		// Cores that are off have none, and those that a hypervisor schedules.
		if err != nil || governor == "" {
			continue
		}
		khz := func(file string) int64 {
			n, _ := host.Number(v.Root, at+"/"+file)
			return n * 1000
		}
		// The kernel has frequencies in kHz.
		most := khz("base_frequency") // the frequency of all cores at once, if the driver reports it
		if most == 0 {
			most = khz("cpuinfo_max_freq")
		}
		c := doctor.Clocking{ID: id, Governor: governor, Driver: host.Line(v.Root, at+"/scaling_driver"), Max: most}
		if load {
			c.Now = khz("scaling_cur_freq")
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b doctor.Clocking) int { return a.ID - b.ID })
	return list
}

// copyTotal bounds the memory of the copies.
const copyTotal = 256 << 20

// cores measures memory copies by all cores, their frequencies meanwhile, and checksums by one.
func (v *observer) cores(ctx context.Context) {
	// The number of cores that this process may use, which a container can bound.
	count := runtime.GOMAXPROCS(0)
	each := max(1<<20, copyTotal/2/count) // larger than the caches of a core
	// Random bytes: all pages of zeros would be one page. Everything is allocated before the clock starts.
	buffers := make([][2][]byte, count)
	for i := range buffers {
		buffers[i] = [2][]byte{make([]byte, each), make([]byte, each)}
		_, _ = rand.Read(buffers[i][0]) // never fails
		copy(buffers[i][1], buffers[i][0])
	}
	before, _ := host.ReadBlocks(v.Root) // on failure no disk counts as busy
	var bytes atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	end := began.Add(v.For)
	for _, b := range buffers {
		group.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				bytes.Add(int64(copy(b[1], b[0])))
			}
		})
	}
	// In the middle of the load, when governors have reacted.
	if sleep(ctx, v.For/2) {
		v.s.Processor.Cores = v.frequencies(true)
	}
	group.Wait()
	v.busy(before, time.Since(began))
	v.s.Memory.Copy = float64(bytes.Load()) / time.Since(began).Seconds()
	v.s.Processor.Checksum = checksums(ctx, v.For/4)
}

// busy records how busy the disks were with other work. It is called before they are measured.
func (v *observer) busy(before host.Blocks, over time.Duration) {
	after, err := host.ReadBlocks(v.Root)
	if err != nil || before == nil {
		return
	}
	// A disk that is not in the statistics was idle.
	for i := range v.s.Disks {
		d := &v.s.Disks[i]
		d.Busy = after[d.Name].Since(before[d.Name], over).Utilisation
	}
}

// sleep waits. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// checksums returns the rate of CRC-32C on one core.
func checksums(ctx context.Context, atMost time.Duration) float64 {
	// The library uses the processor's instructions if there are any.
	table := crc32.MakeTable(crc32.Castagnoli)
	data := make([]byte, block)
	best := 0.0
	// The best of many: the core may also do other work.
	for began := time.Now(); time.Since(began) < atMost && ctx.Err() == nil; {
		start := time.Now()
		crc32.Update(0, table, data)
		best = max(best, block/time.Since(start).Seconds())
	}
	return best
}
