// Tells its secrets wherever it can: start (on stderr, and ends) | stay (in the errors of its calls, and on stderr when it
// crashes in one).
import { behaviour, serve, tool } from './wire.mjs'

const secrets = () => `${process.env.ACME_KEY} and ${process.argv.slice(3).join(' ')}`

function crash() {
  process.stderr.write(`refused: ${secrets()}\n`)
  process.exit(1)
}

if (behaviour === 'start') crash()

serve({
  'tools/list': () => ({ tools: [tool('refuse'), tool('crash')] }),
  'tools/call'({ name }) {
    if (name === 'crash') return crash()
    throw new Error(`refused: ${secrets()}`)
  },
})
