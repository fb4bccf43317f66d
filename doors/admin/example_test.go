package admin_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	admindoor "hemera/doors/admin"
	"hemera/test/fixture"
	"hemera/words/hemera"
)

// NewHandler serves a door with the parts of a program. Every verb is a POST of JSON; verbs of a missing part answer
// Unsupported.
func ExampleNewHandler() {
	door := admindoor.NewHandler(admindoor.Services{Names: fixture.NewTree()}, func(*http.Request) (hemera.Identity, error) {
		return hemera.Identity{Name: "alice", UID: 1001, GID: 100}, nil
	})
	server := httptest.NewServer(door)
	defer server.Close()
	for verb, message := range map[string]string{"Stat": `{"Path":"/exp/notes.txt"}`, "Quotas": `{}`} {
		answer, err := http.Post(server.URL+"/hemera.admin.v1.Admin/"+verb, "application/json", strings.NewReader(message))
		if err != nil {
			log.Fatal(err)
		}
		var said struct {
			Name    string // of an entry
			Size    int64
			Message string // of an error
		}
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
		fmt.Printf("%s: %d, %q of %d bytes, %q\n", verb, answer.StatusCode, said.Name, said.Size, said.Message)
	}
	// Unordered output:
	// Stat: 200, "notes.txt" of 1000 bytes, ""
	// Quotas: 501, "" of 0 bytes, "part quota: this process does not serve it"
}
