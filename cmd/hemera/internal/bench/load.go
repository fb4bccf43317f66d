package bench

import (
	"slices"
	"time"

	"hemera/measure/host"
	"hemera/measure/result"
)

// lookTime is the duration of the measurement of the machine's load before a run, and watchTick the interval of
// measurements while a level works.
const (
	lookTime  = 300 * time.Millisecond
	watchTick = time.Second
)

// lookAround measures the load of the machine before the run; it returns nil if the system does not report it. It takes
// lookTime.
func (s *session) lookAround() *result.Others {
	before, err := host.ReadCPU("/")
	if err != nil {
		return nil
	}
	time.Sleep(lookTime)
	if s.cpu, err = host.ReadCPU("/"); err != nil {
		return nil
	}
	return &result.Others{Before: busyOf(s.cpu.Since(before).All)}
}

// noteSteal records the time that the hypervisor took during the run.
func (s *session) noteSteal() {
	if now, err := host.ReadCPU("/"); err == nil && s.run.Others != nil {
		s.run.Others.Steal = now.Since(s.cpu).All.Steal
	}
}

// busyOf returns the fraction of the time in which processors were not idle.
func busyOf(s host.Share) float64 {
	return s.Usr + s.Sys + s.IRQ + s.Soft + s.Steal
}

// watchProcessors measures the processors each second until the caller stops it, and returns their load in the busiest
// tenth of the seconds; 0 if the work took less than one.
func watchProcessors() (stop func() float64) {
	end, done := make(chan struct{}), make(chan struct{})
	var shares []float64
	go func() {
		defer close(done)
		tick := time.NewTicker(watchTick)
		defer tick.Stop()
		before, err := host.ReadCPU("/")
		for err == nil {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			var now host.CPU
			if now, err = host.ReadCPU("/"); err == nil {
				shares = append(shares, busyOf(now.Since(before).All))
				before = now
			}
		}
	}()
	return func() float64 {
		close(end)
		<-done
		if len(shares) == 0 {
			return 0
		}
		slices.Sort(shares)
		return shares[len(shares)*9/10]
	}
}
