#!/usr/bin/env bash
# Checks what users of another machine can do with hemera, against a manager on another host that trusts this one's
# network. URL names it; HEMERA is the program. Needs root, to be other users: daemon and games.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
[ "$(id -u)" = 0 ] || { echo "needs root, to be other users" >&2; exit 77; }
program=${HEMERA:-$PWD/bin/hemera}
export HEMERA_URL=$URL
failed=0
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

# as USER COMMAND...: runs hemera as another user.
as() { local user=$1; shift; setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$program" "$@"; }
# wants USER PATTERN COMMAND...: the command succeeds, and says so.
wants() {
	local user=$1 pattern=$2 output; shift 2
	output=$(as "$user" "$@" 2>&1) && grep -qE -- "$pattern" <<<"$output" && return
	echo "FAILED: $user: hemera $*: wanted $pattern, got:"; echo "$output"; failed=1
}
# refuses USER PATTERN COMMAND...: the command fails, and says why.
refuses() {
	local user=$1 pattern=$2 output; shift 2
	! output=$(as "$user" "$@" 2>&1) && grep -qE -- "$pattern" <<<"$output" && return
	echo "FAILED: $user: hemera $*: wanted a refusal with $pattern, got:"; echo "$output"; failed=1
}
# hides USER PATTERN COMMAND...: whatever comes of the command, it does not say so.
hides() {
	local user=$1 pattern=$2 output; shift 2
	output=$(as "$user" "$@" 2>&1)
	! grep -qE -- "$pattern" <<<"$output" && return
	echo "FAILED: $user: hemera $* shows $pattern:"; echo "$output"; failed=1
}

top=/remote$$
head -c 3000 /dev/urandom >"$work/f" && chmod 644 "$work/f"
wants daemon '' mkdir -p $top/a/b $top/secret
wants daemon '1 file' cp "$work/f" :$top/a/f
wants daemon '1 file' cp "$work/f" :$top/secret/hidden
wants daemon '' attr set user.note=own $top/secret/hidden
id=$(as daemon -m file info $top/secret/hidden | grep -o 'fxid=[0-9a-f]*' | head -n 1)
wants daemon '' chmod 700 $top/secret

wants daemon "$top/secret/hidden" find $top
wants daemon '2 files' find $top --count
wants daemon "6000 .* $top\$" du -s -b $top
wants daemon '' attr set user.note=1 $top/a/f
wants daemon 'user.note="1"' attr ls $top/a/f
wants daemon 'user.note="own"' attr get user.note $top/secret/hidden
wants daemon 'policy of space' attr ls --effective $top/a
wants daemon 'healthy' file info $top/a/f
wants daemon '"retc":0' -j file info "fxid:${id#fxid=}"
wants daemon '' chown ":$(id -g daemon)" $top/a/f
refuses daemon 'not in group' chown ":$(id -g games)" $top/a/f
refuses daemon 'only the admin' chown games $top/a/f
wants daemon 'no limits|quota node' quota ls
wants daemon 'server' version --server

wants games "$top/a/f" find $top/a
refuses games 'could not be listed' find $top
hides games hidden find $top
hides games hidden du -a $top
refuses games 'permission denied' find $top/secret
refuses games 'permission denied' attr ls $top/secret/hidden
refuses games 'permission denied' attr set user.note=2 $top/a/f
refuses games 'permission denied' chown ":$(id -g games)" $top/a/f
refuses games 'no such file' file info "fxid:${id#fxid=}"
hides games secret file info "fxid:${id#fxid=}"

wants daemon 'healthy' why $top/a/f
refuses games 'permission denied' why $top/secret/hidden
for verb in status "why disk 1" who 'fs ls' 'node ls' 'space ls' 'ns stat' 'fsck report' 'token create' "file check $top/a/f" 'find / --lost'; do
	for user in daemon root; do
		# shellcheck disable=SC2086 # a verb and its arguments
		refuses $user "on the manager's host" $verb
	done
done
wants root "$top/a/f" find $top/a # as nobody
refuses root 'permission denied' find $top/secret
host=${URL#root://}
curl -s -H 'Content-Type: application/json' -d '{}' "http://$host/hemera.admin.v1.Admin/View" | grep -q 'own machine only' ||
	{ echo "FAILED: calls by HTTP are answered to other machines"; failed=1; }
wants daemon '' rm -r $top --yes
[ $failed != 0 ] || echo "users of another machine have what they should, and no more"
exit $failed
