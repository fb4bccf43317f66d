package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// tapeMetrics has the descriptions of the tape metrics. Sums count from the start of the manager.
type tapeMetrics struct {
	drive, wanted, library                                                    metric
	sessions, files, bytes, failures, hitches, flushes, time, streaming, wait metric
	queueFiles, queueBytes, queueOldest, failedJobs, held, attention          metric
	tapes, full, empty, capacity, used, writable, live, liveBytes             metric
}

// newTapeMetrics describes the metrics; their names and labels are API. There may be thousands of tapes, so recall queues
// are summed by pool.
func newTapeMetrics() tapeMetrics {
	session := []string{"drive", "library", "kind"}
	return tapeMetrics{
		// A drive has one status at a time. The wanted state is a separate metric.
		drive:   gauge("tape_drive", "1 for what the drive does.", "drive", "library", "status"),
		wanted:  gauge("tape_drive_wanted", "1 if admins want the drive in service, 0 if they put it down.", "drive", "library"),
		library: gauge("tape_library_up", "1 if the library works.", "library"),

		// Counters include the session that runs, so that an hour of streaming is not one step at its end.
		sessions:  counter("tape_sessions_total", "Sessions of the drive that ended, by kind: archive, recall, verify, scan, label (those that failed).", session...),
		files:     counter("tape_files_total", "Files that went to or came from tape.", session...),
		bytes:     counter("tape_bytes_total", "Bytes of them.", session...),
		failures:  counter("tape_failed_files_total", "Files that sessions failed at.", session...),
		hitches:   counter("tape_back_hitches_total", "Stops of the tape in the middle of a stream, where the drive counts them.", session...),
		flushes:   counter("tape_flushes_total", "Times that the buffer of the drive was written out.", session...),
		time:      counter("tape_transfer_seconds_total", "Time of sessions, without mounting.", session...),
		streaming: counter("tape_streaming_seconds_total", "Part of it in which the tape moved at its speed.", session...),
		wait: counter("tape_wait_seconds_total", "What sessions waited for: disk, network, robot, tape (loading, positioning, flushing).",
			append(session, "cause")...),

		// The oldest is a time and not an age, so that its age grows between scrapes.
		queueFiles:  gauge("tape_queue_files", "Files that wait for a drive.", "kind", "pool"),
		queueBytes:  gauge("tape_queue_bytes", "Bytes of them.", "kind", "pool"),
		queueOldest: gauge("tape_queue_oldest_timestamp_seconds", "Since when the oldest of them waits.", "kind", "pool"),
		failedJobs:  gauge("tape_failed_jobs", "Jobs that are not tried again by themselves.", "kind"),
		held: gauge("tape_held_files", "Files to archive that no pool takes, by cause: class (it is unknown, or has no route), size (its organisation takes no such files).",
			"class", "cause"),
		attention: gauge("tape_attention_items", "Things that need a person: hemera tape status lists them."),

		// Room counts only tapes that can be written now, so not full or disabled ones.
		tapes:     gauge("tape_pool_tapes", "Tapes of the pool.", "pool"),
		full:      gauge("tape_pool_full_tapes", "Those that are full.", "pool"),
		empty:     gauge("tape_pool_empty_tapes", "Those on which nothing was written.", "pool"),
		capacity:  gauge("tape_pool_capacity_bytes", "Capacity of its tapes.", "pool"),
		used:      gauge("tape_pool_used_bytes", "What was written on them, removed files included.", "pool"),
		writable:  gauge("tape_pool_writable_bytes", "What its active tapes can still take, without those of supply pools.", "pool"),
		live:      gauge("tape_pool_files", "Copies of files on its tapes, without removed ones.", "pool"),
		liveBytes: gauge("tape_pool_file_bytes", "Bytes of them.", "pool"),
	}
}

