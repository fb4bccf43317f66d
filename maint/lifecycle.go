package maint

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// lifecycleRest is the longest rest between two steps.
	lifecycleRest = time.Minute
	// lifecycleRetry is after how long a tree is looked through again in which files could not be converted or removed, if that
	// is sooner than by its rules.
	lifecycleRetry = 10 * time.Minute
	// treesOfUser bounds the directories of one user that are scanned at once.
	treesOfUser = treesAtOnce / 2
)

// lifecycler follows the rules of directories: it looks through the files below each of them once in an interval, and has
// those that are due removed or converted. A directory below that has rules of its own has a scan of its own. What is
// durable is when a tree was scanned; a scan that a restart ends begins again.
type lifecycler struct {
	base      *base
	converter *converter // stores files in another form; its slots are for both

	mu    sync.Mutex
	scans map[hemera.FileID]*scan // running, or the last one of a tree if it did something
}

// scan is one look through the files of a tree.
type scan struct {
	*job
	tree  lifecycle.Tree    // as it was when the scan began
	rules scanRules         // in force in the directory, and below
	root  hemera.Entry      // the directory
	other int               // how many directories the walk is in from the first on that is another owner's; of the walk alone
	total hemera.TreeTotals // of the directory, for what is left
	above trail             // the directories that the walk is in

	mu      sync.Mutex        // guards what follows
	seen    hemera.TreeTotals // files and bytes that were looked at
	failed  int64             // files that could not be removed or converted
	expired int64             // files that were removed
}

// scanRules are the rules in force in a directory and below: for files of its owner, as far down as the directories are the
// owner's, and for all others.
type scanRules struct{ own, all lifecycle.Rules }

// needAccess reports whether a rule asks when files were read.
func (r scanRules) needAccess() bool { return r.own.NeedAccess() || r.all.NeedAccess() }

// empty reports whether no file can be due.
func (r scanRules) empty() bool { return r.own.Empty() && r.all.Empty() }

// interval returns the time between two looks at the files.
func (r scanRules) interval() time.Duration { return min(r.own.Interval(), r.all.Interval()) }

// of returns the rules for a file where the walk of the scan is.
func (s *scan) of(e hemera.Entry) lifecycle.Rules {
	if s.other == 0 && e.UID == s.root.UID {
		return s.rules.own
	}
	return s.rules.all
}

// enter notes that the walk goes into a directory, and leave that it comes out again.
func (s *scan) enter(dir hemera.Entry) {
	s.above.enter(dir.ID)
	if s.other > 0 || dir.UID != s.root.UID {
		s.other++
	}
}

func (s *scan) leave() {
	s.above.leave()
	s.other = max(0, s.other-1)
}

// newLifecycler makes a worker without scans. Step begins them from the trees.
func newLifecycler(b *base, c *converter) *lifecycler {
	return &lifecycler{base: b, converter: c, scans: map[hemera.FileID]*scan{}}
}

func (l *lifecycler) Name() string { return "lifecycle" }

// Step begins the scans that are due, and forgets directories without rules.
func (l *lifecycler) Step(ctx context.Context) (time.Duration, error) {
	o := &l.base.Lifecycle
	if o.Trees == nil {
		return time.Hour, nil
	}
	// All trees in each step: there are few, and their directories are in the namespace's cache.
	tracked, rest, back := map[hemera.FileID]bool{}, lifecycleRest, o.WentBack()
	var failed error
	var due []*scan
	for _, t := range o.Trees.RuleTrees() {
		root, path, rules, err := l.look(ctx, t)
		if err == nil && rules != nil {
			t, err = l.track(ctx, t, rules.needAccess(), back)
		}
		// One directory that cannot be looked at does not keep the others.
		failed = cmp.Or(failed, err)
		if err != nil || rules == nil {
			continue
		}
		tracked[t.Dir] = rules.needAccess()
		// An attribute may say "off", or be half of a rule.
		if rules.empty() || !back.IsZero() {
			continue
		}
		if wait := t.Scanned.Add(rules.interval()).Sub(l.base.Now()); wait > 0 {
			rest = min(rest, wait)
		} else {
			s := &scan{job: newJob(adminapi.JobLifecycle, 0, l.base.Now), tree: t, rules: *rules, root: root, total: root.Tree}
			s.status.Path = path // no other goroutine has it yet
			due = append(due, s)
		}
	}
	l.start(ctx, due)
	o.Track(tracked)
	return rest, failed
}

