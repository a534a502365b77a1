// Converts a Messages request to a Responses request. Tools that a block reveals become an item in its place, so that
// `tools` and all earlier items stay unchanged (wire 41).
// Implements wire 41.
import { createHash } from 'node:crypto'
import {
  blocksOf,
  type Fields,
  fieldsOf,
  isDeferred,
  isFields,
  isReference,
  listOf,
  nameOf,
  oncePerFrozen,
  type RevealedTool,
  referencesIn,
  textOf,
  type WalkStep,
  walkRequest,
} from '@toolshelf/core/internal'
import { plainSearchTool, type Variant, variantOf } from '../hosted/hosted-search.ts'
import { stringifyExact } from '../json/exact.ts'
import type { MessagesRequest } from '../types.ts'
import {
  failedText,
  loadedText,
  plainTool,
  removedText,
  withDirectives,
  withRemarksInside,
} from '../wire/lower.ts'
import { type Dialect, fitSettings } from './dialects.ts'
import {
  type CallItems,
  callItemsOf,
  type NativeTools,
  nativeTools,
  withJoinedNamespaces,
} from './native-tools.ts'
import { allowedTools, jsonOf, type Names, namesOf, systemText } from './openai.ts'
import { asksForThinking, itemIn, type Thoughts } from './thoughts.ts'

export function toResponses(
  given: MessagesRequest,
  dialect: Dialect,
  thoughts: Thoughts,
  native: NativeTools = nativeTools(undefined),
) {
  const request = withDirectives(withRemarksInside(given))
  const { steps } = walkRequest(request)
  const names = namesOf([...(request.tools ?? []), ...steps.flatMap(({ revealed }) => revealed)])
  const searchTool = request.tools?.find(variantOf)
  const { model, system, stream } = request
  const spelling = { names, native }
  const converted = {
    model,
    instructions: systemText(system) || undefined,
    tools: toolsOf(request, spelling),
    input: inputOf(steps, spelling, thoughts),
    store: false,
    stream: stream === true,
    ...settingsOf(request, spelling, dialect),
  }
  return {
    body: withSettings(converted, native.settings),
    names,
    /** The Messages name of the tool behind `tool_search_call`. */
    searchName: searchTool ? nameOf(searchTool) : native.searchName,
  }
}

/** How tools are spelled: by short names, or as the client itself defines them. */
type Spelling = { readonly names: Names; readonly native: NativeTools }

/** Applies the client's own settings; joins both lists of `include`, so that reasoning is always returned encrypted. */
function withSettings(converted: Fields, settings: Fields): Fields {
  const include = [...new Set([...listOf(settings.include), ...listOf(converted.include)])]
  return { ...converted, ...settings, ...(include.length > 0 ? { include } : {}) }
}

const TOLD = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'tool_use', 'tool_search_tool_result'],
  ...['tool_addition', 'tool_removal', 'compaction'],
])

/** Returns the first block of a message that OpenAI has nothing like. */
export const foreignBlock = oncePerFrozen(
  ({ content }: Fields): { readonly index: number; readonly type: string } | undefined => {
    const blocks = blocksOf(content)
    const index = blocks.findIndex((block) => !isPassedOn(block))
    return index < 0 ? undefined : { index, type: textOf(blocks[index]?.type) }
  },
)

function isPassedOn(block: Fields): boolean {
  if (block.type === 'server_tool_use') return textOf(block.name).startsWith('tool_search_tool_')
  if (block.type === 'tool_result')
    return blocksOf(block.content).every((inner) => isReference(inner) || partsOf(inner) !== undefined)
  return TOLD.has(textOf(block.type)) || partsOf(block) !== undefined
}

/**
 * Omits deferred tools except a forced one. OpenAI allows one search tool, so only the first is kept. `allowed_tools` cannot
 * name tools that a search loads, so beside deferred tools those that it leaves out are omitted.
 */
function toolsOf(
  { tools = [], tool_choice: choice }: MessagesRequest,
  spelling: Spelling,
): Fields[] | undefined {
  const forced = textOf(fieldsOf(choice).name)
  const variant = tools.map(variantOf).find(Boolean)
  const own = tools.filter((tool) => variantOf(tool) === undefined)
  const barred = own.some(isDeferred) ? spelling.native.barred : undefined
  const open = own.filter((tool) => !isDeferred(tool) && !barred?.has(nameOf(tool)))
  const called = own.filter((tool) => isDeferred(tool) && nameOf(tool) === forced)
  const functions = withJoinedNamespaces([...open, ...called].map((tool) => toDefinition(tool, spelling)))
  const all = [...(variant ? [toolSearch(variant)] : []), ...functions, ...spelling.native.hosted]
  return all.length > 0 ? all : undefined
}

