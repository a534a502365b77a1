// Hostile: its tool `storm` sends 400 of each notification there is before it answers, `log` one log message, `roots` asks for the roots 1,000
// times and says how often it got them.
import { ask, initialized, notify, serve, text, tool } from './wire.mjs'

const MANY = 400

function storm(progressToken) {
  for (let index = 1; index <= MANY; index += 1) {
    notify('notifications/message', { level: 'error', data: `log ${index}` })
    notify('notifications/tools/list_changed')
    notify('notifications/prompts/list_changed')
    notify('notifications/resources/list_changed')
    notify('notifications/resources/updated', { uri: 'x://one' })
    notify('notifications/resources/updated', { uri: `x://${index}` })
    if (progressToken !== undefined)
      notify('notifications/progress', { progressToken, progress: index, total: MANY })
  }
}

async function roots() {
  const answers = await Promise.all(Array.from({ length: 1000 }, () => ask('roots/list')))
  return answers.filter(({ result }) => result).length
}

serve({
  initialize: (params) =>
    initialized(params, {
      logging: {},
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    }),
  'tools/list': () => ({ tools: [tool('storm'), tool('log'), tool('roots')] }),
  async 'tools/call'({ name, _meta }) {
    if (name === 'roots') return text(await roots())
    if (name === 'log') notify('notifications/message', { level: 'error', data: 'one' })
    else storm(_meta?.progressToken)
    return text('calm')
  },
  'resources/subscribe': () => ({}),
  'prompts/list': () => ({ prompts: [] }),
  'resources/list': () => ({ resources: [] }),
})
