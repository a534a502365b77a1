#!/bin/sh
# The suite starts this for each scenario, with the address of the scenario's server. It hands the scenario to the client of
# the tests (client.ts), prints what that printed and ends with its exit code. In sh, because a Node for each scenario takes
# as long as the scenario. Arguments: the folder that the client listens in, the address.
folder=$1
mkfifo "$folder/$$.answer"
printf '%s' "${MCP_CONFORMANCE_CONTEXT:-{\}}" >"$folder/$$.context"
echo "$$ $MCP_CONFORMANCE_SCENARIO $2" >"$folder/scenarios"
{
  read -r code
  cat >&2
} <"$folder/$$.answer"
exit "$code"
