// Tools that run something: Bash, batches of calls, scripts in the sandbox, and Fetch.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Shelf, ToolResult, ToolUse } from '@toolshelf/core'
import {
  BATCH_TOOL,
  type BatchCall,
  type Block,
  batchContent,
  blocksOf,
  type Content,
  callToolsTool,
  MCP_PREFIX,
  readableText,
  readBatch,
  runBatch,
  splitToolName,
} from '@toolshelf/core/internal'
import { readBoundedBody, spawnGuarded, watchdog } from '@toolshelf/core/internal/node'
import {
  createScriptRunner,
  remarkAbout,
  runScriptTool,
  SCRIPT_TOOL,
  type ScriptLimits,
  toolAt,
  valueOfText,
} from '@toolshelf/scripts'
import type { AgentTool, ScriptPlan, ToolContext } from '../types.ts'
import { imageBlock, inputOf } from './files.ts'

/** Collects output and cuts its middle. */
function createMiddleCut(maxBytes: number) {
  const half = Math.floor(maxBytes / 2)
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let left = 0
  return {
    add(bytes: Buffer) {
      const room = Math.max(0, half - head.length)
      head = Buffer.concat([head, bytes.subarray(0, room)])
      const joined = Buffer.concat([tail, bytes.subarray(room)])
      const extra = Math.max(0, joined.length - half)
      left += extra
      tail = joined.subarray(extra)
    },
    text() {
      if (left === 0) return Buffer.concat([head, tail]).toString('utf8')
      const note = `\n… (${left} bytes left out here; send the output to a file and read that to see them) …\n`
      return head.toString('utf8') + note + tail.toString('utf8')
    },
  }
}

const DEFAULT_SECONDS = 120
const MAX_SECONDS = 600
const MAX_BYTES = 30_000
/** Milliseconds a command gets to exit after SIGTERM. */
const GRACE_MS = 2000
/** Milliseconds to wait for remaining output after the command ends. */
const LINGER_MS = 250

export function bashTool(directory: string, environment: NodeJS.ProcessEnv): AgentTool {
  return {
    name: 'Bash',
    description: `Runs a command in bash in the working folder and answers with its output and exit code. There is no input to it. It is stopped after ${DEFAULT_SECONDS} seconds unless \`timeout\` says otherwise, and what it leaves in the background is stopped when it ends. To read, find, search or change files use Read, Glob, Grep, Write and Edit.`,
    input_schema: inputOf(['command'], {
      command: { type: 'string', minLength: 1, description: 'The command.' },
      timeout: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: MAX_SECONDS,
        description: `Seconds; ${DEFAULT_SECONDS} if left out.`,
      },
    }),
    async run({ command, timeout = DEFAULT_SECONDS }, { signal }) {
      signal.throwIfAborted()
      return runCommand(String(command), Number(timeout), { directory, environment, signal })
    },
  }
}

