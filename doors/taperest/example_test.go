package taperest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"hemera/doors/taperest"
	"hemera/test/fixture"
	"hemera/words/hemera"
)

// A client of the WLCG tape REST API asks for a file that is on tape only, and looks until it is on disk.
func ExampleNewHandler() {
	tape := fixture.NewStaging(fixture.NewTree(), func() time.Time { return time.Unix(1_700_000_000, 0) }) // in place of a manager
	tape.Evicted("/exp/data.root")
	door := taperest.NewHandler(taperest.Options{Staging: tape, Addr: "store.example.org:1094",
		Authorize: func(*http.Request) (hemera.Identity, error) {
			return hemera.Identity{Name: "alice", UID: 1001, GID: 100}, nil
		}})
	ask := func(method, path, body string) string {
		answer := httptest.NewRecorder()
		door.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(body)))
		return fmt.Sprint(answer.Code, " ", strings.TrimSpace(answer.Body.String()))
	}
	fmt.Println(ask("POST", "/api/v1/stage", `{"files":[{"path":"/exp/data.root"}]}`))
	fmt.Println(ask("GET", "/api/v1/stage/request-1", ""))
	tape.Recall("/exp/data.root")
	fmt.Println(ask("GET", "/api/v1/stage/request-1", ""))
	fmt.Println(ask("POST", "/api/v1/release/request-1", `{"paths":["/exp/data.root"]}`))
	// Output:
	// 201 {"requestId":"request-1"}
	// 200 {"id":"request-1","createdAt":1700000000,"startedAt":1700000000,"files":[{"path":"/exp/data.root","onDisk":false}]}
	// 200 {"id":"request-1","createdAt":1700000000,"startedAt":1700000000,"files":[{"path":"/exp/data.root","onDisk":true}]}
	// 200
}
