// Preserves results as the server sent them. For the newer protocol, the SDK refuses a whole result because of one wrong
// field; so it gets an empty result that is valid for every request, with the real one inside.
import type { Transport } from '@modelcontextprotocol/client'
import { dropOldest, type Fields, fieldsOf, isFields } from '../../lib/index.ts'

const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

/** Most requests to remember until their response arrives; beyond this the oldest is forgotten. */
const MAX_REMEMBERED = 1000

const WHOLE = 'toolshelf/whole'

const wrapped = (whole: unknown) => ({
  [WHOLE]: whole,
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  tools: [],
  content: [],
  prompts: [],
  messages: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  completion: { values: [] },
})

/** Wraps the results that come through the transport, before the SDK reads them; `wholeResult` unwraps them. */
export function wrapResults(transport: Transport, isModern: () => boolean): void {
  const requests = new Set<unknown>()
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && METHODS.has(message.method)) requests.add(message.id)
    dropOldest(requests, MAX_REMEMBERED)
    return send(message, options)
  }
  const before = transport.onmessage
  transport.onmessage = (message, extra) => {
    before?.(message, extra)
    if (!('result' in message) || !requests.delete(message.id) || !isModern()) return
    const { resultType = 'complete' } = message.result
    if (resultType === 'complete') Object.assign(message, { result: wrapped(message.result) })
  }
}

/** Returns the result that the server sent. */
export function wholeResult(result: unknown): Fields {
  const fields = fieldsOf(result)
  return isFields(fields[WHOLE]) ? fields[WHOLE] : fields
}
