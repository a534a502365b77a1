// Takes the newer protocol's first request badly: dies | garbage | error-text | wrong-shape | hangs.
import { behaviour, initialized, noAnswer, send, serve, text, tool } from './wire.mjs'

let isInitialized = false

const reactions = {
  dies() {
    process.stderr.write('TypeError: cannot read properties of undefined\n')
    process.exit(1)
  },
  garbage() {
    process.stdout.write('<html>what?</html>\n')
    return noAnswer
  },
  'error-text'(_, { id }) {
    send({ id, error: 'not initialized' })
    return noAnswer
  },
  'wrong-shape': () => ({ supportedVersions: 'all of them', capabilities: 3 }),
  hangs: () => noAnswer,
}

serve({
  'server/discover': (params, message) => (isInitialized ? {} : reactions[behaviour](params, message)),
  initialize(params) {
    isInitialized = true
    return initialized(params)
  },
  'tools/list': () => ({ tools: [tool('old_hand')] }),
  'tools/call': () => text('as ever'),
})
