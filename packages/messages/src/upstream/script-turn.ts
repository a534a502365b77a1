// Reads a request for the offline model: the latest user message, and the calls and results since then.
import {
  blocksOf,
  CALL_THESE,
  CALL_TOOL,
  type Fields,
  fieldsOf,
  isFields,
  isOurText,
  parseJson,
  referencesIn,
  SEARCH_TOOL,
  textOf,
} from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import { fromCallTool } from '../wire/lower.ts'

/** Search tools that the offline model can use, in order of preference. */
const SEARCH_TOOL_NAMES = [SEARCH_TOOL, 'tool_search_tool_bm25', 'tool_search_tool_regex']

/** A client's own search for the tools that it defers, the MCP gateway's included: Codex has it for some models. */
export const CLIENT_SEARCH = 'tool_search'

/** Returns the search tool among the visible tools; the client's own is the last choice. */
export function searchToolIn(visible: readonly string[]): string | undefined {
  const own = SEARCH_TOOL_NAMES.find((name) => visible.includes(name)) ?? visible.find(isSearchTool)
  return own ?? visible.find((name) => name === CLIENT_SEARCH)
}

/** Returns the visible tool that calls tools whose definitions were shown as text. */
export function callToolIn(visible: readonly string[]): string | undefined {
  return visible.find((name) => name === CALL_TOOL) ?? visible.find(isCallTool)
}

const isSearchTool = (name: string) => SEARCH_TOOL_NAMES.includes(name) || hasPrefix(name, SEARCH_TOOL)
const isCallTool = (name: string) => name === CALL_TOOL || hasPrefix(name, CALL_TOOL)

/** Clients put the server's name in front of the MCP gateway's own tools: `mcp__toolshelf__ToolSearch`. */
function hasPrefix(name: string, own: string): boolean {
  return name.endsWith(`_${own}`)
}

/** The conversation since the latest user message. */
type ScriptTurn = {
  readonly user: string
  /** The latest result before that message. */
  readonly earlier: string
  readonly rounds: readonly CallRound[]
}

export type CallRound = readonly MadeCall[]

/** A call in the conversation, with its result. */
export type MadeCall = {
  /** The called name and, for CallTool, the name of the wrapped tool. */
  readonly names: readonly string[]
  readonly isSearch: boolean
  readonly isClientSearch: boolean
  readonly result: string
}

export function turnOf({ messages }: MessagesRequest): ScriptTurn {
  const start = messages.findLastIndex((message) => userText(message) !== '')
  const earlier = messages.slice(0, start + 1).flatMap(({ content }) => blocksOf(content))
  return {
    user: userText(messages[start] ?? {}),
    earlier: resultText(earlier.findLast(isResult) ?? {}),
    rounds: roundsOf(messages.slice(start + 1).flatMap(({ content }) => blocksOf(content))),
  }
}

/**
 * Returns the tools whose definition appears in a user message or result: as a line of JSON (the `bridge` wire, and the
 * MCP gateway in that mode), or as one of the gateway's signatures.
 */
export function describedTools({ messages }: MessagesRequest): string[] {
  const blocks = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => blocksOf(content))
  return blocks
    .map((block) => (block.type === 'text' ? textOf(block.text) : resultText(block)))
    .flatMap((text) => [...signedNames(text), ...text.split('\n').map(definedName)])
    .filter((name) => name !== '')
}

/** The names of the signatures in a search's answer: `server__tool: What it does`, with arguments on indented lines. */
function signedNames(text: string): string[] {
  const start = text.startsWith(CALL_THESE) ? 0 : text.indexOf(`\n${CALL_THESE}`)
  if (start === -1) return []
  return [...text.slice(start).matchAll(/^([\w-]+):(?: |$)/gm)].map(([, name]) => name ?? '')
}

function definedName(line: string): string {
  if (!line.startsWith('{') || !line.includes('"input_schema"')) return ''
  const { name, input_schema: schema } = fieldsOf(parseJson(line))
  return isFields(schema) ? textOf(name) : ''
}

const HOST_TEXT = /<(system-reminder|available-deferred-tools)>[\s\S]*?<\/\1>/g

/** The user's text without the host's reminders. */
function userText({ role, content }: Fields): string {
  if (role !== 'user') return ''
  const texts = blocksOf(content).map((block) => (block.type === 'text' ? textOf(block.text) : ''))
  return texts
    .filter((text) => !isOurText(text))
    .map((text) => text.replace(HOST_TEXT, '').trim())
    .filter((text) => text !== '')
    .map(unquoted)
    .join('\n')
}

/** A text that is one JSON string, as `opencode run` sends its arguments, without the quotes. */
function unquoted(text: string): string {
  const value = /^".*"$/s.test(text) ? parseJson(text) : undefined
  return typeof value === 'string' ? value : text
}

function roundsOf(blocks: readonly Fields[]): CallRound[] {
  const results = new Map(blocks.filter(isResult).map((block) => [block.tool_use_id, resultText(block)]))
  const rounds: MadeCall[][] = []
  let round: MadeCall[] | undefined
  for (const block of blocks) {
    if (isResult(block)) round = undefined
    if (!isCall(block)) continue
    if (!round) {
      round = []
      rounds.push(round)
    }
    round.push(madeCall(block, results.get(block.id) ?? ''))
  }
  return rounds
}

function madeCall(block: Fields, result: string): MadeCall {
  const name = textOf(block.name)
  const names = isCallTool(name) ? [name, textOf(fromCallTool(block).name)] : [name]
  const isClientSearch = name === CLIENT_SEARCH
  return { names, isSearch: isClientSearch || isSearchTool(name), isClientSearch, result }
}

function isCall({ type }: Fields): boolean {
  return type === 'tool_use' || type === 'server_tool_use'
}

function isResult({ type }: Fields): boolean {
  return type === 'tool_result' || type === 'tool_search_tool_result'
}

/** What Codex writes in front of the result of an MCP tool. */
const CODEX_HEAD = /^Wall time: [\d.]+ seconds\nOutput:\n?/

/** The text of a result; for a search, the names found or the error. */
function resultText(block: Fields): string {
  const inner = block.type === 'tool_result' ? blocksOf(block.content) : []
  const texts = inner.map(({ text }) => textOf(text).replace(CODEX_HEAD, ''))
  const names = referencesIn(block).map((reference) => textOf(reference.tool_name))
  return [...texts, ...names, textOf(fieldsOf(block.content).error_message)]
    .filter((text) => text !== '')
    .join('\n')
}
