# Servers that crash, hang or do not go. In sh, which starts in a few milliseconds; what sh cannot do is left to hang.mjs, which
# Node runs in its place. `bad.sh <node> <kind>.mjs <way>`, by kind:
#   crash     start | secret (telling its ACME_KEY) | after-list | list-again (the second list) | call | after-call
#   hang      start | initialize | deaf
#   garbled   not
#   stubborn  (never goes when told to) | family (with a child as stubborn as itself) | orphan (leaves one behind by crashing in a call)
kind=${2##*/}
kind=${kind%.mjs}
way=$3

case $kind-$way in
  hang-reading) exec "$@" ;;
esac

if [ -n "$STARTS_FILE" ]; then echo $$ >>"$STARTS_FILE"; fi

if [ "$kind" = stubborn ]; then trap '' TERM INT HUP; fi
case $kind-$way in
  stubborn-family | stubborn-orphan)
    sh -c 'if [ -n "$STARTS_FILE" ]; then echo $$ >>"$STARTS_FILE"; fi; exec sleep 86400' </dev/null >/dev/null 2>&1 &
    ;;
esac

# `fail <code> <last words>`
fail() {
  if [ -n "$2" ]; then echo "$2" >&2; fi
  exit "$1"
}
crash() { fail 3 'acme: no API key. Set ACME_KEY and start again.'; }

case $kind-$way in
  crash-start) crash ;;
  crash-secret) fail 4 "the key $ACME_KEY was refused" ;;
  hang-deaf) exec sleep 86400 ;;
esac

tool() { printf '{"name":"%s","description":"The tool %s","inputSchema":{"type":"object","properties":{}}}' "$1" "$1"; }
text() { printf '{"content":[{"type":"text","text":"%s"}]}' "$1"; }
initialized='{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test-server","version":"1.0.0"}}'

# Sets $result to what is right; empty for what is unknown.
answer() {
  result=
  case $kind-$method in
    *-initialize) result=$initialized ;;
    *-ping) result='{}' ;;
    crash-tools/list) result="{\"tools\":[$(tool explode),$(tool survive)]}" ;;
    hang-tools/list) result="{\"tools\":[$(tool wait),$(tool quick)]}" ;;
    garbled-tools/list) result="{\"tools\":[$(tool echo_back)]}" ;;
    stubborn-tools/list) result="{\"tools\":[$(tool stay)]}" ;;
    stubborn-tools/call) result=$(text staying) ;;
    crash-tools/call) result=$(text "answered by $$") ;;
    hang-tools/call) result=$(text 'done') ;;
    garbled-tools/call) result=$(text 'right in the end') ;;
  esac
}

# Does what the behaviour does at a method; fails if nothing is to be answered.
misbehave() {
  case $kind-$way-$method in
    crash-list-again-tools/list)
      if [ -n "$listed" ]; then crash; fi
      listed=yes
      ;;
    stubborn-orphan-tools/call) fail 1 ;;
    crash-call-tools/call) case $line in *'"name":"explode"'*) crash ;; esac ;;
    hang-start-server/discover | hang-start-initialize | hang-initialize-initialize) return 1 ;;
  esac
}

send() {
  if [ -n "$result" ]; then outcome="\"result\":$result"; else outcome='"error":{"code":-32601,"message":"unknown"}'; fi
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$outcome"
}

while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=${line##*'"id":'}
  id=${id%%[,\}]*}
  method=${line#*'"method":"'}
  method=${method%%\"*}
  answer
  if misbehave; then send; fi
  case $kind-$way-$method in
    crash-after-call-tools/call) crash ;;
    crash-after-list-tools/list)
      sleep 0.05
      crash
      ;;
  esac
done

if [ "$kind" = stubborn ]; then exec sleep 86400; fi