function toolSearch(variant: Variant): Fields {
  const { description, input_schema: parameters } = plainSearchTool(variant)
  return { type: 'tool_search', execution: 'client', description, parameters }
}

function toDefinition(tool: Fields, { names, native }: Spelling): Fields {
  return native.definitionOf(nameOf(tool)) ?? toFunction(tool, names)
}

function toFunction(tool: Fields, names: Names): Fields {
  const { name, description, input_schema } = plainTool(tool)
  const schema = isFields(input_schema) ? input_schema : { type: 'object' }
  return {
    type: 'function',
    name: names.short(textOf(name)),
    description: textOf(description) || undefined,
    // OpenAI refuses an object schema without `properties`.
    parameters: isFields(schema.properties) ? schema : { ...schema, properties: {} },
    strict: false,
  }
}

const MIN_OUTPUT_TOKENS = 16

function settingsOf(request: MessagesRequest, spelling: Spelling, dialect: Dialect): Fields {
  const { tool_choice, metadata, output_config: config } = request
  const { maxTokens, temperature, topP, effort } = fitSettings(request, dialect)
  const choice = fieldsOf(tool_choice)
  const user = textOf(fieldsOf(metadata).user_id)
  const format = fieldsOf(fieldsOf(config).format)
  return {
    tool_choice: listOf(request.tools).length > 0 ? choiceOf(choice, request, spelling) : undefined,
    parallel_tool_calls: choice.disable_parallel_tool_use === true ? false : undefined,
    max_output_tokens: typeof maxTokens === 'number' ? Math.max(maxTokens, MIN_OUTPUT_TOKENS) : undefined,
    temperature,
    top_p: topP,
    safety_identifier: user === '' ? undefined : createHash('sha256').update(user).digest('hex'),
    text:
      format.type === 'json_schema'
        ? { format: { type: 'json_schema', name: 'reply', schema: format.schema, strict: false } }
        : undefined,
    ...thinkingOf(request, dialect, effort),
  }
}

/** Converts `tool_choice`; a search tool cannot be forced or allowed by name. */
function choiceOf({ type, name }: Fields, request: MessagesRequest, { names, native }: Spelling): unknown {
  const searches = new Set(request.tools?.filter(variantOf).map(nameOf))
  const named = (called: string) => {
    const own = native.toolOf(called)
    if (!own) return { type: 'function', name: names.short(called) }
    return { type: own.type, ...(own.name === own.type ? {} : { name: own.name }) }
  }
  const allowed = request.tools?.some(isDeferred) ? undefined : allowedTools(request, native.barred)
  if (allowed) {
    const tools = allowed.tools.map(nameOf).filter((called) => !searches.has(called))
    return { type: 'allowed_tools', mode: allowed.mode, tools: tools.map(named) }
  }
  if (type === 'tool' && !searches.has(textOf(name))) return named(textOf(name))
  if (type === 'tool' || type === 'any') return 'required'
  return type === 'none' ? 'none' : undefined
}

type OwnItems = CallItems | 'search'

function inputOf(steps: readonly WalkStep[], spelling: Spelling, thoughts: Thoughts): Fields[] {
  const loaded = new Set<string>()
  /** Calls by items of their own, by id: their outputs have items of their own, too. */
  const calls = new Map<string, OwnItems>()
  return steps.flatMap((step, index) => {
    const isFollowed = steps[index + 1]?.message === step.message
    // OpenAI refuses reasoning that nothing follows.
    const items = reasoningIn(step.block, thoughts).filter(({ type }) => isFollowed || type !== 'reasoning')
    items.push(...itemsOf(step, spelling, loaded, calls))
    for (const { name } of step.revealed) loaded.add(name)
    return items
  })
}

