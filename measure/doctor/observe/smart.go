package observe

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/doctor"
)

// smart asks each disk for its own assessment. Disks of a hypervisor have none.
func (v *observer) smart(ctx context.Context) {
	v.coalescing(ctx)
	if v.s.Machine.Virtual != "" {
		v.unseen("health of disks (SMART)", "the machine is virtual: its host sees the disks", "")
		return
	}
	for i := range v.s.Disks {
		d := &v.s.Disks[i]
		if strings.HasPrefix(d.Name, "dm-") || strings.HasPrefix(d.Name, "md") || strings.HasPrefix(d.Name, "loop") {
			continue
		}
		out, missing := program(ctx, "smartctl", "-j", "-H", "-A", "/dev/"+d.Name)
		if missing {
			v.unseen("health of disks (SMART)", "smartctl is not installed", "apt install smartmontools")
			return
		}
		if d.Smart = parseSmart(out); d.Smart == nil {
			v.unseen("health of "+d.Name, "smartctl got no assessment", "run it as root; behind a RAID controller, smartctl -d megaraid,N asks the disk itself")
		}
	}
}

// parseSmart parses what smartctl -j -H -A prints. nil if it has no assessment.
func parseSmart(out []byte) *doctor.Smart {
	var a struct {
		Status *struct{ Passed bool } `json:"smart_status"`
		Table  struct {
			Rows []struct {
				ID  int `json:"id"`
				Raw struct {
					Value int64 `json:"value"`
				} `json:"raw"`
			} `json:"table"`
		} `json:"ata_smart_attributes"`
		NVMe struct {
			MediaErrors int64 `json:"media_errors"`
			Used        int64 `json:"percentage_used"`
		} `json:"nvme_smart_health_information_log"`
		Power struct{ Hours int64 } `json:"power_on_time"`
	}
	if json.Unmarshal(out, &a) != nil || a.Status == nil {
		return nil
	}
	s := &doctor.Smart{Passed: a.Status.Passed, MediaErrors: a.NVMe.MediaErrors, Used: a.NVMe.Used, Hours: a.Power.Hours}
	for _, row := range a.Table.Rows {
		switch row.ID { // the numbers of the ATA attributes
		case 5:
			s.Reallocated = row.Raw.Value
		case 197:
			s.Pending = row.Raw.Value
		}
	}
	return s
}

// together reads all disks at the same time: what is shared between them shows. Without root's rights it does nothing.
func (v *observer) together(ctx context.Context) {
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = f.Close()
		}
	}()
	for _, d := range v.s.Disks {
		if d.Direct <= 0 {
			continue
		}
		if f, err := os.OpenFile("/dev/"+d.Name, os.O_RDONLY|unix.O_DIRECT, 0); err == nil {
			open = append(open, f)
		}
	}
	if len(open) < 2 {
		return
	}
	v.step("%d disks at once", len(open))
	began := time.Now()
	sums := make(chan int64, len(open))
	for _, f := range open {
		go func() {
			n, err := eachBlock(ctx, v.Size, began.Add(v.For), depth, func(b []byte, at int64) error {
				_, err := f.ReadAt(b, at)
				return err
			})
			if err != nil {
				n = 0
			}
			sums <- n
		}()
	}
	for range open {
		v.s.Together += float64(<-sums)
	}
	v.s.Together /= time.Since(began).Seconds()
}
