// Runs an MCP server for a client, and appends each line that passes between them to a file, with `>` or `<` before it.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [file, command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })

function pass(from, to, way) {
  return createInterface({ input: from }).on('line', (line) => {
    appendFileSync(file, `${way} ${line}\n`)
    to.write(`${line}\n`)
  })
}

pass(process.stdin, server.stdin, '>').on('close', () => server.stdin.end())
pass(server.stdout, process.stdout, '<')
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => server.kill(signal))
server.on('close', (code) => process.exit(code ?? 1))
