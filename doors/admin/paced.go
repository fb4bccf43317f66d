package admin

import (
	"net/http"
	"time"
)

// stallTime bounds the time in which a client of a backup reads nothing. Meanwhile the backup's snapshot keeps what is
// overwritten.
const stallTime = 2 * time.Minute

// paced is an answer that closes the connection of a client that stops reading. Each write sets the deadline again, so a
// slow client may take hours. One deadline for the whole backup would be wrong, because a namespace may have any size.
type paced struct{ http.ResponseWriter }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (p paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p paced) Write(b []byte) (int, error) {
	p.again()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p paced) Flush() {
	p.again()
	_ = http.NewResponseController(p.ResponseWriter).Flush()
}

// again extends the deadline of the answer by the time for one write. It ignores errors: the http.ResponseWriter of a
// call through another door has no deadlines.
func (p paced) again() {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(stallTime))
}
