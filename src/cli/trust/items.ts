// Describes what a folder's files would make Toolshelf run, send or tell the model, for the user who decides about it.
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { PermissionRule } from '../../agent/index.ts'
import { isWithin } from '../../agent/index.ts'
import type { SkillFile } from '../../agent/skills/index.ts'
import { readSkillText } from '../../agent/skills/index.ts'
import type { FileEntries, LocalMachine } from '../../mcp/config/index.ts'
import { keepReferences, readServer, variablesIn } from '../../mcp/config/index.ts'
import type { ServerConfig } from '../../mcp/index.ts'
import { isHarmless, isKeyLike, isSecretName } from '../../mcp/redact/index.ts'
import { visible } from '../../terminal/index.ts'

/** One effect of a file of the folder. Its texts are safe to print. */
export type TrustItem = {
  readonly kind: 'server' | 'settings' | 'skill' | 'rule'
  readonly title: string
  /** Path relative to the folder. */
  readonly file: string
  /** What it would do, with references unexpanded. */
  readonly lines: readonly string[]
  readonly hash: string
}

/** Characters of one line; a longer one is cut, with a note. */
const MAX_LINE_LENGTH = 1000
const MAX_LINES = 50

/** Describes the enabled servers of a file and its settings, unexpanded. */
export function configItems(read: FileEntries, file: string, machine: LocalMachine): TrustItem[] {
  const servers = read.entries.flatMap((entry) => {
    const { server } = readServer(entry, read.file, machine, keepReferences)
    if (!server || server.disabled) return []
    return [makeTrustItem('server', server.name, file, serverLines(server, machine.folder), server)]
  })
  const { settings } = read
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return lines.length === 0
    ? servers
    : [...servers, makeTrustItem('settings', 'gateway', file, lines, settings)]
}

/**
 * Describes what a skill adds to the prompt: its description at once, its text when the model reads it. Empty if the
 * model never sees it.
 */
export function skillItems(
  skill: SkillFile,
  file: string,
  folder: string,
  notify: (problem: string) => void,
): TrustItem[] {
  try {
    const { name, description, isForUserOnly } = readSkillText(skill.text)
    if (isForUserOnly) return []
    const lines = [`tells the model: ${description}`]
    if (!isWithin(skill.file, folder)) lines.push(`is a link to ${skill.file}`)
    return [makeTrustItem('skill', name, file, lines, skill.text)]
  } catch (error) {
    notify(`the skill in ${dirname(file)} is left out: ${(error as Error).message}.`)
    return []
  }
}

/** Describes the rules that let calls run without asking. */
export function ruleItems(rules: readonly PermissionRule[], file: string): TrustItem[] {
  const allowing = rules.filter(({ effect }) => effect === 'allow')
  return allowing.map(({ rule }) =>
    makeTrustItem('rule', rule, file, ['runs such calls without asking you'], rule),
  )
}

/** Makes an item that is safe to print. */
function makeTrustItem(
  kind: TrustItem['kind'],
  title: string,
  file: string,
  lines: readonly string[],
  content: unknown,
): TrustItem {
  const left = lines.length - MAX_LINES
  const shown = left > 0 ? [...lines.slice(0, MAX_LINES), `… and ${left} more lines`] : lines
  return {
    kind,
    title: titleLine(title),
    file: plainLine(file),
    lines: shown.map((line) => plainLine(line)),
    hash: hashOf(typeof content === 'string' ? content : JSON.stringify(content)),
  }
}

/** Returns the hash of a file's content. */
export function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function serverLines({ transport, description }: ServerConfig, folder: string): string[] {
  const about = description === undefined ? [] : [`tells the model: ${description}`]
  if (transport.kind !== 'stdio') {
    const headers = Object.entries(transport.headers)
    return [
      `connects to ${shownUrl(transport.url)}`,
      ...headers.map(([name, value]) => `sends the header ${name}: ${shownHeader(value)}`),
      ...readsLine([transport.url, ...Object.values(transport.headers)]),
      ...about,
    ]
  }
  const { command, args, cwd, env, inheritEnv } = transport
  return [
    `runs ${[command, ...args.map(shownArgument)].map(quoted).join(' ')}`,
    ...(cwd === undefined || cwd === folder ? [] : [`in ${cwd}`]),
    ...Object.entries(env).map(([name, value]) => `with ${name}=${shownVariable(name, value)}`),
    ...readsLine([command, ...args, cwd ?? '', ...Object.values(env)]),
    ...(inheritEnv
      ? [`inherits ${inheritEnv === true ? 'all' : inheritEnv.join(', ')} of your environment`]
      : []),
    ...about,
  ]
}

