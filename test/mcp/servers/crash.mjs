// Ends when it should not: after-list | list-again (the second list) | pipe (a call closes its input, and it ends half a
// second later) | until (not any more). For other ways to crash see bad.sh.
import { closeSync } from 'node:fs'
import { behaviour, noAnswer, serve, text, tool } from './wire.mjs'

const crash = () => {
  process.stderr.write('acme: no API key. Set ACME_KEY and start again.\n')
  process.exit(3)
}

let lists = 0

serve({
  'tools/list'() {
    lists += 1
    if (behaviour === 'list-again' && lists > 1) crash()
    if (behaviour === 'after-list') setTimeout(crash, 50)
    return { tools: [tool('explode'), tool('survive')] }
  },
  'tools/call'({ name }) {
    if (name === 'explode' && behaviour === 'pipe') {
      closeSync(0)
      setTimeout(crash, 500)
      return noAnswer
    }
    return text(`answered by ${process.pid}`)
  },
})
