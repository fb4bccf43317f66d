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
	if v.s.Machine.Virtual != "" {
		v.unseen("health of disks (SMART)", "the machine is virtual: its host sees the disks", "")
		return
	}
	for i := range v.s.Disks {
		d := &v.s.Disks[i]
		// Devices made of others: their members would answer, but are not known here.
		if strings.HasPrefix(d.Name, "dm-") || strings.HasPrefix(d.Name, "md") || strings.HasPrefix(d.Name, "loop") {
			continue
		}
		// Only health, attributes and error counts: no test is started.
		out, missing := program(ctx, "smartctl", "-j", "-H", "-A", "-l", "error", "/dev/"+d.Name)
		if missing {
			v.unseen("health of disks (SMART)", "smartctl is not installed", "apt install smartmontools")
			return
		}
		// No permission, or a controller in between.
		if d.Smart = parseSmart(out); d.Smart == nil {
			v.unseen("health of "+d.Name, "smartctl got no assessment", "run it as root; behind a RAID controller, smartctl -d megaraid,N asks the disk itself")
		}
	}
}

// parseSmart parses the output of smartctl -j -H -A -l error. It returns nil without an assessment.
func parseSmart(out []byte) *doctor.Smart {
	// The names are those of smartctl, for ATA, NVMe and SCSI.
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
		// SCSI and SAS.
		Grown int64 `json:"scsi_grown_defect_list"`
		Wear  int64 `json:"scsi_percentage_used_endurance_indicator"`
		Log   struct {
			Read, Write, Verify struct {
				Lost int64 `json:"total_uncorrected_errors"`
			}
		} `json:"scsi_error_counter_log"`
	}
	// Without permission, smartctl prints the reason, and no status.
	if json.Unmarshal(out, &a) != nil || a.Status == nil {
		return nil
	}
	// A disk has the fields of one kind; the others are 0.
	lost := a.Log.Read.Lost + a.Log.Write.Lost + a.Log.Verify.Lost
	s := &doctor.Smart{Passed: a.Status.Passed, MediaErrors: a.NVMe.MediaErrors + lost, Used: a.NVMe.Used + a.Wear, Reallocated: a.Grown, Hours: a.Power.Hours}
	for _, row := range a.Table.Rows {
		switch row.ID { // the numbers of the ATA attributes
		case 5: // sectors replaced by spare ones
			s.Reallocated = row.Raw.Value
		case 197: // sectors that could not be read, not yet replaced
			s.Pending = row.Raw.Value
		}
	}
	return s
}

// together reads all disks at the same time, which shows the limits of shared hardware. Without root's rights it does
// nothing.
func (v *observer) together(ctx context.Context) {
	var open []*os.File
	// Devices stay open until the end, so that all can start together.
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
	// One disk shares the bus with no other.
	if len(open) < 2 {
		return
	}
	v.step("%d disks at once", len(open))
	// All start at the same moment, so that none has the bus alone.
	began := time.Now()
	sums := make(chan int64, len(open))
	for _, f := range open {
		go func() {
			n, err := eachBlock(ctx, v.Size, began.Add(v.For), depth, func(b []byte, at int64) error {
				_, err := f.ReadAt(b, at)
				return err
			})
			if err != nil { // the sum is too low then, without a finding that explains it
				n = 0
			}
			sums <- n
		}()
	}
	// Each disk sends its bytes once.
	for range open {
		v.s.Together += float64(<-sums)
	}
	v.s.Together /= time.Since(began).Seconds()
}
