// Implements the slash commands. Each returns lines to show, and changes the session through its interface.
import { preloadedIn } from '@toolshelf/agent/internal'
import { foldHistory } from '@toolshelf/core/pure'
import { didYouMean } from '../command.ts'
import type { AgentSession } from '../session.ts'
import { contextLines, contextReport, conversationTokens, nextRequest } from './context.ts'
import { inColumns, type OutputLine, withLabel } from './output-line.ts'
import { permissionLines } from './permission-lines.ts'
import { sessionLines } from './sessions.ts'

type Slash = {
  readonly name: string
  readonly about: string
  readonly run: (
    words: string,
    context: CommandContext,
  ) => Promise<readonly OutputLine[]> | readonly OutputLine[]
}

/** What commands may read and change. */
export type CommandContext = {
  readonly session: AgentSession
  /** The agent's working folder. */
  readonly directory: string
  /** The last request sent. */
  readonly lastRequest: () => object | undefined
  readonly isVerbose: () => boolean
  readonly setVerbose: (isVerbose: boolean) => void
  /** Runs the work, and shows this text until it has ended. */
  readonly waiting: <Result>(text: string, work: () => Promise<Result>) => Promise<Result>
  readonly compact: () => Promise<void>
  readonly quit: () => void
}

/** All slash commands, in the order of the help. */
const slashes: readonly Slash[] = [
  {
    name: 'tools',
    about: 'list the tools: working set, deferred, pending, failed',
    run: (_, context) => toolLines(context),
  },
  { name: 'context', about: 'show what fills the context window', run: (_, context) => windowLines(context) },
  { name: 'search', about: 'show what a tool search finds', run: searchLines },
  {
    name: 'permissions',
    about: 'show or change what runs without asking and what never runs',
    run: (words, { session }) => permissionLines(words, session),
  },
  { name: 'skills', about: 'list the skills', run: (_, { session }) => skillLines(session) },
  {
    name: 'sessions',
    about: 'list earlier sessions of this folder and how to resume them',
    run: (_, { session, directory }) => sessionLines(directory, session.file),
  },
  { name: 'compact', about: 'summarise the conversation now', run: (_, context) => compactNow(context) },
  { name: 'model', about: 'show the model, or switch to another', run: modelLines },
  {
    name: 'verbose',
    about: 'show or hide call results, searches and thinking',
    run: verboseLines,
  },
  { name: 'help', about: 'show this list', run: () => helpLines() },
  {
    name: 'quit',
    about: 'end the session; it is saved (/exit does the same)',
    run: (_, context) => quitLines(context),
  },
]

/** Returns whether a line is a command: a slash and a word. A path is an ordinary message. */
export function isCommand(line: string): boolean {
  return /^\/[^\s/]*(\s|$)/.test(line)
}

/** Returns the commands that start with the given text, with a description if there is only one. */
export function slashHint(text: string): string {
  if (!/^\/\S*$/.test(text)) return ''
  const found = slashes.filter(({ name }) => `/${name}`.startsWith(text))
  const [only] = found
  if (only && found.length === 1) return `/${only.name}: ${only.about}`
  return found.map(({ name }) => `/${name}`).join('  ')
}