function readsLine(texts: readonly string[]): string[] {
  const names = [...new Set(texts.flatMap(variablesIn))]
  return names.length === 0 ? [] : [`reads ${names.join(', ')} of your environment`]
}

/** Text that cannot be code: only such text is ever hidden, so that a command cannot be disguised as a secret. */
const INERT = /^[\w.~%+/=:@-]+$/
/** Variables with a secret-like name that hold a program, such as GIT_ASKPASS. */
const NAMES_PROGRAM = /ask_?pass|command|cmd|helper|program|path|file/i
const BEGINS_PATH = /^(?:\.{0,2}|~|[A-Za-z]:)[/\\]/

/** Values of flags and variables with a secret-like name; packages and programs may look like keys. */
function isHidden(name: string, value: string): boolean {
  if (!isSecretName(name) || NAMES_PROGRAM.test(name) || BEGINS_PATH.test(value)) return false
  return INERT.test(value) && !isHarmless(value)
}

function shownArgument(word: string, index: number, words: readonly string[]): string {
  const [, flag = '', value = ''] = /^(-{0,2}[\w.-]+=)(.*)$/s.exec(word) ?? []
  if (isHidden(flag, value) && isKeyLike(value)) return flag + lengthOf(value)
  const before = words[index - 1] ?? ''
  return before.startsWith('--') && isHidden(before, word) && isKeyLike(word)
    ? lengthOf(word)
    : withoutPassword(word)
}

function shownVariable(name: string, value: string): string {
  return isHidden(name, value) ? lengthOf(value) : quoted(value)
}

/** References stay, and so do words that only name a scheme. */
function shownHeader(value: string): string {
  return value
    .split(/(\$\{[^{}]*\}|^(?:Bearer|Basic|Token)\s+)/)
    .map((part, index) => (index % 2 === 1 || part === '' ? part : lengthOf(part)))
    .join('')
}

/** The host is always shown: it is where everything is sent. */
function shownUrl(url: string): string {
  const [, host = '', rest = ''] = /^([a-z]+:[\\/]*[^\\/?#]*)?(.*)$/is.exec(withoutPassword(url)) ?? []
  const [path = '', ...query] = rest.split(/(?=[?&#])/)
  const shown = path.split('/').map((part) => (INERT.test(part) && isKeyLike(part) ? lengthOf(part) : part))
  return host + shown.join('/') + query.map((pair) => pair.replace(/=(.*)$/s, shownParameter)).join('')
}

function shownParameter(pair: string): string {
  const value = pair.slice(1)
  return INERT.test(value) && !isHarmless(value) && value.length > 3 ? `=${lengthOf(value)}` : pair
}

const lengthOf = (text: string) => `(${text.length} characters)`

function withoutPassword(text: string): string {
  return text.replace(/(:\/\/[\w.~%-]*:)([\w.~%+=!-]+)@/g, (_, before: string) => `${before}(hidden)@`)
}

function quoted(word: string): string {
  const isPlain = /^[\w@%+=:,./~${}-]+$|^(-{0,2}[\w.-]+=)?\(\d+ characters\)$|\(hidden\)@[\w.:/-]*$/.test(
    word,
  )
  return isPlain ? word : JSON.stringify(word)
}

/** Look-alike letters are spelled out next to the name. */
function titleLine(title: string): string {
  const shown = plainLine(title)
  const isPlain = /^[ -~]*$/.test(title)
  return isPlain ? shown : plainLine(`${shown} (${escaped(title)})`)
}

function escaped(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Returns one line in which everything is visible and nothing controls the terminal. */
export function plainLine(text: string, maxLength = MAX_LINE_LENGTH): string {
  const line = visible(text.slice(0, maxLength).toWellFormed()).replaceAll('\n', '?')
  const left = text.length - maxLength
  return left > 0 ? `${line}… (${left.toLocaleString('en-US')} more characters)` : line
}
