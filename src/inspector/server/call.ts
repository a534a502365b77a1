// Runs a tool for a person: after a confirmation unless it only reads, by the same rules as a call of a model, and with a
// result of bounded size.
import { randomUUID } from 'node:crypto'
import { inputFault, resultEvent } from '../../core/calls/index.ts'
import { cut, errorMessage, type Fields, isFields, toJson } from '../../lib/index.ts'
import type { CallOutput, QuestionHandler } from '../../mcp/index.ts'
import { validateInput } from '../../validate/index.ts'
import type { CallView } from '../api.ts'
import { InspectorFailure, MAX_NAME_LENGTH, readText } from './read-input.ts'
import type { InspectedServers } from './types.ts'

/** Characters of JSON that a result may have. */
const MAX_CHARACTERS = 1_000_000
const MAX_ERROR_LENGTH = 4000

/** Runs a call of the page and returns its result. */
export async function tryTool(servers: InspectedServers, input: Fields): Promise<CallView> {
  const { shelf, host, trace } = servers
  const name = readText(input.tool, 'tool', MAX_NAME_LENGTH)
  const entry = shelf.partition().pool.byName.get(name)
  if (entry?.server === undefined) throw new InspectorFailure(404, `there is no tool "${cut(name, 100)}"`)
  const callInput = input.input ?? {}
  if (!isFields(callInput)) throw new InspectorFailure(400, '"input" must be an object')
  const use = { type: 'tool_use', id: `inspector-${randomUUID()}`, name, input: callInput } as const
  const { server = '', original, input: own } = shelf.resolve(use)
  const fault = inputFault(entry, own, validateInput)
  if (fault !== undefined) throw new InspectorFailure(400, fault.slice(0, MAX_ERROR_LENGTH))
  if (input.isConfirmed !== true && !host.isReadOnly(use))
    throw new InspectorFailure(409, 'the tool may change something; confirm to run it')
  const subject = { id: use.id, name, server }
  const startedAt = performance.now()
  const passed = () => Math.round(performance.now() - startedAt)
  trace?.({ type: 'call', ...subject, content: callInput })
  try {
    const output = await host.call(server, original, own as Fields, { questionHandler: NOBODY })
    trace?.(resultEvent(subject, output.isError ? 'failed' : 'done', output.content, passed()))
    return { isError: output.isError === true, milliseconds: passed(), ...bounded(output) }
  } catch (error) {
    trace?.(resultEvent(subject, 'failed', errorMessage(error), passed()))
    throw new InspectorFailure(502, errorMessage(error).slice(0, MAX_ERROR_LENGTH))
  }
}

/** Refuses questions of servers in the middle of a call, which the page cannot show. */
const NOBODY: QuestionHandler = {
  ask: async (method) => {
    throw new Error(`the inspector cannot answer ${method}; call the tool from a client`)
  },
}

function bounded({ content, structuredContent }: CallOutput) {
  const size = toJson({ content, structuredContent }).length
  let room = MAX_CHARACTERS
  const kept: unknown[] = []
  let isCut = false
  for (const block of content) {
    const length = toJson(block).length
    if (length <= room) kept.push(block)
    else {
      isCut = true
      kept.push(shortened(block, Math.max(0, room)))
    }
    room -= length
    if (room <= 0 && kept.length < content.length) {
      isCut = true
      break
    }
  }
  const isFitting = structuredContent !== undefined && toJson(structuredContent).length <= room
  if (structuredContent !== undefined && !isFitting) isCut = true
  return { content: kept, ...(isFitting ? { structuredContent } : {}), size, isCut }
}

function shortened(block: CallOutput['content'][number], room: number): object {
  if (block.type === 'text' && typeof block.text === 'string')
    return { ...block, text: cut(block.text, room) }
  const type = typeof block.mimeType === 'string' ? cut(block.mimeType, 100) : cut(block.type, 100)
  return { type: 'text', text: `[${type}: too large to be shown]` }
}
