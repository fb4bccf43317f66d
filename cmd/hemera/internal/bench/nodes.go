package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/client/admin"
	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// together is the label of the sum of all nodes.
const together = "all"

// figuresOfNodes is the number of nodes up to which each has its own figures, besides those of the sum.
const figuresOfNodes = 4

// nodesLevel makes machines of the cluster measure a level, and combines their results. The manager gives the order to
// all at the same time, and the end of the context stops it on all.
type nodesLevel struct {
	level                           // the level; its flags are those of this command
	named []string                  // the nodes, as given: "all", ids, or addresses with or without a port
	words []string                  // for the nodes, from "bench" on
	pairs bool                      // net without a host: any two nodes are measured, one pair after another
	met   func(...result.Machine)   // gets the machines of the results
	nodes map[hemera.NodeID]string  // the nodes, with their addresses
	order []hemera.NodeID           // of nodes, so that runs have the same order
	runs  map[string][]*result.Run  // the results, by address
	mu    sync.Mutex                // guards runs and done
	done  int                       // nodes that have ended
	ask   func() (measurer, func()) // the manager; a field for tests
}

// measurer is the part of the manager that a nodesLevel uses.
type measurer interface {
	View(ctx context.Context) (*hemera.View, error)
	Measure(ctx context.Context, node hemera.NodeID, command []string) ([]byte, error)
}

// onNodes wraps a level for --nodes.
func (s *session) onNodes(l level, c *cobra.Command, args []string) (level, error) {
	// The namespace belongs to the manager, and energy is measured where the meter is.
	if !slices.Contains([]string{"disk", "net", "io"}, l.name()) {
		return nil, errs.New(errs.Invalid, "hemera.Bench", "--nodes", "only disk, net and io are measured on nodes").WithRemedy("leave --nodes out")
	}
	// A path of this machine has no meaning there, and nodes refuse it.
	if l.name() == "disk" && len(args) > 0 {
		return nil, errs.New(errs.Invalid, "hemera.BenchDisk", strings.Join(args, " "), "nodes measure the disks that they have").WithRemedy("name no directory with --nodes")
	}
	m, err := s.e.Manager()
	if err != nil {
		return nil, err
	}
	return &nodesLevel{level: l, named: s.nodes, pairs: l.name() == "net" && len(args) == 0, words: wordsFor(l.name(), args, c.Flags(), c.InheritedFlags()), runs: map[string][]*result.Run{},
		met: func(list ...result.Machine) { s.run.Machines = append(s.run.Machines, list...) }, ask: asker(m)}, nil
}

// asker returns a function that returns the client of the manager and a function that ends it.
func asker(m *admin.Client) func() (measurer, func()) {
	return func() (measurer, func()) {
		return struct {
			admin.Cluster
			admin.Observe
		}{m.Cluster, m.Observe}, m.Close
	}
}

// wordsFor returns the words for a node: the level, its arguments, and the given flags, except those of the run itself
// and those of all commands.
func wordsFor(name string, args []string, flags, inherited *pflag.FlagSet) []string {
	words := append([]string{"bench", name}, args...)
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"out", "title", "reference", "nodes"}, f.Name) || inherited.Lookup(f.Name) != nil {
			return
		}
		words = append(words, word(f))
	})
	return words
}

// run implements level.
func (l *nodesLevel) run(ctx context.Context, rec *result.Recorder) error {
	m, end := l.ask()
	defer end()
	// All are found before the first one begins, so that a mistyped name costs no time.
	if err := l.choose(ctx, m); err != nil {
		return err
	}
	// After a failure the results of others are kept.
	var err error
	if l.pairs {
		err = l.everyPair(ctx, m, rec)
	} else {
		err = l.atOnce(ctx, m, rec)
	}
	l.gather(rec)
	return err
}

// choose finds the named nodes.
func (l *nodesLevel) choose(ctx context.Context, m measurer) error {
	view, err := m.View(ctx)
	if err != nil {
		return err
	}
	// A node that is named twice measures once.
	l.nodes = map[hemera.NodeID]string{}
	for _, name := range l.named {
		found := false
		for _, n := range view.Nodes {
			match := name == n.ID.String() || name == n.Addr || name == n.Host()
			if match && n.Status != hemera.NodeOnline {
				return errs.New(errs.Unavailable, "hemera.Bench", n.Addr, "the node is offline").WithRemedy("hemera node ls shows the nodes")
			}
			if (match || name == together) && n.Status == hemera.NodeOnline {
				l.nodes[n.ID], found = n.Addr, true
			}
		}
		if !found {
			return errs.New(errs.NotFound, "hemera.Bench", name, "there is no such node").WithRemedy("hemera node ls shows the nodes; --nodes all takes those that are online")
		}
	}
	// By number, so that figures and tables have the same order in every run.
	l.order = slices.Sorted(maps.Keys(l.nodes))
	return nil
}