// look finds a directory and the rules that are in force there. The rules are nil if there is nothing to do: it is in a
// recycle bin, or has no rules any more and is forgotten.
func (l *lifecycler) look(ctx context.Context, t lifecycle.Tree) (root hemera.Entry, path string, rules *scanRules, err error) {
	root, path, err = l.base.Files.Resolve(ctx, t.Dir)
	gone := errors.Is(err, errs.NotFound)
	switch {
	case err != nil && !gone:
		return root, path, nil, err
	// By the directory's own attributes: what it inherits is followed from above.
	case gone || !lifecycle.Own(root.Xattrs):
		l.mu.Lock()
		delete(l.scans, t.Dir)
		l.mu.Unlock()
		// One that got rules meanwhile stays.
		return root, path, nil, l.base.Lifecycle.Trees.ChangeRuleTree(ctx, t.Dir, func(now lifecycle.Tree, known bool) (lifecycle.Tree, bool) {
			return now, known && now != t
		})
	case !strings.HasPrefix(path, "/"):
		return root, path, nil, nil // it may be restored
	}
	own, all, err := l.base.Lifecycle.Attributes(ctx, root.ID)
	if err != nil {
		return root, path, nil, err
	}
	return root, path, &scanRules{lifecycle.Of(own), lifecycle.Of(all)}, nil
}

// track remembers since when accesses below a directory are noted, if its rules need them. Those before back may be lost.
func (l *lifecycler) track(ctx context.Context, t lifecycle.Tree, need bool, back time.Time) (lifecycle.Tree, error) {
	switch {
	case need && !t.Since.IsZero() && t.Since.Before(back):
		t.Since = back.UTC().Round(0)
	case need == !t.Since.IsZero():
		return t, nil
	// Accesses before this moment were not noted, so files count as used now.
	case need:
		t.Since = l.base.Now().UTC().Round(0)
	default:
		t.Since = time.Time{}
	}
	return t, l.base.Lifecycle.Trees.ChangeRuleTree(ctx, t.Dir, func(now lifecycle.Tree, known bool) (lifecycle.Tree, bool) {
		now.Since = t.Since
		return now, known
	})
}

// start begins scans of those that are due, as many as may run.
func (l *lifecycler) start(ctx context.Context, due []*scan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A file that cannot begin now is due in the next step as well.
	var running []lifecycle.Tree
	for _, s := range l.scans {
		if _, ended := s.state(); ended.IsZero() {
			running = append(running, s.tree)
		}
	}
	trees := make([]lifecycle.Tree, len(due))
	for i, s := range due {
		trees[i] = s.tree
	}
	for _, i := range scansInTurn(trees, running) {
		s := due[i]
		s.set(adminapi.JobRunning, "")
		l.scans[s.tree.Dir] = s
		l.base.Panics.Go(&l.base.group, "maint.Lifecycle", s.status.Path, func() {
			defer l.base.Wake() // another tree may be due, and there may be pieces to remove
			l.run(ctx, s, s.status.Path)
		})
	}
}

// scansInTurn returns which of the trees that are due are scanned beside those that are, as indexes. A user with many trees waits as long for each as
// one with few: the next tree belongs to a user with the fewest scans, and of those trees it is the one that was not looked at for longest.
func scansInTurn(due, running []lifecycle.Tree) (begin []int) {
	of := map[hemera.Setter]int{}
	for _, t := range running {
		of[t.By]++
	}
	for range treesAtOnce - len(running) {
		next := -1
		for i, t := range due {
			same := func(other lifecycle.Tree) bool { return other.Dir == t.Dir }
			switch {
			case slices.ContainsFunc(running, same), !t.By.Admin && of[t.By] >= treesOfUser:
			case next < 0, of[t.By] < of[due[next].By], of[t.By] == of[due[next].By] && t.Scanned.Before(due[next].Scanned):
				next = i
			}
		}
		if next < 0 {
			break
		}
		begin, running = append(begin, next), append(running, due[next])
		of[due[next].By]++
	}
	return begin
}

