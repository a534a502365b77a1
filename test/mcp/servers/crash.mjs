// Ends when it should not, at its start by crash.sh: start | clean | signal | initialize | list | call | after-call | after-list | list-again (the second list) |
// pipe (a call closes its input, and it ends half a second later) | until (at the start, as long as READY_FILE is missing) | secret (at the start, telling its ACME_KEY).
import { closeSync } from 'node:fs'
import { answer, behaviour, initialized, noAnswer, serve, text, tool } from './wire.mjs'

const crash = () => {
  process.stderr.write('acme: no API key. Set ACME_KEY and start again.\n')
  process.exit(3)
}
const crashAt = (step) => behaviour === step && crash()

let lists = 0

serve({
  initialize(params) {
    crashAt('initialize')
    return initialized(params)
  },
  'tools/list'() {
    crashAt('list')
    lists += 1
    if (lists > 1) crashAt('list-again')
    if (behaviour === 'after-list') setTimeout(crash, 50)
    return { tools: [tool('explode'), tool('survive')] }
  },
  'tools/call'({ name }, { id }) {
    if (name === 'explode') crashAt('call')
    if (name === 'explode' && behaviour === 'pipe') {
      closeSync(0)
      setTimeout(crash, 500)
      return noAnswer
    }
    answer(id, text(`answered by ${process.pid}`))
    if (behaviour === 'after-call') setImmediate(crash)
    return noAnswer
  },
})
