// Translates a contract request (deferred tools, references, hosted searches) into a plain one for upstreams without tool
// search (wire 39, 40). The oracle determines which tools are visible, and from which message on.
// Implements wire 28, 30, 32, 39, 40.
import {
  blocksOf,
  CALL_TOOL,
  callToolInput,
  type Fields,
  fieldsOf,
  groupBy,
  isAnnouncement,
  isChange,
  isDeferred,
  isDirective,
  isOurText,
  isReference,
  kindOf,
  listOf,
  mayChangeView,
  misnamesArguments,
  nameOf,
  omitFields,
  oncePerFrozen,
  type RequestWalk,
  type RevealedTool,
  referencesIn,
  shownDefinition,
  TOOL_LOADED,
  textOf,
  type WalkStep,
  walkRequest,
  withoutCacheControl,
} from '@toolshelf/core/internal'
import { plainSearchTool, variantOf } from '../hosted/hosted-search.ts'
import { parseExact, stringifyExact } from '../json/exact.ts'
import type { MessagesRequest, UpstreamWire } from '../types.ts'

type Lowering = {
  /** The upstream's limit on tools per request. */
  readonly maxTools?: number | undefined
  /** Keeps tool fields of newer APIs, such as `strict`. */
  readonly keepsFields?: boolean
}

/** Translates a request for a wire. */
export function lower(
  contract: MessagesRequest,
  wire: UpstreamWire,
  lowering: Lowering = {},
): MessagesRequest {
  if (wire === 'native') return contract
  const request = withDirectives(withRemarksInside(contract))
  const walked = walkRequest(request, isPlainMessage)
  const bridged = bridgedTools(request, walked, wire, lowering)
  const { tools: all, messages, ...rest } = request
  const tools = lowerTools(request, walked, bridged, lowering)
  return {
    ...rest,
    ...(all === undefined && tools.length === 0 ? {} : { tools }),
    messages: lowerMessages(withExactDefinitions(walked, all, bridged), messages, bridged),
  }
}

/** Uses the client's own definition text wherever a definition is shown as text. */
function withExactDefinitions(
  walked: RequestWalk,
  tools: MessagesRequest['tools'] = [],
  bridged: ReadonlySet<string>,
): RequestWalk {
  if (bridged.size === 0) return walked
  const own = new Map(tools.map((tool) => [nameOf(tool), tool]))
  const exact = ({ name, definition }: RevealedTool): RevealedTool => ({
    name,
    definition: stringifyExact(definitionOf(definition, own.get(name))),
  })
  const steps = walked.steps.map((step) =>
    step.revealed.length === 0 ? step : { ...step, revealed: step.revealed.map(exact) },
  )
  return { ...walked, steps }
}

/** Makes every tool visible from the start, for mode `off`. */
export function withEverythingLoaded(request: MessagesRequest): MessagesRequest {
  if (request.tools === undefined) return request
  return { ...request, tools: allLoaded(request.tools) }
}

const allLoaded = oncePerFrozen((tools: readonly Fields[]): readonly Fields[] =>
  Object.freeze(tools.filter((tool) => variantOf(tool) === undefined).map(withoutDeferral)),
)

/** Removes the deferral fields of a tool, or of a toolset and its members. */
function withoutDeferral(tool: Fields): Fields {
  if (!('defer_loading' in tool || 'default_config' in tool || 'configs' in tool)) return tool
  const { default_config, configs, ...rest } = omitFields(tool, 'defer_loading')
  const without = (value: unknown) => omitFields(fieldsOf(value), 'defer_loading')
  const members = Object.entries(fieldsOf(configs)).map(([name, one]) => [name, without(one)])
  return {
    ...rest,
    ...(default_config === undefined ? {} : { default_config: without(default_config) }),
    ...(configs === undefined ? {} : { configs: Object.fromEntries(members) }),
  }
}

