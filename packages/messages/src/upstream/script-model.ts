// The offline model: computes a reply from a request and a script. It is stateless: the progress of a rule is read from
// the conversation, so a restarted process or another replica continues where it left off.
import {
  blocksOf,
  CALL_THESE,
  CALL_TOOL,
  type Fields,
  fieldsOf,
  hash,
  isFields,
  isOurText,
  parseJson,
  referencesIn,
  SEARCH_TOOL,
  textOf,
  toJson,
  visibleTools,
} from '@toolshelf/core/internal'
import type { signThinking } from '../oracle/thinking.ts'
import type { MessagesRequest } from '../types.ts'
import { fromCallTool, throughCallTool } from '../wire/lower.ts'
import type { Act, Failure, ModelScript, Rule } from './script-file.ts'
import {
  fill,
  fillFields,
  type NamePattern,
  nameWords,
  patternOf,
  type ResolveTemplate,
} from './script-file.ts'

/** A reply, or the error response to play. */
export type ScriptReply =
  | {
      readonly content: readonly Fields[]
      readonly stop: string
      /** The stream breaks off in the middle. */
      readonly isCut: boolean
    }
  | { readonly failure: Failure }

/** Appended to every turn, so that nobody mistakes the script for a model. */
export const OFFLINE_NOTE = "(Toolshelf's offline script, not a model)"

/** Computes the reply. `failed` is how often this same request has already failed. */
export function replyTo(
  request: MessagesRequest,
  script: ModelScript,
  sign: typeof signThinking,
  failed = 0,
): ScriptReply {
  const turn = turnOf(request)
  const { steps, groups } = ruleFor(script, turn.user)
  const sight = sightOf(request)
  const blocks: Fields[] = []
  let { rounds } = turn
  let result = turn.earlier
  let isCut = false
  let failures = failed
  const meaning: ResolveTemplate = (name) =>
    name === 'user' ? turn.user : name === 'result' ? result : (groups[Number(name)] ?? '')
  const mustThink = fieldsOf(request.thinking).type === 'enabled' && turn.rounds.length === 0
  const ended = (stop: string): ScriptReply => {
    const all = mustThink ? withThought(blocks) : blocks
    return { content: finished(all, request, script, sign), stop, isCut }
  }

  const lastAct = steps.findLastIndex(({ kind }) => kind === 'act')
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'act') {
      const wanted = step.acts.map((act) => wantedOf(act, meaning, sight.known))
      const progress = progressOf(wanted, rounds)
      rounds = rounds.slice(progress.used)
      result = progress.result ?? result
      if (!progress.isDue) continue
      const deeds = blocksFor(wanted, sight, progress.searched)
      blocks.push(...deeds)
      if (deeds.some(({ type }) => type === 'tool_use')) return ended('tool_use')
      continue
    }
    // Steps before a call that was already made or searched for belonged to an earlier reply.
    if (rounds.length > 0 && index < lastAct) continue
    if (step.kind === 'say') blocks.push(said(fill(step.text, meaning)))
    if (step.kind === 'think') blocks.push({ type: 'thinking', thinking: fill(step.text, meaning) })
    if (step.kind === 'cut') isCut = true
    if (step.kind === 'stop') {
      blocks.push(said(OFFLINE_NOTE))
      return ended(step.reason)
    }
    if (step.kind === 'fail') {
      failures -= step.failure.times ?? Number.POSITIVE_INFINITY
      if (failures < 0) return { failure: step.failure }
    }
  }
  blocks.push(said(OFFLINE_NOTE))
  return ended('end_turn')
}

function ruleFor(script: ModelScript, user: string): { steps: Rule['steps']; groups: readonly string[] } {
  for (const { when, steps } of script.rules) {
    const groups = when ? when.exec(user) : []
    if (groups) return { steps, groups }
  }
  return { steps: [{ kind: 'say', text: script.otherwise }], groups: [] }
}

/** An act with its templates filled. */
type Wanted =
  | {
      readonly kind: 'call'
      readonly name: NamePattern
      /** Undefined if the text is not a JSON object. */
      readonly input: Fields | undefined
      /** Queries to try in sequence until the tool is visible. */
      readonly searches: readonly Search[]
    }
  | { readonly kind: 'search'; readonly search: Search }

/** Words, and how a regex search joins them: all in order, or any. */
type Search = { readonly query: string; readonly joint: '.*' | '|' }

function wantedOf(act: Act, meaning: ResolveTemplate, known: readonly string[]): Wanted {
  if (act.kind === 'search')
    return { kind: 'search', search: { query: fill(act.query, meaning), joint: '|' } }
  const name = patternOf(act.name, meaning, known)
  const byWords = (text: string): Search => ({ query: nameWords(text).join(' '), joint: '.*' })
  const first =
    act.search === undefined
      ? byWords(name.said)
      : ({ query: fill(act.search, meaning), joint: '|' } as const)
  const searches = [first, byWords(name.said.split('__').at(-1) ?? '')]
  return { kind: 'call', name, input: inputOf(act.input, meaning), searches }
}

