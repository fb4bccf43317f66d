package meter

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// scpi is a meter of a laboratory that takes commands of SCPI over TCP. The connection stays open between readings.
type scpi struct {
	about   About
	host    string
	command string
	now     func() time.Time
	conn    net.Conn // nil before the first reading and after a failure
	lines   *bufio.Reader
}

// scpiCommand is what meters of power take (IEEE 488.2, SCPI-99: MEASure:POWer?).
const scpiCommand = "MEAS:POW?"

// openSCPI takes HOST:PORT, or HOST:PORT,COMMAND for meters that name the power otherwise.
func openSCPI(rest string, o Options) (Meter, error) {
	// The command may have commas of its own.
	host, command, given := strings.Cut(rest, ",")
	if !given {
		command = scpiCommand
	}
	if _, port, err := net.SplitHostPort(host); err != nil || port == "" || command == "" || strings.ContainsAny(command, "\r\n") {
		return nil, errs.New(errs.Invalid, "meter.OpenSCPI", rest, "it takes a host and a port").WithRemedy("write scpi:192.0.2.9:5025, or scpi:192.0.2.9:5025,:NUM:VAL? 1")
	}
	return &scpi{host: host, command: command, now: o.Now, about: About{Name: "scpi:" + host, Covers: "what is connected to the meter " + host,
		Resolution: "as the meter is set", Every: 50 * time.Millisecond}}, nil
}

// About implements Meter.
func (m *scpi) About() About { return m.about }

// Close ends the connection.
func (m *scpi) Close() error {
	if m.conn == nil {
		return nil
	}
	err := m.conn.Close()
	m.conn = nil
	return err
}

// Read implements Meter. A connection that failed is made again by the next reading.
func (m *scpi) Read(ctx context.Context) (Point, error) {
	began := m.now()
	// Meters take one connection: it is closed after a failure, so that the next reading gets a fresh one.
	line, err := m.ask(ctx)
	if err != nil {
		_ = m.Close()
		return Point{}, (&errs.Error{Kind: errs.Unavailable, Op: "meter.ReadSCPI", Subject: m.host, Cause: err}).WithRemedy("is SCPI over TCP switched on, and no other program connected?")
	}
	watts, err := ParseSCPI(line)
	return Point{At: middle(began, m.now()), Value: watts}, err
}

// lineMax bounds an answer: a number, or a list of some.
const lineMax = 4096

// ask sends the command and returns the line that answers it.
func (m *scpi) ask(ctx context.Context) (string, error) {
	// The earlier of both.
	deadline := time.Now().Add(answerTime)
	if at, ok := ctx.Deadline(); ok && at.Before(deadline) {
		deadline = at
	}
	if m.conn == nil {
		conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, "tcp", m.host)
		if err != nil {
			return "", err
		}
		m.conn, m.lines = conn, bufio.NewReaderSize(conn, lineMax)
	}
	// A context that ends, ends a wait for the meter.
	if err := m.conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	conn := m.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(m.conn, m.command+"\n"); err != nil {
		return "", err
	}
	// A line longer than the buffer is no answer of a meter.
	line, err := m.lines.ReadSlice('\n')
	return string(line), err
}

// ParseSCPI reads the first number of an answer: +1.2345E+01, also with a unit or further values behind it. SCPI has 9.9E37
// for infinite and 9.91E37 for no value.
func ParseSCPI(line string) (float64, error) {
	// Meters differ in what stands behind the number.
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	if len(fields) > 0 {
		w, err := strconv.ParseFloat(strings.TrimSuffix(strings.ToUpper(fields[0]), "W"), 64)
		if err == nil && math.Abs(w) < wattsMax {
			return w, nil
		}
	}
	return 0, errs.New(errs.Invalid, "meter.ParseSCPI", strings.TrimSpace(line), "it is no power").WithRemedy("name the meter's command: --meter 'scpi:HOST:PORT,COMMAND'")
}
