// Defines tools with hints about what they do, beside one that has none.
import { run, text, tool } from './wire.mjs'

const tools = [
  tool('good', { description: 'The one that is right' }),
  tool('look', { annotations: { readOnlyHint: true } }),
  tool('change', { annotations: { readOnlyHint: false } }),
  tool('truthy', { annotations: { readOnlyHint: 'yes' } }),
]

export const server = () => ({
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => text(`called ${name}`),
})

run(import.meta, server)
