package condition

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

var now = time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)

// well returns a cluster without problems: two nodes, four disks, two copies.
func well() Snapshot {
	v := &hemera.View{Spaces: []hemera.Space{{Name: "default", Policy: hemera.Policy{Layout: hemera.Replica(2)}}}}
	for id := hemera.NodeID(1); id <= 2; id++ {
		v.Nodes = append(v.Nodes, hemera.NodeInfo{ID: id, Addr: "n" + id.String() + ":1095", Status: hemera.NodeOnline, Enabled: true, Version: "1.0.0", Heartbeat: now})
	}
	for id := hemera.DiskID(1); id <= 4; id++ {
		v.Disks = append(v.Disks, hemera.Disk{ID: id, Node: hemera.NodeID(1 + id%2), Path: "/d" + id.String(), Space: "default", Config: hemera.ConfigRW,
			Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Capacity: 1000, Used: 500, Free: 490}})
	}
	return Snapshot{Now: now, Version: "1.0.0", View: v}
}

func TestInformationIsNoTrouble(t *testing.T) {
	s := well()
	s.View.Nodes[0].Stopping = true
	if sum := Summarize(s); sum.Health != adminapi.SeverityOK || len(sum.Conditions) != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestAWellClusterHasNoConditions(t *testing.T) {
	if list := List(well()); len(list) != 0 || Worst(list) != adminapi.SeverityOK {
		t.Errorf("%+v", list)
	}
	if s := Summarize(well()); s.Nodes != 2 || s.NodesOnline != 2 || s.Disks != 4 || s.DisksWritable != 4 || s.Room.Used != 2000 || s.Health != adminapi.SeverityOK {
		t.Errorf("%+v", s)
	}
}

// ruleCase changes a well cluster and names the conditions that must follow.
type ruleCase struct {
	change func(s *Snapshot)
	want   []string // severity code subject
	text   string   // text that the first text or remedy must contain
}

// disk changes disk 2.
func disk(change func(d *hemera.Disk)) func(*Snapshot) {
	return func(s *Snapshot) { change(&s.View.Disks[1]) }
}

func checkRules(t *testing.T, cases map[string]ruleCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := well()
			c.change(&s)
			list := List(s)
			var got []string
			for _, found := range list {
				got = append(got, string(found.Severity)+" "+found.Code+" "+found.Subject)
				if found.Remedy == "" || found.Count < 1 || order(found.Code) == len(codes) {
					t.Errorf("incomplete: %+v", found)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			if len(list) > 0 && !strings.Contains(list[0].Text+list[0].Remedy, c.text) {
				t.Errorf("%q does not say %q", list[0].Text, c.text)
			}
		})
	}
}

