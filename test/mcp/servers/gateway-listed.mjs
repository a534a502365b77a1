// Lists what stands in TOOLS_FILE ({ tools, instructions }), tells when that changes, and says how it was called. It is
// not ready before the file exists.
import { existsSync, readFileSync } from 'node:fs'
import { initialized, notify, serve, sleep, text } from './wire.mjs'

const file = process.env.TOOLS_FILE
const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)

while (read() === undefined) await sleep(20)

let listed = ''

serve({
  initialize: (params) => ({ ...initialized(params), instructions: JSON.parse(read()).instructions }),
  'tools/list'() {
    listed = read()
    return { tools: JSON.parse(listed).tools }
  },
  'tools/call': ({ name, arguments: input }) => text(`called ${name} with ${JSON.stringify(input)}`),
  'notifications/initialized'() {
    setInterval(() => {
      const now = read()
      if (now === undefined || now === listed || listed === '') return
      listed = now
      notify('notifications/tools/list_changed')
    }, 20)
  },
})
