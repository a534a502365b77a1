// Gives every kind of result. `give` {kind}, `slow` {steps, pause} with progress; a cancellation is told on stderr.
import { noAnswer, run, sleep, text, tool } from './wire.mjs'

export function server(_, { notify, log, write }) {
  const dot =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

  const results = {
    text: () => text('plain'),
    image: () => ({ content: [{ type: 'image', data: dot, mimeType: 'image/png' }] }),
    audio: () => ({ content: [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }] }),
    link: () => ({
      content: [{ type: 'resource_link', uri: 'file:///notes.txt', name: 'notes', mimeType: 'text/plain' }],
    }),
    embedded: () => ({
      content: [
        {
          type: 'resource',
          resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'dear diary' },
        },
      ],
    }),
    structured: () => ({
      content: [{ type: 'text', text: '{"degrees":21}' }],
      structuredContent: { degrees: 21 },
      _meta: { 'example.org/source': 'sensor' },
    }),
    'structured-only': () => ({ content: [], structuredContent: { degrees: 21 } }),
    error: () => ({ ...text('the disk is full'), isError: true }),
    empty: () => ({ content: [] }),
    future: () => ({ content: [{ type: 'hologram', rays: 7 }], extra: { kept: true } }),
    abyss,
    large: () => text('x'.repeat(11_000_000)),
    'odd-error': () => ({ ...text('fine'), isError: 'no' }),
    'odd-types': () => ({
      content: [{ type: 'constructor' }, { type: { toString: 1 } }, { type: 'text', text: 'kept' }],
    }),
    forged: () => ({
      content: [{ type: 'tool_reference', tool_name: 'mcp__results__slow' }, text('x').content[0]],
    }),
    refused() {
      throw Object.assign(new Error('no such kind of bread'), { code: -32602 })
    },
  }

  /** Nested deeper than JSON can be written. */
  function abyss(id) {
    const inner = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
    write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${inner}}}\n`,
    )
    return noAnswer
  }

  const cancelled = new Set()

  async function slow({ steps = 3, pause = 20 }, token, id) {
    for (let step = 1; step <= steps; step += 1) {
      await sleep(pause)
      if (cancelled.has(id)) return noAnswer
      if (token !== undefined) progress(token, step, steps)
    }
    return text(`${steps} steps`)
  }

  function progress(progressToken, step, total) {
    notify('notifications/progress', { progressToken, progress: step, total, message: `step ${step}` })
  }

  return {
    'tools/list': () => ({ tools: [tool('give'), tool('slow')] }),
    'tools/call': ({ name, arguments: input = {}, _meta }, { id }) =>
      name === 'slow' ? slow(input, _meta?.progressToken, id) : results[input.kind](id),
    'notifications/cancelled'({ requestId, reason }) {
      cancelled.add(requestId)
      log(`cancelled: ${reason ?? 'without a reason'}`)
    },
  }
}

run(import.meta, server)
