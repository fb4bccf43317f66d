package tier_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Drives ask, servers report, admins order and cancel scans and change the configuration, and people look, all at once: no tape is in two drives, and
// no scan waits for a mount that is over.
func TestAllPartsAtOnce(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/first", 1000)
		ctx, stop := context.WithTimeout(s.Context(), time.Hour)
		defer stop()
		const rounds = 40
		var all sync.WaitGroup
		var mu sync.Mutex
		inDrive := map[hemera.VID]string{}
		take := func(vid hemera.VID, drive string) {
			mu.Lock()
			defer mu.Unlock()
			if of := inDrive[vid]; of != "" {
				t.Errorf("tape %s is in %s and %s", vid, of, drive)
			}
			inDrive[vid] = drive
		}
		leave := func(vid hemera.VID) {
			mu.Lock()
			defer mu.Unlock()
			delete(inDrive, vid)
		}
		for _, drive := range []string{"d1", "d2"} {
			all.Go(func() {
				for range rounds {
					m, err := s.tier.Drives.NextMount(ctx, server, drive)
					if err != nil {
						t.Error(err)
					}
					if m.ID == 0 {
						continue
					}
					take(m.VID, drive)
					if m.Kind == tapeapi.MountWork {
						// One whose server was counted as lost meanwhile has no jobs.
						_, _ = s.tier.Jobs.TapeJobs(ctx, server, tapeapi.JobsRequest{Mount: m.ID, Files: 1})
					}
					leave(m.VID)
					_ = s.tier.Results.TapeDone(ctx, server, tapeapi.Results{Mount: m.ID, VID: m.VID, Labelled: m.Kind == tapeapi.MountLabel, Ended: true})
				}
			})
		}
		each := func(do func(i int)) {
			all.Go(func() {
				for i := range rounds {
					do(i)
					time.Sleep(time.Second)
				}
			})
		}
		each(func(int) { s.tier.Servers.ReportLibrary(server, s.state); s.tier.Sweeper.EndLost() })
		each(func(i int) {
			_, _ = s.tier.Orders.OrderTape(ctx, "ada", adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "AAA001", DryRun: i%2 == 0})
			_, _ = s.tier.Orders.OrderTape(ctx, "ada", adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "AAA001"})
		})
		each(func(i int) { s.put(alice(), fmt.Sprintf("/double/f%d", i), 1000) })
		each(func(i int) {
			s.change("organisation", "set", "default", "readMaxDrives", fmt.Sprint(1+i%2))
		})
		each(func(int) {
			if _, err := s.tier.Reports.TapePicture(ctx); err != nil {
				t.Error(err)
			}
			_, _ = s.tier.Reports.ExplainTape(ctx, "AAA001")
		})
		all.Wait()
		s.report()
		_, _ = s.tier.Orders.OrderTape(ctx, "ada", adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "AAA001"})
		_, err := s.tier.Orders.OrderTape(ctx, "ada", adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "AAA001", DryRun: true})
		s.good(err)
		if m := s.ask("d1"); m.Kind != tapeapi.MountScan {
			t.Errorf("a scan that was ordered last: %+v", m)
		}
	})
}

// A commit is queued by the settings that hold while it is made, and never by a mixture: a class has the pool of before or that of after.
func TestACommitWhileRoutesChange(t *testing.T) {
	at(t, func(s *site) {
		s.change("pool", "add", "third", "vo", "default")
		var all sync.WaitGroup
		all.Go(func() {
			for i := range 30 {
				s.change("route", "set", "double/1", "tapepool", []string{"third", "default"}[i%2])
			}
		})
		for i := range 30 {
			e := s.put(alice(), fmt.Sprintf("/double/f%d", i), 1000)
			jobs, err := s.tree.Parts().Tapes.JobsOf(s.Context(), e.ID)
			s.good(err)
			if len(jobs) != 2 || jobs[0].Queue != "default" && jobs[0].Queue != "third" || jobs[1].Queue != "second" {
				t.Errorf("%+v", jobs)
			}
		}
		all.Wait()
	})
}
