// Lists tools in odd ways: many (as many as its second argument says, in pages of 500) | paged (3 pages) | same-cursor | new-cursor (without end) |
// long-cursor (10 MB, without end) | odd-cursor (a number) | growing | changing (every 50 ms) | storm (1,000 list_changed a second) | failing (after the
// first) | tearing (an error on the second page, after the first whole list). Changing and storm never rest: only as processes.
import { run, text, tool } from './wire.mjs'

export function server(behaviour, { notify }, total) {
  let lists = 0
  let grown = 0
  let age = 0

  const kinds = {
    many: ({ cursor }) => page(Number(total), 500, cursor),
    paged: ({ cursor }) => page(5, 2, cursor),
    'same-cursor': () => ({ tools: [tool('again')], nextCursor: 'same' }),
    'new-cursor': ({ cursor = '0' }) => ({
      tools: Array.from({ length: 10 }, (_, index) => tool(`endless_${cursor}_${index}`)),
      nextCursor: String(Number(cursor) + 1),
    }),
    'long-cursor': () => ({
      tools: [tool(`page_${lists}`)],
      nextCursor: `${lists}${'x'.repeat(10_000_000)}`,
    }),
    'odd-cursor': () => ({ tools: [tool('single')], nextCursor: 7 }),
    growing: () => ({
      tools: [...basic(), ...Array.from({ length: grown }, (_, index) => tool(`grown_${index}`))],
    }),
    changing: () => ({
      tools: [tool('steady'), tool(`age_${age}`), tool('clock', { description: `Age ${age}` })],
    }),
    storm: () => ({ tools: [tool('steady')] }),
    failing() {
      if (lists > 1) throw new Error('the list is lost')
      return { tools: [tool('steady')] }
    },
    tearing({ cursor }) {
      if (lists > 2 && cursor) throw new Error('the second page is lost')
      return page(4, 2, cursor)
    },
  }

  const basic = () => [tool('grow'), tool('shrink'), tool('count')]

  function page(total, size, cursor = '0') {
    const start = Number(cursor)
    const tools = Array.from({ length: Math.min(size, total - start) }, (_, index) =>
      tool(`item_${start + index}`, { description: `Handles item number ${start + index}` }),
    )
    return { tools, ...(start + size < total ? { nextCursor: String(start + size) } : {}) }
  }

  const calls = {
    grow: () => change(1),
    shrink: () => change(-1),
    count: () => text(lists),
  }

  function change(by) {
    grown = Math.max(0, grown + by)
    notify('notifications/tools/list_changed')
    return text(grown)
  }

  function grow() {
    age += 1
    notify('notifications/tools/list_changed')
  }

  function repeat(times, action) {
    for (let time = 0; time < times; time += 1) action()
  }

  return {
    'tools/list'(params) {
      lists += 1
      return kinds[behaviour](params)
    },
    'tools/call': ({ name }) => calls[name]?.() ?? text(name),
    'notifications/initialized'() {
      if (behaviour === 'changing') setInterval(grow, 50)
      if (behaviour === 'storm')
        setInterval(() => repeat(10, () => notify('notifications/tools/list_changed')), 10)
    },
  }
}

run(import.meta, server)