// TestRulesOfLayouts tests the rules for the number of disks that a space's layout needs.
func TestRulesOfLayouts(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"too few disks for data": {func(s *Snapshot) {
			s.View.Spaces[0].Policy.Layout = hemera.ReedSolomon(3, 2)
		}, []string{"warning space_too_small space default"}, "policy.nstripes=4"},
		"too few disks for parity": {func(s *Snapshot) {
			s.View.Spaces[0].Policy.Layout = hemera.ReedSolomon(2, 4)
		}, []string{"warning space_too_small space default"}, "policy.layout=replica:4"},
		"no redundancy": {func(s *Snapshot) {
			s.Losses = []SpaceLoss{{Space: "default", Layout: hemera.Stripe(4), Nodes: 2, Zones: 2}}
		}, []string{"info space_disk_loss space default"}, "layout stripe:4 has no copies and no parity"},
		"a disk that is gone, and emptied": {disk(func(d *hemera.Disk) {
			d.Health, d.Active, d.Config, d.Pieces = hemera.HealthGone, false, hemera.ConfigDrain, 3
		}), []string{"warning disk_gone disk 2"}, "its files are being repaired elsewhere (hemera fs status 2); forget it when that is done: hemera fs rm 2"},
		"a disk that is gone, and switched off": {disk(func(d *hemera.Disk) {
			d.Health, d.Active, d.Config, d.Pieces, d.Why = hemera.HealthGone, false, hemera.ConfigOff, 3, "not mounted"
		}), []string{"warning disk_off disk 2"}, "is switched off, and is gone: not mounted, with 3 piecesmount it again, then hemera fs set 2 rw"},
		"losing a node": {func(s *Snapshot) {
			s.Losses = []SpaceLoss{{Space: "default", Layout: hemera.ReedSolomon(4, 2), Disk: true, Nodes: 2, Zones: 2, PerNode: 3, PerZone: 3}}
		}, []string{"warning space_node_loss space default"}, "layout rs:4+2 puts up to 3 pieces on each of 2 nodesput its disks on at least 3 nodes"},
		"losing a zone": {func(s *Snapshot) {
			s.Losses = []SpaceLoss{{Space: "default", Layout: hemera.ReedSolomon(10, 4), Disk: true, Node: true, Nodes: 14, Zones: 3, PerNode: 1, PerZone: 5}}
		}, []string{"info space_zone_loss space default"}, "up to 5 pieces on each of 3 zonesput its disks on at least 4 zones"},
		"files in one node": {func(s *Snapshot) {
			s.Exposed = []ExposedFiles{{Space: "default", Layout: hemera.ReedSolomon(3, 3), Node: 2, Zone: 5, PerNode: 4, PerZone: 5, Path: "/zz/f"}}
		}, []string{"warning files_node_loss space default", "info files_zone_loss space default"},
			"2 files with layout rs:3+3 in space default: the loss of a node is not survived, as up to 4 pieces are in one; /zz/f is such a file"},
		"files of the space's own layout": {func(s *Snapshot) {
			s.Losses = []SpaceLoss{{Space: "default", Layout: hemera.ReedSolomon(4, 2), Disk: true, Node: true, Nodes: 6, Zones: 2, PerNode: 1, PerZone: 3}}
			own := hemera.ReedSolomon(4, 2)
			own.BlockSize = 0
			s.Exposed = []ExposedFiles{{Space: "default", Layout: own, Zone: 5, PerZone: 3, Path: "/f"}}
		}, []string{"info space_zone_loss space default"}, ""},
		"one node, one zone": {func(s *Snapshot) {
			s.Losses = []SpaceLoss{{Space: "default", Layout: hemera.ReedSolomon(4, 2), Disk: true, Nodes: 1, Zones: 1, PerNode: 6, PerZone: 6}}
		}, nil, ""},
	})
}

// TestTapeThatNeedsAPerson: the status has the problems that `hemera tape status` lists, up to a number of lines.
func TestTapeThatNeedsAPerson(t *testing.T) {
	needs := func(n int) func(*Snapshot) {
		return func(s *Snapshot) {
			for i := range n {
				s.Tape = append(s.Tape, tapeapi.Attention{Subject: fmt.Sprintf("tape %02d", i), What: "is disabled: torn", Command: "hemera tape tape set"})
			}
		}
	}
	var most []string
	for i := range tapesShown {
		most = append(most, fmt.Sprintf("warning tape_attention tape %02d", i))
	}
	checkRules(t, map[string]ruleCase{
		"one tape":            {needs(1), most[:1], "is disabled: torn"},
		"its command":         {needs(1), most[:1], "hemera tape tape set"},
		"as many as it lists": {needs(tapesShown), most, "is disabled: torn"},
		"more":                {needs(tapesShown + 5), append(most, "warning tape_attention "), "is disabled: torn"},
	})
	s := well()
	needs(tapesShown + 5)(&s)
	if last := List(s)[tapesShown]; last.Count != 5 || !strings.HasPrefix(last.Text, "5 more things") || last.Remedy != "hemera tape status" {
		t.Errorf("%+v", last)
	}
}

