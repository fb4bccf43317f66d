package host

import (
	"strconv"
	"strings"
	"time"
)

// sector is the unit of /proc/diskstats and of sizes below /sys/block, for all devices.
const sector = 512

// Block has the counters of a block device since the machine started.
type Block struct {
	Reads, Writes           uint64 // completed requests, after merging
	ReadBytes, WrittenBytes uint64
	ReadTime, WriteTime     time.Duration // summed over requests, from queue to end
	InFlight                uint64        // requests now
	Active                  time.Duration // with at least one request
	Waited                  time.Duration // Active weighted by the requests in flight
}

// BlockRate has the rates of a block device between two readings.
type BlockRate struct {
	Reads, Writes       float64 // requests a second
	ReadRate, WriteRate float64 // bytes a second
	ReadSize, WriteSize float64 // mean bytes of a request; 0 without requests
	ReadWait, WriteWait float64 // mean seconds from queue to end; 0 without requests
	Queue               float64 // requests in flight, mean
	Utilisation         float64 // fraction of the time with at least one request, 0 to 1
}

// Blocks has block devices by name, disks and partitions. The requests of a disk include those of its partitions.
type Blocks map[string]Block

// ReadBlocks reads /proc/diskstats below root.
func ReadBlocks(root string) (Blocks, error) {
	text, err := read(root, "proc/diskstats")
	if err != nil {
		return nil, err
	}
	return ParseBlocks(text)
}

// ParseBlocks parses the text of /proc/diskstats. It ignores the fields that newer kernels add at the end of a line.
func ParseBlocks(text string) (Blocks, error) {
	list := Blocks{}
	for l := range strings.Lines(text) {
		fields := strings.Fields(l)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 14 {
			return nil, malformed("host.ParseBlocks", l)
		}
		var v [11]uint64 // reads merged sectors ms, writes merged sectors ms, in flight, active ms, weighted ms
		for i := range v {
			n, err := strconv.ParseUint(fields[3+i], 10, 53) // so that products with a sector or a millisecond fit
			if err != nil {
				return nil, malformed("host.ParseBlocks", l)
			}
			v[i] = n
		}
		list[fields[2]] = Block{
			Reads: v[0], ReadBytes: v[2] * sector, ReadTime: milliseconds(v[3]),
			Writes: v[4], WrittenBytes: v[6] * sector, WriteTime: milliseconds(v[7]),
			InFlight: v[8], Active: milliseconds(v[9]), Waited: milliseconds(v[10]),
		}
	}
	return list, nil
}

// milliseconds converts a duration of the kernel, cut at 30 years.
func milliseconds(n uint64) time.Duration {
	return time.Duration(min(n, 1e12)) * time.Millisecond // #nosec G115 -- cut to what fits
}

// Since returns the rates since an earlier reading; over is the time between the two, and must be positive. Times of
// requests are counted when they end, so a mean wait may include parts of requests that began before.
func (b Block) Since(before Block, over time.Duration) BlockRate {
	s := over.Seconds()
	reads, writes := float64(grown(b.Reads, before.Reads)), float64(grown(b.Writes, before.Writes))
	read, written := float64(grown(b.ReadBytes, before.ReadBytes)), float64(grown(b.WrittenBytes, before.WrittenBytes))
	r := BlockRate{Reads: reads / s, Writes: writes / s, ReadRate: read / s, WriteRate: written / s}
	if reads > 0 {
		r.ReadSize, r.ReadWait = read/reads, max(0, (b.ReadTime-before.ReadTime).Seconds())/reads
	}
	if writes > 0 {
		r.WriteSize, r.WriteWait = written/writes, max(0, (b.WriteTime-before.WriteTime).Seconds())/writes
	}
	// The kernel adds the number of requests to Waited for each millisecond, so divided by the time it is the mean queue.
	r.Queue = max(0, (b.Waited-before.Waited).Seconds()) / s
	r.Utilisation = min(1, max(0, (b.Active-before.Active).Seconds())/s)
	return r
}