// atOnce makes all nodes measure at the same time. A node that fails does not stop the others.
func (l *nodesLevel) atOnce(ctx context.Context, m measurer, rec *result.Recorder) error {
	rec.Step(0, len(l.order), "%d nodes measure at the same time", len(l.order))
	// Each writes its own element, without a lock.
	failed := make([]error, len(l.order))
	var group sync.WaitGroup
	for i, id := range l.order {
		// One goroutine for each node, which waits for its answer.
		group.Go(func() {
			failed[i] = l.one(ctx, m, id, l.words)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.done++
			rec.Step(l.done, len(l.order), "%d of %d nodes have ended", l.done, len(l.order))
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// one makes one node measure, and keeps its result.
func (l *nodesLevel) one(ctx context.Context, m measurer, id hemera.NodeID, words []string) error {
	data, err := m.Measure(ctx, id, words)
	if err != nil {
		return errs.Wrap(err, "hemera.Bench", l.nodes[id])
	}
	// The node's program may be older; fields that its result lacks stay empty.
	run, err := result.Decode(bytes.NewReader(data), l.nodes[id])
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[l.nodes[id]] = append(l.runs[l.nodes[id]], run)
	return nil
}

// gather puts the results of the nodes into one level: each measure with the label of its node, and sums of the rates
// reached at the same time.
func (l *nodesLevel) gather(rec *result.Recorder) {
	sums := map[string]*result.Measure{}
	var keys []string
	seen := map[string]bool{}
	for _, id := range l.order {
		at := l.nodes[id]
		for _, run := range l.runs[at] {
			for _, machine := range run.Machines {
				if !seen[machine.Name] { // nodes of one machine
					machine.Role, seen[machine.Name] = "node", true
					l.met(machine)
				}
			}
			for _, level := range run.Levels {
				l.take(rec, at, level)
				keys = add(sums, keys, level.Measures)
			}
		}
	}
	// One node, or pairs measured one after another, have no sum.
	if l.pairs || len(l.runs) < 2 {
		return
	}
	for _, key := range keys {
		if m := sums[key]; m.Labels != nil {
			rec.Add(*m)
		}
	}
}

// take adds one node's level to the record.
func (l *nodesLevel) take(rec *result.Recorder, at string, level result.Level) {
	for _, m := range level.Measures {
		m.Labels = with(m.Labels, at)
		rec.Add(m)
	}
	for _, f := range level.Figures {
		l.draw(rec, at, f)
	}
	for _, i := range level.Iterations {
		i.Labels = with(i.Labels, at)
		rec.Worked(i)
	}
	for key, value := range level.Settings {
		rec.Set(key, value)
	}
	for _, t := range level.Tools {
		rec.Tool(t.Name, t.Version)
	}
	for _, k := range level.Skipped {
		rec.Skip(at+": "+k.What, k.Why, k.Remedy)
	}
	for _, n := range level.Notes {
		rec.Note("%s: %s", at, n)
	}
}

// draw adds a figure of a node, and once that of the sum.
func (l *nodesLevel) draw(rec *result.Recorder, at string, f result.Figure) {
	// Courses belong to one machine each: their times do not match exactly.
	where := f.Where
	id, title := f.ID, f.Title
	if len(l.nodes) > 1 && f.Kind != result.Course {
		f.Where, f.Title, f.Peak = with(where, together), title+", all nodes together", false
		rec.Figure(f)
	}
	// A report with a figure of every node of a large cluster would be useless.
	if len(l.nodes) <= figuresOfNodes {
		f.ID, f.Title, f.Where = id+"-"+strings.NewReplacer(":", "-", "[", "", "]", "").Replace(at), title+", "+at, with(where, at)
		rec.Figure(f)
	}
}

// with returns the labels with that of a node.
func with(labels result.Labels, node string) result.Labels {
	all := maps.Clone(labels)
	if all == nil {
		all = result.Labels{}
	}
	all["node"] = node
	return all
}

// add adds throughputs of one node to the sums: iterations with the same number ran at about the same time. A measure
// with different iterations on another node is left out of the sums: its Labels are nil.
func add(sums map[string]*result.Measure, keys []string, measures []result.Measure) []string {
	for _, m := range measures {
		if m.Name != "throughput" || m.Estimate {
			continue
		}
		key := fmt.Sprint(m.Labels) // maps print in the order of their keys
		sum := sums[key]
		if sum == nil {
			sums[key] = &result.Measure{Name: m.Name, Labels: with(m.Labels, together), Unit: m.Unit, Better: m.Better, Samples: slices.Clone(m.Samples)}
			keys = append(keys, key)
			continue
		}
		if len(sum.Samples) != len(m.Samples) || sum.Unit != m.Unit {
			sum.Labels = nil
			continue
		}
		for i, v := range m.Samples {
			sum.Samples[i] += v
		}
	}
	return keys
}
