// Gives long results: as text, as structured content with and without an output schema, as an error, for a page.
import { run, text, tool } from './wire.mjs'

export function server() {
  const schema = {
    type: 'object',
    properties: { items: { type: 'array', items: { type: 'object' } } },
    required: ['items'],
  }

  function answer(name, { count = 500, note = '' }) {
    const items = Array.from({ length: count }, (_, id) => ({ id, title: `Row ${id} ${note} 😀` }))
    const json = JSON.stringify({ items })
    if (name === 'list' || name === 'shown' || name === 'terse') return text(json)
    if (name === 'failing') return { ...text(json), isError: true }
    if (name === 'mixed')
      return {
        content: [
          { type: 'resource_link', uri: 'file:///all.txt', name: 'all' },
          { type: 'resource', resource: { uri: 'file:///a.txt', text: json } },
        ],
      }
    if (name === 'wrapped')
      return { ...text('A line.\n'.repeat(2000)), structuredContent: { content: 'A line.\n'.repeat(2000) } }
    if (name === 'told') return { ...text('A summary. '.repeat(1000)), structuredContent: { items } }
    return { content: [{ type: 'text', text: json }], structuredContent: { items } }
  }

  return {
    'tools/list': () => ({
      tools: [
        ...['list', 'terse', 'failing', 'mixed', 'loose', 'told', 'wrapped'].map((name) => tool(name)),
        tool('typed', { outputSchema: schema }),
        tool('shown', { _meta: { ui: { resourceUri: 'ui://app/main.html' } } }),
      ],
    }),
    'tools/call': ({ name, arguments: input = {} }) => answer(name, input),
  }
}

run(import.meta, server)
