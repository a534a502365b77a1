// Writes down a conversation with a gateway whose servers are only described: each request with its whole answer, and what
// the servers, the trace and the client get meanwhile.
import { ProtocolError } from '@modelcontextprotocol/server'
import { vi } from 'vitest'
import type { McpGatewayOptions } from '../../../src/mcp/gateway/index.ts'
import type { Loose } from '../../support/talk.ts'
import type { Desk } from './gateway.ts'
import { notedGateway } from './noted-host.ts'

export type Story = ReturnType<typeof openStory>

/** `host` replaces methods of the host; `options` are those of the gateway. */
export function openStory(host: Loose = {}, options: Partial<McpGatewayOptions> = {}) {
  const lines: string[] = []
  const show = createShow()
  const note = (mark: string, ...values: unknown[]) => void lines.push([mark, ...values.map(show)].join(' '))
  const noted = notedGateway(
    {
      async call(server: string, tool: string, input: Loose, { meta }: Loose = {}) {
        note('  server', server, tool, input, ...(meta ? [meta] : []))
        // A test with a clock of its own sees how long a call took.
        if (vi.isFakeTimers()) vi.advanceTimersByTime(7)
        return answerFor(input)
      },
      ...host,
    },
    options,
  )
  return {
    ...noted,
    note,
    /** Sends a request, and writes it down with its answer. */
    async ask({ raw }: Pick<Desk, 'raw'>, method: string, params?: Loose): Promise<Loose> {
      note(`> ${method}`, ...(params === undefined ? [] : [params]))
      const answer = await raw(method, params).catch((error: Loose) => {
        note('! ', error.code, error.message, ...(error.data === undefined ? [] : [error.data]))
      })
      if (answer) note('<', answer)
      return answer
    },
    call(desk: Pick<Desk, 'raw'>, name: string, input?: Loose): Promise<Loose> {
      return this.ask(desk, 'tools/call', { name, ...(input === undefined ? {} : { arguments: input }) })
    },
    /** What was written, one line for each event. */
    text: () => `${lines.join('\n')}\n`,
  }
}

/** A server's answer, which the input of the call says. */
function answerFor({ give, fail, code }: Loose): Loose {
  if (code !== undefined)
    throw new Error('wrapped', { cause: new ProtocolError(code, fail ?? '', { why: 1 }) })
  if (fail !== undefined) throw new Error(fail)
  return give ?? { content: [{ type: 'text', text: 'done' }] }
}

/** Writes values as JSON, with numbered ids in place of random ones, and long texts and the gateway's own tools shortened. */
function createShow(): (value: unknown) => string {
  const ids = new Map<string, string>()
  const numbered = (text: string) =>
    text.replace(/result_[a-z0-9]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, (id) => {
      if (!ids.has(id)) ids.set(id, `<${ids.size + 1}>`)
      return ids.get(id) ?? ''
    })
  const replace = (_: string, value: Loose) => {
    if (typeof value === 'string' && value.length > 400)
      return `${value.slice(0, 40)}…${value.length}…${value.slice(-20)}`
    const isOwn = value?.inputSchema && !value.name?.includes('__') && value._meta?.['anthropic/alwaysLoad']
    return isOwn ? value.name : value
  }
  return (value) =>
    numbered(typeof value === 'string' ? value : (JSON.stringify(value, replace) ?? 'undefined'))
}
