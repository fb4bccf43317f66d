package net

import (
	"encoding/json"
	"strings"

	"hemera/errs"
)

// outcome is what iperf3 reports of a run. Directions are seen from this machine; what did not run is zero.
type outcome struct {
	sent, received flow
	near, far      usage // of the processes of iperf3
}

// flow is one direction, as its receiver saw it.
type flow struct {
	bytes       int64
	seconds     float64
	packets     int64   // that arrived, UDP only
	lost        float64 // share of the packets, UDP only
	jitter      float64 // s, UDP only
	retransmits int64   // of the sender, TCP only
}

// usage is processor time of one process, in cores: 1 is one core all of the time.
type usage struct{ user, system float64 }

// sumJSON is a sum over the streams of one direction.
type sumJSON struct {
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	Jitter      float64 `json:"jitter_ms"`
	Lost        int64   `json:"lost_packets"`
	Packets     int64   `json:"packets"`
	Retransmits int64   `json:"retransmits"`
}

// parse reads the report of a client. It fails with Unavailable if no server answers, with Overloaded if it has another client, with IO
// for another failure that iperf3 names, and with Invalid if there is no report.
func parse(out []byte) (outcome, error) {
	var report struct {
		Error string `json:"error"`
		Start struct {
			Test struct {
				Protocol string `json:"protocol"`
				Reverse  int    `json:"reverse"`
			} `json:"test_start"`
		} `json:"start"`
		End struct {
			Sent         *sumJSON `json:"sum_sent"`
			Received     *sumJSON `json:"sum_received"`
			SentBack     *sumJSON `json:"sum_sent_bidir_reverse"`
			ReceivedBack *sumJSON `json:"sum_received_bidir_reverse"`
			CPU          struct {
				HostUser     float64 `json:"host_user"`
				HostSystem   float64 `json:"host_system"`
				RemoteUser   float64 `json:"remote_user"`
				RemoteSystem float64 `json:"remote_system"`
			} `json:"cpu_utilization_percent"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return outcome{}, errs.New(errs.Invalid, "net.Parse", "iperf3", "it wrote no report")
	}
	// Some versions report a failure and end well.
	if report.Error != "" {
		return outcome{}, failure(report.Error)
	}
	e := report.End
	// A run that was cut short may have a start and intervals, but no end.
	if e.Sent == nil || e.Received == nil {
		return outcome{}, errs.New(errs.Invalid, "net.Parse", "iperf3", "its report has no sums")
	}
	// Of one core, and above 100 for newer versions with several threads.
	const percent = 100
	got := outcome{near: usage{e.CPU.HostUser / percent, e.CPU.HostSystem / percent}, far: usage{e.CPU.RemoteUser / percent, e.CPU.RemoteSystem / percent}}
	// With --reverse the far end is the sender.
	if report.Start.Test.Reverse == 1 {
		got.received = flowOf(*e.Sent, *e.Received)
		return got, nil
	}
	// With --bidir the other direction has sums of its own.
	got.sent = flowOf(*e.Sent, *e.Received)
	if e.SentBack != nil && e.ReceivedBack != nil {
		got.received = flowOf(*e.SentBack, *e.ReceivedBack)
	}
	return got, nil
}

// flowOf is a direction from what its two ends counted.
func flowOf(sent, received sumJSON) flow {
	// Bytes and time are the receiver's: what is in a buffer of the sender has not arrived.
	f := flow{bytes: received.Bytes, seconds: received.Seconds, jitter: received.Jitter / 1000, retransmits: sent.Retransmits, packets: max(0, received.Packets-received.Lost)}
	// The receiver knows the packets up to the last that arrived.
	if received.Packets > 0 {
		f.lost = float64(received.Lost) / float64(received.Packets)
	}
	return f
}

// rate is the data that arrived, in B/s.
func (f flow) rate() float64 {
	if f.seconds <= 0 {
		return 0
	}
	return float64(f.bytes) / f.seconds
}

// failure is the error for what iperf3 says.
func failure(text string) error {
	// iperf3 has no codes for them.
	switch {
	case strings.Contains(text, "unable to connect"), strings.Contains(text, "unable to send control"):
		return errs.New(errs.Unavailable, "net.Measure", "iperf3", text).WithRemedy("run hemera bench net --serve ADDRESS there, or iperf3 -s")
	case strings.Contains(text, "busy"):
		return errs.New(errs.Overloaded, "net.Measure", "iperf3", text).WithRemedy("wait until the other client has ended")
	}
	return errs.New(errs.IO, "net.Measure", "iperf3", text)
}
