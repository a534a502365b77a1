// `toolshelf run`: one prompt to the agent, without a terminal session; for scripts and pipes.
import { fstatSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import type { AgentEvent, EndReason, Usage } from '../agent/types.ts'
import { modelOptions, openClient } from './client.ts'
import { type Command, type ExitCode, type Input, type Option, type Terminal, UsageError } from './command.ts'
import { allowOnly } from './permissions.ts'
import { openSession, type Session } from './session.ts'
import { readUsing, usingOptions } from './using-options.ts'

/** What an agent's session can be told, here and in a chat. */
export const sessionOptions: { readonly [name: string]: Option } = {
  config: {
    type: 'string',
    value: 'files',
    about: 'MCP servers, comma separated; the project’s and yours if left out',
  },
  allow: {
    type: 'string',
    value: 'tools',
    about: 'may run without asking, comma separated, * for anything',
  },
  resume: { type: 'string', value: 'session', about: 'go on from a session file, or from the last one' },
  directory: { type: 'string', value: 'folder', about: 'where the agent works; here if left out' },
  'context-window': { type: 'string', value: 'tokens', about: 'of the model; 200000 if left out' },
}

export const run: Command = {
  name: 'run',
  summary: 'One prompt to an agent with your MCP servers; the answer on stdout.',
  words: '"<prompt>" [--json|--stream-json] [--allow <tools>] [--resume last]',
  options: {
    ...modelOptions,
    ...sessionOptions,
    ...usingOptions,
    json: { type: 'boolean', about: 'one JSON document at the end' },
    'stream-json': { type: 'boolean', about: 'a line of JSON per event' },
  },
  examples: [
    'toolshelf run "what changed in this repository today?"',
    'toolshelf run "file an issue about the failing test" --config .mcp.json --allow "Bash,mcp__github__*"',
    'git diff | toolshelf run "review this" --json',
    'toolshelf run "hello" --script examples/script.json',
  ],
  async run(input, terminal) {
    const prompt = await readPrompt(input)
    const opened = await openClient(input, process.env)
    const tell = (message: string) => terminal.tell(`toolshelf run: ${message}`)
    let session: Session | undefined
    try {
      session = await openSession({
        client: opened.client as never,
        model: opened.model,
        directory: input.text('directory') ?? process.cwd(),
        configFiles: input.text('config')?.split(','),
        permission: allowOnly((input.text('allow') ?? '').split(',').filter(Boolean)),
        resume: input.text('resume'),
        using: readUsing(input),
        contextWindow: readWindow(input),
        notify: tell,
      })
      return await converse(session, prompt, input, terminal)
    } finally {
      await session?.close()
      await opened.close()
    }
  },
}

async function converse(
  session: Session,
  prompt: string,
  input: Input,
  terminal: Terminal,
): Promise<ExitCode> {
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt)
  await session.host.settled({ timeout: 10_000 })
  const ledger: Ledger = {
    text: '',
    calls: [],
    loaded: [],
    usage: { input: 0, cached: 0, output: 0 },
    requests: 0,
  }
  const isStream = input.isSet('stream-json')
  const isWhole = input.isSet('json')
  let end: { reason: EndReason; error?: string | undefined } = { reason: 'failed' }
  for await (const event of session.agent.send(prompt, { signal: stop.signal })) {
    if (isStream) terminal.print(JSON.stringify(toLine(event)))
    note(event, ledger)
    if (event.type === 'notice' || event.type === 'retry')
      terminal.tell(`toolshelf run: ${'text' in event ? event.text : event.reason}`)
    if (event.type === 'end') end = { reason: event.reason, error: event.error }
  }
  process.off('SIGINT', interrupt)
  if (isWhole) terminal.print(JSON.stringify({ ...end, ...ledger, session: session.file }))
  else if (!isStream) terminal.print(ledger.text)
  if (end.reason !== 'done' && !isWhole) terminal.tell(`toolshelf run: ${end.error ?? end.reason}`)
  return EXIT[end.reason]
}

/** 0 done · 1 failed · 3 the model stopped early · 130 stopped by a signal. */
const EXIT: { readonly [reason in EndReason]: ExitCode } = {
  done: 0,
  failed: 1,
  limit: 3,
  refused: 3,
  stopped: 130,
}

type Ledger = {
  /** What the model said last. */
  text: string
  readonly calls: { readonly name: string; readonly input: unknown; readonly isError: boolean }[]
  readonly loaded: string[]
  usage: Usage
  requests: number
}

function note(event: AgentEvent, ledger: Ledger): void {
  if (event.type === 'request') {
    ledger.requests++
    ledger.text = ''
  }
  if (event.type === 'text') ledger.text += event.text
  if (event.type === 'reply') {
    const { input, cached, output } = ledger.usage
    ledger.usage = {
      input: input + event.usage.input,
      cached: cached + event.usage.cached,
      output: output + event.usage.output,
    }
  }
  if (event.type === 'result') {
    ledger.loaded.push(...event.loaded)
    if (event.call.name !== 'ToolSearch')
      ledger.calls.push({
        name: event.call.name,
        input: event.call.input,
        isError: event.result.is_error === true,
      })
  }
}

/** Requests are long and were counted; a line tells what was in them. */
function toLine(event: AgentEvent): object {
  if (event.type !== 'request') return event
  const { decision, loaded, request } = event.sent
  const tools = Array.isArray(request.tools) ? request.tools.length : 0
  return { type: 'request', model: request.model, tools, loaded, decision }
}

/** The words of the call, with what is piped in behind them. */
async function readPrompt({ words }: Input): Promise<string> {
  const piped = await readPiped(words.length === 0 ? undefined : PATIENCE)
  const prompt = [words.join(' '), piped.trim()].filter((part) => part !== '').join('\n\n')
  if (prompt === '') throw new UsageError('a prompt is missing.')
  return prompt
}

/** Milliseconds that a pipe has to say something: programs that start us often leave one open and silent. */
const PATIENCE = 1000

async function readPiped(patience: number | undefined): Promise<string> {
  const kind = fstatSync(0)
  if (!kind.isFIFO() && !kind.isFile() && !kind.isSocket()) return ''
  const silence = new AbortController()
  const timer = patience && setTimeout(() => silence.abort(), patience)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of addAbortSignal(silence.signal, process.stdin)) {
      clearTimeout(timer)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (!silence.signal.aborted) throw error
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function readWindow(input: Input): number | undefined {
  const given = input.text('context-window')
  if (given === undefined) return undefined
  if (!/^\d{4,8}$/.test(given))
    throw new UsageError(`--context-window is "${given}"; use a number of tokens.`)
  return Number(given)
}