/**
 * Lists the visible tools: first those that always were, then those found later, then a forced tool that is not among
 * them. If CallTool serves only tools beyond the limit, it comes after the tools that were listed before it.
 */
function lowerTools(
  request: MessagesRequest,
  { visible }: RequestWalk,
  bridged: ReadonlySet<string>,
  lowering: Lowering,
): Fields[] {
  const own = new Map((request.tools ?? []).map((tool) => [nameOf(tool), tool]))
  const seen = [...visible].filter(([name]) => !bridged.has(name))
  const forced = textOf(fieldsOf(request.tool_choice).name)
  const isSeen = visible.has(forced) && !bridged.has(forced)
  const added = visible.get(forced)
  const missing = isSeen ? undefined : (own.get(forced) ?? (added && (JSON.parse(added) as Fields)))
  const listed = [
    ...seen.map(([name, json]) => plainSeen(json, own.get(name), lowering)),
    ...(missing ? [plain(missing, missing, lowering)] : []),
  ]
  if (bridged.size === 0) return listed
  return lowering.maxTools === undefined ? [callToolDefinition, ...listed] : [...listed, callToolDefinition]
}

type PlainTool = { readonly json: string; readonly keepsFields: boolean; readonly tool: Fields }

const plainTools = new WeakMap<Fields, PlainTool>()

/** Like `plain`, but returns the same object for the same definition of the same tool. */
function plainSeen(json: string, own: Fields | undefined, lowering: Lowering): Fields {
  if (!own || !Object.isFrozen(own)) return plain(definitionOf(json, own), own, lowering)
  const { keepsFields = false } = lowering
  const known = plainTools.get(own)
  if (known?.json === json && known.keepsFields === keepsFields) return known.tool
  const tool = Object.freeze(plain(definitionOf(json, own), own, lowering))
  plainTools.set(own, { json, keepsFields, tool })
  return tool
}

/** Parses a definition; returns the client's own object if it is the same, because that keeps long numbers exact. */
function definitionOf(json: string, own: Fields | undefined): Fields {
  const isOwn = own !== undefined && shownDefinition(own) === json
  return isOwn
    ? (withoutCacheControl(omitFields(own, 'defer_loading')) as Fields)
    : (JSON.parse(json) as Fields)
}

/** A definition with the fields that the upstream accepts; cache breakpoints stay only on tools that do not move. */
function plain(definition: Fields, own: Fields | undefined, { keepsFields = false }: Lowering): Fields {
  const variant = variantOf(definition)
  const shown = withoutDeferral(definition)
  const tool = variant ? plainSearchTool(variant) : keepsFields ? shown : plainTool(shown)
  const mark = own?.defer_loading === true ? undefined : own?.cache_control
  return mark === undefined || mark === null ? tool : { ...tool, cache_control: mark }
}

/** Tools called through CallTool: with `bridge` all that searches found, else those beyond the upstream's limit. */
function bridgedTools(
  request: MessagesRequest,
  { visible }: RequestWalk,
  wire: UpstreamWire,
  { maxTools = Number.POSITIVE_INFINITY }: Lowering,
): ReadonlySet<string> {
  const { tools = [], tool_choice: choice } = request
  const always = new Set(tools.filter((tool) => !isDeferred(tool)).map(nameOf))
  const names = [...tools.map(nameOf), ...visible.keys()]
  if (wire === 'bridge') return new Set(names.filter((name) => !always.has(name)))
  if (names.includes(CALL_TOOL)) return new Set()
  const joined = [...visible.keys()].filter((name) => !always.has(name))
  const forced = textOf(fieldsOf(choice).name)
  const isForced = forced !== '' && !always.has(forced)
  // One place is reserved for CallTool from the start, so that the list only ever grows at its end.
  const places = maxTools - (visible.size - joined.length) - (isForced ? 2 : 1)
  return new Set(joined.slice(Math.max(0, places)))
}

