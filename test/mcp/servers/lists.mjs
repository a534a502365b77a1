// Lists tools in odd ways: many (as many as its second argument says, in pages of 500) | growing | failing (after the first) |
// tearing (an error on the second page, after the first whole list).
import { run, text, tool } from './wire.mjs'

export function server(behaviour, { notify }, total) {
  let lists = 0
  let grown = 0

  const kinds = {
    many: ({ cursor }) => page(Number(total), 500, cursor),
    growing: () => ({
      tools: [...basic(), ...Array.from({ length: grown }, (_, index) => tool(`grown_${index}`))],
    }),
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

  return {
    'tools/list'(params) {
      lists += 1
      return kinds[behaviour](params)
    },
    'tools/call': ({ name }) => calls[name]?.() ?? text(name),
  }
}

run(import.meta, server)
