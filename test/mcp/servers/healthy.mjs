// A server that does everything right: the neighbour that must stay whole whatever others do.
import { run, text, tool } from './wire.mjs'

const tools = [
  tool('echo', {
    description: 'Says again what it is told',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  }),
  tool('add', {
    description: 'Adds two numbers',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
  }),
]

export const server = () => ({
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: input }) => text(name === 'add' ? input.a + input.b : input.text),
})

run(import.meta, server)