/** Returns a request whose `output_config` is the one that holds for the next reply. */
export function withDirectives(request: MessagesRequest): MessagesRequest {
  const directives = request.messages.filter((message) => message.role === 'system' && isDirective(message))
  if (directives.length === 0) return request
  const configs = directives.map(({ output_config: config }) => fieldsOf(config))
  const output_config: Fields = Object.assign({}, fieldsOf(request.output_config), ...configs)
  return { ...request, output_config }
}

/** Names of the tools that are called through CallTool. */
type Bridged = ReadonlySet<string>

/** Lowers all messages; the walk may have skipped plain ones. */
function lowerMessages({ steps }: RequestWalk, messages: readonly Fields[], bridged: Bridged): Fields[] {
  const stepsOf = groupBy(steps, ({ message }) => message)
  const lowered: Fields[] = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Fields
    if (isPlainMessage(message)) {
      lowered.push(bridged.size === 0 ? message : withCalls(message, bridged))
      continue
    }
    const own = stepsOf.get(index) ?? []
    if (isDirective(message)) continue
    const known = bridged.size === 0 ? withListedTools(message) : undefined
    if (known) lowered.push(known)
    else if (message.role === 'system') lowered.push(...fromSystem(own, bridged))
    else if (message.role === 'assistant') addReply(lowered, message, own, bridged)
    else lowered.push(withBlocks(message, own, (step) => fromUser(step, bridged)))
  }
  return lowered
}

/** Whether a message neither shows nor hides a tool, so that at most its calls are rewritten for the bridge. */
const isPlainMessage = oncePerFrozen(({ role, content }: Fields): boolean => {
  if (role !== 'user' && role !== 'assistant') return false
  return blocksOf(content).every(
    (block) => !mayChangeView(block) && block.type !== 'server_tool_use' && !('caller' in block),
  )
})

/**
 * A user message with references as text, where no tool goes through CallTool: it depends on the message alone.
 * Undefined for other messages.
 */
const withListedTools = oncePerFrozen((message: Fields): Fields | undefined => {
  const blocks = blocksOf(message.content)
  if (message.role !== 'user' || blocks.some(({ type }) => type === 'compaction')) return undefined
  return Object.freeze({ ...message, content: blocks.map((block) => withText(block, [], NONE)) })
})

const NONE: Bridged = new Set()

/** The tool names that a reply calls, and a cache of its last lowered form. */
const callsOf = oncePerFrozen(({ role, content }: Fields) => ({
  names:
    role === 'assistant'
      ? blocksOf(content)
          .filter(isCall)
          .map(({ name }) => textOf(name))
      : [],
  last: { key: '', message: undefined as Fields | undefined },
}))

function isCall({ type }: Fields): boolean {
  return type === 'tool_use'
}

/** Rewrites the calls of a plain message to go through CallTool. */
function withCalls(message: Fields, bridged: Bridged): Fields {
  const { names, last } = callsOf(message)
  const isBridged = names.map((name) => bridged.has(name))
  if (!isBridged.includes(true)) return message
  const key = isBridged.join()
  if (last.message && last.key === key) return last.message
  const content = blocksOf(message.content).map((block) =>
    isCall(block) && bridged.has(textOf(block.name)) ? throughCallTool(block) : block,
  )
  last.key = key
  last.message = Object.freeze({ ...message, content })
  return last.message
}

/** Splits a reply with searches into turns: each search result becomes a user message. */
function addReply(lowered: Fields[], message: Fields, own: readonly WalkStep[], bridged: Bridged): void {
  const steps = own.slice(addSummary(lowered, own, bridged))
  if (steps.length === 0 && own.length > 0) return
  const add = (part: readonly WalkStep[]) =>
    lowered.push(withBlocks(message, part, (step) => fromReply(step, bridged)))
  if (!steps.some(isResult)) return void add(steps)
  let results: Fields[] = []
  const addPending = () => {
    if (results.length > 0) addResults(lowered, results)
    results = []
  }
  for (const part of partsOf(steps)) {
    if (part.said.length > 0) {
      addPending()
      add(part.said)
    }
    for (const step of part.results) results.push(searchResult(step, bridged))
  }
  addPending()
}

