// Lists what stands in LISTS_FILE ({ tools, prompts, resources, resourceTemplates, ttlMs }), which it reads anew each
// time; not ready before the file exists. Each list that is asked for is a line in LOG_FILE. The tool `tell` sends a
// notification.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { initialized, notify, serve, sleep, text, tool } from './wire.mjs'

const { LISTS_FILE, LOG_FILE } = process.env

while (!existsSync(LISTS_FILE)) await sleep(20)

const list = (method, field, own = []) => [
  method,
  () => {
    appendFileSync(LOG_FILE, `${method}\n`)
    const { [field]: entries = [], ttlMs } = JSON.parse(readFileSync(LISTS_FILE, 'utf8'))
    return { [field]: [...own, ...entries], ...(ttlMs === undefined ? {} : { ttlMs, cacheScope: 'public' }) }
  },
]

serve({
  initialize: (params) =>
    initialized(params, { prompts: { listChanged: true }, resources: { listChanged: true } }),
  'tools/call': ({ name, arguments: input = {} }) => {
    if (name === 'tell') notify(input.method)
    return text(`called ${name}`)
  },
  'prompts/get': ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }),
  ...Object.fromEntries([
    list('tools/list', 'tools', [tool('tell')]),
    list('prompts/list', 'prompts'),
    list('resources/list', 'resources'),
    list('resources/templates/list', 'resourceTemplates'),
  ]),
})
