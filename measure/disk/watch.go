package disk

import (
	"context"
	"time"

	"hemera/measure/host"
)

// watchEvery is the time between two readings of /proc/diskstats. A reading takes some 20 µs.
const watchEvery = 5 * time.Millisecond

// reading has the counters of a device at a time.
type reading struct {
	at time.Time
	host.Block
}

// watch reads the statistics of a device until ctx ends, and then sends all readings.
func watch(ctx context.Context, root, name string) <-chan []reading {
	done := make(chan []reading, 1)
	go func() {
		var list []reading
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			if blocks, err := host.ReadBlocks(root); err == nil {
				list = append(list, reading{time.Now(), blocks[name]})
			}
			select {
			case <-ctx.Done():
				done <- list
				return
			case <-tick.C:
			}
		}
	}()
	return done
}

// busy returns the rates of a device in the window of length took in which it read most. took is the time that fio
// worked; before and after it the device is idle. It returns false if took is less than two intervals, or nothing was
// read.
func busy(list []reading, took time.Duration) (host.BlockRate, bool) {
	if took < 2*watchEvery {
		return host.BlockRate{}, false
	}
	var best host.BlockRate
	last := 0
	for first := range list {
		// The shortest window that is long enough, so that its ends lie in the work.
		for last < len(list) && list[last].at.Sub(list[first].at) < took {
			last++
		}
		if last == len(list) {
			break
		}
		if r := list[last].Since(list[first].Block, list[last].at.Sub(list[first].at)); r.ReadRate > best.ReadRate {
			best = r
		}
	}
	return best, best.ReadRate > 0
}
