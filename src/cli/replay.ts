// `toolshelf replay`: shows what Toolshelf would have changed in a recorded conversation.
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { WireName } from '../core/index.ts'
import { thisMachine } from '../mcp/config/index.ts'
import { rankers } from '../rankers/index.ts'
import { type Recording, readRecording, replay, replayView, TranscriptError } from '../replay/index.ts'
import { printableLine } from '../terminal/index.ts'
import {
  type Command,
  CommandError,
  configOption,
  directoryIn,
  filesIn,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { toSafeJson } from './output.ts'
import { pricesIn, pricesOption } from './prices.ts'
import { serversToStart } from './servers/index.ts'
import { MODEL } from './session/index.ts'
import { type KnownDefinitions, knownDefinitions, readTools } from './tools/index.ts'
import { trustOption } from './trust/index.ts'
import { findSession } from './user-files/index.ts'

/** The wires that a recording can be replayed on. */
const wires = ['reference', 'append', 'bridge'] as const satisfies readonly WireName[]

export const replayCommand: Command = {
  name: 'replay',
  summary:
    'Shows, turn by turn, what Toolshelf would have saved or cost in a recorded conversation. Prints no message content.',
  words: '<transcript> [--config <file>…] [--json] [options]',
  options: {
    ...configOption('configuration whose servers count (default: as doctor; an HTTP log has its own tools)'),
    catalog: {
      type: 'string',
      value: 'file',
      about: 'file of tools instead of servers, as doctor --catalog writes it',
    },
    'trust-project': { ...trustOption, about: 'count this folder’s servers too, without asking' },
    fresh: { type: 'boolean', about: 'start every server, also those whose definitions are cached' },
    json: {
      type: 'boolean',
      about: 'print {"recording", "tools", "turns": […], "total", "verdict", "assumptions"}',
    },
    wire: {
      type: 'string',
      value: 'name',
      values: wires,
      about: 'how loaded tools reach the model (default: by the recorded API)',
    },
    model: { type: 'string', value: 'id', about: `model of turns that name none (default: ${MODEL})` },
    ...pricesOption,
    directory: {
      type: 'string',
      value: 'folder',
      about: 'folder whose sessions to read (default: the current one)',
    },
  },
  examples: [
    'toolshelf replay last',
    'toolshelf replay ~/.claude/projects/-home-me-project/1b2c.jsonl',
    'toolshelf replay ~/.codex/sessions/2026/11/17/rollout-1.jsonl --config ~/.codex/config.toml',
    'toolshelf replay capture.har --json',
  ],
  async run(input, terminal) {
    const file = transcriptIn(input)
    const wire = wireIn(input)
    const prices = await pricesIn(input)
    const recording = await readFiles(file)
    const known = recording.turns.some(({ tools }) => tools) ? NONE : await definitionsFor(input, terminal)
    const report = await replay(recording, {
      ...known,
      rank: rankers.hybrid,
      model: input.text('model') ?? MODEL,
      prices,
      ...(wire ? { wire } : {}),
    })
    terminal.print(input.isSet('json') ? toSafeJson(report) : replayView(report))
    return 0
  },
}

const NONE: KnownDefinitions = { tools: [], servers: {} }

function transcriptIn(input: Input): string {
  const [requested, more] = input.words
  if (requested === undefined)
    throw new UsageError('pass a transcript: a file, the name of a session, or last.')
  if (more !== undefined) throw new UsageError(`unexpected argument "${more}"; pass one transcript.`)
  return findSession(requested, directoryIn(input))
}

function wireIn(input: Input): WireName | undefined {
  const value = input.text('wire')
  const wire = wires.find((name) => name === value)
  if (value !== undefined && !wire)
    throw new UsageError(`--wire is "${value}"; use one of ${wires.join(', ')}.`)
  return wire
}

async function readFiles(file: string): Promise<Recording> {
  try {
    const recording = await readRecording([file, ...(await subAgentFiles(file))])
    if (recording.turns.length === 0) throw new TranscriptError('has no reply of a model in it')
    return recording
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof TranscriptError) throw new CommandError(`${file} ${message}.`)
    if (code !== undefined) throw new CommandError(`cannot read ${file} (${code}).`)
    throw error
  }
}

const MAX_SUB_AGENTS = 200

/** Claude Code writes its sub-agents to `<session>/subagents/agent-….jsonl` beside the session's file. */
async function subAgentFiles(file: string): Promise<string[]> {
  if (!file.endsWith('.jsonl')) return []
  const folder = join(dirname(file), file.slice(dirname(file).length + 1, -'.jsonl'.length), 'subagents')
  const names = await readdir(folder).catch((): string[] => [])
  return names
    .filter((name) => /^agent-.*\.jsonl$/.test(name))
    .sort()
    .slice(0, MAX_SUB_AGENTS)
    .map((name) => join(folder, name))
}

async function definitionsFor(input: Input, terminal: Terminal): Promise<KnownDefinitions> {
  const catalog = input.text('catalog')
  if (catalog !== undefined) return { tools: await readTools(catalog, terminal), servers: {} }
  const machine = thisMachine()
  const notify = (message: string) => terminal.report(printableLine(message))
  const isTrusting = input.isSet('trust-project')
  const { config, untrusted } = await serversToStart(filesIn(input), machine, { isTrusting, notify })
  for (const { name } of untrusted)
    notify(`Not counted: ${name}: this folder is not trusted (--trust-project).`)
  if (config.servers.length === 0)
    throw new CommandError('no server of a trusted configuration; pass --config or --trust-project.')
  return knownDefinitions(config.servers, terminal, { isFresh: input.isSet('fresh') })
}
