// Builds requests of the load bench: tools of realistic size, growing histories, images.
import { synthetic } from './synthetic.ts'

export type Body = { readonly [field: string]: unknown }

/** Definitions of about 1.1 kB each, as measured over twenty real servers. */
export function toolsOf(count: number): readonly Body[] {
  return synthetic(count).tools.map(({ name, tool, definition }, index) => ({
    name,
    description: `${definition.description} ${'Returns what was found, one entry a line. '.repeat(14)}`,
    input_schema: {
      ...(tool.input_schema as Body),
      required: Object.keys((tool.input_schema as { properties: object }).properties).slice(0, index % 3),
      additionalProperties: false,
    },
  }))
}

/** Returns the request of one turn; each turn before it was a tool call with a result. */
export function bodyOf(tools: readonly Body[], turns: number, more: Body = {}): string {
  const messages: Body[] = [
    { role: 'user', content: 'Look into the failing deployment and say what is wrong.' },
  ]
  for (let turn = 0; turn < turns; turn++) {
    const name = tools[(turn * 7) % Math.min(tools.length, 40)]?.name
    const id = `toolu_bench_${turn}`
    messages.push(
      {
        role: 'assistant',
        content: [
          { type: 'text', text: `Step ${turn}: I look at the next part of it.` },
          { type: 'tool_use', id, name, input: { project_id: `p${turn}`, limit: 20 } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content: 'a line of what was found; '.repeat(50) }],
      },
    )
  }
  return JSON.stringify({ model: 'bench', max_tokens: 4096, stream: true, tools, messages, ...more })
}

/** Returns a request with an image of this many megabytes, in base64. */
export function imageBodyOf(tools: readonly Body[], megabytes: number): string {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAUA'.repeat((megabytes * 1_000_000) / 28)
  const source = { type: 'base64', media_type: 'image/png', data }
  const content = [
    { type: 'text', text: 'What is on it?' },
    { type: 'image', source },
  ]
  return JSON.stringify({
    model: 'bench',
    max_tokens: 4096,
    stream: true,
    tools,
    messages: [{ role: 'user', content }],
  })
}