/** Writes an API compaction as a user message, because a conversation may start with it. Returns the steps consumed. */
function addSummary(lowered: Fields[], steps: readonly WalkStep[], bridged: Bridged): number {
  const rest = steps.findIndex(({ block }) => block.type !== 'compaction')
  const count = rest < 0 ? steps.length : rest
  const content = steps.slice(0, count).map((step) => fromReply(step, bridged))
  if (count > 0) lowered.push({ role: 'user', content })
  return count
}

function isResult({ block }: WalkStep): boolean {
  return block.type === 'tool_search_tool_result'
}

/** What a reply says up to some search results, and these. */
type ReplyPart = { readonly said: WalkStep[]; readonly results: WalkStep[] }

/**
 * Divides a reply at its runs of search results. A search moves to the run that has its last result, and the client's
 * calls to the end, where their results follow. Looks at each step once, because a client may send very many.
 */
function partsOf(steps: readonly WalkStep[]): ReplyPart[] {
  const parts: ReplyPart[] = [{ said: [], results: [] }]
  const places: number[] = []
  const lastResults = new Map<unknown, number>()
  for (const step of steps) {
    if (!isResult(step) && (parts.at(-1) as ReplyPart).results.length > 0)
      parts.push({ said: [], results: [] })
    places.push(parts.length - 1)
    if (!isResult(step)) continue
    parts.at(-1)?.results.push(step)
    lastResults.set(step.block.tool_use_id, parts.length - 1)
  }
  if ((parts.at(-1) as ReplyPart).results.length > 0) parts.push({ said: [], results: [] })
  for (const [index, step] of steps.entries()) {
    if (isResult(step)) continue
    const { type, id } = step.block
    const answered = type === 'server_tool_use' ? (lastResults.get(id) ?? 0) : 0
    const place = type === 'tool_use' ? parts.length - 1 : Math.max(answered, places[index] ?? 0)
    parts[place]?.said.push(step)
  }
  return parts
}

/** Adds search results after the results of client calls made in the same turn, which must come first (wire 28). */
function addResults(lowered: Fields[], results: readonly Fields[]): void {
  const turn = lowered.findLastIndex(({ role }) => role !== 'user') + 1
  if (turn === lowered.length) {
    lowered.push({ role: 'user', content: results })
    return
  }
  const isMixed = ({ content }: Fields) => blocksOf(content).some(({ type }) => type !== 'tool_result')
  const mixed = lowered.slice(turn).findIndex(isMixed)
  const place = mixed < 0 ? lowered.length - 1 : turn + mixed
  const blocks = blocksOf(lowered[place]?.content)
  const other = blocks.findIndex(({ type }) => type !== 'tool_result')
  const end = other < 0 ? blocks.length : other
  lowered[place] = {
    ...lowered[place],
    content: [...blocks.slice(0, end), ...results, ...blocks.slice(end)],
  }
}

/** Maps a message's blocks; returns the same object if none changes. */
function withBlocks(message: Fields, steps: readonly WalkStep[], change: (step: WalkStep) => Fields): Fields {
  const blocks = steps.map(change)
  const { content } = message
  const count = Array.isArray(content) ? content.length : blocksOf(content).length
  const isSame = blocks.length === count && blocks.every((block, index) => block === steps[index]?.block)
  return isSame ? message : { ...message, content: blocks }
}

function fromReply({ block, revealed, removed }: WalkStep, bridged: Bridged): Fields {
  switch (block.type) {
    case 'server_tool_use':
      return isSearch(block)
        ? { ...omitFields(block, 'caller'), type: 'tool_use', id: plainId(block.id) }
        : block
    case 'tool_use': {
      const call = 'caller' in block ? omitFields(block, 'caller') : block
      return bridged.has(textOf(call.name)) ? throughCallTool(call) : call
    }
    case 'compaction':
      return {
        type: 'text',
        text: [textOf(block.content), ...changesText({ revealed, removed }, bridged)].join('\n'),
      }
    default:
      return block
  }
}

