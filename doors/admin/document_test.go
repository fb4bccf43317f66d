package admin_test

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVerbsAreDocumented checks that docs/protocol.md names each verb of the door.
func TestVerbsAreDocumented(t *testing.T) {
	_, server, _ := serve(t, root)
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	verbs := regexp.MustCompile(`(?m)^/hemera\.admin\.v1\.Admin/(\w+)$`).FindAllStringSubmatch(string(page), -1)
	if len(verbs) < 30 {
		t.Fatalf("the page lists %d verbs:\n%s", len(verbs), page)
	}
	for _, verb := range verbs {
		if !strings.Contains(string(text), "`"+verb[1]+"`") {
			t.Errorf("%s is not documented", verb[1])
		}
	}
}
