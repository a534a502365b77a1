// Writes the blocks of a reply as output items of the Responses API, with the events of each kind of item.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import { stringifyExact } from '../json/exact.ts'
import { callItemsOf } from '../upstream/call-items.ts'
import { itemIn } from '../upstream/thoughts.ts'
import { createFreeformReader } from './freeform.ts'
import { encryptedContent } from './responses-reasoning.ts'
import { HOSTED_SEARCH, type ToolTable } from './responses-tools.ts'
import { urlCitationsOf } from './url-citations.ts'

/** Writes one item. Each method returns its events; empty if there are none. */
export type ItemWriter = {
  readonly start: (block: Fields) => string
  readonly grow: (text: string) => string
  /** Takes the complete block and, for calls, its input as the model wrote it. */
  readonly end: (block: Fields, json: string) => string
}

/** An item's place in the output. */
export type Place = {
  readonly id: string
  readonly emit: (type: string, fields: Fields) => string
  readonly added: (item: Fields) => string
  readonly done: (item: Fields) => string
}

/** What writers need of the reply. */
type OutputOptions = {
  readonly table: ToolTable
  /** The client asked for a summary of the reasoning. */
  readonly showsReasoning: boolean
  /** Takes the next place in the output, for an item whose id has this prefix. */
  readonly place: (idPrefix: string) => Place
}

/** Returns the writer for a block; undefined for blocks that the API cannot express. */
export function itemWriterFor(block: Fields, options: OutputOptions): ItemWriter | undefined {
  switch (block.type) {
    case 'text':
      return textWriter(options, block.refusal === true ? REFUSAL : OUTPUT_TEXT)
    case 'thinking':
    case 'redacted_thinking':
      return reasoningWriter(options)
    case 'tool_use':
      return callWriter(block, options)
    case 'server_tool_use':
      return block.name === HOSTED_SEARCH.name ? wholeItem(options, searchCall) : undefined
    case 'tool_search_tool_result':
      return wholeItem(options, (found) => searchOutput(found, options.table))
    default:
      return undefined
  }
}

/** A kind of text in a message: the name of its events, the field that has it, and the other fields. */
type TextKind = {
  readonly event: string
  readonly part: (text: string, annotations: readonly Fields[]) => Fields
  readonly field: 'text' | 'refusal'
  readonly more: Fields
}

const OUTPUT_TEXT: TextKind = {
  event: 'response.output_text',
  part: (text, annotations) => ({ type: 'output_text', annotations, logprobs: [], text }),
  field: 'text',
  more: { logprobs: [] },
}

const REFUSAL: TextKind = {
  event: 'response.refusal',
  part: (refusal) => ({ type: 'refusal', refusal }),
  field: 'refusal',
  more: {},
}