/** Replaces the `srvtoolu_` prefix: APIs with hosted tools accept no client result for such an id. */
function plainId(id: unknown): string {
  return textOf(id).replace(/^srvtoolu_/, 'toolu_search_')
}

function isSearch({ name }: Fields): boolean {
  return textOf(name).startsWith('tool_search_tool_')
}

function fromUser(step: WalkStep, bridged: Bridged): Fields {
  const { block, revealed } = step
  return block.type === 'compaction' ? fromReply(step, bridged) : withText(block, revealed, bridged)
}

/** A result with text in place of its references. */
function withText(block: Fields, revealed: WalkStep['revealed'], bridged: Bridged): Fields {
  const references = referencesIn(block)
  if (references.length === 0) return block
  const names = references.map(({ tool_name: name }) => textOf(name))
  const mark = references.findLast(({ cache_control: control }) => control)?.cache_control
  const note = {
    type: 'text',
    text: loadedText(names, revealed, bridged),
    ...(mark ? { cache_control: mark } : {}),
  }
  const others = blocksOf(block.content).filter((inner) => !isReference(inner))
  return { ...block, content: [note, ...others] }
}

function searchResult({ block, revealed }: WalkStep, bridged: Bridged): Fields {
  const result = { type: 'tool_result', tool_use_id: plainId(block.tool_use_id) }
  const content = fieldsOf(block.content)
  if (content.type === 'tool_search_tool_result_error') {
    const text = failedText(textOf(content.error_code), textOf(content.error_message))
    return { ...result, content: [{ type: 'text', text }], is_error: true }
  }
  const names = referencesIn(block).map(({ tool_name: name }) => textOf(name))
  const text = names.length === 0 ? NO_MATCH : loadedText(names, revealed, bridged)
  return { ...result, content: [{ type: 'text', text }] }
}

/** Turns a system message inside the conversation into a user message, because not every upstream accepts it there. */
function fromSystem(steps: readonly WalkStep[], bridged: Bridged): Fields[] {
  const texts = steps.flatMap((step) => {
    if (isChange(step.block)) return changesText(step, bridged)
    const isCleared = step.segments.length === 0
    return isCleared ? [] : [textOf(step.block.text)]
  })
  if (texts.length === 0) return []
  return [{ role: 'user', content: texts.map((text) => ({ type: 'text', text: systemReminder(text) })) }]
}

function changesText(
  { revealed, removed }: Pick<WalkStep, 'revealed' | 'removed'>,
  bridged: Bridged,
): string[] {
  const names = revealed.map(({ name }) => name)
  return [
    ...(names.length > 0 ? [loadedText(names, revealed, bridged)] : []),
    ...(removed.length > 0 ? [removedText(removed)] : []),
  ]
}

/** Announces tools that became available, with the definitions of those called through CallTool. */
export function loadedText(
  names: readonly string[],
  revealed: readonly RevealedTool[] = [],
  bridged: ReadonlySet<string> = new Set(),
): string {
  const listed = names.filter((name) => !bridged.has(name))
  const others = names.filter((name) => bridged.has(name))
  const definitions = revealed.filter(({ name }) => bridged.has(name)).map(({ definition }) => definition)
  return [
    ...(listed.length > 0 ? [`${loaded(listed)} They are in your list of tools now.`] : []),
    ...(others.length > 0 ? [`${loaded(others)} ${howToCall(definitions)}`] : []),
    ...definitions,
  ].join('\n')
}

function loaded(names: readonly string[]): string {
  return `Tools loaded: ${names.join(', ')}.`
}

function howToCall(definitions: readonly string[]): string {
  if (definitions.length === 0) return 'Their definitions are above.'
  return `Call them with ${CALL_TOOL}. Their definitions:`
}

