// Stores a long result of a conversation, and answers the calls that read it.
import { errorMessage } from '../../lib/index.ts'
import { refuse, textBlock } from '../history/index.ts'
import { READ_TOOL, readShelved, type ShelvedResult, shelveText } from '../results/index.ts'
import type { Conversation, Host } from '../state.ts'
import type { Block, TextBlock, ToolResult, ToolUse } from '../types.ts'
import { resolveCall } from './check.ts'

/** The function form of `shelf.shelve`: returns the result as it is, or the replacement of a long one. */
export async function shelveResult(
  host: Host,
  conversation: Conversation,
  call: ToolUse,
  result: ToolResult,
): Promise<ToolResult> {
  const { results, notify, trace = undefined } = host.settings
  if (!results || result.is_error === true || call.name === READ_TOOL) return result
  const { name, server } = resolveCall(call, host.pool, host.settings)
  const budget =
    host.pool.byName.get(name)?.tool.resultBudget ??
    host.servers.get(server ?? '')?.resultBudget ??
    results.budget
  const blocks = result.content as readonly Block[]
  const text = blocks
    .filter(isText)
    .map(({ text }) => text)
    .join('\n')
  if (budget <= 0 || text.length <= budget) return result
  try {
    const owner = ownerIn(conversation, results.newOwner)
    const { note, preview, handle, kind } = await shelveText(results, { owner, text, budget })
    record(conversation, { handle, tool: name, kind, size: text.length })
    const sizes = { kind, size: text.length, shown: note.length + preview.length }
    ;(conversation.trace ?? trace)?.({ type: 'shelved', id: call.id, name, server, ...sizes })
    const others = blocks.filter((block) => !isText(block))
    return { ...result, content: [textBlock(note), textBlock(preview), ...others] as TextBlock[] }
  } catch (error) {
    notify(`a result of "${name}" could not be put on the shelf and is sent whole: ${errorMessage(error)}`)
    return result
  }
}

/** Answers a call of the reading tool; returns undefined for any other call, or if results are not stored. */
export async function answerRead(
  { settings: { results, pause } }: Host,
  { state }: Conversation,
  call: ToolUse,
): Promise<ToolResult | undefined> {
  if (!results || call.name !== READ_TOOL) return undefined
  const part = await readShelved(results, state.results?.owner, call.input, pause)
  if ('problem' in part) return refuse(call, part.problem)
  const content = [part.heading, part.body].filter((text) => text !== '').map(textBlock)
  return { type: 'tool_result', tool_use_id: call.id, content }
}

function isText(block: Block): block is Block & TextBlock {
  return block.type === 'text' && typeof block.text === 'string'
}

/** Returns the owner of a conversation's results; creates it with the first one, so that others need no state. */
function ownerIn(conversation: Conversation, newOwner: () => string): string {
  const { state } = conversation
  const results = state.results ?? { owner: newOwner(), shelved: [] }
  conversation.state = { ...state, results }
  return results.owner
}

/** How many results a conversation's state lists. */
const MAX_NAMED = 50

function record(conversation: Conversation, result: ShelvedResult): void {
  const { results } = conversation.state
  if (!results) return
  const others = results.shelved.filter(({ handle }) => handle !== result.handle)
  const shelved = [...others, result].slice(-MAX_NAMED)
  conversation.state = { ...conversation.state, results: { ...results, shelved } }
}