/** Text becomes a message; the item starts with the first text, so that there are no empty messages. */
function textWriter({ place }: OutputOptions, { event, part, field, more }: TextKind): ItemWriter {
  let at: Place | undefined
  const message = (status: string, content: readonly Fields[]) => ({
    id: at?.id,
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const say = (text: string): string => {
    if (text === '') return ''
    let start = ''
    if (!at) {
      at = place('msg_')
      start = at.added(message('in_progress', []))
      start += at.emit('response.content_part.added', { content_index: 0, part: part('', []) })
    }
    return start + at.emit(`${event}.delta`, { content_index: 0, delta: text, ...more })
  }
  return {
    start: ({ text }) => say(textOf(text)),
    grow: say,
    end({ text: whole, citations }) {
      if (!at) return ''
      const { emit } = at
      const text = textOf(whole)
      const cited = urlCitationsOf(citations, 0, text.length)
      const annotations = cited.map((citation) => ({ type: 'url_citation', ...citation }))
      const added = annotations.map((annotation, index) =>
        emit('response.output_text.annotation.added', {
          content_index: 0,
          annotation_index: index,
          annotation,
        }),
      )
      const done = part(text, annotations)
      return (
        added.join('') +
        emit(`${event}.done`, { content_index: 0, [field]: text, ...more }) +
        emit('response.content_part.done', { content_index: 0, part: done }) +
        at.done(message('completed', [done]))
      )
    },
  }
}

/** Thinking becomes a reasoning item, its text the summary if the client wants one. */
function reasoningWriter({ place, showsReasoning }: OutputOptions): ItemWriter {
  let at: Place | undefined
  const item = (fields: Fields) => ({ id: at?.id, type: 'reasoning', summary: [], ...fields })
  const say = (text: string): string => {
    if (text === '' || !showsReasoning) return ''
    let start = ''
    if (!at) {
      at = place('rs_')
      const part = { type: 'summary_text', text: '' }
      start = at.added(item({ encrypted_content: null }))
      start += at.emit('response.reasoning_summary_part.added', { summary_index: 0, part })
    }
    return start + at.emit('response.reasoning_summary_text.delta', { summary_index: 0, delta: text })
  }
  const endSummary = (text: string): string => {
    if (!at || text === '') return ''
    const part = { type: 'summary_text', text }
    return (
      at.emit('response.reasoning_summary_text.done', { summary_index: 0, text }) +
      at.emit('response.reasoning_summary_part.done', { summary_index: 0, part })
    )
  }
  return {
    start: ({ thinking }) => say(textOf(thinking)),
    grow: say,
    end(block) {
      const own = itemIn(block)
      if (own) {
        at = place('')
        return at.added(own) + at.done(own)
      }
      const text = textOf(block.thinking)
      if (text === '' && textOf(block.signature) === '' && textOf(block.data) === '') return ''
      const isShown = showsReasoning && text !== ''
      const shown = endSummary(text)
      at ??= place('rs_')
      const start = isShown ? '' : at.added(item({ encrypted_content: null }))
      const summary = isShown ? [{ type: 'summary_text', text }] : []
      return shown + start + at.done(item({ summary, encrypted_content: encryptedContent(block, isShown) }))
    },
  }
}

function callWriter(block: Fields, options: OutputOptions): ItemWriter {
  const name = textOf(block.name)
  const tool = options.table.tools.get(name) ?? { type: 'function', name, namespace: '' }
  const called = {
    call_id: textOf(block.id),
    name: tool.name,
    ...(tool.namespace === '' ? {} : { namespace: tool.namespace }),
  }
  if (tool.type === 'function') return functionWriter(called, options)
  if (tool.type === 'custom') return freeformWriter(called, options)
  const items = callItemsOf(tool.type)
  return wholeItem(options, ({ input }) => ({
    prefix: items?.idPrefix ?? 'tsc_',
    fields: {
      type: items?.type ?? 'tool_search_call',
      call_id: called.call_id,
      ...(items ? items.fromInput(fieldsOf(input)) : { execution: 'client', arguments: fieldsOf(input) }),
    },
  }))
}

function functionWriter(called: Fields, { place }: OutputOptions): ItemWriter {
  const at = place('fc_')
  const item = (status: string, json: string) => ({
    id: at.id,
    type: 'function_call',
    status,
    arguments: json,
    ...called,
  })
  const say = (json: string): string =>
    json === '' ? '' : at.emit('response.function_call_arguments.delta', { delta: json })
  return {
    start: () => at.added(item('in_progress', '')),
    grow: say,
    end({ input }, written) {
      const json = written === '' ? stringifyExact(input ?? {}) : written
      return (
        (written === '' ? say(json) : '') +
        at.emit('response.function_call_arguments.done', { name: called.name, arguments: json }) +
        at.done(item('completed', json))
      )
    },
  }
}

/** Streams the text of a freeform call as its JSON arrives. */
function freeformWriter(called: Fields, { place }: OutputOptions): ItemWriter {
  const at = place('ctc_')
  const reader = createFreeformReader()
  const say = (text: string): string =>
    text === '' ? '' : at.emit('response.custom_tool_call_input.delta', { delta: text })
  const item = (status: string, input: string) => ({
    id: at.id,
    type: 'custom_tool_call',
    status,
    input,
    ...called,
  })
  return {
    start: () => at.added(item('in_progress', '')),
    grow: (json) => say(reader.add(json)),
    end({ input: given }, written) {
      const { text: input, rest } = reader.end(written === '' ? stringifyExact(given ?? {}) : written)
      return (
        say(rest) +
        at.emit('response.custom_tool_call_input.done', { input }) +
        at.done(item('completed', input))
      )
    },
  }
}

type WholeItem = { readonly prefix: string; readonly id?: string; readonly fields: Fields }

/** An item without events of its own, written when its block is complete. */
function wholeItem({ place }: OutputOptions, itemOf: (block: Fields) => WholeItem): ItemWriter {
  return {
    start: () => '',
    grow: () => '',
    end(block) {
      const { prefix, id, fields } = itemOf(block)
      const at = place(prefix)
      const item = { id: id ?? at.id, status: 'completed', ...fields }
      return at.added({ ...item, status: 'in_progress' }) + at.done(item)
    },
  }
}

/** A search by the gateway. Both of its items carry the id of the search, which pairs them on the way back. */
function searchCall({ id, input }: Fields): WholeItem {
  const fields = { type: 'tool_search_call', call_id: null, execution: 'server', arguments: fieldsOf(input) }
  return { prefix: 'tsc_', id: `tsc_${bareId(id)}`, fields }
}

function searchOutput({ tool_use_id: id, content }: Fields, table: ToolTable): WholeItem {
  const { type, tool_references: references } = fieldsOf(content)
  const names = listOf(references).map((reference) => textOf(fieldsOf(reference).tool_name))
  const isError = type === 'tool_search_tool_result_error'
  return {
    prefix: 'tso_',
    id: `tso_${bareId(id)}`,
    fields: {
      type: 'tool_search_output',
      call_id: null,
      execution: 'server',
      status: isError ? 'incomplete' : 'completed',
      tools: definitionsOf(names, table),
    },
  }
}

function bareId(id: unknown): string {
  return textOf(id).replace(/^srvtoolu_/, '')
}

/** The client's own definitions, the tools of a namespace together. */
function definitionsOf(names: readonly string[], { native }: ToolTable): Fields[] {
  const definitions = new Map<string, Fields>()
  for (const name of names) {
    const own = native.get(name)
    if (!own) continue
    const isNamespace = own.type === 'namespace'
    const key = isNamespace ? `namespace ${textOf(own.name)}` : `tool ${name}`
    const before = listOf(definitions.get(key)?.tools)
    definitions.set(key, isNamespace ? { ...own, tools: [...before, ...listOf(own.tools)] } : own)
  }
  return [...definitions.values()]
}
