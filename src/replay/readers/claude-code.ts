// Reads Claude Code's transcripts: one line per content block, with `message`, `uuid`, `parentUuid` and `isSidechain`.
import { billedTokens } from '../../core/figures/index.ts'
import { type Fields, fieldsOf, isFields, textOf } from '../../lib/index.ts'
import { createMessageReader, type MessageParts, type Recorder } from '../recorder.ts'

/** Returns whether a line is one of Claude Code's. */
export function isClaudeCodeLine({ type, message, sessionId, uuid, leafUuid }: Fields): boolean {
  const isMessage = (type === 'user' || type === 'assistant') && isFields(message)
  return isMessage || (typeof type === 'string' && [sessionId, uuid, leafUuid].some(isText))
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

/**
 * Returns a function that reads lines. `file` distinguishes sub-agents of one session that were written to files of
 * their own.
 */
export function createClaudeCodeReader(recorder: Recorder): (line: Fields, file: number) => void {
  const readers = new Map<string, (message: Fields) => MessageParts>()
  let sidechains = 0
  const laneOf = ({ isSidechain, agentId, parentUuid }: Fields, file: number): string => {
    if (isSidechain !== true) return file === 0 ? '' : `file ${file}`
    if (typeof agentId === 'string') return `agent ${agentId.slice(0, 100)}`
    // Older versions write sub-agents between the lines of the main conversation; each starts without a parent.
    if (parentUuid === null) sidechains++
    return `file ${file} sidechain ${sidechains}`
  }
  const readerOf = (lane: string) => {
    const reader = readers.get(lane) ?? createMessageReader()
    readers.set(lane, reader)
    return reader
  }
  return (line, file) => {
    const { type, subtype, message } = line
    if (type === 'attachment') {
      if (fieldsOf(line.attachment).type === 'deferred_tools_delta') recorder.markDeferring()
      return
    }
    if (type !== 'user' && type !== 'assistant' && subtype !== 'compact_boundary') return
    const lane = laneOf(line, file)
    if (subtype === 'compact_boundary') return recorder.compact(lane, 0)
    const { id, model, usage } = fieldsOf(message)
    // Errors of the API and interruptions, which no model wrote.
    if (model === '<synthetic>' || line.isApiErrorMessage === true) return
    const { characters, calls, queries } = readerOf(lane)(fieldsOf(message))
    if (type === 'user') return recorder.add(lane, characters)
    recorder.reply(lane, {
      id: textOf(id) || undefined,
      model: textOf(model),
      calls,
      queries,
      characters,
      usage: billedTokens(fieldsOf(usage)),
    })
  }
}
