package linux

import (
	"context"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
)

// monitor counts for a Tape and asks its drive for more.
type monitor struct {
	tape  *Tape           // whose token guards the rest
	count device.Counters // bytes and blocks of this process
	// errorsRead and errorsWritten are what the drive had counted at Load.
	errorsRead, errorsWritten uint64
}

// begin remembers where the drive's own counts stand. Drives count since they were made or since a reset.
func (m *monitor) begin(ctx context.Context) {
	m.errorsRead, m.errorsWritten = m.corrected(ctx, scsi.LogReadErrors), m.corrected(ctx, scsi.LogWriteErrors)
}

// Alerts implements device.Monitor: page 2Eh, which the drive clears when it has sent it.
func (m *monitor) Alerts(ctx context.Context) ([]int, error) {
	if err := m.tape.acquire(ctx); err != nil {
		return nil, err
	}
	defer m.tape.release()
	log, err := m.log(ctx, scsi.LogAlerts)
	return log.Alerts(), err
}

// Counters implements device.Monitor. Bytes and blocks are those that went through this process, errors those that the drive
// counted. No page of the standards counts stops in a stream or time by state, so BackHitches and the durations stay 0.
func (m *monitor) Counters(ctx context.Context) (device.Counters, error) {
	if err := m.tape.acquire(ctx); err != nil {
		return device.Counters{}, err
	}
	defer m.tape.release()
	// A copy, so that a caller keeps what it got.
	c := m.count
	c.ErrorsRead = since(m.corrected(ctx, scsi.LogReadErrors), m.errorsRead)
	c.ErrorsWritten = since(m.corrected(ctx, scsi.LogWriteErrors), m.errorsWritten)
	return c, nil
}

// since returns a count from its begin. A drive that was reset counts from 0 again.
func since(now, begin uint64) int64 {
	if now < begin {
		return int64(now)
	}
	return int64(now - begin)
}

// Volume returns the drive's counts of the cartridge: mounts, bytes of its life, errors.
func (m *monitor) Volume(ctx context.Context) (scsi.Volume, error) {
	if err := m.tape.acquire(ctx); err != nil {
		return scsi.Volume{}, err
	}
	defer m.tape.release()
	log, err := m.log(ctx, scsi.LogVolume)
	return log.Volume(), err
}

// log asks for a page.
func (m *monitor) log(ctx context.Context, page byte) (scsi.Log, error) {
	answer, err := m.tape.do(ctx, scsi.LogSense(page))
	if err != nil {
		return scsi.Log{}, err
	}
	return scsi.DecodeLog(answer)
}

// corrected returns the count of corrected errors, 0 when the drive does not have the page: a missing count must not end a
// session.
func (m *monitor) corrected(ctx context.Context, page byte) uint64 {
	log, err := m.log(ctx, page)
	if err != nil {
		return 0
	}
	return log.Corrected()
}
