// Hidden searches in one reply: they run, the model sees them in the one form that can be restored, the client never.

import { SEARCH_TOOL } from '../../core/index.ts'
import type { SearchCall, Searching } from '../searching.ts'
import type { Fields, MessagesRequest } from '../types.ts'
import { carry, type Search } from './carry.ts'
import type { Shelved } from './lift.ts'
import { searchId, searchTurn } from './restore.ts'

export function startHidden(
  request: MessagesRequest,
  shelved: Shelved,
  onSearch: (names: readonly string[]) => void,
  remember: (messages: readonly Fields[], searches: readonly Search[]) => void,
): Searching {
  const turns: Fields[] = []
  let part: Fields[] = []
  const loaded = new Set(shelved.loaded)
  /** Of this sampling: searches that found something and wait for their place, and those that did not. */
  let found: Omit<Search, 'at'>[] = []
  let vain: { readonly call: SearchCall; readonly remark: string }[] = []
  let waiting: Search[] = []
  let firstCall: number | undefined
  let number = 0

  const place = (at: number) => {
    waiting.push(...found.map((search) => ({ ...search, at })))
    found = []
  }

  return {
    opening: [],
    request: () => shelved.prepare(turns),
    isSearch: (name) => name === SEARCH_TOOL,
    async shown(call) {
      const { tools, left, remark } = await shelved.search(call.input)
      const names = tools.map(({ name }) => name).filter((name) => shelved.deferred.has(name))
      onSearch(names.filter((name) => !loaded.has(name)))
      for (const name of names) loaded.add(name)
      if (names.length > 0) found.push({ names, left })
      else vain.push({ call, remark: tools.length > 0 ? ALWAYS_THERE : remark })
      return undefined
    },
    callId(id, at) {
      firstCall ??= at
      place(firstCall)
      const carried = carry(id, waiting)
      waiting = []
      return carried
    },
    said: (block) => part.push(block),
    async answer(shownBlocks) {
      for (const search of found) {
        const { call, result } = searchTurn(
          { ...search, at: 0 },
          searchId(request.messages.length, number++),
          SEARCH_TOOL,
        )
        turns.push({ role: 'assistant', content: [...part, call] }, { role: 'user', content: [result] })
        part = []
      }
      for (const { call, remark } of vain) {
        const result = {
          type: 'tool_result',
          tool_use_id: call.id,
          content: [{ type: 'text', text: remark }],
        }
        turns.push(
          { role: 'assistant', content: [...part, { type: 'tool_use', ...call }] },
          { role: 'user', content: [result] },
        )
        part = []
      }
      place(shownBlocks)
      vain = []
      return []
    },
    stopReason: 'end_turn',
    close(content) {
      place(firstCall ?? content.length)
      if (waiting.length > 0) remember([...request.messages, { role: 'assistant', content }], waiting)
    },
  }
}

const ALWAYS_THERE = 'What this finds is in your list of tools already. Call it.'