type Place = {
  readonly directory: string
  readonly environment: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

function runCommand(
  command: string,
  seconds: number,
  { directory, environment, signal }: Place,
): Promise<Content> {
  return new Promise((resolve, reject) => {
    const child = spawnGuarded(shellPath(), ['-c', command], { cwd: directory, env: environment })
    const output = createMiddleCut(MAX_BYTES)
    child.stdout.on('data', output.add)
    child.stderr.on('data', output.add)
    let isLate = false
    const stop = () => endGroup(child)
    const clock = setTimeout(() => {
      isLate = true
      stop()
    }, seconds * 1000)
    signal.addEventListener('abort', stop, { once: true })
    const settle = () => {
      clearTimeout(clock)
      signal.removeEventListener('abort', stop)
    }
    child.once('error', (error) => {
      settle()
      reject(new Error(`The shell could not be started in ${directory}: ${error.message}`))
    })
    child.once('exit', async (code, killed) => {
      settle()
      await allSaid(child)
      kill(child, 'SIGKILL')
      if (child.pid !== undefined) watchdog.release(child.pid)
      child.stdout.destroy()
      child.stderr.destroy()
      const ending = isLate
        ? `Stopped after ${seconds} seconds; give a longer timeout.`
        : endingOf(code, killed)
      const said = [output.text().trimEnd(), ending].filter((part) => part !== '')
      const text = said.join('\n') || '(No output.)'
      resolve({ content: [{ type: 'text', text }], isError: isLate || code !== 0 })
    })
  })
}

/** Returns the shell that runs commands. */
export function shellPath(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): string {
  return code === null ? `Ended by ${signal}.` : code === 0 ? '' : `Exit code ${code}.`
}

/** Resolves when all output has arrived, or soon after the command ends: background processes may keep pipes open. */
function allSaid(child: ChildProcess): Promise<unknown> {
  return once(child, 'close', { signal: AbortSignal.timeout(LINGER_MS) }).catch(() => {})
}

function endGroup(child: ChildProcess): void {
  kill(child, 'SIGTERM')
  const timer = setTimeout(() => kill(child, 'SIGKILL'), GRACE_MS)
  child.once('exit', () => clearTimeout(timer))
}

/** Signals the command's whole process group. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The processes have already ended.
  }
}

const NOT_INSIDE: readonly string[] = [BATCH_TOOL, SCRIPT_TOOL, 'Agent', 'Skill']

/** Whether only the model itself may call a tool, not a batch or a script. */
function isOnlyForModel(name: string, { searchTool }: ToolContext): boolean {
  return name === searchTool || NOT_INSIDE.includes(name)
}

/** Creates the tool. Its calls are permitted and shown each under its own name. */
export function createBatchTool(): AgentTool {
  return {
    name: BATCH_TOOL,
    description: callToolsTool.description,
    searchHint: 'many calls at once parallel batch several tools',
    shouldDefer: true,
    input_schema: callToolsTool.schema,
    isReadOnly: true,
    async run(input, context) {
      const { call, callTool, isReadOnly = () => false } = context
      const calls = readBatch(input)
      if (typeof calls === 'string') throw new Error(calls)
      const use = ({ name, input: own }: BatchCall, index: number): ToolUse => ({
        id: `${call.id}_${index + 1}`,
        name,
        input: own,
      })
      const results = await runBatch(calls, {
        scopeOf: ({ name }) => splitToolName(name)?.server ?? '',
        isReadOnly: (one) => isReadOnly(use(one, 0)),
        run: async (one, index) => {
          if (!callTool || isOnlyForModel(one.name, context))
            return {
              content: `${one.name} cannot be called in ${BATCH_TOOL}; call it itself.`,
              is_error: true,
            }
          return callTool(use(one, index))
        },
      })
      const named = results.map(({ content, is_error }, index) => ({
        ...{ name: calls[index]?.name ?? '', content: blocksOf(content), isFailed: is_error === true },
      }))
      return batchContent(named) as Block[]
    },
  }
}

type ScriptToolOptions = {
  /** Holds the tools that scripts may call. */
  readonly shelf: Shelf
  /** Limits in place of the defaults. */
  readonly limits?: Partial<ScriptLimits>
}

/**
 * Creates the tool RunScript for an agent.
 *
 * @example
 * createAgent({ client, model, shelf, runner: host, tools: [createScriptTool({ shelf })] })
 */
export function createScriptTool({ shelf, limits = {} }: ScriptToolOptions): AgentTool {
  const runner = createScriptRunner({ limits })
  return {
    name: SCRIPT_TOOL,
    description: runScriptTool.description(shelf.searchTool),
    searchHint: 'loop over many calls, count, join, aggregate results, program, code',
    shouldDefer: true,
    input_schema: runScriptTool.schema,
    isReadOnly: true,
    async run({ script }, context) {
      const made: ToolUse[] = []
      const plan: ScriptPlan = { source: String(script ?? ''), calls: made }
      const outcome = await runner.run(
        plan.source,
        async ({ path, input }, { signal, askPerson }) => {
          const name = toolAt(path, shelf.partition().pool)?.name ?? nameOf(path)
          const call = { id: `${context.call.id}_${made.length + 1}`, name, input }
          made.push(call)
          // The script's time limit does not run during a call: a person may be asked, and each call has its own timeout.
          return valueIn(await askPerson(() => callOne(call, context, plan, signal)))
        },
        { signal: context.signal },
      )
      const remark = remarkAbout(outcome)
      const text = [outcome.text, remark].filter((part) => part !== '').join('\n\n')
      if (outcome.state !== 'returned') throw new Error(text)
      return text
    },
  }
}

function nameOf([first = '', second]: readonly string[]): string {
  return second === undefined ? first : `${MCP_PREFIX}${first}__${second}`
}

async function callOne(
  call: ToolUse,
  context: ToolContext,
  script: ScriptPlan,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { callTool } = context
  if (!callTool || isOnlyForModel(call.name, context))
    throw new Error(`${call.name} cannot be called in a script; call it itself.`)
  return callTool(call, { signal, isWhole: true, script })
}

/** A result as the script gets it; errors are thrown. */
function valueIn({ content, is_error }: ToolResult): unknown {
  const text = blocksOf(content)
    .map((block) => (block.type === 'text' ? String(block.text) : `[${block.type}]`))
    .join('\n')
  if (is_error) throw new Error(text || 'the tool failed without saying why')
  return valueOfText(text)
}

const MAX_PAGE_BYTES = 3_750_000
const MAX_CHARACTERS = 40_000
const TIMEOUT_MS = 30_000
const MAX_REDIRECTS = 5

export function fetchTool(get: typeof fetch): AgentTool {
  return {
    name: 'Fetch',
    description:
      'Gets a page of the web, or of a server on this machine, by its http or https address. Pages of HTML come as readable text, images as images. A redirect to another host is reported, not followed.',
    searchHint: 'download open web page url http website documentation online',
    shouldDefer: true,
    input_schema: inputOf(['url'], {
      url: { type: 'string', minLength: 1, description: 'The whole address.' },
      offset: {
        type: 'integer',
        minimum: 0,
        description: 'The character to begin at, to read on in a long page.',
      },
    }),
    async run({ url, offset = 0 }, { signal }) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const address = addressOf(String(url))
      const page = await pageAt(address, get, deadline).catch((error: unknown) => {
        throw signal.aborted ? error : new Error(unreachable(String(url), error))
      })
      return typeof page === 'string' ? page : contentOf(page, Number(offset))
    },
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) throw new Error(`"${text}" is not a URL; include the scheme, e.g. https://example.com/page.`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`Only http and https URLs can be fetched, not ${url.protocol} Use Read for files.`)
  if (url.username !== '' || url.password !== '')
    throw new Error('URLs with a user name or password are not fetched; leave them out.')
  return url
}

