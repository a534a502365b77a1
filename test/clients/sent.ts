// What clients send, as the golden files in `sent/` have it. A line begins with a request that ends in words of the user; those
// that follow it stand behind bars. Each has its tools, unless they are those of the last one, and the messages that the last one
// had not. Nothing that differs between two runs is left.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { expect } from 'vitest'

type Json = { readonly [key: string]: unknown }

export type SentRequest = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Json
}

/** `<client>, <way>`: a golden file for each client, a chapter for each way. */
export type WayName = `${string}, ${string}`

/**
 * Compares what a client sent with its golden file. On a machine so busy that tools were not read in the time that a search
 * waits for them, the model searched once more than in any other run: nothing is compared then.
 *
 * `anyOrder`: of the tools, for clients which have them in the order in which their servers happened to start.
 */
export function expectSent(
  name: WayName,
  sent: readonly { readonly request: SentRequest }[],
  { anyOrder = false } = {},
): void {
  const requests = sent.map(({ request }) => (anyOrder ? withSortedTools(request) : request))
  const isLate = requests.some(({ body }) => JSON.stringify(body).includes('are still being read'))
  if (isLate) process.stderr.write(`Not compared, because the machine is too busy: ${name}\n`)
  else expectLines(name, linesOf(requests))
}

function withSortedTools(request: SentRequest): SentRequest {
  const tools = (request.body.tools as readonly Json[]).toSorted((a, b) =>
    canonical(a) < canonical(b) ? -1 : 1,
  )
  return { ...request, body: { ...request.body, tools } }
}

/** Compares lines with a chapter; `vitest --update` writes it, and leaves the other chapters as they are. */
export function expectLines(name: WayName, lines: readonly string[]): void {
  const [client = '', ...way] = name.split(', ')
  const title = way.join(', ')
  const chapter = `# ${title}\n${lines.join('\n')}\n`
  const file = `./sent/${client.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.txt`
  const path = new URL(file, import.meta.url)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const chapters = text.split(/^(?=# )/m).filter((part) => part !== '')
  const at = chapters.findIndex((part) => part.startsWith(`# ${title}\n`))
  const update = expect.getState().snapshotState.snapshotUpdateState
  if (update === 'all' || (update === 'new' && at < 0)) {
    chapters.splice(at < 0 ? chapters.length : at, 1, chapter)
    writeFileSync(path, chapters.join(''))
  } else expect(chapter, `${file}, which --update writes`).toBe(chapters[at])
}

function linesOf(requests: readonly SentRequest[]): string[] {
  const lines: string[] = []
  let [heading, tools] = ['', '']
  let before: readonly string[] = []
  for (const [index, request] of requests.entries()) {
    const isOther = headingOf(request) !== heading
    if (isOther) lines.push(headingOf(request))
    heading = headingOf(request)
    const items = itemsOf(request.body)
    const texts = items.map((item) => canonical(withPlainText(item)))
    const same = texts.findIndex((item, at) => item !== before[at])
    const start = same < 0 ? texts.length : same
    const newTools = toolsOf(request.body.tools as readonly Json[])
    const words = [
      ...(newTools === tools ? [] : [newTools]),
      before.length > start ? `from ${start + 1} on:` : '+',
      ...items.slice(start).map(kindOf),
      ...cachedAt(request.body, items),
    ].join(' ')
    const last = kindOf(items.at(-1) ?? {})
    const isTurn = last.startsWith('user') && !last.includes('tool_result')
    if (isOther || isTurn) lines.push(`${index + 1}. ${words}`)
    else lines.push(`${lines.pop()} | ${words}`)
    tools = newTools
    before = texts
  }
  return lines
}

/** Path, model, the other fields by name, and betas. */
function headingOf({ path, headers, body }: SentRequest): string {
  const shown = ['model', 'tool_choice', 'thinking']
  const hidden = ['messages', 'input', 'system', 'tools', ...shown]
  const beta = headers['anthropic-beta']
  const fields = Object.keys(body).filter((key) => !hidden.includes(key))
  const values = shown.filter((key) => body[key] !== undefined).map((key) => `${key}=${text(body[key])}`)
  return ['POST', path, ...values, ...fields.sort(), ...(beta ? [`beta=${beta}`] : [])].join(' ')
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** How many there are, how many of them deferred, and a hash of all. */
function toolsOf(tools: readonly Json[]): string {
  const flat = tools.flatMap((tool) => (tool.type === 'namespace' ? (tool.tools as Json[]) : [tool]))
  const deferred = flat.filter((tool) => tool.defer_loading).length
  return `${flat.length} tools${deferred ? ` (${deferred} deferred)` : ''} ${hashOf(tools)}`
}

export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 8)
}

/** Sorted keys; no marks of the cache, whose places are shown apart, and no folder or date of a run. */
function canonical(value: unknown): string {
  const sorted = JSON.stringify(value, (key, part) => {
    if (key === 'cache_control') return undefined
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
  return sorted.replace(/[^\s"'`]*toolshelf-clients-\w{6}/g, '~').replace(/\b20\d\d-\d\d-\d\d\b/g, 'DATE')
}

function itemsOf({ system, messages, input }: Json): Json[] {
  const items = (messages ?? input) as Json[]
  return system === undefined ? items : [{ role: 'system', content: system }, ...items]
}

/** A string means the same as one block of text; clients send a block where they mark it for the cache. */
function withPlainText(item: Json): Json {
  const [block, ...others] = Array.isArray(item.content) ? (item.content as Json[]) : []
  return block?.type === 'text' && others.length === 0 ? { ...item, content: block.text } : item
}

/** A role with the kinds of its blocks, or the type of an item. */
function kindOf({ role, type, content, tool_calls: calls, reasoning_content: reasoning }: Json): string {
  const blocks = Array.isArray(content) ? content.map(blockOf) : []
  const kinds = [
    ...(reasoning ? ['reasoning'] : []),
    ...counted(blocks),
    ...(Array.isArray(calls) ? counted(calls.map(() => 'call')) : []),
  ]
  return `${role ?? type}${kinds.length > 0 ? `(${kinds.join(' ')})` : ''}`
}

/** Its type; of a result that is not only text, what it consists of. */
function blockOf({ type, content }: Json): string {
  const kinds = Array.isArray(content) ? content.map((block: Json) => String(block.type)) : []
  return kinds.some((kind) => kind !== 'text') ? `${type}[${counted(kinds).join(' ')}]` : String(type)
}

/** `text tool_use×2` */
function counted(kinds: readonly string[]): string[] {
  const shown: string[] = []
  for (let at = 0; at < kinds.length; ) {
    let end = at
    while (kinds[end] === kinds[at]) end++
    shown.push(`${kinds[at]}${end - at > 1 ? `×${end - at}` : ''}`)
    at = end
  }
  return shown
}

/** Where cache_control is: the number of a tool or message, and of the block in it, the first being 1. */
function cachedAt({ tools, cache_control: own }: Json, items: readonly Json[]): string[] {
  const marked = (values: unknown) =>
    Array.isArray(values) ? values.flatMap((value, at) => (value?.cache_control ? [at + 1] : [])) : []
  const places = [
    ...(own ? ['request'] : []),
    ...marked(tools).map((at) => `tool ${at}`),
    ...items.flatMap(({ content }, at) => marked(content).map((block) => `${at + 1}.${block}`)),
  ]
  return places.length > 0 ? [`cache: ${places.join(', ')}`] : []
}