// sendTape sends the metrics of tapes.
func sendTape(ctx context.Context, ch chan<- prometheus.Metric, t adminapi.TapeAdmin) error {
	p, err := t.TapePicture(ctx)
	if err != nil {
		return err
	}
	m := newTapeMetrics()
	// A library whose server is silent shows by its idle drives and in the attention list.
	for _, l := range p.Libraries {
		m.library.send(ch, number(l.Problem == ""), l.Name)
	}
	// A drive that has never worked has no totals, and so no counters.
	for _, d := range p.Drives {
		m.drive.send(ch, 1, d.Name, d.Library, string(d.Status))
		m.wanted.send(ch, number(d.Up), d.Name, d.Library)
		for _, of := range d.Totals {
			m.sendTotals(ch, of, d.Name, d.Library, of.Kind.String())
		}
	}
	m.sendQueues(ch, p)
	for _, pool := range p.Pools {
		m.tapes.send(ch, float64(pool.Tapes), pool.Name)
		m.full.send(ch, float64(pool.FullTapes), pool.Name)
		m.empty.send(ch, float64(pool.Free), pool.Name)
		m.capacity.send(ch, float64(pool.Capacity), pool.Name)
		m.used.send(ch, float64(pool.Used), pool.Name)
		m.writable.send(ch, float64(pool.Writable), pool.Name)
		m.live.send(ch, float64(pool.Files), pool.Name)
		m.liveBytes.send(ch, float64(pool.Bytes), pool.Name)
	}
	return nil
}

// sendTotals sends the totals of a drive's sessions of one kind.
func (m tapeMetrics) sendTotals(ch chan<- prometheus.Metric, of adminapi.TapeTotals, labels ...string) {
	m.sessions.send(ch, float64(of.Sessions), labels...)
	m.files.send(ch, float64(of.Files), labels...)
	m.bytes.send(ch, float64(of.Bytes), labels...)
	m.failures.send(ch, float64(of.Failed), labels...)
	// Drives without a counter of back-hitches stay at 0.
	m.hitches.send(ch, float64(of.BackHitches), labels...)
	m.flushes.send(ch, float64(of.Flushes), labels...)
	// The quotient of these two is the streaming share.
	m.time.send(ch, of.Elapsed.Seconds(), labels...)
	m.streaming.send(ch, of.Streaming.Seconds(), labels...)
	// Robot and load times precede the transfer and are not in its seconds.
	for cause, waited := range map[string]time.Duration{"disk": of.Disk, "network": of.Network, "robot": of.Robot, "tape": of.Tape} {
		m.wait.send(ch, waited.Seconds(), append(labels, cause)...)
	}
}

// queueKey has the labels by which queues are summed.
type queueKey struct {
	kind string
	pool tapeapi.PoolName
}

// sendQueues sends queues, failed jobs and the length of the attention list.
func (m tapeMetrics) sendQueues(ch chan<- prometheus.Metric, p adminapi.TapePicture) {
	sums := map[queueKey]adminapi.TapeQueue{}
	for _, q := range p.Queues {
		key := queueKey{q.Kind.String(), q.Pool}
		// Samples must differ in their labels.
		sum, found := sums[key]
		sum.Files, sum.Bytes = sum.Files+q.Files, sum.Bytes+q.Bytes
		if !found || q.Oldest.Before(sum.Oldest) {
			sum.Oldest = q.Oldest
		}
		sums[key] = sum
	}
	// A pool with an empty queue has no sample.
	for key, sum := range sums {
		m.queueFiles.send(ch, float64(sum.Files), key.kind, string(key.pool))
		m.queueBytes.send(ch, float64(sum.Bytes), key.kind, string(key.pool))
		m.queueOldest.send(ch, seconds(sum.Oldest), key.kind, string(key.pool))
	}
	// Failed jobs of a kind count together.
	failed := map[string]int64{}
	for _, q := range p.Failed {
		failed[q.Kind.String()] += q.Files
	}
	for kind, files := range failed {
		m.failedJobs.send(ch, float64(files), kind)
	}
	// Files of a class that does not exist are in no queue, so no other metric counts them.
	for _, h := range p.Held {
		cause := "class"
		if h.TooLarge {
			cause = "size"
		}
		m.held.send(ch, float64(h.Files), h.Class, cause)
	}
	// The list is for people; an alarm needs only its length.
	m.attention.send(ch, float64(len(p.Attention)))
}
