// The messages of a contract's request in plain words: searches become calls with results, and what a reference, an
// addition or a removal does is said where it stands.
import { type Fields, fieldsOf, textOf, without } from '../../core/oracle/json.ts'
import { isChange, isReference, referencesIn } from '../../core/oracle/references.ts'
import { blocksOf, isDirective } from '../../core/oracle/turns.ts'
import type { Step, Walk } from '../../core/oracle/walk.ts'
import { throughCallTool } from './call-tool.ts'
import { failedText, loadedText, NO_MATCH, reminder, removedText } from './notes.ts'

/** How tools that joined are called: by their names, or for these names through CallTool. */
export type Calling = { readonly isBridge: boolean; readonly bridged: ReadonlySet<string> }

export function lowerMessages({ steps }: Walk, messages: readonly Fields[], calling: Calling): Fields[] {
  const stepsOf: Step[][] = messages.map(() => [])
  for (const step of steps) stepsOf[step.message]?.push(step)
  const lowered: Fields[] = []
  for (const [index, message] of messages.entries()) {
    const own = stepsOf[index] ?? []
    if (isDirective(message)) continue
    if (message.role === 'system') lowered.push(...fromSystem(own, calling))
    else if (message.role === 'assistant') addReply(lowered, message, own, calling)
    else lowered.push(withBlocks(message, own, (step) => fromUser(step, calling)))
  }
  return lowered
}

/** A reply with searches in it is several turns: each result ends one, as a result of the user's. */
function addReply(lowered: Fields[], message: Fields, steps: readonly Step[], calling: Calling): void {
  const part: Step[] = []
  const flush = () => {
    if (part.length > 0) lowered.push(withBlocks(message, part.splice(0), (step) => fromReply(step, calling)))
  }
  const isSearched = steps.some(({ block }) => block.type === 'tool_search_tool_result')
  if (!isSearched) {
    lowered.push(withBlocks(message, steps, (step) => fromReply(step, calling)))
    return
  }
  for (const step of steps) {
    if (step.block.type !== 'tool_search_tool_result') {
      part.push(step)
      continue
    }
    flush()
    addResult(lowered, searchResult(step, calling))
  }
  flush()
}

/** The result of a search that ran beside the client's calls joins theirs, which must come first (wire 28). */
function addResult(lowered: Fields[], result: Fields): void {
  const last = lowered.at(-1)
  if (last?.role !== 'user') {
    lowered.push({ role: 'user', content: [result] })
    return
  }
  const blocks = blocksOf(last.content)
  const other = blocks.findIndex((block) => block.type !== 'tool_result')
  lowered[lowered.length - 1] = {
    ...last,
    content: blocks.toSpliced(other < 0 ? blocks.length : other, 0, result),
  }
}

/** The message itself where no block changes. */
function withBlocks(message: Fields, steps: readonly Step[], change: (step: Step) => Fields): Fields {
  const blocks = steps.map(change)
  const isSame =
    blocks.every((block, index) => block === steps[index]?.block) &&
    blocks.length === blocksOf(message.content).length
  return isSame ? message : { ...message, content: blocks }
}

function fromReply({ block, revealed, removed }: Step, { isBridge, bridged }: Calling): Fields {
  switch (block.type) {
    case 'server_tool_use':
      return isSearch(block) ? { type: 'tool_use', ...without(block, 'type', 'caller') } : block
    case 'tool_use': {
      const call = 'caller' in block ? without(block, 'caller') : block
      return bridged.has(textOf(call.name)) ? throughCallTool(call) : call
    }
    case 'compaction':
      return {
        type: 'text',
        text: [textOf(block.content), ...changesText({ revealed, removed }, isBridge)].join('\n'),
      }
    default:
      return block
  }
}

function isSearch({ name }: Fields): boolean {
  return textOf(name).startsWith('tool_search_tool_')
}

function fromUser(step: Step, { isBridge }: Calling): Fields {
  const { block, revealed } = step
  if (block.type === 'compaction') return fromReply(step, { isBridge, bridged: new Set() })
  const references = referencesIn(block)
  if (references.length === 0) return block
  const names = references.map(({ tool_name: name }) => textOf(name))
  const mark = references.findLast(({ cache_control: control }) => control)?.cache_control
  const note = {
    type: 'text',
    text: loadedText(names, revealed, isBridge),
    ...(mark ? { cache_control: mark } : {}),
  }
  const others = blocksOf(block.content).filter((inner) => !isReference(inner))
  return { ...block, content: [note, ...others] }
}

function searchResult({ block, revealed }: Step, { isBridge }: Calling): Fields {
  const result = { type: 'tool_result', tool_use_id: block.tool_use_id }
  const content = fieldsOf(block.content)
  if (content.type === 'tool_search_tool_result_error') {
    const text = failedText(textOf(content.error_code), textOf(content.error_message))
    return { ...result, content: [{ type: 'text', text }], is_error: true }
  }
  const names = referencesIn(block).map(({ tool_name: name }) => textOf(name))
  const text = names.length === 0 ? NO_MATCH : loadedText(names, revealed, isBridge)
  return { ...result, content: [{ type: 'text', text }] }
}

/** The host's words amid the conversation, said by the user: not every upstream takes a system message there. */
function fromSystem(steps: readonly Step[], { isBridge }: Calling): Fields[] {
  const texts = steps.flatMap((step) => {
    if (isChange(step.block)) return changesText(step, isBridge)
    const isCleared = step.segments.length === 0
    return isCleared ? [] : [textOf(step.block.text)]
  })
  if (texts.length === 0) return []
  return [{ role: 'user', content: texts.map((text) => ({ type: 'text', text: reminder(text) })) }]
}

function changesText({ revealed, removed }: Pick<Step, 'revealed' | 'removed'>, isBridge: boolean): string[] {
  const names = revealed.map(({ name }) => name)
  return [
    ...(names.length > 0 ? [loadedText(names, revealed, isBridge)] : []),
    ...(removed.length > 0 ? [removedText(removed)] : []),
  ]
}
