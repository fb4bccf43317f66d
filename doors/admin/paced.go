package admin

import (
	"net/http"
	"time"
)

// stallTime is how long a client may take nothing of a backup, which keeps what is overwritten
// meanwhile.
const stallTime = 2 * time.Minute

// paced is an answer to a client that goes on taking it; one that does not loses its connection.
// Each write sets the deadline again, so a slow client may take hours as long as it takes something. A deadline for
// the whole backup would be wrong for any size of namespace.
type paced struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
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

// again extends the deadline of the answer: the client has the time of one write for the next chunk.
// An http.ResponseWriter without deadlines, as of a call through another door, has no connection to lose: the error
// is ignored.
func (p paced) again() {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(stallTime))
}