export async function runSlash(line: string, context: CommandContext): Promise<readonly OutputLine[]> {
  const [, name = '', words = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
  const slash = slashes.find((one) => one.name === name || (name === 'exit' && one.name === 'quit'))
  if (!slash) {
    const names = slashes.map((one) => one.name)
    return [`Unknown command /${name}${didYouMean(name, names, '/') || '.'} /help shows them all.`]
  }
  return slash.run(words.trim(), context)
}

function helpLines(): OutputLine[] {
  return [
    ...slashes.map(({ name, about }) => withLabel(`/${name}`, about, 12)),
    'Ctrl-C stops what is running; twice at an empty line, or Ctrl-D, ends the session; it is saved.',
    '↑ and ↓ recall what you typed, in earlier sessions too; a line that begins with a space is not saved.',
    'Alt-Enter starts a new line. Commands that only show something also work while a turn runs.',
  ]
}

/** Deferred tools that the conversation has loaded, in this session or in the one it resumes. */
function loadedIn({ agent, shelf }: AgentSession): string[] {
  const { deferredNames } = shelf.partition()
  return [...foldHistory(agent.messages, shelf.searchTool).loaded].filter((name) => deferredNames.has(name))
}

function toolLines({ session }: CommandContext): OutputLine[] {
  const { shelf, host } = session
  const { immediate, deferred } = shelf.partition()
  const loaded = loadedIn(session)
  const preloaded = new Set(preloadedIn(session.agent.messages))
  const servers = new Map<string, number>()
  for (const { name, server = 'built-in' } of deferred)
    if (!loaded.includes(name)) servers.set(server, (servers.get(server) ?? 0) + 1)
  const inState = (wanted: string) => host.status().filter(({ state }) => state === wanted)
  const named = (statuses: ReturnType<typeof inState>) => statuses.map(({ name }) => name).join(', ')
  return [
    row('Working set', immediate.map(({ name }) => name).join(', ')),
    row(
      'Loaded',
      loaded.map((name) => (preloaded.has(name) ? `${name} (you named it)` : name)).join(', '),
      'none by search yet',
    ),
    row('Deferred', [...servers].map(([server, count]) => `${server} ${count}`).join(', ')),
    row('Pending', named(inState('pending'))),
    ...inState('failed').map(({ name, reason }) => row('Failed', `${name}: ${reason ?? 'no reason given'}`)),
    ...inState('disabled').map(({ name }) => row('Disabled', name)),
  ]
}

function row(label: string, text: string, otherwise = 'none'): OutputLine {
  return withLabel(label, text || otherwise, 12)
}

/** Describes the last request; before the first, the one that would be sent. */
async function windowLines({ session, lastRequest }: CommandContext): Promise<string[]> {
  const last = lastRequest()
  const request = last ?? (await nextRequest(session.agent))
  const report = contextReport(request, session.shelf, loadedIn(session), session.agent.contextWindow)
  return contextLines(report, last ? LAST : NEXT)
}

const LAST = 'as your last message was sent (an estimate)'
const NEXT = 'as your next message will be sent (an estimate, without the system prompt)'

async function compactNow({ session: { agent }, compact }: CommandContext): Promise<string[]> {
  const [first] = agent.messages
  const before = await sizeOf(agent)
  await compact()
  if (agent.messages[0] === first) return []
  return [`The conversation took about ${before} tokens; now it takes about ${await sizeOf(agent)}.`]
}

async function sizeOf(agent: AgentSession['agent']): Promise<string> {
  return conversationTokens(await nextRequest(agent)).toLocaleString('en-US')
}

async function searchLines(words: string, { session, waiting }: CommandContext): Promise<OutputLine[]> {
  if (words === '') return ['Add words to search for, e.g. /search github create issue']
  const pending = session.host.status().filter(({ state }) => state === 'pending')
  const names = pending.map(({ name }) => name).join(', ')
  const { tools, remark, left } = await waiting(
    names === '' ? 'searching …' : `searching; waiting for ${names} …`,
    () => session.shelf.search({ query: words }),
  )
  const found = inColumns(tools.map(({ name, tool }) => [name, firstLine(tool.description ?? '')]))
  if (found.length === 0) return [remark || `Nothing was found for "${words}".`]
  return left > 0 ? [...found, `${left} more match less well.`] : found
}

function skillLines({ skills }: AgentSession): OutputLine[] {
  const all = skills.list()
  return all.length === 0
    ? ['No skills found. Put folders with a SKILL.md into .agents/skills or ~/.agents/skills.']
    : inColumns(all.map(({ name, description }) => [name, firstLine(description)]))
}

function modelLines(words: string, { session: { agent } }: CommandContext): string[] {
  if (words === '') return [`The model is ${agent.model}. To switch: /model <id>`]
  agent.model = words
  return [`The model is now ${words}.`]
}

function verboseLines(_: string, context: CommandContext): string[] {
  context.setVerbose(!context.isVerbose())
  return [
    context.isVerbose()
      ? 'Calls are now shown with their results (long ones cut), searches and thinking.'
      : 'Calls are now summarised, searches hidden.',
  ]
}

function quitLines(context: CommandContext): string[] {
  context.quit()
  return []
}

function firstLine(text: string): string {
  const line = text.split('\n')[0] ?? ''
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
