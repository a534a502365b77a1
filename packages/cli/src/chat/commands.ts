// Implements the slash commands. Each returns lines to show, and changes the session through its interface.

import { resolve } from 'node:path'
import type { Agent, PermissionRule } from '@toolshelf/agent'
import { parseRule, preloadedIn, type RuleEffect, type RuleScope } from '@toolshelf/agent/internal'
import { estimateTokens, type Shelf } from '@toolshelf/core'
import {
  allDefinitionTokens,
  cut,
  type MessageLike,
  renderRequest,
  type ShelvedResult,
  tokensFor,
} from '@toolshelf/core/internal'
import { foldHistory } from '@toolshelf/core/pure'
import { didYouMean } from '../command.ts'
import type { AgentSession } from '../session.ts'
import { listSessions, localTime, type SessionEntry } from '../sessions.ts'
import { resumeOptions, sessionFiles } from '../user-files/session-files.ts'
import { inColumns, type OutputLine, withLabel } from './items.ts'

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

const LABELS = [
  { label: 'system prompt', mark: '▓', kinds: ['system'] },
  { label: 'tools always there', mark: '█', kinds: ['tools'] },
  { label: 'tools loaded by search', mark: '▆', kinds: ['functions'] },
  { label: 'conversation', mark: '▒', kinds: ['user', 'assistant', 'thinking', 'removal'] },
] as const

/** Prepares the request that would be sent now, without changing the conversation. */
async function nextRequest({ shelf, model, messages }: Agent): Promise<object> {
  const beside = shelf.fork({ isSubAgent: false, state: shelf.state() })
  const { request } = await beside.prepare({ model, messages: messages as readonly MessageLike[] })
  return request
}

/** Returns the conversation's share of a request, with the tools that it loaded. */
function conversationTokens(request: object): number {
  const counted: readonly string[] = LABELS.slice(2).flatMap(({ kinds }) => kinds)
  const texts = renderRequest(request)
    .filter(({ kind }) => counted.includes(kind))
    .map(({ text }) => text)
  return estimateTokens(texts.join(''))
}

/** What fills the context window, in estimated tokens. */
export type ContextReport = ReturnType<typeof contextReport>

/** Measures what fills the context window; all tokens are estimates by length. */
function contextReport(request: object, shelf: Shelf, loaded: readonly string[], window: number) {
  const segments = renderRequest(request)
  const isKnown = (kinds: readonly string[]) =>
    kinds[0] !== 'system' || segments.some(({ kind }) => kind === 'system')
  const parts = LABELS.filter(({ kinds }) => isKnown(kinds)).map(({ label, mark, kinds }) => ({
    label,
    mark,
    tokens: estimateTokens(
      segments
        .filter(({ kind }) => (kinds as readonly string[]).includes(kind))
        .map(({ text }) => text)
        .join(''),
    ),
  }))
  const hidden = shelf.partition().deferred.filter(({ name }) => !loaded.includes(name))
  const tokens = allDefinitionTokens(hidden)
  /** How many of these tools are Toolshelf's own, not a server's. */
  const builtIn = hidden.filter(({ server }) => server === undefined).length
  return { parts, window, deferred: { tools: hidden.length, builtIn, tokens }, results: shelf.results() }
}

const WIDTH = 48

/** Renders the report; `about` says which request it describes. */
export function contextLines({ parts, window, deferred, results }: ContextReport, about: string): string[] {
  const used = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  const free = Math.max(0, window - used)
  const cells = parts.map(({ mark, tokens }) => mark.repeat(Math.ceil((WIDTH * tokens) / window))).join('')
  const count = (tokens: number) => tokens.toLocaleString('en-US').padStart(9)
  const share = (tokens: number) => `${((100 * tokens) / window).toFixed(1)} %`.padStart(7)
  return [
    `${share(used).trim()} of ${window.toLocaleString('en-US')} tokens, ${about}:`,
    cells.slice(0, WIDTH).padEnd(WIDTH, '░'),
    ...parts.map(({ label, mark, tokens }) => `${mark} ${label.padEnd(24)}${count(tokens)} ${share(tokens)}`),
    `░ ${'free'.padEnd(24)}${count(free)} ${share(free)}`,
    `  ${'deferred, not in it'.padEnd(24)}${count(deferred.tokens)}         ${deferred.tools} tools on the shelf${deferred.builtIn > 0 ? `, ${deferred.builtIn} of them built in` : ''}`,
    ...(results.length === 0 ? [] : resultLines(results, count)),
  ]
}

