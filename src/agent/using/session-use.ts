// Summarises one session from its messages: requests, the cost of a search, and the deferred tools that were called.
import {
  allDefinitionTokens,
  definitionTokens,
  estimateTokens,
  type Message,
  type Shelf,
} from '../../core/index.ts'
import { blocksOf } from '../../core/oracle/index.ts'
import { textOf, toJson } from '../../lib/index.ts'
import { isPreload } from '../preload.ts'
import type { SessionUse, ToolUsed } from './types.ts'

/**
 * Summarises a session; returns undefined if the model was not called. A session without a search gets the usual cost
 * of one.
 */
export function sessionUse(
  messages: readonly Message[],
  shelf: Shelf,
  isLearned: (tool: string) => boolean,
  usualSearch: number | undefined,
): SessionUse | undefined {
  const standing = allDefinitionTokens(shelf.partition().immediate)
  const used = new Map<string, ToolUsed>()
  const searches: number[] = []
  let turns = 0
  let sent = standing
  for (const message of messages) {
    const calls = message.role === 'assistant' ? callsOf(message) : []
    // Calls that the agent wrote itself took no request.
    const isWritten = calls.length > 0 && calls.every(isPreload)
    if (message.role === 'assistant' && !isWritten) turns++
    if (!isWritten && calls.some(({ name }) => name === shelf.searchTool)) searches.push(sent)
    for (const call of calls) {
      const tool = usedBy(call, shelf, isLearned)
      if (tool) used.set(tool.tool, tool)
    }
    sent += estimateTokens(toJson(message.content))
  }
  if (turns === 0) return undefined
  const mean = searches.reduce((sum, one) => sum + one, 0) / searches.length
  const searchTokens = searches.length > 0 ? mean : (usualSearch ?? standing)
  return { turns, searchTokens: Math.round(searchTokens), tools: [...used.values()] }
}

type Call = { readonly id: string; readonly name: string; readonly input: unknown }

function callsOf({ content }: Message): Call[] {
  return blocksOf(content)
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id: textOf(id), name: textOf(name), input }))
}

/** Ignores built-in tools, which the host marks, and tools that the configuration always loads. */
function usedBy(call: Call, shelf: Shelf, isLearned: (tool: string) => boolean): ToolUsed | undefined {
  const { name, server, original } = shelf.resolve(call)
  const { deferredNames, pool } = shelf.partition()
  const entry = pool.byName.get(name)
  if (server === undefined || !entry || !(deferredNames.has(name) || isLearned(name))) return undefined
  return { tool: name, server, original, tokens: definitionTokens(entry) }
}
