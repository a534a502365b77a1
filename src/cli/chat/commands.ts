// What a line that begins with a slash does. Each answers with lines; what changes the session is done through it.
import type { Agent } from '../../agent/types.ts'
import type { Session } from '../session.ts'
import { contextLines, contextReport } from './context.ts'

export type Slash = {
  readonly name: string
  readonly about: string
  readonly run: (words: string, desk: Desk) => Promise<readonly string[]> | readonly string[]
}

/** What commands may look at and change. */
export type Desk = {
  readonly session: Session
  /** The request that was sent last. */
  readonly lastRequest: () => object | undefined
  readonly loaded: () => readonly string[]
  readonly isVerbose: () => boolean
  readonly setVerbose: (isVerbose: boolean) => void
  readonly compact: () => Promise<readonly string[]>
  readonly quit: () => void
}

export const slashes: readonly Slash[] = [
  {
    name: 'tools',
    about: 'which tools are there: working set, deferred, pending, failed',
    run: (_, desk) => toolLines(desk),
  },
  { name: 'context', about: 'what fills the window', run: (_, desk) => windowLines(desk) },
  { name: 'search', about: 'what a search for tools finds', run: searchLines },
  { name: 'skills', about: 'which skills are there', run: (_, { session }) => skillLines(session) },
  { name: 'compact', about: 'summarise the conversation now', run: (_, desk) => desk.compact() },
  { name: 'model', about: 'which model answers, or another one', run: modelLines },
  { name: 'verbose', about: 'show searches and results in full, or not', run: verboseLines },
  { name: 'help', about: 'this', run: () => helpLines() },
  { name: 'quit', about: 'end the session; it is kept', run: (_, desk) => quitLines(desk) },
]

export async function runSlash(line: string, desk: Desk): Promise<readonly string[]> {
  const [, name = '', words = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
  const slash = slashes.find((one) => one.name === name || (name === 'exit' && one.name === 'quit'))
  if (!slash) return [`There is no command /${name}. /help shows them all.`]
  return slash.run(words.trim(), desk)
}

function helpLines(): string[] {
  return [
    ...slashes.map(({ name, about }) => `/${name.padEnd(9)} ${about}`),
    'Ctrl-C stops what is running; twice at an empty line ends the session. ↑ and ↓ go through what you typed.',
  ]
}

function toolLines({ session, loaded }: Desk): string[] {
  const { shelf, host, using } = session
  const { immediate, deferred } = shelf.tools()
  const inUse = loaded()
  const servers = new Map<string, number>()
  for (const { name, server = 'built-in' } of deferred)
    if (!inUse.includes(name)) servers.set(server, (servers.get(server) ?? 0) + 1)
  const states = host.status().filter(({ state }) => state !== 'connected')
  const pins = using.pins()
  return [
    `Working set: ${immediate.map(({ name }) => name).join(', ') || 'none'}`,
    `Loaded by search: ${inUse.join(', ') || 'none yet'}`,
    `Deferred: ${[...servers].map(([server, count]) => `${server} ${count}`).join(', ') || 'none'}`,
    ...states.map(
      ({ name, state, reason }) =>
        `${state === 'pending' ? 'Pending' : 'Not there'}: ${name} (${reason ?? state})`,
    ),
    ...pins.map(({ tool, reason }) => `Pinned: ${tool} (${reason})`),
  ]
}

function windowLines({ session, lastRequest, loaded }: Desk): string[] {
  const request = lastRequest()
  if (!request) return ['Nothing was sent yet.']
  return contextLines(contextReport(request, session.shelf, loaded(), session.agent.contextWindow))
}

async function searchLines(words: string, { session }: Desk): Promise<string[]> {
  if (words === '') return ['Say what to search for: /search github create issue']
  const { tools, remark } = await session.shelf.search({ query: words })
  return [
    ...tools.map(({ name, tool }) => `${name}  ${firstLine(tool.description ?? '')}`),
    ...(remark ? [remark] : []),
  ]
}

function skillLines({ skills }: Session): string[] {
  const all = skills.list()
  return all.length === 0
    ? ['There are no skills.']
    : all.map(({ name, description }) => `${name}  ${firstLine(description)}`)
}

function modelLines(words: string, { session }: Desk): string[] {
  const agent: Agent = session.agent
  if (words !== '') agent.model = words
  return [words === '' ? `The model is ${agent.model}.` : `From now on the model is ${agent.model}.`]
}

function verboseLines(_: string, desk: Desk): string[] {
  desk.setVerbose(!desk.isVerbose())
  return [desk.isVerbose() ? 'Everything is shown in full.' : 'Calls are summed up, searches are hidden.']
}

function quitLines(desk: Desk): string[] {
  desk.quit()
  return []
}

function firstLine(text: string): string {
  const line = text.split('\n')[0] ?? ''
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
