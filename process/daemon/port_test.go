package daemon

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"hemera/doors/xrd"
	"hemera/platform/auth"
	"hemera/words/hemera"
)

// noNode is a node without methods, for tests that do not call it.
type noNode struct{ hemera.Node }

// TestRequestsEndWithThePort: a request without end is cut off after the grace, and its resources are released: a backup
// under way keeps the store from closing.
func TestRequestsEndWithThePort(t *testing.T) {
	log := keptLog(t)
	p, err := openPort(t.Context(), "127.0.0.1:0", nil, false, log)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if p.xrd, err = xrd.New(xrd.Options{Node: &xrd.NodeOptions{Node: noNode{}}, Loop: p.loop, ManagerAddr: func() string { return "" }, Policy: auth.NodePolicy{}, Log: log}); err != nil {
		t.Fatal(err)
	}
	p.grace = time.Millisecond
	began, ended := make(chan struct{}), make(chan struct{})
	p.web = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		_ = http.NewResponseController(w).Flush()
		close(began)
		<-r.Context().Done()
	})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.serve(ctx) }()
	answer, err := http.Get("http://" + p.listener.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	<-began
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the answer ended as if it were whole")
	}
	_ = answer.Body.Close()
}
