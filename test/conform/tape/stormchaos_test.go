package tape

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera/test/fixture/rig"
)

// pow shortens math.Pow for sizes and counts that grow by factors.
func pow(base, exponent float64) float64 { return math.Pow(base, exponent) }

// stormFaults returns the operations of each stage, and what goes wrong with them.
func stormFaults() map[string][]fault {
	return map[string][]fault{
		"archive": {{Op: "write", Fail: "medium"}, {Op: "write", Fail: "hardware"}, {Op: "write", Fail: "power"}, {Op: "write", Fail: "corrupt"},
			{Op: "mark", Fail: "hardware"}, {Op: "flush", Fail: "medium"}, {Op: "flush", Fail: "power"}},
		"recall": {{Op: "read", Fail: "medium"}, {Op: "read", Fail: "hardware"}, {Op: "read", Fail: "corrupt"}, {Op: "locate", Fail: "hardware"},
			{Op: "locate", Fail: "medium"}},
		"mount": {{Op: "load", Fail: "hardware"}, {Op: "load", Fail: "not-ready"}, {Op: "unload", Fail: "hardware"}, {Op: "move", Fail: "hardware"}},
	}
}

const (
	chaosPoll = 300 * time.Millisecond
	// workTime bounds the wait of a kill for a drive at work.
	workTime = 15 * time.Second
)

// chaos plans faults that fit what drives do, and kills as the work proceeds, until it is stopped; then nothing fails any more. Meanwhile it does what an
// operator would do.
type chaos struct {
	l      *library
	rng    *rand.Rand // of run alone
	faults map[string][]fault
	// pace is the least time between two plans. A session that is cut short does its work again, up to twenty thousand files: faults that come faster
	// than sessions flush leave nothing done.
	pace    time.Duration
	planned time.Time
	hits    int  // before the plan
	active  bool // there is a plan

	over, ended chan struct{}

	mu       sync.Mutex // guards what follows
	count    map[string]int
	stage    string
	progress func() float64 // of the stage, from 0 to 1
	kills    []*rig.Server  // that are left
	all      int            // kills of the stage
}

// newChaos begins with a stage without faults. It ends with stop, or with the test.
func newChaos(s *storm) *chaos {
	seconds := min(12, max(2, float64(s.files)/4000))
	c := &chaos{l: s.library, rng: rand.New(rand.NewPCG(s.seed, 0)), faults: stormFaults(), pace: time.Duration(seconds * float64(time.Second)),
		over: make(chan struct{}), ended: make(chan struct{}), count: map[string]int{}, progress: func() float64 { return 0 }}
	go c.run()
	s.T.Cleanup(c.end)
	return c
}

// begin begins a stage, with kills that are spread over its progress.
func (c *chaos) begin(stage string, progress func() float64, kills []*rig.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stage, c.progress, c.kills, c.all = stage, progress, kills, len(kills)
}

// now returns the stage, its progress, and the server whose kill is due, which it takes from the list.
func (c *chaos) now() (stage string, far float64, victim *rig.Server) {
	c.mu.Lock()
	stage, progress := c.stage, c.progress
	c.mu.Unlock()
	far = progress()
	c.mu.Lock()
	defer c.mu.Unlock()
	if stage != c.stage || len(c.kills) == 0 {
		return stage, far, nil
	}
	if due := (float64(c.all-len(c.kills)) + 0.5) / float64(c.all); far >= due {
		victim, c.kills = c.kills[0], c.kills[1:]
	}
	return stage, far, victim
}

// did counts.
func (c *chaos) did(what string, n int) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[what] += n
}

// done returns all counts.
func (c *chaos) done() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.count)
}

func (c *chaos) run() {
	defer close(c.ended)
	for {
		select {
		case <-c.over:
			return
		case <-time.After(chaosPoll):
		}
		stage, far, victim := c.now()
		c.plan(stage, far)
		if victim != nil {
			c.kill(stage, victim)
		}
		c.operate()
	}
}

// kill kills a process in the middle of work: a tape server when one of its drives transfers, if one does soon.
func (c *chaos) kill(stage string, victim *rig.Server) {
	var work []string
	for end := time.Now().Add(workTime); ; time.Sleep(chaosPoll / 10) {
		work = nil
		for _, d := range c.l.drives() {
			if d.DriveStatus != "TRANSFERRING" || d.MountType == "NO_MOUNT" {
				continue
			}
			does := "recall"
			if strings.HasPrefix(d.MountType, "ARCHIVE") {
				does = "archive"
			}
			if !slices.Contains(work, does) {
				work = append(work, does)
			}
		}
		if len(work) > 0 || victim != c.l.tape || time.Now().After(end) {
			break
		}
	}
	victim.Kill()
	victim.Start()
	if len(work) == 0 {
		work = []string{"idle drives"}
	}
	slices.Sort(work)
	c.did(fmt.Sprintf("kill of %s (%s, %s)", victim.Name(), stage, strings.Join(work, " and ")), 1)
}

// plan makes a new plan when the last one has hit, or did not within some seconds: what comes next at the stage, after some operations.
func (c *chaos) plan(stage string, far float64) {
	if len(c.faults[stage]) == 0 {
		if c.active {
			c.replace(nil)
		}
		return
	}
	wait, hits := max(6*time.Second, c.pace), sum(c.l.hits())
	if hits > c.hits {
		wait = c.pace
	}
	// The last files have the time that retries take, which grows to minutes.
	if far > 0.9 || time.Since(c.planned) < wait {
		return
	}
	c.planned, c.hits = time.Now(), hits
	var plan []fault
	for range 2 {
		// Mounts fail less often than transfers: a drive rests for seconds afterwards.
		kind := stage
		if c.rng.Float64() < 0.15 {
			kind = "mount"
		}
		f := c.faults[kind][c.rng.IntN(len(c.faults[kind]))]
		f.After, f.Count = int(pow(60, c.rng.Float64()))-1, 1
		plan = append(plan, f)
	}
	c.replace(plan)
	c.did("plans of faults", 1)
}

// replace replaces the plan.
func (c *chaos) replace(plan []fault) {
	if err := c.l.replacePlan(plan); err != nil {
		c.l.T.Error(err)
	}
	c.active = len(plan) > 0
}

// operate does what a person does: drives up, tapes back in use, requests again.
func (c *chaos) operate() {
	for _, d := range c.l.drives() {
		if d.DriveStatus != "DOWN" {
			continue
		}
		if _, err := c.l.Admin("tape", "drive", "up", d.DriveName); err == nil {
			c.did("drives put up", 1)
		}
	}
	for _, t := range rows[tapeRow](c.l.Cluster, "tape", "tape", "ls") {
		if t.State == "DISABLED" {
			_, _ = c.l.Admin("tape", "tape", "set", t.VID, "state=ACTIVE") // if the manager is dead just now, the next round does it
			c.did("tapes used again", 1)
		}
	}
	if failed := rows[requestRow](c.l.Cluster, "tape", "request", "ls", "--failed"); len(failed) > 0 {
		c.did("requests that failed", len(failed))
		_, _ = c.l.Admin("tape", "request", "retry")
	}
}

// rest has no kills or faults from now on, but the operator goes on.
func (c *chaos) rest() {
	c.begin("", func() float64 { return 0 }, nil)
}

// stop ends it, and nothing fails any more.
func (c *chaos) stop() {
	c.end()
	c.l.plan()
}

// end ends the goroutine.
func (c *chaos) end() {
	select {
	case <-c.over:
	default:
		close(c.over)
	}
	<-c.ended
}
