// What passes between an MCP client and the gateway: recorded on stdio or over HTTP, and shown as the golden files in `sent/` have it.
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Home } from './gateway.ts'
import { listenHere } from './loopback.ts'
import { expectLines, hashOf } from './sent.ts'

type Fields = { readonly [key: string]: unknown }
type Message = Fields & { readonly id?: number | string; readonly method?: string; readonly params?: Fields }
/** `>` goes to the gateway. */
type Passed = { readonly way: '>' | '<'; readonly message: Message }

const tee = fileURLToPath(new URL('./tee.mjs', import.meta.url))

type Command = { readonly command: string; readonly args: readonly string[] }

/** The command of a gateway, with what passes going into a file of the home. */
export function recordedCommand({ command, args }: Command, { folder }: Pick<Home, 'folder'>, name: string) {
  return { command: process.execPath, args: [tee, join(folder, `${name}.log`), command, ...args] }
}

/**
 * Compares what recorded commands of this name passed with the golden file `mcp-<client>-<name>`.
 *
 * `early`: methods that the client calls while servers are still starting, at the end and without their answers, which differ.
 */
export function expectRecorded(
  client: string,
  name: string,
  { folder }: Pick<Home, 'folder'>,
  early: readonly string[] = [],
): void {
  const file = join(folder, `${name}.log`)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  const passed = lines.map((line) => ({ way: line[0], message: JSON.parse(line.slice(2)) }) as Passed)
  const isEarly = (line: string) => early.some((method) => line.startsWith(`${method} `))
  const all = shown(passed)
  const asked = all.filter(isEarly).map((line) => line.replace(/ → .*/, ''))
  expectLines(`MCP ${client}, ${name}`, [
    ...all.filter((line) => !isEarly(line)),
    ...[...new Set(asked)].sort(),
  ])
}

/** Passes everything on to a gateway, and keeps the messages. */
export async function recordHttp(target: string) {
  const passed: Passed[] = []
  const keep = (way: Passed['way'], text: string) => {
    const lines = text.split('\n').map((line) => line.replace(/^data: /, ''))
    for (const line of lines) if (line.startsWith('{')) passed.push({ way, message: JSON.parse(line) })
  }
  const { url, close } = await listenHere(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    keep('>', body.toString())
    const onward = request(target, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk
      })
      answer.on('end', () => keep('<', text))
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    onward.end(body)
  })
  return {
    url: url + new URL(target).pathname,
    expect: (client: string) => expectLines(`MCP ${client}, HTTP`, shown(passed)),
    stop: close,
  }
}

/**
 * A line for each message of the client with its answer, in the order of the first, each line once. What the gateway begins is
 * left out: when it comes depends on its servers.
 */
function shown(passed: readonly Passed[]): string[] {
  const lines = passed.flatMap(({ way, message: { id, method, params = {} } }, at) => {
    if (way === '<' || method === undefined) return []
    const answer = passed
      .slice(at)
      .find((one) => one.way === '<' && one.message.id === id && !one.message.method)
    const asked = [method, ...namesIn(params), keysOf(params)].filter(Boolean).join(' ')
    return [id === undefined ? asked : `${asked} → ${answer ? resultOf(answer.message) : 'nothing'}`]
  })
  return [...new Set(lines)]
}

function namesIn({ name, protocolVersion, clientInfo }: Fields): unknown[] {
  return [name, protocolVersion, (clientInfo as Fields | undefined)?.name].filter(Boolean)
}

/** The names of fields, those of capabilities and metadata included. */
function keysOf(fields: Fields): string {
  const open = ['capabilities', '_meta']
  const keys = Object.keys(fields).sort()
  const words = keys.map((key) => (open.includes(key) ? `${key}${keysOf(fields[key] as Fields)}` : key))
  return words.length > 0 ? `{${words.join(' ')}}` : '{}'
}

function resultOf({ result, error }: Message): string {
  if (error) return `error ${(error as Fields).code}`
  const lists = Object.entries(result as Fields).filter(
    ([key, value]) => Array.isArray(value) && key !== 'content' && key !== 'contents',
  )
  const counts = lists.map(([key, value]) => `${(value as object[]).length} ${key} ${hashOf(value)}`)
  const { protocolVersion } = result as Fields
  return [protocolVersion, ...counts, keysOf(result as Fields)].filter(Boolean).join(' ')
}