// TestRoomOfSpaces: the text names the largest piece that fits if room is short.
func TestRoomOfSpaces(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"all full": {func(s *Snapshot) {
			for i := range s.View.Disks {
				s.View.Disks[i].Health = hemera.HealthFull
			}
		}, []string{"error space_no_room space default", "warning disk_full disk 1", "warning disk_full disk 2", "warning disk_full disk 3", "warning disk_full disk 4"}, "it has 0; no piece fits"},
		"a layout with more data than there are disks": {func(s *Snapshot) { s.View.Spaces[0].Policy.Layout = hemera.ReedSolomon(20, 2) },
			[]string{"error space_no_room space default"}, "ask for less: hemera space set default policy.nstripes=4"},
		"no room": {func(s *Snapshot) {
			s.View.Spaces[0].Policy.PiecesMin = 3
			for i := range s.View.Disks {
				s.View.Disks[i].Used, s.View.Disks[i].Free = 50, max(0, int64(i-2)*2e9)
			}
		}, []string{"error space_no_room space default", "warning disk_nearly_full disk 1", "warning disk_nearly_full disk 2", "warning disk_nearly_full disk 3"}, "it has 1; the largest piece that fits on 1 of its disks has 2.00 GB"},
		"nearly full space": {func(s *Snapshot) {
			for i := range s.View.Disks {
				s.View.Disks[i].Used, s.View.Disks[i].Free = 850, 50
			}
			s.View.Disks[0].Config = hemera.ConfigRO
		}, []string{"warning space_nearly_full space default", "warning disk_nearly_full disk 2", "warning disk_nearly_full disk 3", "warning disk_nearly_full disk 4"}, "94% full; the largest piece that fits on 2 of its disks has 50 B"},
	})
}

