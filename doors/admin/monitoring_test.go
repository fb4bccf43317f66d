package admin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAndDashboardUseMetricsThatExist checks docs/monitoring against a scrape.
func TestRulesAndDashboardUseMetricsThatExist(t *testing.T) {
	_, server, _ := serve(t, root)
	text := scrape(t, server.URL)
	name := regexp.MustCompile(`hemera_[a-z_]+`)
	for _, file := range []string{"../../docs/monitoring/alerts.yml", "../../docs/monitoring/dashboard.json"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := name.FindAllString(string(content), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", file)
		}
		for _, n := range used {
			if !strings.Contains(text, "\n"+n) {
				t.Errorf("%s: there is no metric %s", file, n)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(content) {
			t.Errorf("%s is no JSON", file)
		}
	}
	if tool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", "../../docs/monitoring/alerts.yml").CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}