// run looks through the files of a tree, and remembers when.
func (l *lifecycler) run(ctx context.Context, s *scan, path string) {
	// The interval runs from the beginning: what becomes due during the scan waits no longer than that.
	began := l.base.Now()
	var group sync.WaitGroup
	w := walker{
		tree: l.base.Conversions.Tree,
		visit: func(at string, e hemera.Entry) error {
			at = strings.TrimSuffix(path, "/") + "/" + at
			err := l.base.Panics.Do("maint.Lifecycle", at, func() error { return l.visit(ctx, s, &group, at, e) })
			if err != nil && errs.KindOf(err) == errs.Internal {
				s.count(e, false, err) // the walk continues behind it
				return nil
			}
			return err
		},
		enter: func(_ string, dir hemera.Entry) bool {
			if l.elsewhere(ctx, dir) {
				return false
			}
			s.enter(dir)
			return true
		},
		leave: s.leave,
	}
	err := l.base.Panics.Do("maint.Lifecycle", path, func() (err error) {
		if s.above, err = l.base.begin(ctx, s.root); err == nil {
			err = w.walk(ctx, s.root, path, "")
		}
		return err
	})
	group.Wait()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.job.failed(err)
	}
	if interval := s.rules.interval(); (err != nil || s.failures() > 0) && interval > lifecycleRetry {
		began = began.Add(lifecycleRetry - interval)
	}
	err = l.base.Lifecycle.Trees.ChangeRuleTree(ctx, s.tree.Dir, func(now lifecycle.Tree, known bool) (lifecycle.Tree, bool) {
		// A change of the rules meanwhile has them looked at again at once.
		if now.Changed.Equal(s.tree.Changed) && now.Scanned.Equal(s.tree.Scanned) {
			now.Scanned = began.UTC().Round(0)
		}
		return now, known
	})
	if err != nil {
		l.base.Log.Error("that a tree was looked through is not stored", "path", path, "error", err)
	}
	l.end(s, path)
}

