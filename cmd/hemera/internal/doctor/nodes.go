package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/measure/doctor"
	"hemera/measure/doctor/observe"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// filesLooked bounds the files of a directory that are looked up for their nodes.
const filesLooked = 200

// patient is a machine of the cluster with its snapshot.
type patient struct {
	node hemera.NodeInfo  // one of its nodes
	seen *doctor.Snapshot // nil if it could not be examined
	err  error            // the reason
}

// examiner is the part of the manager that an examination of nodes uses.
type examiner interface {
	View(ctx context.Context) (*hemera.View, error)
	FileInfo(ctx context.Context, who hemera.Identity, ref string) (adminapi.FileReport, error)
	List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error
	Measure(ctx context.Context, node hemera.NodeID, command []string) ([]byte, error)
}

// nodes examines the paths to nodes, and makes their machines examine themselves.
func (x *examination) nodes(c *cobra.Command, args []string) error {
	// Only a user at the machine may change its settings.
	if x.fix || x.undo || len(args) > 0 && x.all {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Doctor", strings.Join(args, ""), "nodes are only examined").
			WithRemedy("name a node, a path, or --all, alone; --fix works on the machine itself"))
	}
	var ways *doctor.Snapshot
	var patients []patient
	err := x.e.Ask(c, func(ctx context.Context, m *admin.Client) error {
		nodes, err := named(ctx, m, args)
		if err != nil {
			return err
		}
		stop := x.e.Follow(x.drawn)
		defer stop()
		var addresses []string
		for _, n := range nodes {
			addresses = append(addresses, n.Addr)
		}
		// Losses need some packets.
		o := x.o
		o.For = max(o.For, time.Second)
		if ways, err = observe.Nodes(ctx, o, addresses); err != nil {
			return err
		}
		patients = x.machines(ctx, examinerOf(m), nodes)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return x.showNodes(ways, patients)
}

// named returns the nodes that the user means: all, one by its name, or those with pieces of a path.
func named(ctx context.Context, m *admin.Client, args []string) ([]hemera.NodeInfo, error) {
	switch {
	case len(args) == 0: // --all; offline nodes do not answer, which is a finding
		v, err := m.Cluster.View(ctx)
		if err == nil && len(v.Nodes) == 0 {
			err = errs.New(errs.NotFound, "hemera.Doctor", "--all", "the cluster has no nodes").WithRemedy("hemera node ls lists them")
		}
		if err != nil {
			return nil, err
		}
		return v.Nodes, nil
	case strings.HasPrefix(args[0], "/"): // no node has such a name
		return holders(ctx, examinerOf(m), args[0])
	}
	n, err := storage.FindNode(ctx, m, args[0])
	return []hemera.NodeInfo{n}, err
}

// examinerOf returns an examiner that uses a manager.
func examinerOf(m *admin.Client) examiner {
	return struct {
		admin.Cluster
		admin.Maint
		admin.Names
		admin.Observe
	}{m.Cluster, m.Maint, m.Names, m.Observe}
}

// holders returns the nodes with pieces of a file, or of the first files of a directory. It fails with NotFound if there
// are none.
func holders(ctx context.Context, m examiner, path string) ([]hemera.NodeInfo, error) {
	v, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	// Pieces name their disks, and disks their nodes.
	holds := map[hemera.NodeID]bool{}
	file := func(ref string) error {
		r, err := m.FileInfo(ctx, hemera.Identity{}, ref)
		for _, p := range r.Pieces {
			holds[p.Disk.Node] = true
		}
		return err
	}
	// The error shows that the path is a directory.
	if err := file(path); errors.Is(err, errs.IsDirectory) {
		err = m.List(ctx, hemera.Identity{}, path, filesOf(file))
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	// In the order of the view, so that two runs have the same order.
	var list []hemera.NodeInfo
	for _, n := range v.Nodes {
		if holds[n.ID] {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return nil, errs.New(errs.NotFound, "hemera.Doctor", path, "no node holds a file of it").WithRemedy("name a directory with files in it, or a node; hemera node ls lists them")
	}
	return list, nil
}

// errEnough ends a list.
var errEnough = errors.New("enough files")

// filesOf returns a visitor that calls look for the first files of a directory.
func filesOf(look func(ref string) error) func(hemera.Entry) error {
	// Subdirectories are left out: a walk of a large tree would take longer than the examination.
	looked := 0
	return func(e hemera.Entry) error {
		if e.IsDir() {
			return nil
		}
		if looked++; looked > filesLooked {
			return errEnough
		}
		return look("fxid:" + e.ID.Hex())
	}
}

// machines makes the machines of nodes examine themselves, all at the same time. Nodes of one host are one machine.
func (x *examination) machines(ctx context.Context, m examiner, nodes []hemera.NodeInfo) []patient {
	var list []patient
	// Two examinations of a machine at once would disturb each other.
	hosts := map[string]bool{}
	for _, n := range nodes {
		if !hosts[n.Host()] {
			hosts[n.Host()] = true
			list = append(list, patient{node: n})
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex // guards done
	done := 0
	x.tell("", 0, len(list), output.Count(int64(len(list)), "machine")+" examine themselves")
	for i := range list {
		// Each fills its own element.
		group.Go(func() {
			p := &list[i]
			// It takes some seconds for each disk there.
			data, err := m.Measure(ctx, p.node.ID, []string{"doctor", "--size=" + x.size, "--for=" + x.o.For.String()})
			if err == nil {
				p.seen, err = doctor.Decode(bytes.NewReader(data), p.node.Addr)
			}
			p.err = err
			mu.Lock()
			defer mu.Unlock()
			done++
			x.tell("", done, len(list), fmt.Sprintf("%d of %d machines have ended", done, len(list)))
		})
	}
	group.Wait()
	return list
}

// showNodes prints the paths, then machine by machine. The error names the machines that could not be examined.
func (x *examination) showNodes(ways *doctor.Snapshot, patients []patient) error {
	var failed error
	list := records(ways, doctor.Diagnose(ways))
	if !x.e.ForPrograms() {
		if err := x.print(ways, doctor.Diagnose(ways)); err != nil {
			return err
		}
	}
	for _, p := range patients {
		// Shown last, so that it is noticed.
		if p.err != nil {
			failed = errors.Join(failed, errs.Wrap(p.err, "hemera.Doctor", p.node.Addr))
			continue
		}
		r := doctor.Diagnose(p.seen)
		for _, one := range records(p.seen, r) {
			list = append(list, append(output.Record{{Key: "node", Value: p.node.Addr}}, one...))
		}
		if x.e.ForPrograms() {
			continue
		}
		fmt.Fprintf(x.e.Out, "\n== %s ==\n\n", p.node.Addr)
		if err := x.print(p.seen, r); err != nil {
			return err
		}
	}
	// One list of all machines: the key node names the machine of a record; records without it are about the paths.
	if x.e.ForPrograms() {
		failed = errors.Join(x.e.Printer().List(nil, list), failed)
	}
	return failed
}