// TestRules changes one thing at a time and names the conditions that must follow, in their order.
func TestRules(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"lost": {func(s *Snapshot) {
			s.View.Removed = []hemera.RemovedDisk{{ID: 9, Addr: "n7:1095", Path: "/old", Removed: now}}
			s.Files = adminapi.FileHealth{Lost: 2, Disks: []adminapi.DiskLoss{{Disk: 9, Lost: 2}}}
		}, []string{"error files_lost "}, "2 files have too few pieces on disks of the cluster: disk 9, last seen at /old on n7:1095, removed 2026-03-14"},
		"lost so far": {func(s *Snapshot) { s.Files = adminapi.FileHealth{Lost: 1, Partial: true} }, []string{"error files_lost "}, "at least 1 file has too few pieces"},
		"bad pieces alone": {func(s *Snapshot) {
			s.Files = adminapi.FileHealth{Lost: 1, Ruined: 1, Disks: []adminapi.DiskLoss{{Disk: 2, Lost: 1}}}
		}, []string{"error files_lost "}, "1 file has too few pieces left that are not known to be bad: disk 2, /d2 on n1:1095"},
		"lost in both ways": {func(s *Snapshot) { s.Files = adminapi.FileHealth{Lost: 3, Ruined: 1} },
			[]string{"error files_lost "}, "3 files have no good piece: 2 too few pieces on disks of the cluster, 1 too few pieces left that are not known to be bad"},
		"unreadable": {func(s *Snapshot) {
			s.Files = adminapi.FileHealth{Unreadable: 3, Disks: []adminapi.DiskLoss{{Disk: 1, Unreadable: 3}}}
		}, []string{"error files_unreadable "}, "are on disk 1"},
		"incomplete and never to be met": {func(s *Snapshot) {
			s.Files = adminapi.FileHealth{Incomplete: 5, Unmet: []adminapi.UnmetLayout{{Space: "default", Pieces: 12, Disks: 4, Files: 5}}}
		}, []string{"warning policy_unmet space default", "warning files_incomplete "}, "5 files ask for 12 pieces and space default has 4 disks"},
		"gone":     {disk(func(d *hemera.Disk) { d.Health, d.Why, d.Active, d.Pieces = hemera.HealthGone, "no label", false, 7 }), []string{"warning disk_gone disk 2"}, "/d2 on n1:1095 is gone, with 7 pieces: no labelmount it again; its files are repaired elsewhere after the grace, or at once: hemera fs set 2 drain;"},
		"repaired": {disk(func(d *hemera.Disk) { d.Health, d.Active, d.Pieces = hemera.HealthGone, false, 0 }), []string{"warning disk_gone disk 2"}, "is gone, with no piece that a file needsmount it again, or forget it: hemera fs rm 2"},
		"failing":  {disk(func(d *hemera.Disk) { d.Health, d.Load.IOErrors = hemera.HealthFailing, 12 }), []string{"warning disk_failing disk 2"}, "failing"},
		"readonly": {disk(func(d *hemera.Disk) { d.Health = hemera.HealthReadOnly }), []string{"warning disk_readonly disk 2"}, "takes no writes"},
		"older":    {disk(func(d *hemera.Disk) { d.Health = hemera.HealthOlder }), []string{"warning disk_older disk 2"}, "hemera fsck repair"},
		"full":     {disk(func(d *hemera.Disk) { d.Health = hemera.HealthFull }), []string{"warning disk_full disk 2"}, "is full"},
		"nearly":   {disk(func(d *hemera.Disk) { d.Used, d.Free = 900, 90 }), []string{"warning disk_nearly_full disk 2"}, "91% full"},
		"stopping": {func(s *Snapshot) { s.View.Nodes[0].Stopping = true }, []string{"info node_stopping node 1"}, "n1:1095 is stopping"},
		"stopped":  {func(s *Snapshot) { n := &s.View.Nodes[0]; n.Stopping, n.Status = true, hemera.NodeOffline }, []string{"warning node_offline node 1"}, "n1:1095 has not answered"},
		"limits": {func(s *Snapshot) {
			use := hemera.LimitUse{Name: "connections", Used: 9, Max: 10, Refused: 3, RefusedAgo: time.Minute}
			s.Limits, s.View.Nodes[1].Stats.Limits = []hemera.LimitUse{use}, []hemera.LimitUse{use, {Name: "request_bytes", Max: 5, Refused: 1}}
		}, []string{"warning limit_reached node 2", "warning limit_reached manager"},
			"n2:1095 refused clients at limits connections (9 of 10 in use, 1m ago), request_bytes (0 of 5 in use, 0s ago); 4 refusals since its start"},
		"bad pieces": {func(s *Snapshot) { s.Bad = 2 }, []string{"warning pieces_bad "}, "2 pieces were found bad"},
		"never backed up": {func(s *Snapshot) {
			s.Namespace.Totals.Files, s.Namespace.BackupsSince = 1, now.Add(-8*24*time.Hour)
		},
			[]string{"warning backup_old "}, "no backup of the manager was taken for 8 days"},
		"backed up long ago": {func(s *Snapshot) {
			n := &s.Namespace
			n.Totals.Files, n.BackupsSince, n.LastBackup = 1, now.Add(-90*24*time.Hour), now.Add(-9*24*time.Hour)
		}, []string{"warning backup_old "}, "taken 9 days ago"},
		"backed up": {func(s *Snapshot) {
			n := &s.Namespace
			n.Totals.Files, n.BackupsSince, n.LastBackup = 1, now.Add(-90*24*time.Hour), now.Add(-6*24*time.Hour)
		}, nil, ""},
		"being rebuilt":                  {func(s *Snapshot) { s.Rebuilding = now.Add(-2 * time.Hour) }, []string{"error rebuilding "}, "ns rebuild finish"},
		"young, without files or backup": {func(s *Snapshot) { s.Namespace.BackupsSince = now.Add(-90 * 24 * time.Hour) }, nil, ""},
		"draining a full disk":           {disk(func(d *hemera.Disk) { d.Config, d.Used, d.Free = hemera.ConfigDrain, 990, 0 }), nil, ""},
		"off":                            {disk(func(d *hemera.Disk) { d.Config = hemera.ConfigOff }), []string{"warning disk_off disk 2"}, "switched off"},
		"errors":                         {disk(func(d *hemera.Disk) { d.Load.ChecksumErrors = 3 }), []string{"warning disk_errors disk 2"}, "3 checksum errors and 0 I/O errors"},
		"offline": {func(s *Snapshot) {
			s.View.Nodes[0].Status, s.View.Nodes[0].Heartbeat = hemera.NodeOffline, now.Add(-90*time.Minute)
			for i := range s.View.Disks {
				if d := &s.View.Disks[i]; d.Node == 1 {
					d.Active, d.Health = false, hemera.HealthGone
				}
			}
		}, []string{"warning node_offline node 1"}, "n1:1095 has not answered for 1h30m"},
		"disabled":        {func(s *Snapshot) { s.View.Nodes[1].Enabled = false }, []string{"warning node_disabled node 2"}, "hemera node set 2 on"},
		"version":         {func(s *Snapshot) { s.View.Nodes[1].Version = "0.9.0" }, []string{"warning node_version node 2"}, "runs 0.9.0, the manager 1.0.0"},
		"clock":           {func(s *Snapshot) { s.View.Nodes[1].ClockSkew = -time.Minute }, []string{"warning node_clock node 2"}, "is 1m behind the manager's"},
		"clock, a little": {func(s *Snapshot) { s.View.Nodes[1].ClockSkew = time.Second }, nil, ""},
		"unusable": {func(s *Snapshot) {
			s.View.Nodes[0].Stats.Unusable = []hemera.UnusableDisk{{Path: "/x", Why: "no such directory"}}
		}, []string{"warning path_unusable node 1"}, "/x on n1:1095"},
		"no disks":      {func(s *Snapshot) { s.View.Disks = nil }, []string{"error no_disks "}, "hemera fs add"},
		"too few disks": {func(s *Snapshot) { s.View.Disks = s.View.Disks[:1] }, []string{"warning space_too_small space default"}, "1 disk and its policy asks for 2"},
		"nowhere to write": {func(s *Snapshot) {
			for i := range s.View.Disks {
				s.View.Disks[i].Config = hemera.ConfigRO
			}
		}, []string{"error space_no_room space default"}, "takes no new files: they need 1 disk that can be written, and it has 0"},
		"stalled": {func(s *Snapshot) {
			s.Jobs = []adminapi.JobStatus{{Kind: "drain", Disk: 3, State: adminapi.JobStalled, Why: "no room", FilesLeft: 4}, {Kind: "repair", State: adminapi.JobStalled, FilesLeft: 1}, {State: adminapi.JobRunning}}
		}, []string{"warning job_stalled disk 3", "warning job_stalled repair"}, "drain of disk 3 is stalled with 4 files left: no room"},
		"removals": {func(s *Snapshot) { s.Namespace.Unlinked = removalsMax + 1 }, []string{"warning removal_backlog "}, "1000001 pieces"},
		"quota": {func(s *Snapshot) {
			limits, key := hemera.QuotaAmount{Bytes: 10}, hemera.QuotaKey{Path: "/a", Kind: hemera.QuotaUser, ID: 7}
			s.Quotas = []hemera.QuotaRow{{QuotaKey: key, Limits: limits, Used: limits}, {QuotaKey: key, Used: limits}, {QuotaKey: key, Limits: limits, Used: limits, Counting: true}}
		}, []string{"warning quota_exceeded quota /a user 7"}, "user 7 has used up"},
		"worst first": {func(s *Snapshot) {
			s.View.Nodes[1].Enabled, s.Files.Lost, s.Files.Incomplete = false, 1, 1
		}, []string{"error files_lost ", "warning files_incomplete ", "warning node_disabled node 2"}, "1 file has too few pieces"},
	})
}

