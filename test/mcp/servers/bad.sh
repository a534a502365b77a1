# Servers that crash, hang, do not go, break the protocol, or take the newer protocol's first request badly. In sh, which starts in a few
# milliseconds; what sh cannot do is left to hang.mjs, which Node runs in its place.
# `bad.sh <node> <kind>.mjs <way>`, by kind:
#   crash     start | clean | signal | secret (telling its ACME_KEY) | until (as long as READY_FILE is missing) | initialize | list |
#             after-list | list-again (the second list) | call | after-call | pipe (a call closes its input, and it ends half a second later)
#   hang      start | initialize | list | page | call | deaf
#   garbled   in messages: broken | bytes | noise | values | batch | wrong-ids | text-ids | twice | unasked | bare-errors | null-error;
#             in results: initialize | initialize-null | version | list | list-null | list-text | call | call-null | call-text
#   stubborn  (never goes when told to) | family (with a child as stubborn as itself) | orphan (leaves one behind by crashing in a call)
#   discover  dies | garbage | error-text | wrong-shape | hangs
kind=${2##*/}
kind=${kind%.mjs}
way=$3

case $kind-$way in
  hang-busy | hang-reading) exec "$@" ;;
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
  crash-clean) fail 0 ;;
  crash-signal) kill -KILL $$ ;;
  crash-start) crash ;;
  crash-until) if [ ! -e "$READY_FILE" ]; then crash; fi ;;
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
    discover-tools/list) result="{\"tools\":[$(tool old_hand)]}" ;;
    stubborn-tools/list) result="{\"tools\":[$(tool stay)]}" ;;
    stubborn-tools/call) result=$(text staying) ;;
    crash-tools/call) result=$(text "answered by $$") ;;
    hang-tools/call) result=$(text 'done') ;;
    garbled-tools/call) result=$(text 'right in the end') ;;
    discover-tools/call) result=$(text 'as ever') ;;
  esac
}

# Does what the behaviour does at a method; fails if nothing is to be answered.
misbehave() {
  case $kind-$way-$method in
    crash-initialize-initialize | crash-list-tools/list) crash ;;
    crash-list-again-tools/list)
      if [ -n "$listed" ]; then crash; fi
      listed=yes
      ;;
    crash-pipe-tools/call)
      case $line in *'"name":"explode"'*)
        exec <&-
        sleep 0.5
        crash
        ;;
      esac
      ;;
    stubborn-orphan-tools/call) fail 1 ;;
    crash-call-tools/call) case $line in *'"name":"explode"'*) crash ;; esac ;;
    hang-start-server/discover | hang-start-initialize | hang-initialize-initialize | hang-list-tools/list) return 1 ;;
    hang-page-tools/list)
      case $line in *'"cursor"'*) return 1 ;; esac
      result="${result%\}},\"nextCursor\":\"second\"}"
      ;;
    hang-call-tools/call) case $line in *'"name":"wait"'*) return 1 ;; esac ;;
    garbled-initialize-initialize) result='{"nothing":"of use"}' ;;
    garbled-initialize-null-initialize | garbled-list-null-tools/list | garbled-call-null-tools/call) result=null ;;
    garbled-version-initialize) result='{"protocolVersion":"1999-01-01"'${initialized#*2025-11-25?} ;;
    garbled-list-tools/list) result='{"tools":"many"}' ;;
    garbled-list-text-tools/list) result='"none today"' ;;
    garbled-call-tools/call) result='{"content":"not a list"}' ;;
    garbled-call-text-tools/call) result='"fine"' ;;
    discover-dies-server/discover) fail 1 'TypeError: cannot read properties of undefined' ;;
    discover-garbage-server/discover)
      echo '<html>what?</html>'
      return 1
      ;;
    discover-error-text-server/discover)
      printf '{"jsonrpc":"2.0","id":%s,"error":"not initialized"}\n' "$id"
      return 1
      ;;
    discover-wrong-shape-server/discover) result='{"supportedVersions":"all of them","capabilities":3}' ;;
    discover-hangs-server/discover) return 1 ;;
  esac
}

# `message <id>`: the answer as it ought to be.
message() {
  if [ -n "$result" ]; then outcome="\"result\":$result"; else outcome='"error":{"code":-32601,"message":"unknown"}'; fi
  printf '{"jsonrpc":"2.0","id":%s,%s}' "$1" "$outcome"
}

send() {
  right=$(message "$id")
  case $kind-$way in
    garbled-broken) printf '%s\n' "${right%????}" ;;
    garbled-bytes) printf '\377\376\000\n%s\n' "$right" ;;
    garbled-noise) printf 'Server ready!\n\n\r\n[info] %0500d\n%s\n' 0 "$right" ;;
    garbled-values) printf 'null\n42\n"text"\n[]\n{}\n{"jsonrpc":"1.0"}\ntrue\n%s\n' "$right" ;;
    garbled-batch) printf '[%s]\n' "$right" ;;
    garbled-wrong-ids) printf '%s\n' "$(message 1000000)" ;;
    garbled-text-ids) printf '%s\n' "$(message "\"$id\"")" ;;
    garbled-twice) printf '%s\n%s\n' "$right" "$right" ;;
    garbled-unasked)
      for other in -1 '"nobody"' null '{}' '[]' true; do printf '%s\n' "$(message "$other")"; done
      printf '%s\n' "$right"
      ;;
    garbled-null-error) printf '{"error":null,%s\n' "${right#?}" ;;
    garbled-bare-errors) printf '{"jsonrpc":"2.0","id":%s,"error":{}}\n' "$id" ;;
    *) printf '%s\n' "$right" ;;
  esac
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