type Page = { readonly answer: Response; readonly bytes: Buffer; readonly isCut: boolean }

async function pageAt(address: URL, get: typeof fetch, signal: AbortSignal): Promise<Page | string> {
  const answer = await follow(address, get, signal)
  return typeof answer === 'string' ? answer : { answer, ...(await readBoundedBody(answer, MAX_PAGE_BYTES)) }
}

/** The response, or the URL of a redirect to another host. */
async function follow(start: URL, get: typeof fetch, signal: AbortSignal): Promise<Response | string> {
  let url = start
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const headers = { accept: 'text/html, text/*, application/json, */*;q=0.5' }
    const answer = await get(url, { redirect: 'manual', signal, headers })
    const location = answer.headers.get('location')
    if (answer.status < 300 || answer.status >= 400 || location === null) return answer
    await answer.body?.cancel()
    const next = new URL(location, url)
    if (next.host !== url.host || !/^https?:$/.test(next.protocol))
      return `${url} redirects to another host: ${next}. Fetch that URL if you want it.`
    url = next
  }
  return `${start} redirects more than ${MAX_REDIRECTS} times; stopped.`
}

function unreachable(url: string, error: unknown): string {
  const { message, name, cause } = error as Error
  if (name === 'TimeoutError') return `${url} did not answer within ${TIMEOUT_MS / 1000} seconds.`
  const why = (cause as Error | undefined)?.message || message
  return `${url} could not be reached: ${why}`
}

function contentOf({ answer, bytes, isCut }: Page, offset: number): Content {
  const declared = answer.headers.get('content-type') ?? ''
  const type = declared.split(';')[0]?.trim().toLowerCase() ?? ''
  const image = type.startsWith('image/') && !isCut ? imageBlock(bytes, 'The image') : undefined
  if (image) return [image]
  if (!isText(type))
    throw new Error(`The answer is ${type}, not text. Save it with Bash (curl -o) if you need it.`)
  const isHtml = type.includes('html')
  const said = decoded(bytes, isHtml ? declared + bytes.toString('latin1', 0, DECLARED_WITHIN) : declared)
  const text = isHtml ? readableText(said) : said
  const page = text.slice(offset, offset + MAX_CHARACTERS)
  const end = offset + page.length
  const notes = [
    ...(answer.ok ? [] : [`The server answered with status ${answer.status}.`]),
    page,
    ...(page === '' ? [`(Nothing there: the text has ${text.length} characters.)`] : []),
    ...(end < text.length
      ? [`(Characters ${offset} to ${end} of ${text.length}. Read on with offset ${end}.)`]
      : []),
    ...(isCut ? [`(Only the first ${MAX_PAGE_BYTES} bytes were read.)`] : []),
  ]
  return {
    content: [{ type: 'text', text: notes.filter((note) => note !== '').join('\n') }],
    isError: !answer.ok,
  }
}

/** Bytes in which a page may declare its character encoding, if its server does not. */
const DECLARED_WITHIN = 1024

function decoded(bytes: Buffer, about: string): string {
  const [, charset = 'utf-8'] = /charset\s*=\s*["']?([\w-]+)/i.exec(about) ?? []
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}

function isText(type: string): boolean {
  return (
    type === '' || type.startsWith('text/') || /\b(json|xml|html|javascript|yaml|toml|x-www-form)/.test(type)
  )
}