/** Says which tools are no longer available. */
export function removedText(names: readonly string[]): string {
  return `No longer available: ${names.join(', ')}.`
}

/** Result of a search that found nothing. */
const NO_MATCH = 'No tool matches. Try other words.'

export function failedText(code: string, message: string): string {
  return `The search failed (${code})${message === '' ? '' : `: ${message}`}`
}

/** Marks text inside the conversation as coming from the host. */
export function systemReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`
}

/** Moves each remark into the result beside it, because as a user's text it would mislead the model. */
export function withRemarksInside(request: MessagesRequest): MessagesRequest {
  return { ...request, messages: request.messages.map(inside) }
}

const inside = oncePerFrozen((message: Fields): Fields => {
  if (message.role !== 'user' || !Array.isArray(message.content)) return message
  const blocks = blocksOf(message.content)
  const last = blocks.findLastIndex(({ type }) => type === 'tool_result')
  const loading = blocks.findLastIndex((block) => referencesIn(block).length > 0)
  const target = blocks[loading < 0 ? last : loading]
  const remarks = blocks.filter(isRemark)
  if (!target || remarks.length === 0) return message
  const said = remarks.filter(({ text }) => text !== TOOL_LOADED)
  // "Tool loaded." repeats what the result says, so it is dropped; its breakpoint goes to the result.
  const mark = remarks.find(({ text, cache_control: control }) => text === TOOL_LOADED && control)
  const result = {
    ...target,
    content: [...blocksOf(target.content), ...said],
    ...(mark && !target.cache_control ? { cache_control: mark.cache_control } : {}),
  }
  const kept = blocks.filter((block) => !isRemark(block))
  return Object.freeze({ ...message, content: kept.map((block) => (block === target ? result : block)) })
})

function isRemark({ type, text }: Fields): boolean {
  return type === 'text' && isOurText(textOf(text)) && !isAnnouncement(textOf(text))
}

export const callToolDefinition: Fields = {
  name: CALL_TOOL,
  description:
    'Calls a tool whose definition an earlier result has shown and that is not in your list of tools.',
  input_schema: callToolInput(),
}

export function throughCallTool(block: Fields): Fields {
  return { ...block, name: CALL_TOOL, input: { name: block.name, arguments: block.input ?? {} } }
}

/** Unwraps a call of CallTool; one that names no tool, or gives its arguments under another key, stays unchanged. */
export function fromCallTool(block: Fields): Fields {
  const call = fieldsOf(block.input)
  const { name, arguments: input } = call
  if (textOf(name) === '' || misnamesArguments(call)) return block
  return { ...block, name, input: typeof input === 'string' ? parsed(input) : fieldsOf(input) }
}

/** Parses arguments that some models write as a JSON string. */
function parsed(text: string): Fields {
  try {
    return fieldsOf(parseExact(text))
  } catch {
    return {}
  }
}

const OLD = ['name', 'description', 'input_schema', 'type', 'cache_control']
const NEWER = ['defer_loading', 'allowed_callers', 'input_examples', 'strict', 'eager_input_streaming']

/** Returns the fields of a tool that older APIs do not accept. Tools defined by the API itself have fields of their own. */
export function newerFields(tool: Fields): string[] {
  const isCustom = kindOf(tool) === 'custom'
  return Object.keys(tool).filter((field) => (isCustom ? !OLD.includes(field) : NEWER.includes(field)))
}

/** Removes newer fields from a tool; moves examples into the description. */
export function plainTool(tool: Fields): Fields {
  const plain = omitFields(tool, ...newerFields(tool))
  const examples = listOf(tool.input_examples)
  if (examples.length === 0) return plain
  const said = `Examples of its input:\n${examples.map(stringifyExact).join('\n')}`
  const description = [textOf(tool.description), said].filter((text) => text !== '').join('\n\n')
  return { ...plain, description }
}
