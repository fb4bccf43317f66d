package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/doctor"
	"hemera/measure/result"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// cluster has three nodes on two hosts. The directory /d has files on node 1, and one on node 3.
type cluster struct{ asked chan hemera.NodeID }

func (cluster) View(context.Context) (*hemera.View, error) {
	return &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "a:1095"}, {ID: 2, Addr: "a:1096"}, {ID: 3, Addr: "b:1095"}}}, nil
}

func (cluster) FileInfo(_ context.Context, _ hemera.Identity, ref string) (adminapi.FileReport, error) {
	switch ref {
	case "/d", "/empty":
		return adminapi.FileReport{}, errs.New(errs.IsDirectory, "", ref, "it is a directory")
	case "/f", "fxid:00000001", "fxid:00000002":
		return adminapi.FileReport{Pieces: []adminapi.PieceReport{{Disk: hemera.Disk{Node: 1}}}}, nil
	case "fxid:000000c8": // the last that is looked at
		return adminapi.FileReport{Pieces: []adminapi.PieceReport{{Disk: hemera.Disk{Node: 3}}}}, nil
	case "fxid:000000c9":
		return adminapi.FileReport{Pieces: []adminapi.PieceReport{{Disk: hemera.Disk{Node: 2}}}}, nil
	case "/gone":
		return adminapi.FileReport{}, errs.New(errs.NotFound, "", ref, "no such file")
	}
	return adminapi.FileReport{}, nil
}

func (cluster) List(_ context.Context, _ hemera.Identity, path string, visit func(hemera.Entry) error) error {
	if path == "/empty" {
		return visit(hemera.Entry{ID: 9, Kind: hemera.KindDirectory})
	}
	for id := range hemera.FileID(300) {
		if err := visit(hemera.Entry{ID: id + 1, Kind: hemera.KindFile}); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) Measure(_ context.Context, node hemera.NodeID, command []string) ([]byte, error) {
	c.asked <- node
	if node == 3 {
		return nil, errs.New(errs.Unavailable, "", "b:1095", "the node is offline")
	}
	if strings.Join(command, " ") != "doctor --size=64MiB --for=1s" {
		return nil, fmt.Errorf("asked for %q", command)
	}
	return json.Marshal(doctor.Snapshot{Schema: doctor.Schema, Machine: result.Machine{Name: "machine-a", Cores: 4}})
}

func TestHolders(t *testing.T) {
	for path, want := range map[string][]hemera.NodeID{"/f": {1}, "/d": {1, 3}} {
		nodes, err := holders(t.Context(), cluster{}, path)
		var got []hemera.NodeID
		for _, n := range nodes {
			got = append(got, n.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: nodes %v, want %v: %v", path, got, want, err)
		}
	}
	for _, path := range []string{"/gone", "/empty"} {
		if nodes, err := holders(t.Context(), cluster{}, path); !errors.Is(err, errs.NotFound) {
			t.Errorf("%s: %v, %v", path, nodes, err)
		}
	}
}

// TestMachinesExamineThemselves: each host is examined once. The error names a host that cannot be examined, and the
// others are shown.
func TestMachinesExamineThemselves(t *testing.T) {
	var out bytes.Buffer
	x := &examination{e: &cli.Env{Console: cli.Console{Out: &out, Err: &out, Getenv: func(string) string { return "" }}, Now: time.Now}, size: "64MiB"}
	x.o.For = time.Second
	c := cluster{make(chan hemera.NodeID, 4)}
	v, _ := c.View(t.Context())
	patients := x.machines(t.Context(), c, v.Nodes)
	if len(patients) != 2 || len(c.asked) != 2 {
		t.Fatalf("%d machines, %d asked", len(patients), len(c.asked))
	}
	err := x.showNodes(&doctor.Snapshot{Schema: doctor.Schema, Machine: result.Machine{Name: "here"}}, patients)
	if !errors.Is(err, errs.Unavailable) || !strings.Contains(err.Error(), "b:1095") {
		t.Error(err)
	}
	for _, want := range []string{"here, ", "== a:1095 ==", "machine-a, "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
