package sim

import (
	"context"
	"fmt"
	"time"

	"hemera/words/adminapi"

	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// balanced waits until the manager moves no piece any more to balance its space. It must end: within the threshold, or where it
// says itself that no piece can be moved.
func (j judge) balanced(ctx context.Context) {
	// A look comes every ten seconds, and the pictures of nodes are of before the last moves for a while.
	const limit, pause = 20 * time.Minute, 5 * time.Second
	left := "nothing was looked at"
	for waited := time.Duration(0); waited < limit; waited += pause {
		simnet.Rest(ctx, pause)
		if left = j.unbalanced(ctx); left == "" && waited > 2*time.Minute {
			return
		}
	}
	j.w.fail("not balanced in time: %s", left)
}

// unbalanced says what is left to balance, or "".
func (j judge) unbalanced(ctx context.Context) string {
	h := j.w.head.Load()
	jobs, err := h.Maint.Jobs(ctx)
	if err != nil {
		return err.Error()
	}
	waits := false
	for _, job := range jobs {
		if job.Kind != adminapi.JobBalance {
			continue
		}
		if job.State == adminapi.JobRunning {
			return fmt.Sprintf("%+v", job)
		}
		// It says itself that nothing can be moved, and why.
		waits = job.State == adminapi.JobWaiting
		j.w.trace.Add("sim", "balancing: %+v", job)
	}
	if !j.w.plan.uneven || waits {
		return ""
	}
	var used, capacity float64
	// By room that can be used: what a headroom keeps belongs to nobody.
	filling := func(d hemera.Disk) float64 { return float64(d.Used) / float64(max(1, d.Used+d.Free)) }
	disks := h.Cluster.View().Disks
	// Those that take nothing are not balanced.
	for _, d := range disks {
		if d.Writable() {
			used, capacity = used+float64(d.Used), capacity+float64(d.Used+d.Free)
		}
	}
	for _, d := range disks {
		// Held pieces go by themselves, and are not counted.
		_, held, err := h.tree.Pieces.DiskHeld(ctx, d.ID)
		if off := filling(d) - used/capacity; err == nil && held == 0 && d.Writable() && max(off, -off) > 0.02 {
			return fmt.Sprintf("disk %d is %.3f full, all are %.3f", d.ID, filling(d), used/capacity)
		}
	}
	return ""
}