const MAX_NAMED = 5

/** The sum of the results on the shelf, and the newest by tool, kind and size. */
function resultLines(results: readonly ShelvedResult[], count: (tokens: number) => string): string[] {
  const all = tokensFor(results.reduce((sum, { size }) => sum + size, 0))
  const newest = results.slice(-MAX_NAMED).reverse()
  const left = results.length - newest.length
  return [
    `  ${'results, not in it'.padEnd(24)}${count(all)}         ${results.length} on the shelf`,
    ...newest.map(
      ({ tool, kind, size }) =>
        `    ${cut(tool, 40)}: ${kind}, about ${tokensFor(size).toLocaleString('en-US')} tokens`,
    ),
    ...(left > 0 ? [`    and ${left} older`] : []),
  ]
}

const USAGE =
  'To change: /permissions allow Bash(git status*) · deny Read(.env) · ask mcp__github__* · remove <rule>; add "project" or "user" in front of the rule to save it.'
const EFFECTS: readonly RuleEffect[] = ['allow', 'ask', 'deny']
const SCOPES: readonly RuleScope[] = ['session', 'project', 'user']
const WHERE = {
  session: 'in this session',
  project: 'in this folder',
  user: 'everywhere',
  folder: 'from a file of this folder',
}

/** Runs the command and returns its output. */
async function permissionLines(words: string, { permissions }: AgentSession): Promise<OutputLine[]> {
  const [, verb = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(words) ?? []
  if (verb === '') return shown(permissions.rules())
  const effect = EFFECTS.find((one) => one === verb)
  if (effect && rest !== '') {
    const wanted = ruleIn(effect, rest)
    await permissions.keep(wanted)
    return [`${wanted.effect} ${wanted.rule} holds ${WHERE[wanted.scope]}.`]
  }
  return verb === 'remove' && rest !== '' ? removed(rest.trim(), permissions) : [USAGE]
}

function shown(rules: readonly PermissionRule[]): OutputLine[] {
  const lines = rules.map(({ effect, rule, scope }) => withLabel(effect, `${rule}  (${WHERE[scope]})`, 6))
  const none = 'No rules: reading inside the working folder runs, everything else asks.'
  return [...(lines.length === 0 ? [none] : lines), USAGE]
}

/** Throws an error that says what is wrong with the rule. */
function ruleIn(effect: RuleEffect, words: string): PermissionRule {
  const [, first = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(words) ?? []
  const scope = SCOPES.find((one) => one === first)
  const newRule: PermissionRule = { effect, rule: scope ? rest : words, scope: scope ?? 'session' }
  return { ...newRule, rule: parseRule(newRule).rule }
}

async function removed(rule: string, { forget }: AgentSession['permissions']): Promise<OutputLine[]> {
  const gone: string[] = []
  for (const effect of EFFECTS)
    for (const scope of [...SCOPES, 'folder'] as const)
      if (await forget({ effect, rule, scope })) gone.push(`${effect} ${rule} ${WHERE[scope]}`)
  if (gone.length === 0) return [`No such rule: ${rule}. /permissions lists all rules.`]
  return gone.map((one) => `Removed: ${one}.`)
}

const MAX_SHOWN = 10
const MAX_WORDS_LENGTH = 48

/** Lists the sessions of a folder; `file` is the current one. */
function sessionLines(directory: string, file: string): string[] {
  const found = listSessions(directory, MAX_SHOWN)
  if (found.length === 0)
    return ['No sessions in this folder yet; this one is saved with your first message.']
  const older = sessionFiles(directory).length - found.length
  const option = resolve(directory) === process.cwd() ? '' : ` --directory ${directory}`
  return [
    ...found.flatMap((entry) => [
      `${localTime(entry.time)}  ${aboutOf(entry)}${entry.file === file ? '  (this one)' : ''}`,
      `  toolshelf chat ${resumeOptions(entry.file, directory)}`,
    ]),
    ...(older > 0 ? [`… and ${older} older: toolshelf chat --list${option}`] : []),
  ]
}

function aboutOf({ messages, words, isBroken }: SessionEntry): string {
  if (isBroken) return 'it cannot be read'
  const first = words.length > MAX_WORDS_LENGTH ? `${words.slice(0, MAX_WORDS_LENGTH - 1)}…` : words
  return `${messages} ${messages === 1 ? 'message' : 'messages'}  ${first}`.trimEnd()
}