function inputOf(input: Fields | string, meaning: ResolveTemplate): Fields | undefined {
  if (typeof input !== 'string') return fillFields(input, meaning)
  const value = parseJson(fill(input, meaning))
  return isFields(value) ? value : undefined
}

/** Counts searches for a call: with the client's own search, and with any other. */
type SearchCounts = { readonly client: number; readonly other: number }

const MAX_SEARCHES = 2

/**
 * The progress of a step: whether it runs now, how many rounds belong to it, and the searches made so far for what it calls.
 * A round of another step means that this one found nothing to call and was skipped.
 */
function progressOf(wanted: readonly Wanted[], rounds: readonly CallRound[]) {
  // A call without an input is never made, so it needs no searches.
  const calls = wanted.flatMap((want) => (want.kind === 'call' && want.input ? [want] : []))
  const isSearching = wanted.some(({ kind }) => kind === 'search')
  const isCalled = ({ names }: MadeCall) => names.some((name) => calls.some((call) => call.name.fits(name)))
  const isAside = (call: MadeCall) => call.isSearch && !isCalled(call)
  const other = rounds.findIndex((round) => calls.length === 0 || !round.every(isAside))
  const searched = searchesIn(other === -1 ? rounds : rounds.slice(0, other))
  const used = searched.client + searched.other
  const round = rounds[used]
  if (!round) return { isDue: true, used, searched }
  if (!round.some((call) => isCalled(call) || (call.isSearch && isSearching)))
    return { isDue: false, used, searched }
  return { isDue: false, used: used + 1, searched, result: round.map(({ result }) => result).join('\n') }
}

/** Counts the rounds of searches up to the first that is one too many for one step. */
function searchesIn(rounds: readonly CallRound[]): SearchCounts {
  const counts = { client: 0, other: 0 }
  for (const round of rounds) {
    const kind = round.some(({ isClientSearch }) => isClientSearch) ? 'client' : 'other'
    if (counts[kind] === MAX_SEARCHES) break
    counts[kind]++
  }
  return counts
}

/** The tools that the model could call. */
type Sight = ReturnType<typeof sightOf>

function sightOf(request: MessagesRequest) {
  const visible = visibleTools(request)
  const callTool = callToolIn(visible)
  const described = callTool === undefined ? [] : describedTools(request)
  const listed = (request.tools ?? []).map((tool) => textOf(fieldsOf(tool).name))
  return {
    visible,
    /** Callable only through CallTool. */
    described,
    callTool,
    search: searchToolIn(visible),
    /** The names of all tools: visible, described or deferred. */
    known: [...visible, ...described, ...listed],
  }
}

/** The reply's blocks for a step: searches for tools that are not visible, or calls of those that are. */
function blocksFor(wanted: readonly Wanted[], sight: Sight, searched: SearchCounts): Fields[] {
  const hidden = wanted.flatMap((want) =>
    want.kind === 'call' && want.input && !callOf(want.name, want.input, sight)
      ? [nextSearch(want.searches, sight, searched)]
      : [],
  )
  const searches = hidden.flatMap((search) =>
    search && sight.search ? [searchOf(search, sight.search)] : [],
  )
  return searches.length > 0 ? searches : wanted.map((want) => deedOf(want, sight))
}

/** What to search for next. A client that defers the MCP gateway's tools finds these, and they find the rest. */
function nextSearch(
  searches: readonly Search[],
  { search }: Sight,
  searched: SearchCounts,
): Search | undefined {
  if (search !== CLIENT_SEARCH) return searches[searched.other]
  return [searches[0], GATEWAY_SEARCH][searched.client]
}

const GATEWAY_SEARCH: Search = { query: `${SEARCH_TOOL} ${CALL_TOOL}`, joint: '|' }

function deedOf(want: Wanted, sight: Sight): Fields {
  if (want.kind === 'call') {
    if (!want.input) return said(`What to give ${want.name.said} is not a JSON object, so I do not call it.`)
    return callOf(want.name, want.input, sight) ?? said(missOf(want.name))
  }
  return sight.search === undefined
    ? said('I cannot see a search tool, so I do not search.')
    : searchOf(want.search, sight.search)
}

function missOf({ said, near }: NamePattern): string {
  const wanted = said.startsWith('/') ? `whose name matches ${said}` : `named ${said}`
  const advice = near.length > 0 ? ` Several end in _${said}: ${near.join(', ')}.` : ''
  return `I cannot see a tool ${wanted}, so I do not call it.${advice}`
}

/** A call of the first matching visible tool; undefined if there is none. */
function callOf({ fits }: NamePattern, input: Fields, sight: Sight): Fields | undefined {
  const { visible, described, callTool } = sight
  const direct = visible.find(fits)
  if (direct !== undefined) return { type: 'tool_use', name: direct, input }
  const name = described.find(fits)
  if (name === undefined || callTool === undefined) return undefined
  return { ...throughCallTool({ type: 'tool_use', name, input }), name: callTool }
}