func TestRulesOfLooksAtWholeDisks(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"old audit": {disk(func(d *hemera.Disk) { d.Pieces, d.LastAudit = 1, now.Add(-30*24*time.Hour) }), []string{"warning audit_old disk 2"}, "was not compared with the namespace for 30 days"},
		"never audited": {func(s *Snapshot) {
			s.View.Disks[1].Pieces, s.Namespace.Booted = 1, now.Add(-30*24*time.Hour)
		}, []string{"warning audit_old disk 2"}, "30 days"},
		"audited": {disk(func(d *hemera.Disk) {
			d.Pieces, d.LastAudit, d.LastScrub = 1, now.Add(-8*24*time.Hour), now.Add(-60*24*time.Hour)
		}), nil, ""},
		"old scrub": {disk(func(d *hemera.Disk) { d.Pieces, d.LastAudit, d.LastScrub = 1, now, now.Add(-100*24*time.Hour) }), []string{"warning scrub_old disk 2"}, "for 100 days"},
		"waiting": {func(s *Snapshot) {
			s.View.Nodes = append(s.View.Nodes, hemera.NodeInfo{ID: 3, Addr: "n3:1095", Status: hemera.NodeWaiting})
		}, []string{"warning node_waiting node 3"}, "hemera node admit 3"},
	})
}

