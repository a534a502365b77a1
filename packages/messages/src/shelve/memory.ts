// Remembers hidden searches that no call id carries because no call followed them, keyed by a hash of the conversation
// up to that reply. If they are forgotten, the model only has to search again.
import { hash } from 'node:crypto'
import { blocksOf, type Fields, oncePerFrozen, textOf } from '@toolshelf/core/internal'
import { createRecent } from '../recent.ts'
import type { HiddenSearch } from './carry.ts'
import { isThought } from './restore.ts'

/** Remembers searches by conversation. */
export type SearchMemory = ReturnType<typeof createSearchMemory>

const MAX_REPLIES = 10_000

const NONE: readonly never[] = []

export function createSearchMemory() {
  const known = createRecent<readonly HiddenSearch[]>(MAX_REPLIES)
  let isEmpty = true
  return {
    /** Stores the searches of a reply, which is the last of `messages`. */
    remember(owner: string, messages: readonly Fields[], searches: readonly HiddenSearch[]) {
      const key = keysOf(owner, messages).at(-1)
      if (key === undefined || searches.length === 0) return
      known.set(key, searches)
      isEmpty = false
    },
    /** Returns a lookup of stored searches by message index. */
    recall(owner: string, messages: readonly Fields[]) {
      if (isEmpty) return () => NONE
      const keys = keysOf(owner, messages)
      return (message: number) => known.get(keys[message] ?? '') ?? NONE
    },
  }
}

/** For each message, a hash of the conversation up to it, ignoring cache breakpoints and thinking. */
function keysOf(owner: string, messages: readonly Fields[]): string[] {
  let key = owner
  return messages.map((message) => {
    key = keyBehind(key, message)
    return key
  })
}

/** Caches each message's key and the key before it, so that a continued conversation is not hashed again. */
const lastKeys = oncePerFrozen((_: Fields) => ({ before: '', key: '' }))

function keyBehind(before: string, message: Fields): string {
  const last = lastKeys(message)
  if (last.before !== before) {
    last.before = before
    last.key = hash('sha256', before + digestOf(message), 'base64')
  }
  return last.key
}

const digestOf = oncePerFrozen(({ role, content }: Fields): string => {
  const said = blocksOf(content)
    .filter((block) => !isThought(block))
    .map(({ type, text, id, tool_use_id: of }) => [type, textOf(text), id, of])
  return hash('sha256', JSON.stringify([role, said]), 'base64')
})
