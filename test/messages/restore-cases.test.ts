// Histories with hidden searches, each restored under every condition, written out whole; and the same histories restored
// again and again as the frozen objects of a continued conversation, which must come out as if they were new.
import { expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import { carry, codeNames } from '../../src/messages/shelve/carry.ts'

import { isRestored } from '../../src/messages/shelve/index.ts'
import { type RestoreContext, restore } from '../../src/messages/shelve/restore.ts'

import { assistant, result, text, use, user } from '../oracle/requests.ts'

const NAMES = ['mail_send', 'mail_list', 'fax_dial']
const find = (at: number, left: number, ...names: string[]) => ({ at, thoughts: 0, left, names })
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
const redacted = { type: 'redacted_thinking', data: 'eA==' }
const one = carry('toolu_1', [find(0, 0, 'mail_send')])
const split = carry('toolu_1', [find(2, 0, 'mail_list'), find(1, 3, 'mail_send'), find(1, 0, 'fax_dial')])
const empty = carry('toolu_1', [find(0, 0)])

const histories: { readonly [name: string]: readonly Fields[] } = {
  'no search': [user(text('hi')), assistant(text('Hello.')), user(text('bye'))],
  'one call': [user(text('hi')), assistant(use(one, 'mail_send')), user(result(one))],
  'a call without an answer': [user(text('hi')), assistant(thought, text('Hm.'), use(one, 'mail_send'))],
  'a call that a question follows': [assistant(thought, text('Hm.'), use(one, 'Read')), user(text('why?'))],
  'a call that a reply follows': [assistant(use(one, 'mail_send')), assistant(text('More.'), thought)],
  'searches out of order at two places': [
    assistant(thought, text('One.'), text('Two.'), use(split, 'mail_send'), use('toolu_2', 'fax_dial')),
    user(result(split), result('toolu_2')),
  ],
  'a thought behind the search': [
    assistant(text('One.'), redacted, use(split, 'mail_send')),
    user(text('first'), result(split)),
    assistant(use('toolu_3', 'mail_send'), use('toolu_4', 'mail_list')),
    user(result('toolu_3'), result('toolu_4')),
  ],
  'a search that found nothing that is left': [assistant(use(empty, 'Read')), user(result(empty))],
  'a repeated search': [
    ...[assistant(use(one, 'mail_send')), user(result(one)), assistant(text('Then.'), use(one, 'Read'))],
    ...[user(result(one)), assistant(use('toolu_5', 'mail_send'))],
  ],
  'thoughts at the end': [
    ...[
      assistant(text('One.'), thought, redacted),
      { role: 'user', content: 'two' },
      assistant(thought),
      user(text('three')),
      assistant(),
    ],
    assistant(text('Four.'), thought),
  ],
  'a user who thinks': [
    user(text('hi'), thought),
    assistant(text('One.')),
    { role: 'system', content: [thought] },
  ],
  'a called tool twice in one reply': [
    assistant(use('a', 'fax_dial'), use('b', 'fax_dial'), use('c', 'mail_list'), use('d', 'gone')),
    user(result('a'), result('b'), result('c'), result('d')),
  ],
}

const base = {
  names: codeNames(NAMES),
  deferred: new Set(NAMES),
  searchTool: 'ToolSearch',
  remembered: () => [],
  thinksByHand: false,
}
const remembering = (...searches: ReturnType<typeof find>[]) => ({
  remembered: (index: number) => (index === 1 ? searches : []),
})
const conditions: { readonly [name: string]: RestoreContext } = {
  plain: base,
  thinking: { ...base, thinksByHand: true },
  fewer: { ...base, deferred: new Set(['mail_list']), names: codeNames(['mail_list']) },
  remembered: { ...base, ...remembering(find(9, 1, 'mail_list'), find(0, 0, 'mail_send')) },
  'remembered, thinking': { ...base, thinksByHand: true, ...remembering(find(0, 0, 'fax_dial')) },
  renamed: { ...base, searchTool: 'Search' },
  'remembered, more left': { ...base, ...remembering(find(9, 2, 'mail_list'), find(0, 0, 'mail_send')) },
  'remembered, another': { ...base, ...remembering(find(9, 2, 'mail_list'), find(0, 0, 'fax_dial')) },
}

it('a history is restored whole, under every condition', async () => {
  const lines = Object.entries(histories).flatMap(([history, messages]) => {
    const seen = new Map<string, string>()
    return Object.entries(conditions)
      .slice(0, 5)
      .flatMap(([condition, restoring]) => {
        const restored = restore(messages, restoring).map((message) => `  ${JSON.stringify(message)}`)
        const written = [isRestored(messages, restoring) ? 'searched' : 'not searched', ...restored].join(
          '\n',
        )
        const same = seen.get(written)
        seen.set(written, same ?? condition)
        return [`${history}, ${condition}: ${same === undefined ? written : `as ${same}`}`]
      })
  })
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./conversations/restored.txt')
})

it('the messages of a continued conversation are restored as if they were new', () => {
  for (const [history, messages] of Object.entries(histories)) {
    const kept = structuredClone(messages).map((message) => Object.freeze(message))
    const all = Object.entries(conditions)
    for (const [condition, restoring] of [...all, ...all.toReversed()]) {
      const name = `${history}, ${condition}`
      expect(JSON.stringify(restore(kept, restoring)), name).toBe(
        JSON.stringify(restore(messages, restoring)),
      )
      // Then somewhere else in the conversation, where ids differ.
      const later = [user(text('before')), ...messages]
      const moved = restore([later[0]!, ...kept], restoring)
      expect(JSON.stringify(moved), name).toBe(JSON.stringify(restore(later, restoring)))
    }
    const [first, again] = [restore(kept, base), restore(kept, base)]
    for (const [index, message] of first.entries()) expect(again[index]).toBe(message)
  }
})