// end ends a scan. One that did nothing is not shown.
func (l *lifecycler) end(s *scan, path string) {
	s.set(adminapi.JobDone, "")
	// Most scans find nothing to do; they would hide the others in the list of jobs.
	r := s.report(0, 0)
	if r.FilesDone+r.Failed > 0 {
		l.base.Log.Info("lifecycle rules followed", "path", path, "expired", s.expired, "converted", r.FilesDone-s.expired, "failed", r.Failed)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scans[s.tree.Dir] == s {
		delete(l.scans, s.tree.Dir)
	}
}

// elsewhere reports whether a directory has rules of its own, and so a scan of its own. One that is not known yet, as its
// attributes came another way, is known from now on.
func (l *lifecycler) elsewhere(ctx context.Context, dir hemera.Entry) bool {
	if !lifecycle.Own(dir.Xattrs) {
		return false
	}
	if _, known := l.base.Lifecycle.Trees.RuleTree(dir.ID); known {
		return true
	}
	err := l.base.Lifecycle.Trees.ChangeRuleTree(ctx, dir.ID, func(now lifecycle.Tree, known bool) (lifecycle.Tree, bool) {
		if !known {
			now = lifecycle.Tree{Dir: dir.ID, By: lifecycle.Setter(dir)}
		}
		return now, true
	})
	if err != nil {
		l.base.Log.Warn("the rules of a directory are not followed", "fid", dir.ID, "error", err)
	}
	return true
}

// visit does with a file what its rules say. It blocks while as much is under way as may be.
func (l *lifecycler) visit(ctx context.Context, s *scan, group *sync.WaitGroup, path string, e hemera.Entry) error {
	// By the clock of now: a scan of a large tree takes a while.
	action := s.of(e).Decide(e, s.tree.Since, l.base.Now())
	if action.None() {
		s.look(e)
		return nil
	}
	select {
	case l.converter.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	above := slices.Clone(s.above)
	// Removals are short, and share the slots: they are bounded like conversions.
	l.base.Panics.Go(group, "maint.Lifecycle", path, func() {
		defer func() { <-l.converter.slots }()
		part := s.begin(e.Size)
		var bytes int64
		var err error
		if action.Expire {
			err = l.base.Panics.Do("maint.Expire", path, func() error { return l.base.Lifecycle.Remove(ctx, path, e, s.tree.Since) })
		} else {
			decide := func() (hemera.Form, error) { return l.still(ctx, s, e, action, above) }
			bytes, err = l.converter.convert(ctx, e, decide, part.to)
		}
		s.count(e, action.Expire, err)
		if counted := part.end(); err == nil {
			s.moved(bytes, counted)
		}
	})
	return nil
}

// still returns the form that the rules in force for a file say. It fails with Conflict if they no longer convert the file: since
// the scan the file or a directory above it may have got another owner, for whom the rule does not hold. It fails with [replaced] if
// a newer order decides.
func (l *lifecycler) still(ctx context.Context, s *scan, e hemera.Entry, action lifecycle.Action, above trail) (hemera.Form, error) {
	own, _, err := l.base.Lifecycle.Attributes(ctx, e.ID)
	if err != nil {
		return hemera.Form{}, err
	}
	if lifecycle.Of(own).Decide(e, s.tree.Since, l.base.Now()) != action {
		return hemera.Form{}, errs.New(errs.Conflict, "maint.Convert", "fid:"+e.ID.String(), "no rule converts it so any more")
	}
	return l.converter.decides(ctx, e, above, action.Form, 0)
}

// look counts a file that was looked at.
func (s *scan) look(e hemera.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Files++
	s.seen.Bytes += e.Size
}

// count counts a file that was tried. One that is in use is due at the next scan, too.
func (s *scan) count(e hemera.Entry, expire bool, err error) {
	s.look(e)
	// A request that is newer than the rules has the file stored otherwise.
	if _, other := errors.AsType[replaced](err); other {
		return
	}
	if err != nil && !inUse(err) {
		s.job.failed(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && !inUse(err):
		s.failed++
	case err == nil && expire:
		s.expired++
	}
}

// failures returns the number of files that could not be removed or converted.
func (s *scan) failures() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// listJobs implements jobLister: scans under way, and the last one of each tree in which something was done.
func (l *lifecycler) listJobs(context.Context) (list []adminapi.JobStatus, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.trees() {
		s := l.scans[t.Dir]
		if s == nil {
			continue
		}
		s.mu.Lock()
		left := s.total.Add(s.seen.Negate())
		s.mu.Unlock()
		if _, ended := s.state(); !ended.IsZero() {
			left = hemera.TreeTotals{}
		}
		list = append(list, s.report(max(0, left.Files), max(0, left.Bytes)))
	}
	return list, nil
}

// trees returns the directories with rules, in their order.
func (l *lifecycler) trees() []lifecycle.Tree {
	if l.base.Lifecycle.Trees == nil {
		return nil
	}
	return l.base.Lifecycle.Trees.RuleTrees()
}

// ExplainRules says what the lifecycle rules will do with the file, at the path, if it stays as it is.
func (ex *explainer) ExplainRules(ctx context.Context, entry hemera.Entry, path string) []adminapi.Reason {
	o := &ex.base.Lifecycle
	if o.Trees == nil || len(o.Trees.RuleTrees()) == 0 {
		return nil
	}
	attrs, _, err := o.Attributes(ctx, entry.ID)
	if err != nil {
		return nil
	}
	// The nearest directory with rules says since when accesses are noted.
	var since time.Time
	nearest := ""
	for _, t := range o.Trees.RuleTrees() {
		if _, at, err := ex.base.Files.Resolve(ctx, t.Dir); err == nil && len(at) > len(nearest) && strings.HasPrefix(path, strings.TrimSuffix(at, "/")+"/") {
			since, nearest = t.Since, at
		}
	}
	action, when, ok := lifecycle.Of(attrs).Next(entry, since, ex.base.Now())
	if !ok {
		return nil
	}
	what := "becomes " + action.Form.String()
	if action.Expire {
		what = "expires"
	}
	r := adminapi.Reason{About: "lifecycle", Text: what + " at " + when.UTC().Format(time.DateTime+" MST") + ", if it stays as it is",
		Remedy: "hemera attr ls --effective " + nearest + " shows the rule"}
	if back := o.WentBack(); !back.IsZero() {
		r.Text = what + " some time after lifecycle rules go on: they rest since the namespace was restored on " + back.UTC().Format(time.DateOnly)
		r.Remedy = "`hemera ns rebuild forget` starts them again, after `hemera ns rebuild --merge`"
	}
	return []adminapi.Reason{r}
}
