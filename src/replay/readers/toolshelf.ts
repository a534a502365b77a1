// Reads sessions of `toolshelf chat` and `toolshelf run`: changes of the history, one per line.
import { type Fields, fieldsOf, listOf } from '../../lib/index.ts'
import { createMessageReader, type Recorder } from '../recorder.ts'

const MAIN = ''

/** Returns whether a line is one of our own transcripts. */
export function isToolshelfLine({ type, messages, state }: Fields): boolean {
  const isChange = (type === 'append' || type === 'replace') && Array.isArray(messages)
  return isChange || (type === 'state' && typeof state === 'object')
}

/** Returns a function that reads lines. */
export function createToolshelfReader(recorder: Recorder): (line: Fields) => void {
  const read = createMessageReader()
  recorder.markDeferring()
  const follow = (message: Fields) => {
    if (isNote(message)) return
    const { characters, calls, queries } = read(message)
    if (message.role === 'assistant') recorder.reply(MAIN, { model: '', calls, queries, characters })
    else recorder.add(MAIN, characters)
  }
  return ({ type, messages }) => {
    const changed = listOf(messages).map(fieldsOf)
    if (type === 'append') changed.forEach(follow)
    if (type === 'replace') {
      const kept = changed.filter((message) => message.type !== 'deferred_tools_delta').map(read)
      recorder.compact(
        MAIN,
        kept.reduce((sum, { characters }) => sum + characters, 0),
      )
    }
  }
}

/** Returns whether a message is a note of the shelf, which a conversation without Toolshelf would not contain. */
function isNote({ type, subtype }: Fields): boolean {
  return type === 'deferred_tools_delta' || subtype !== undefined
}