const MAX_QUERY_LENGTH = 500
const MAX_PATTERN_LENGTH = 200

function searchOf({ query, joint }: Search, name: string): Fields {
  if (!name.endsWith('_regex'))
    return { type: 'tool_use', name, input: { query: query.slice(0, MAX_QUERY_LENGTH) } }
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? []
  const telling = joint === '|' ? words.filter((word) => word.length > 2) : words
  const pattern = (telling.length > 0 ? telling : words).join(joint)
  return { type: 'tool_use', name, input: { pattern: pattern.slice(0, MAX_PATTERN_LENGTH) } }
}

function said(text: string): Fields {
  return { type: 'text', text }
}

/** Completes the blocks as the API would: merges adjacent texts, adds call ids, signs thinking. */
function finished(
  blocks: readonly Fields[],
  request: MessagesRequest,
  script: ModelScript,
  sign: typeof signThinking,
): Fields[] {
  const seed = hash(toJson(request.messages))
  const content: Fields[] = []
  for (const block of blocks.filter((block) => !isBlank(block))) {
    const last = content.at(-1)
    if (block.type === 'thinking')
      content.push({ ...block, signature: script.boundThinking ? sign(request, content) : 'script' })
    else if (block.type === 'tool_use') content.push(called(block, hash(`${seed} ${content.length}`), script))
    else if (last?.type === 'text') content[content.length - 1] = said(`${last.text}\n${block.text}`)
    else content.push(block)
  }
  return content
}

/** With `thinking: { type: 'enabled' }` a model starts its turn with a thought, and the API wants it back. */
function withThought(blocks: readonly Fields[]): readonly Fields[] {
  const first = blocks.find((block) => !isBlank(block))
  return first?.type === 'thinking' ? blocks : [{ type: 'thinking', thinking: 'The script says.' }, ...blocks]
}

/** Whether templates left a block empty, which the API would refuse. */
function isBlank({ text, thinking }: Fields): boolean {
  return (text ?? thinking) !== undefined && textOf(text ?? thinking).trim() === ''
}

/** A call with its fields in the API's order. APIs without tool search have no `caller`. */
function called({ type, name, input }: Fields, id: string, { api }: ModelScript): Fields {
  const caller = api === 'current' ? { caller: { type: 'direct' } } : {}
  return { type, id: `toolu_script_${id}`, name, input, ...caller }
}

/** Search tools that the offline model can use, in order of preference. */
const SEARCH_TOOL_NAMES = [SEARCH_TOOL, 'tool_search_tool_bm25', 'tool_search_tool_regex']

/** A client's own search for the tools that it defers, the MCP gateway's included: Codex has it for some models. */
const CLIENT_SEARCH = 'tool_search'

/** Returns the search tool among the visible tools; the client's own is the last choice. */
function searchToolIn(visible: readonly string[]): string | undefined {
  const own = SEARCH_TOOL_NAMES.find((name) => visible.includes(name)) ?? visible.find(isSearchTool)
  return own ?? visible.find((name) => name === CLIENT_SEARCH)
}

/** Returns the visible tool that calls tools whose definitions were shown as text. */
function callToolIn(visible: readonly string[]): string | undefined {
  return visible.find((name) => name === CALL_TOOL) ?? visible.find(isCallTool)
}

const isSearchTool = (name: string) => SEARCH_TOOL_NAMES.includes(name) || hasPrefix(name, SEARCH_TOOL)
const isCallTool = (name: string) => name === CALL_TOOL || hasPrefix(name, CALL_TOOL)

/** Clients put the server's name in front of the MCP gateway's own tools: `mcp__toolshelf__ToolSearch`. */
function hasPrefix(name: string, own: string): boolean {
  return name.endsWith(`_${own}`)
}

type CallRound = readonly MadeCall[]

/** A call in the conversation, with its result. */
type MadeCall = {
  /** The called name and, for CallTool, the name of the wrapped tool. */
  readonly names: readonly string[]
  readonly isSearch: boolean
  readonly isClientSearch: boolean
  readonly result: string
}

function turnOf({ messages }: MessagesRequest) {
  const start = messages.findLastIndex((message) => userText(message) !== '')
  const earlier = messages.slice(0, start + 1).flatMap(({ content }) => blocksOf(content))
  return {
    user: userText(messages[start] ?? {}),
    /** The latest result before that message. */
    earlier: resultText(earlier.findLast(isResult) ?? {}),
    rounds: roundsOf(messages.slice(start + 1).flatMap(({ content }) => blocksOf(content))),
  }
}

/**
 * Returns the tools whose definition appears in a user message or result: as a line of JSON (the `bridge` wire, and the
 * MCP gateway in that mode), or as one of the gateway's signatures.
 */
function describedTools({ messages }: MessagesRequest): string[] {
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