func TestRulesOfKeptWrites(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"kept": {func(s *Snapshot) { s.View.Nodes[0].Stats.Kept = 2 }, []string{"info node_kept node 1"}, "n1:1095 keeps 2 writes whose clients did not come back"},
	})
}

// An unusable path has the node's own remedy. If a cluster has no disks because of it, the remedy is not to add more.
func TestRulesOfPathsThatCannotBeUsed(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"unusable, with a remedy": {func(s *Snapshot) {
			s.View.Nodes[0].Stats.Unusable = []hemera.UnusableDisk{{Path: "/x", Why: "everybody may write there", Remedy: "chmod o-w /x"}}
		}, []string{"warning path_unusable node 1"}, "chmod o-w /x"},
		"no disks, as none can be used": {func(s *Snapshot) {
			s.View.Disks, s.View.Nodes[0].Stats.Unusable = nil, []hemera.UnusableDisk{{Path: "/x", Why: "everybody may write there"}}
		}, []string{"error no_disks ", "warning path_unusable node 1"}, "make the paths usable that path_unusable names"},
	})
}

// Thousands of limits that are used up give some conditions and one that counts the rest.
func TestTheNumberOfConditionsIsBounded(t *testing.T) {
	s := well()
	for id := range uint32(5000) {
		s.Quotas = append(s.Quotas, hemera.QuotaRow{QuotaKey: hemera.QuotaKey{Path: "/a", Kind: hemera.QuotaUser, ID: id}, Limits: hemera.QuotaAmount{Files: 1}, Used: hemera.QuotaAmount{Files: 1}})
	}
	list := List(s)
	if len(list) != quotasShown+1 || list[quotasShown].Count != 5000-quotasShown {
		t.Errorf("%d conditions, the last %+v", len(list), list[len(list)-1])
	}
}

func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/operations.md does not list %s", code)
		}
	}
}

// A suspected network gives a warning for its node, unless the node does not answer at all.
func TestNetworks(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"network": {func(s *Snapshot) {
			s.Network.Nodes = []adminapi.NodeNetwork{{Node: 1, Addr: "n1:1095", Standing: adminapi.NetworkWell, Weight: 1},
				{Node: 2, Addr: "n2:1095", Standing: adminapi.NetworkSuspected, Weight: 0.25, Direction: "out", Out: adminapi.NetworkLoss{Segments: 1000, Lost: 21}, Where: "packets that it sends are lost", Remedy: "look at the port"}}
		}, []string{"warning node_network node 2"}, "n2:1095 is suspected: packets that it sends are lost (2.1 % of what it sends, 0 % of what it receives); until it is well again its weight for new pieces and for readers is 0.25"},
		"network of a node that is away": {func(s *Snapshot) {
			s.View.Nodes[1].Status = hemera.NodeOffline
			s.Network.Nodes = []adminapi.NodeNetwork{{Node: 2, Standing: adminapi.NetworkSuspected, Weight: 0.25}}
			s.View.Disks = slices.DeleteFunc(s.View.Disks, func(d hemera.Disk) bool { return d.Node == 2 })
		}, []string{"warning node_offline node 2"}, ""},
	})
}

// TestRulesOfARestoredNamespace: a warning until all disks were searched, and information until an admin ends it.
func TestRulesOfARestoredNamespace(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"restored": {func(s *Snapshot) {
			s.Namespace.WentBack = hemera.WentBack{Taken: now.Add(-time.Hour), Restored: now}
		}, []string{"warning went_back "}, "ns rebuild --merge"},
		"searched": {func(s *Snapshot) {
			s.Namespace.WentBack = hemera.WentBack{Restored: now.Add(-time.Hour), Merged: now}
		}, []string{"info went_back "}, "ns rebuild forget"},
	})
}
