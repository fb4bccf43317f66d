package admin_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/doors/admin"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestMetricsFollowTheRules checks the rules of `promtool check metrics` for a scrape, and runs promtool itself where it
// is installed.
func TestMetricsFollowTheRules(t *testing.T) {
	_, server, _ := serve(t, root)
	monitor := httptest.NewServer(admin.NewMonitor(admin.MonitorOptions{Counters: func() []admin.Counter {
		return []admin.Counter{{Name: "commits_total", Help: "Files committed.", Value: 3}}
	}}))
	t.Cleanup(monitor.Close)
	for _, url := range []string{server.URL, monitor.URL} {
		text := scrape(t, url)
		for _, wrong := range brokenRules(text) {
			t.Error(wrong)
		}
		if tool, err := exec.LookPath("promtool"); err == nil {
			check := exec.CommandContext(t.Context(), tool, "check", "metrics")
			check.Stdin = strings.NewReader(text)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("promtool: %v\n%s", err, out)
			}
		}
	}
}

// TestTheRulesAreSeenBroken checks that violations of the rules are found.
func TestTheRulesAreSeenBroken(t *testing.T) {
	for _, text := range []string{
		"# HELP a_b x\n# TYPE a_b counter\na_b 1\n",
		"# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
		"# HELP a x\n# TYPE a gauge\na{quantile=\"0.5\"} 1\n",
		"# TYPE a gauge\na 1\n",
		"# HELP aB x\n# TYPE aB gauge\naB 1\n",
		"# HELP a_milliseconds x\n# TYPE a_milliseconds gauge\na_milliseconds 1\n",
	} {
		if len(brokenRules(text)) == 0 {
			t.Errorf("nothing is wrong with %q", text)
		}
	}
}

// brokenRules returns the violations of metrics in the text format.
func brokenRules(text string) (wrong []string) {
	help := map[string]bool{}
	units := regexp.MustCompile(`_(milliseconds|minutes|hours|kilobytes|megabytes|percent)(_|$)`)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			help[fields[2]] = len(fields) > 3
		case strings.HasPrefix(line, "# TYPE "):
			name, kind := fields[2], fields[3]
			if !help[name] {
				wrong = append(wrong, name+" has no help")
			}
			if (kind == "counter") != strings.HasSuffix(name, "_total") {
				wrong = append(wrong, name+" is a "+kind)
			}
			if !strings.HasPrefix(name, "go_") && (name != strings.ToLower(name) || units.MatchString(name)) { // go_ metrics are the library's
				wrong = append(wrong, name+" is no name or unit of Prometheus")
			}
		case strings.HasPrefix(line, "hemera_") || strings.HasPrefix(line, "a"):
			if strings.Contains(line, "quantile=") {
				wrong = append(wrong, line)
			}
		}
	}
	return wrong
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	return body.String()
}

// Networks have one sample for each node, and losses one for each direction.
func TestNetworkMetrics(t *testing.T) {
	_, server, _ := serve(t, root)
	text := scrape(t, server.URL)
	for _, line := range []string{
		`hemera_node_network{addr="node1.example.org:1095",cause="",node="1",standing="well"} 1`,
		`hemera_node_network{addr="node2.example.org:1095",cause="port",node="2",standing="suspected"} 1`,
		`hemera_node_network_weight{addr="node2.example.org:1095",node="2"} 0.25`,
		`hemera_node_network_lost_segments{addr="node2.example.org:1095",direction="out",node="2"} 1200`,
		`hemera_node_network_segments{addr="node2.example.org:1095",direction="in",node="2"} 90000`,
		`hemera_node_network_rtt_seconds{addr="node1.example.org:1095",node="1"} 0.00021`,
		`hemera_condition{code="node_network",severity="warning",subject="node 2"} 1`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("there is no %s", line)
		}
	}
}

// short is a cluster in which files lack pieces, on no particular disk.
type short struct{ *fixture.Cluster }

func (short) Jobs(context.Context) ([]adminapi.JobStatus, error) {
	return []adminapi.JobStatus{{Kind: "repair", State: adminapi.JobStalled, BytesLeft: 7}}, nil
}

func TestARepairOfNoDiskNamesNone(t *testing.T) {
	c := fixture.NewCluster()
	server := httptest.NewServer(admin.NewHandler(admin.Services{Cluster: c, Maint: short{c}}, func(*http.Request) (hemera.Identity, error) { return root, nil }))
	t.Cleanup(server.Close)
	text := scrape(t, server.URL)
	if !strings.Contains(text, `hemera_job_left_bytes{disk="",host="",kind="repair",path="",state="stalled"} 7`) {
		t.Error("no such repair, or it is said to be of disk 0")
	}
}

// Work of drives, and queues; queues of single tapes are summed by pool.
func TestTapeMetrics(t *testing.T) {
	_, server, _ := serve(t, root)
	text := scrape(t, server.URL)
	for _, line := range []string{
		`hemera_part_up{part="tape"} 1`,
		`hemera_tape_drive{drive="lib-d1",library="lib",status="TRANSFERRING"} 1`,
		`hemera_tape_drive{drive="lib-d2",library="lib",status="DOWN"} 1`,
		`hemera_tape_drive_wanted{drive="lib-d2",library="lib"} 0`,
		`hemera_tape_library_up{library="lib"} 1`,
		`hemera_tape_sessions_total{drive="lib-d1",kind="archive",library="lib"} 3`,
		`hemera_tape_bytes_total{drive="lib-d1",kind="archive",library="lib"} 6e+12`,
		`hemera_tape_back_hitches_total{drive="lib-d1",kind="archive",library="lib"} 12`,
		`hemera_tape_streaming_seconds_total{drive="lib-d1",kind="archive",library="lib"} 15000`,
		`hemera_tape_wait_seconds_total{cause="disk",drive="lib-d1",kind="archive",library="lib"} 80`,
		`hemera_tape_wait_seconds_total{cause="network",drive="lib-d1",kind="archive",library="lib"} 20`,
		`hemera_tape_wait_seconds_total{cause="robot",drive="lib-d1",kind="archive",library="lib"} 30`,
		`hemera_tape_wait_seconds_total{cause="tape",drive="lib-d1",kind="archive",library="lib"} 430`,
		`hemera_tape_queue_files{kind="recall",pool="raw"} 7`,
		`hemera_tape_queue_bytes{kind="recall",pool="raw"} 8e+09`,
		`hemera_tape_queue_files{kind="archive",pool="raw"} 40`,
		`hemera_tape_failed_jobs{kind="recall"} 3`,
		`hemera_tape_held_files{cause="size",class="raw"} 5`,
		`hemera_tape_attention_items 1`,
		`hemera_tape_pool_writable_bytes{pool="raw"} 2.9e+13`,
		`hemera_tape_pool_empty_tapes{pool="raw"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	oldest := "hemera_tape_queue_oldest_timestamp_seconds{kind=\"recall\",pool=\"raw\"} " +
		strconv.FormatFloat(float64(fixture.Now.Add(-2*time.Hour).Unix()), 'g', -1, 64)
	if !strings.Contains(text, oldest+"\n") {
		t.Errorf("there is no %s", oldest)
	}
}
