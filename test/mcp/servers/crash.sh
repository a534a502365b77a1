# Ends at its start as crash.mjs would, without the time that Node takes to start; the rest is crash.mjs, which is run in its place.
# `crash.sh <node> <crash.mjs> <behaviour>`
crash() {
  if [ -n "$STARTS_FILE" ]; then echo $$ >> "$STARTS_FILE"; fi
  if [ -n "$2" ]; then echo "$2" >&2; fi
  exit "$1"
}
case $3 in
  clean) crash 0 ;;
  signal) kill -KILL $$ ;;
  start) crash 3 'acme: no API key. Set ACME_KEY and start again.' ;;
  until) if [ ! -e "$READY_FILE" ]; then crash 3 'acme: no API key. Set ACME_KEY and start again.'; fi ;;
  secret) crash 4 "the key $ACME_KEY was refused" ;;
esac
exec "$@"