function itemsOf(
  step: WalkStep,
  spelling: Spelling,
  loaded: ReadonlySet<string>,
  calls: Map<string, OwnItems>,
): Fields[] {
  const { block, role } = step
  const { names } = spelling
  switch (block.type) {
    case 'text':
      return step.segments.length === 0 ? [] : message(role, textOf(block.text))
    case 'tool_use':
      return [callOf(block, spelling, loaded, calls)]
    case 'tool_result':
      if (calls.get(textOf(block.tool_use_id)) === 'search') return foundOf(step, spelling)
      return [resultOf(block, names, calls), ...changesOf(step, spelling)]
    case 'server_tool_use':
      return [{ type: 'tool_search_call', ...searchOf(block.id, names), arguments: fieldsOf(block.input) }]
    case 'tool_search_tool_result':
      return foundOf(step, spelling)
    case 'tool_addition':
    case 'tool_removal':
      return changesOf(step, spelling)
    case 'compaction':
      return [...message(role, textOf(block.content)), ...changesOf(step, spelling)]
    default:
      return message(role, partsOf(block) ?? [])
  }
}

function message(role: string, content: string | readonly Fields[]): Fields[] {
  if (content.length === 0) return []
  return [{ type: 'message', role: role === 'system' ? 'developer' : role, content }]
}

/** Converts a call. OpenAI puts a loaded tool in a namespace of the same name, which its calls must include. */
function callOf(
  { id, name, input }: Fields,
  { names, native }: Spelling,
  loaded: ReadonlySet<string>,
  calls: Map<string, OwnItems>,
): Fields {
  const own = native.toolOf(textOf(name))
  if (own?.type === 'tool_search') {
    calls.set(textOf(id), 'search')
    return { type: 'tool_search_call', ...searchOf(id, names), arguments: fieldsOf(input) }
  }
  const short = own?.name ?? names.short(textOf(name))
  const namespace = own?.namespace || (loaded.has(textOf(name)) ? short : '')
  const called = { call_id: names.short(textOf(id)), name: short, ...(namespace === '' ? {} : { namespace }) }
  const items = own && callItemsOf(own.type)
  if (!items) return { type: 'function_call', ...called, arguments: stringifyExact(input ?? {}) }
  calls.set(textOf(id), items)
  const isNamed = own.name !== own.type
  return {
    type: items.type,
    ...(isNamed ? called : { call_id: called.call_id }),
    status: 'completed',
    ...items.fromInput(fieldsOf(input)),
  }
}

function resultOf(block: Fields, names: Names, calls: ReadonlyMap<string, OwnItems>): Fields {
  const items = calls.get(textOf(block.tool_use_id))
  if (items && items !== 'search') return ownResultOf(block, items, names)
  const references = namesIn(block, names)
  const parts = [
    ...(block.is_error === true ? [inputText('Error:')] : []),
    ...(references.length > 0 ? [inputText(loadedText(references))] : []),
    ...blocksOf(block.content).flatMap((inner) => partsOf(inner) ?? []),
  ]
  const isText = parts.every(({ type }) => type === 'input_text')
  return {
    type: 'function_call_output',
    call_id: names.short(textOf(block.tool_use_id)),
    output: isText ? joined(textsIn(parts)) : parts,
  }
}

function ownResultOf(block: Fields, items: CallItems, names: Names): Fields {
  const parts = blocksOf(block.content).flatMap((inner) => partsOf(inner) ?? [])
  const isText = parts.every(({ type }) => type === 'input_text')
  return {
    type: `${items.type}_output`,
    call_id: names.short(textOf(block.tool_use_id)),
    ...items.fromResult(joined(textsIn(parts)), block.is_error === true),
    ...(isText ? {} : { output: parts }),
  }
}

function searchOf(id: unknown, names: Names): Fields {
  return { call_id: names.short(textOf(id)), execution: 'client', status: 'completed' }
}

/** The definitions found by a search; its other text becomes a developer message, as there is no field for it. */
function foundOf(step: WalkStep, spelling: Spelling): Fields[] {
  const { block, revealed } = step
  const { names } = spelling
  const { type, error_code: code, error_message: reason } = fieldsOf(block.content)
  const shown = new Set(revealed.map(({ name }) => names.short(name)))
  const known = namesIn(block, names).filter((name) => !shown.has(name))
  return [
    {
      type: 'tool_search_output',
      ...searchOf(block.tool_use_id, names),
      tools: functionsOf(revealed, spelling),
    },
    ...(known.length > 0 ? message('developer', loadedText(known)) : []),
    ...(type === 'tool_search_tool_result_error'
      ? message('developer', failedText(textOf(code), textOf(reason)))
      : []),
  ]
}

