// A server as a shell script, which starts in a few milliseconds; for tests of what a process does.

/** What a script does at a request; `$id` is the id of the request, `reply` sends a result. */
type Script = { readonly [method: string]: string }

/** A server that answers requests as the script says, and does `end` when its input ends. */
export function script(answers: Script, end = '', { env = {}, cwd }: { env?: object; cwd?: string } = {}) {
  const all = {
    'server/discover': `printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id"`,
    initialize:
      'reply \'{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}\'',
    'x/y': "reply '{}'",
    ...answers,
  }
  const cases = Object.entries(all).map(([method, run]) => `*'"method":"${method}"'*) ${run} ;;`)
  const source = `
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
    while IFS= read -r line; do
      id=\${line##*'"id":'}; id=\${id%%[,\\}]*}
      case $line in
        ${cases.join('\n')}
      esac
    done
    ${end}`
  return { kind: 'stdio', command: '/bin/sh', args: ['-c', source], env: { ...env }, cwd } as const
}
