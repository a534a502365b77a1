// Tells its secrets wherever it can: start (on stderr, and ends) | stay (in the errors of its calls, prompts and resources,
// and on stderr when it crashes in a call).
import { behaviour, initialized, serve, tool } from './wire.mjs'

const lineOf = (key = '') => key.split('\n')[1]
const secrets = () =>
  `${process.env.ACME_KEY} and ${lineOf(process.env.ACME_PRIVATE_KEY)} and ${process.argv.slice(3).join(' ')}`

function crash() {
  process.stderr.write(`refused: ${secrets()}\n`)
  process.exit(1)
}

if (behaviour === 'start') crash()

function refuse() {
  throw Object.assign(new Error(`refused: ${secrets()}`), { data: { uri: 'leak://one', why: [secrets()] } })
}

serve({
  initialize: (params) => initialized(params, { prompts: {}, resources: {} }),
  'tools/list': () => ({ tools: [tool('refuse'), tool('crash')] }),
  'tools/call'({ name }) {
    if (name === 'crash') return crash()
    return refuse()
  },
  'prompts/list': () => ({ prompts: [{ name: 'refuse' }] }),
  'prompts/get': refuse,
  'resources/read': refuse,
})