function changesOf({ revealed, removed }: WalkStep, spelling: Spelling): Fields[] {
  const tools = functionsOf(revealed, spelling)
  return [
    ...(tools.length > 0 ? [{ type: 'additional_tools', role: 'developer', tools }] : []),
    ...(removed.length > 0 ? message('developer', removedText(removed.map(spelling.names.short))) : []),
  ]
}

function functionsOf(revealed: readonly RevealedTool[], spelling: Spelling): Fields[] {
  const tools = revealed.map(definitionOf).filter((tool) => variantOf(tool) === undefined)
  return withJoinedNamespaces(tools.map((tool) => toDefinition(tool, spelling)))
}

function definitionOf({ name, definition }: RevealedTool): Fields {
  return { ...fieldsOf(jsonOf(definition)), name }
}

function namesIn(block: Fields, names: Names): string[] {
  return referencesIn(block).map(({ tool_name: name }) => names.short(textOf(name)))
}

/** Converts a block to message or result content; undefined if OpenAI has no equivalent. */
function partsOf(block: Fields): Fields[] | undefined {
  const parts = contentOf(block)
  if (block.type !== 'document' || !parts) return parts
  // Only a file has a field for its name.
  const title = parts.some(({ filename }) => filename !== undefined) ? '' : textOf(block.title)
  const about = joined([title, textOf(block.context)])
  return about === '' ? parts : [inputText(about), ...parts]
}

function contentOf(block: Fields): Fields[] | undefined {
  const source = fieldsOf(block.source)
  const address = textOf(source.url) || `data:${textOf(source.media_type)};base64,${textOf(source.data)}`
  switch (`${textOf(block.type)} ${textOf(source.type)}`) {
    case 'text ':
      return [inputText(textOf(block.text))]
    case 'image base64':
    case 'image url':
      return [{ type: 'input_image', image_url: address, detail: 'auto' }]
    case 'document base64':
      return [{ type: 'input_file', filename: textOf(block.title) || 'document.pdf', file_data: address }]
    case 'document url':
      return [{ type: 'input_file', file_url: address }]
    case 'document text':
      return [inputText(textOf(source.data))]
    case 'document content':
      return blocksOf(source.content).flatMap((inner) => partsOf(inner) ?? [])
    case 'search_result ':
      return [inputText(joined([textOf(block.title), textOf(block.source), ...textsIn(block.content)]))]
    default:
      return undefined
  }
}

function textsIn(content: unknown): string[] {
  return blocksOf(content).map(({ text }) => textOf(text))
}

function inputText(text: string): Fields {
  return { type: 'input_text', text }
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** Returns the reasoning options: the effort, encrypted content, and a summary if the client asks to see thinking. */
function thinkingOf(request: MessagesRequest, dialect: Dialect, effort: string | undefined): Fields {
  if (!dialect.encryptsReasoning) return {}
  const summary = asksForThinking(request) ? 'auto' : undefined
  return {
    reasoning: effort || summary ? { effort, summary } : undefined,
    include: ['reasoning.encrypted_content'],
  }
}

/** Returns the thinking block for a reasoning item: its text is the summary, or what an open model thought. */
export function thoughtOf(item: Fields, thoughts: Thoughts): { text: string; signature: string } | undefined {
  const { id, encrypted_content: encrypted } = item
  const textsIn = (parts: unknown) => listOf(parts).map((part) => textOf(fieldsOf(part).text))
  const summary = textsIn(item.summary)
  const text = (summary.length > 0 ? summary : textsIn(item.content)).join('\n\n')
  if (textOf(encrypted) === '' && text === '') return undefined
  return { text, signature: thoughts.sign({ id, summary, encrypted }) }
}

/**
 * Returns the reasoning item in a thinking block, if it came from this model and can be sent back, or an item that the
 * client has from OpenAI.
 */
function reasoningIn(block: Fields, thoughts: Thoughts): Fields[] {
  const item = itemIn(block)
  if (item) return [item]
  const { id, summary, encrypted } = fieldsOf(thoughts.keptIn(block))
  if (textOf(encrypted) === '') return []
  const texts = listOf(summary).map((text) => ({ type: 'summary_text', text: textOf(text) }))
  return [
    {
      type: 'reasoning',
      ...(textOf(id) === '' ? {} : { id: textOf(id) }),
      summary: texts,
      encrypted_content: textOf(encrypted),
    },
  ]
}
