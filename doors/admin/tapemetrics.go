package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/adminapi"
)

// tapeMetrics describes what is told of tapes. Sums are of the manager's life: what drives did before it was started is not in them.
type tapeMetrics struct {
	drive, wanted, library                                                    metric
	sessions, files, bytes, failures, hitches, flushes, time, streaming, wait metric
	queueFiles, queueBytes, queueOldest, failedJobs, held, attention          metric
	tapes, full, empty, capacity, used, writable, live, liveBytes             metric
}

// newTapeMetrics gives names and labels, which are API. A recall queue is of a tape, and there are thousands: they are told by pool.
func newTapeMetrics() tapeMetrics {
	session := []string{"drive", "library", "kind"}
	return tapeMetrics{
		// A drive has one status at a time. What an admin wants of it is another thing.
		drive:   gauge("tape_drive", "1 for what the drive does.", "drive", "library", "status"),
		wanted:  gauge("tape_drive_wanted", "1 if admins want the drive in service, 0 if they put it down.", "drive", "library"),
		library: gauge("tape_library_up", "1 if the library works.", "library"),

		// Counters have the session under way, so that an hour of streaming is not one step at its end.
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

		// The oldest as a time, so that its age goes on between two scrapes.
		queueFiles:  gauge("tape_queue_files", "Files that wait for a drive.", "kind", "pool"),
		queueBytes:  gauge("tape_queue_bytes", "Bytes of them.", "kind", "pool"),
		queueOldest: gauge("tape_queue_oldest_timestamp_seconds", "Since when the oldest of them waits.", "kind", "pool"),
		failedJobs:  gauge("tape_failed_jobs", "Jobs that are not tried again by themselves.", "kind"),
		held: gauge("tape_held_files", "Files to archive that no pool takes, by cause: class (it is unknown, or has no route), size (its organisation takes no such files).",
			"class", "cause"),
		attention: gauge("tape_attention_items", "Things that need a person: hemera tape status lists them."),

		// Room is that of tapes that can be written now: full and disabled ones have none.
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

// sendTape sends what is known of tapes.
func sendTape(ctx context.Context, ch chan<- prometheus.Metric, t adminapi.TapeAdmin) error {
	p, err := t.TapePicture(ctx)
	if err != nil {
		return err
	}
	// Described for each scrape: names cost little, and nothing is kept.
	m := newTapeMetrics()
	// A library whose server is silent is known by the drives that do nothing, and by the list of what needs a person.
	for _, l := range p.Libraries {
		m.library.send(ch, number(l.Problem == ""), l.Name)
	}
	// A drive that never worked has no sums, and no counters.
	for _, d := range p.Drives {
		m.drive.send(ch, 1, d.Name, d.Library, d.Status)
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

// sendTotals sends the sums of a drive's sessions of one kind.
func (m tapeMetrics) sendTotals(ch chan<- prometheus.Metric, of adminapi.TapeTotals, labels ...string) {
	// What was done.
	m.sessions.send(ch, float64(of.Sessions), labels...)
	m.files.send(ch, float64(of.Files), labels...)
	m.bytes.send(ch, float64(of.Bytes), labels...)
	m.failures.send(ch, float64(of.Failed), labels...)
	// How it went. Drives without a counter of back-hitches stay at 0.
	m.hitches.send(ch, float64(of.BackHitches), labels...)
	m.flushes.send(ch, float64(of.Flushes), labels...)
	// Their quotient is the streaming share of any stretch of time.
	m.time.send(ch, of.Elapsed.Seconds(), labels...)
	m.streaming.send(ch, of.Streaming.Seconds(), labels...)
	// Robot and load are before the transfer: they are not in its seconds.
	for cause, waited := range map[string]time.Duration{"disk": of.Disk, "network": of.Network, "robot": of.Robot, "tape": of.Tape} {
		m.wait.send(ch, waited.Seconds(), append(labels, cause)...)
	}
}

// queueKey is what queues are added up by.
type queueKey struct{ kind, pool string }

// sendQueues sends what waits, what has failed, and what needs a person.
func (m tapeMetrics) sendQueues(ch chan<- prometheus.Metric, p adminapi.TapePicture) {
	sums := map[queueKey]adminapi.TapeQueue{}
	for _, q := range p.Queues {
		key := queueKey{q.Kind.String(), q.Pool}
		// A metric may not be there twice.
		sum, found := sums[key]
		sum.Files, sum.Bytes = sum.Files+q.Files, sum.Bytes+q.Bytes
		if !found || q.Oldest.Before(sum.Oldest) {
			sum.Oldest = q.Oldest
		}
		sums[key] = sum
	}
	// A pool for which nothing waits has no queue, and no metric.
	for key, sum := range sums {
		m.queueFiles.send(ch, float64(sum.Files), key.kind, key.pool)
		m.queueBytes.send(ch, float64(sum.Bytes), key.kind, key.pool)
		m.queueOldest.send(ch, seconds(sum.Oldest), key.kind, key.pool)
	}
	// Failed jobs of a kind wait for the same person.
	failed := map[string]int64{}
	for _, q := range p.Failed {
		failed[q.Kind.String()] += q.Files
	}
	for kind, files := range failed {
		m.failedJobs.send(ch, float64(files), kind)
	}
	// Files of a class that nobody made are in no queue, so no other metric has them.
	for _, h := range p.Held {
		cause := "class"
		if h.TooLarge {
			cause = "size"
		}
		m.held.send(ch, float64(h.Files), h.Class, cause)
	}
	// The list itself is for people; its length is enough to wake one.
	m.attention.send(ch, float64(len(p.Attention)))
}
