# The process of a server that answers in the test's process (support/piped.ts): joins its own pipes with named ones.
# `relay.sh <folder> <number of the server>`
pipes=$1/$$
mkfifo "$pipes.in" "$pipes.out" "$pipes.err"
# Open for reading too: nobody waits for the other end, which sees the end of the input when this process ends.
exec 3<>"$pipes.in"
echo "$2 $$" >"$1/starts"
cat "$pipes.out" 3>&- &
cat "$pipes.err" >&2 3>&- &
exec cat >&3 3>&-
