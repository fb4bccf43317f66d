package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// settle waits until the system should have repaired everything by itself, and then checks the whole contract.
//
// It reads once before and once after the restart: the first shows what clients would see, the second what is durable.
func (j judge) settle(ctx context.Context) {
	simnet.Rest(ctx, hemera.PendingHold+j.w.plan.weather.Late+10*time.Second) // writes of clients that went away have ended by then
	tapeJudge{j.w, j}.settle(ctx)
	if j.w.failed() && j.w.plan.sabotage.ofTape() {
		return // it was noticed; what follows would wait for what never comes
	}
	j.checkReads(ctx)
	tapeJudge{j.w, j}.release(ctx)
	// Later than any write may be under way, with everything restarted.
	const later = 2 * time.Hour
	// Nodes and manager get the same skew: clocks that differ are the nemesis's part.
	j.w.killManager()
	j.w.managerSkew.Store(int64(later))
	for _, m := range j.w.hosts() {
		m.kill(false, nil)
		m.skew.Store(int64(later))
		if err := m.start(); err != nil {
			j.w.fail("%s does not start again: %v", m.host, err)
		}
	}
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 7))); err != nil {
		j.w.fail("the manager does not start again: %v", err)
		return
	}
	j.w.trace.Add("sim", "everything starts again, %s later", later)
	simnet.Rest(ctx, 10*time.Second)
	// The order matters: repairs first, then late commits, which must not undo them.
	j.audit(ctx)
	j.dropKept(ctx)
	j.mended(ctx)
	j.balanced(ctx)
	j.w.arrive(ctx)
	j.checkTree(ctx)
	j.checkQuotas(ctx)
	tapeJudge{j.w, j}.collect(ctx)
	j.checkReads(ctx)
	binJudge{j.w, j}.checkKept(ctx)
	j.checkPieces(ctx)
	j.checkParity(ctx)
	binJudge{j.w, j}.emptyBins(ctx)
	j.checkDrives(ctx)
	tapeJudge{j.w, j}.checkCartridges(ctx)
	j.checkCable(ctx)
	backJudge{j.w, j}.checkBack(ctx)
	olderJudge{j.w, j}.checkOlder(ctx)
	ruiner{j.w, j}.ruin(ctx)
	rebuildJudge{j.w, j}.checkRebuild(ctx)
	mergeJudge{j.w, j}.checkMerge(ctx)
	cutJudge{j.w, j}.checkCut(ctx)
}
