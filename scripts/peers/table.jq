# From the samples of scripts/peers.sh, one object for each run of bench io, to the tables of docs/PEERS.md.
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def digits: if . == null then "–" elif . >= 100 then round elif . >= 10 then (. * 10 | round) / 10 else (. * 100 | round) / 100 end | tostring;
def value($peer; $load; $name): [.[] | select(.peer == $peer) | .measures[] | select(.name == $name and .labels.load == $load) | .samples[]] | median;
def sum($a; $b): if $a == null or $b == null then null else $a + $b end;
def copies: if test("2 copies") then 2 else 1 end;
def loads: [["write", "sequential write"], ["read", "sequential read"], ["put", "copies in"], ["get", "copies out"], ["random", "random reads of 4 KiB"],
	["create", "small files made"], ["open", "small files read"]];
def moves($load): ["write", "read", "put", "get"] | index($load) != null;
def mib: if . == null then null else . / 1048576 end;

. as $all
| ($net | split("\n") | map(select(. != "") | tonumber) | median) as $wire
| ([$all[] | .peer] | unique | map(select(. != "local")) | sort_by(copies)) as $peers
# The peak of a load in MiB/s: the smaller of disk and network; each copy of what is written goes to the disk.
| def peak($peer; $load): (if $load == "write" or $load == "put" then ["write", ($peer | copies)] else ["read", 1] end) as [$way, $times]
	| ([($all | value("local"; $way; "throughput")) / $times, $wire] | map(select(. != null)) | min | mib);
# Of small requests an operation's time says more than a gigabyte's: this is ms for 1 s/GB.
def perOperation($peer; $load): ($all | value($peer; $load; "throughput")) / ($all | value($peer; $load; "rate")) / 1e6;
def cell($peer; $load; $what):
	if $what == "rate" then (if moves($load) then $all | value($peer; $load; "throughput") | mib else $all | value($peer; $load; "rate") end)
	else (if $what == "servers" then $all | value($peer; $load; "cpu_servers_per_gb")
		else sum($all | value($peer; $load; "cpu_servers_per_gb"); $all | value($peer; $load; "cpu_clients_per_gb")) end)
		| if . == null or moves($load) then . else . * perOperation($peer; $load) end end;
# A row: the best of those with the same number of copies is bold.
def row($load; $text; $what): [$peers[] as $p | {p: $p, c: ($p | copies), v: cell($p; $load; $what)}] as $row
	| select(any($row[]; .v != null))
	| "| " + $text + " | " + ([$row[] as $e | ([$row[] | select(.c == $e.c and .v != null) | .v]) as $of
		| (if ($of | length) > 1 and $e.v == (if $what == "rate" then $of | max else $of | min end) then "**" else "" end) as $bold
		| $bold + ($e.v | digits) + $bold
		+ (if $what == "rate" and moves($load) and $e.v != null then " (" + (100 * $e.v / peak($e.p; $load) | digits) + " %)" else "" end)]
		| join(" | ")) + " |";
def table($title; $what): "| " + $title + " | " + ($peers | join(" | ")) + " |", "|---|" + ($peers | map("---|") | add),
	(loads[] as [$load, $text] | row($load; $text + (if $what != "rate" then if moves($load) then ", s/GB" else ", ms each" end elif moves($load) then ", MiB/s" else ", /s" end); $what)), "";
"",
"Measured \($date), medians of \($rounds) rounds, on \($cores) cores of \($cpu), Linux \($kernel).",
"Disk, written and read directly: \($all | value("local"; "write"; "throughput") | mib | digits) and " +
	"\($all | value("local"; "read"; "throughput") | mib | digits) MiB/s; network between the namespaces: \($wire | mib | digits) MiB/s.",
"",
table("throughput (share of the peak)"; "rate"),
table("processor time of servers and mount"; "servers"),
table("processor time of all"; "all"),
"| idle memory of servers and mount | " + ($peers | join(" | ")) + " |", "|---|" + ($peers | map("---|") | add),
"| MiB | " + ([$peers[] as $p | [$all[] | select(.peer == $p) | .memory] | median | mib | digits] | join(" | ")) + " |",
"",
($versions | split("\n") | map(select(. != "") | "- " + .) | .[]),
""
