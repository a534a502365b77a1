// An issue tracker: tools that read, one that says so wrongly, and tools that write. It counts what was written.
import { run, sleep, text, tool } from './wire.mjs'

export function server(_, { ask }) {
  const written = []
  let running = 0
  let most = 0
  const readOnly = { annotations: { readOnlyHint: true } }
  const input = (properties, required = []) => ({ inputSchema: { type: 'object', properties, required } })

  async function call(name, { page = 1, title, milliseconds = 50 }) {
    if (name === 'list')
      return text(
        JSON.stringify([1, 2, 3].map((n) => ({ id: (page - 1) * 3 + n, label: n % 2 ? 'bug' : 'idea' }))),
      )
    if (name === 'structured')
      return { content: [{ type: 'text', text: 'three' }], structuredContent: { count: 3 } }
    if (name === 'wrapped')
      return { content: [{ type: 'text', text: 'a' }], structuredContent: { content: 'a' } }
    if (name === 'fail') return { ...text('the tracker is down'), isError: true }
    if (name === 'slow') {
      most = Math.max(most, ++running)
      await sleep(milliseconds)
      running--
      return text('slept')
    }
    if (name === 'most') return text(most)
    if (name === 'ask') {
      const { result } = await ask('elicitation/create', {
        message: 'Who?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      })
      return text(JSON.stringify(result))
    }
    if (name === 'create') {
      written.push(title)
      return text(`created ${title}`)
    }
    return text(JSON.stringify(written))
  }

  return {
    'tools/list': () => ({
      tools: [
        tool('list', { ...readOnly, ...input({ page: { type: 'number' } }) }),
        ...['structured', 'wrapped', 'fail', 'most', 'written', 'ask'].map((name) => tool(name, readOnly)),
        tool('slow', { ...readOnly, ...input({ milliseconds: { type: 'number' } }) }),
        tool('create', input({ title: { type: 'string' } }, ['title'])),
        tool('secret', readOnly),
      ],
    }),
    'tools/call': ({ name, arguments: given = {} }) => call(name, given),
  }
}

run(import.meta, server)
