package net

import (
	"strings"

	"hemera/measure/tool"
	"hemera/words/errs"
)

// outcome has the values of a report of iperf3. Directions are seen from this machine; a direction that did not run is
// zero.
type outcome struct {
	sent, received flow
	near, far      usage // of the processes of iperf3
}

// flow is one direction, as its receiver measured it.
type flow struct {
	bytes       int64
	seconds     float64
	packets     int64   // received packets, UDP only
	lost        float64 // fraction of lost packets, UDP only
	jitter      float64 // s, UDP only
	retransmits int64   // of the sender, TCP only
}

// usage is the processor time of one process, in cores: 1 is one core all of the time.
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

// streamJSON is one stream: TCP has the counts of both ends.
type streamJSON struct {
	Sender   *endJSON `json:"sender"`
	Receiver *endJSON `json:"receiver"`
}

// endJSON has the counts of one end of a stream.
type endJSON struct {
	sumJSON
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Sends *bool   `json:"sender"` // this machine sends
}

// reportJSON is the report of a client.
type reportJSON struct {
	Error string `json:"error"`
	Start struct {
		Version string `json:"version"`
		Test    struct {
			Reverse int `json:"reverse"`
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Streams      []streamJSON `json:"streams"`
		Sent         *sumJSON     `json:"sum_sent"`
		Received     *sumJSON     `json:"sum_received"`
		SentBack     *sumJSON     `json:"sum_sent_bidir_reverse"`
		ReceivedBack *sumJSON     `json:"sum_received_bidir_reverse"`
		CPU          struct {
			HostUser     float64 `json:"host_user"`
			HostSystem   float64 `json:"host_system"`
			RemoteUser   float64 `json:"remote_user"`
			RemoteSystem float64 `json:"remote_system"`
		} `json:"cpu_utilization_percent"`
	} `json:"end"`
}

// parse parses the report of a client that measured a direction; version is the program's version, for errors. It fails
// with Unavailable if no server answers, with Overloaded if the server has another client, and with IO for other failures
// that iperf3 reports. It fails with Invalid if there is no report, or no values of the direction: it never guesses.
func parse(out []byte, version, direction string) (got outcome, err error) {
	var report reportJSON
	invalid := func(why string) error { return errs.New(errs.Invalid, "net.Parse", "iperf3 "+version, why) }
	if err := tool.Report(out, "start", &report); err != nil {
		return got, invalid("it wrote no report that can be read")
	}
	if v := strings.TrimPrefix(report.Start.Version, "iperf "); v != "" {
		version = v
	}
	// Some versions report a failure and end successfully.
	if report.Error != "" {
		return got, failure(report.Error)
	}
	// Of one core, and above 100 for newer versions with several threads.
	const percent = 100
	cpu := report.End.CPU
	got.near, got.far = usage{cpu.HostUser / percent, cpu.HostSystem / percent}, usage{cpu.RemoteUser / percent, cpu.RemoteSystem / percent}
	got.sent, got.received = report.flows(direction)
	// An interrupted run has no sums, and some versions lack those of a direction.
	for _, d := range []struct {
		way    string
		wanted bool
		flow   flow
	}{{Send, direction != Receive, got.sent}, {Receive, direction != Send, got.received}} {
		if d.wanted && d.flow.rate() <= 0 {
			return outcome{}, invalid("its report does not tell what arrived in direction " + d.way)
		}
	}
	return got, nil
}

// flows returns the two directions, as far as the report has them.
func (r *reportJSON) flows(direction string) (sent, received flow) {
	e := &r.End
	switch {
	// Up to 3.7 the sums of both directions have the same names and cannot be distinguished.
	case direction == Both && (e.SentBack == nil || e.ReceivedBack == nil):
		return ofStreams(e.Streams, true), ofStreams(e.Streams, false)
	case e.Sent == nil || e.Received == nil:
		return flow{}, flow{}
	case direction == Both:
		return flowOf(*e.Sent, *e.Received), flowOf(*e.SentBack, *e.ReceivedBack)
	// With --reverse the far end is the sender.
	case r.Start.Test.Reverse == 1:
		return flow{}, flowOf(*e.Sent, *e.Received)
	}
	return flowOf(*e.Sent, *e.Received), flow{}
}

// ofStreams returns the sum of the TCP streams in one direction: the one in which this machine sends, or the other.
// Streams of UDP do not report received data.
func ofStreams(streams []streamJSON, sends bool) flow {
	var sent, received sumJSON
	for _, s := range streams {
		if s.Sender == nil || s.Receiver == nil || s.Sender.Sends == nil || *s.Sender.Sends != sends {
			continue
		}
		sent.Retransmits += s.Sender.Retransmits
		received.Bytes += s.Receiver.Bytes
		// The field seconds is the sender's time at both ends.
		received.Seconds = max(received.Seconds, s.Receiver.End-s.Receiver.Start)
	}
	return flowOf(sent, received)
}

// flowOf returns a direction from the counts of its two ends.
func flowOf(sent, received sumJSON) flow {
	// Bytes and time of the receiver: data in a buffer of the sender has not arrived.
	f := flow{bytes: received.Bytes, seconds: received.Seconds, jitter: received.Jitter / 1000, retransmits: sent.Retransmits, packets: max(0, received.Packets-received.Lost)}
	// The receiver knows the packets up to the last that arrived.
	if received.Packets > 0 {
		f.lost = float64(received.Lost) / float64(received.Packets)
	}
	return f
}

// rate returns the received data in B/s.
func (f flow) rate() float64 {
	if f.seconds <= 0 {
		return 0
	}
	return float64(f.bytes) / f.seconds
}

// failure returns the error for a message of iperf3.
func failure(text string) error {
	// iperf3 has no error codes.
	switch {
	case strings.Contains(text, "unable to connect"), strings.Contains(text, "unable to send control"):
		return errs.New(errs.Unavailable, "net.Measure", "iperf3", text).WithRemedy("run hemera bench net --serve ADDRESS there, or iperf3 -s")
	case strings.Contains(text, "busy"):
		return errs.New(errs.Overloaded, "net.Measure", "iperf3", text).WithRemedy("wait until the other client has ended")
	}
	return errs.New(errs.IO, "net.Measure", "iperf3", text)
}
