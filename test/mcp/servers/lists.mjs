// `many <total>`: lists so many tools, in pages of 500.
import { run, text, tool } from './wire.mjs'

const PAGE = 500

export function server(_behaviour, _wire, total) {
  return {
    'tools/list'({ cursor = '0' }) {
      const start = Number(cursor)
      const tools = Array.from({ length: Math.min(PAGE, total - start) }, (_, index) =>
        tool(`item_${start + index}`, { description: `Handles item number ${start + index}` }),
      )
      return { tools, ...(start + PAGE < total ? { nextCursor: String(start + PAGE) } : {}) }
    },
    'tools/call': ({ name }) => text(name),
  }
}

run(import.meta, server)
