// Lists what stands in TOOLS_FILE ({ tools, instructions, prompts, resources, templates }), tells when that changes, and says how
// it was called; it reads every URI, and a call may name the result. It is not ready before the file exists.
import { existsSync, readFileSync } from 'node:fs'
import { initialized, notify, serve, sleep, text } from './wire.mjs'

const file = process.env.TOOLS_FILE
const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)

while (read() === undefined) await sleep(20)

let listed = ''

serve({
  initialize(params) {
    const { instructions, resources, prompts } = JSON.parse(read())
    const capabilities = { ...(resources ? { resources: {} } : {}), ...(prompts ? { prompts: {} } : {}) }
    return { ...initialized(params, capabilities), instructions }
  },
  'tools/list'() {
    listed = read()
    return { tools: JSON.parse(listed).tools }
  },
  'tools/call': ({ name, arguments: input }) =>
    input?.result ?? text(`called ${name} with ${JSON.stringify(input)}`),
  'prompts/list': () => ({ prompts: JSON.parse(read()).prompts }),
  'prompts/get': ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `got ${name}` } }],
  }),
  'resources/list': () => ({ resources: JSON.parse(read()).resources }),
  'resources/templates/list': () => ({ resourceTemplates: JSON.parse(read()).templates ?? [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${process.env.NAME} read ${uri}` }] }),
  'notifications/initialized'() {
    setInterval(() => {
      const now = read()
      if (now === undefined || now === listed || listed === '') return
      listed = now
      notify('notifications/tools/list_changed')
      notify('notifications/prompts/list_changed')
    }, 20)
  },
})
