// G6: a back-end that turns out, at run time, not to know references.
import { describe, expect, it } from 'vitest'
import type { Prepared, Shelf, ShelfOptions } from '../packages/core/src/index.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import { builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const tools = [builtIn('Read'), mcp('slack', 'send')]
const everything = ['Read', 'mcp__slack__send']

/** An error as the official SDK throws it. */
function apiError(message: string, status = 400): Error {
  const body = { type: 'error', error: { type: 'invalid_request_error', message } }
  return Object.assign(new Error(`${status} ${JSON.stringify(body)}`), { status, error: body })
}

/** A proxy from before tool search, with all it was sent. */
function oldProxy() {
  const requests: Loose[] = []
  const send = async ({ request, headers }: Prepared<Loose>) => {
    requests.push(request)
    const betas = (headers['anthropic-beta'] ?? '').split(',').filter((beta) => beta !== '')
    const error = validateRequest(JSON.parse(JSON.stringify(request)), { betas, isOldProxy: true })
    if (error)
      throw Object.assign(new Error(error.body.error.message), { status: error.status, error: error.body })
    return 'fine'
  }
  return { requests, send }
}

function proxied(options: ShelfOptions = {}): Shelf {
  return quietShelf({ tools, toolSearch: true, baseURL: 'https://proxy.example', ...options })
}

const namesOf = (request: Loose): string[] => request.tools.map(({ name }: Loose) => name)
const asking = (model = MODEL) => ({ model, messages: [{ role: 'user', content: 'hi' }] })

describe('G6 which errors count', () => {
  async function isRecovered(error: unknown, options: ShelfOptions = {}): Promise<boolean> {
    const shelf = proxied(options)
    return (await shelf.recover(error, asking(), await shelf.prepare(asking()))) !== undefined
  }

  it.each([
    'Messages content type tool_reference not supported',
    "messages.2.content.0.tool_result.content.0: Input tag 'tool_reference' found using 'type' does not match any of the expected tags",
    'tools.3.defer_loading: Extra inputs are not permitted',
    'tools.0.custom.defer_loading: Extra inputs are not permitted',
    'Unknown field: defer_loading',
    'Unsupported content type in tool_result',
    'content type `tool_reference` is not supported by this model',
    'Messages content type tool_search_tool_result not supported',
    "tools.0: Input tag 'tool_search_tool_bm25_20251119' found using 'type' does not match any of the expected tags",
  ])('G6 a 400 that says: %s', async (message) => {
    expect(await isRecovered(apiError(message))).toBe(true)
  })

  it.each([
    'Unexpected value(s) `tool-search-tool-2025-10-19` for the `anthropic-beta` header',
    'unknown beta: tool-search-tool-2025-10-19',
    'invalid beta flag',
  ])('G6 a 400 about a beta that was sent: %s', async (message) => {
    expect(await isRecovered(apiError(message), { provider: 'bedrock' })).toBe(true)
  })

  it.each([
    'Unexpected value(s) `computer-use-1999-01-01` for the `anthropic-beta` header',
    'unknown beta: computer-use-1999-01-01',
  ])('G6 but not one about a beta of the host’s own: %s', async (message) => {
    expect(await isRecovered(apiError(message), { provider: 'bedrock' })).toBe(false)
  })

  it.each([
    'prompt is too long: 210000 tokens > 200000 maximum',
    'max_tokens: Field required',
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1',
    'messages: roles must alternate between "user" and "assistant"',
    'tools.0.custom.input_schema: JSON schema is invalid',
    'Your credit balance is too low to access the Anthropic API.',
    'tool_choice: Tool "x" not found in provided tools',
    "Tool reference 'mcp__slack__send' not found in available tools",
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
    '',
  ])('G6 no other 400: %s', async (message) => {
    expect(await isRecovered(apiError(message))).toBe(false)
  })

  it.each([401, 403, 404, 413, 422, 429, 500, 529])('G6 no status but 400: %d', async (status) => {
    expect(await isRecovered(apiError('Messages content type tool_reference not supported', status))).toBe(
      false,
    )
  })
})

describe('G6 send', () => {
  it('G6 sends once more with everything loaded, and loses no message', async () => {
    const { requests, send } = oldProxy()
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ]
    const { reply, prepared } = await proxied().send({ model: MODEL, system: 'be kind', messages }, send)
    expect(reply).toBe('fine')
    expect(requests).toHaveLength(2)
    expect(namesOf(requests[0])).toContain('ToolSearch')
    expect(namesOf(requests[1])).toEqual(everything)
    expect(requests[1]).toMatchObject({ model: MODEL, system: 'be kind', messages })
    expect(requests[1].messages).toHaveLength(3)
    expect(prepared.request).toBe(requests[1])
    expect(prepared.decision).toMatchObject({ open: false, reason: 'rejected' })
    expect(messages).toHaveLength(3)
  })

  it('G6 in the midst of a conversation: drops references, and names what was loaded', async () => {
    const talk = new Talk(proxied()).user()
    await talk.prepare()
    await talk.search('select:mcp__slack__send')
    talk.run('mcp__slack__send', {}, 'sent it').user('thanks')
    await talk.prepare()
    const { requests, send } = oldProxy()
    const { reply } = await talk.shelf.send({ model: MODEL, max_tokens: 9, messages: talk.messages }, send)
    expect(reply).toBe('fine')
    const text = JSON.stringify(requests[1])
    expect(text).not.toMatch(/tool_reference|defer_loading|system-reminder/)
    for (const kept of ['sent it', 'thanks', 'mcp__slack__send']) expect(text).toContain(kept)
    expect(validateRequest(JSON.parse(text))).toBeUndefined()
  })

  it('G6 is remembered: the next request is right at once, a sub-agent’s too', async () => {
    const { requests, send } = oldProxy()
    const shelf = proxied()
    await shelf.send(asking(), send)
    await shelf.send(asking(), send)
    await shelf.fork().send(asking(), send)
    expect(requests).toHaveLength(4)
    expect(requests.slice(1).map(namesOf)).toEqual([everything, everything, everything])
  })

  it('G6 warns the user once, with the error of the back-end', async () => {
    const told: string[] = []
    const { send } = oldProxy()
    const shelf = proxied({ notify: (message) => void told.push(message) })
    for (let turn = 0; turn < 3; turn++) await shelf.send(asking(), send)
    await shelf.fork().send(asking(), send)
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(MODEL)
    expect(told[0]).toContain('defer_loading')
  })

  it('G6 does not loop: a second refusal is the caller’s', async () => {
    let sent = 0
    const send = async () => {
      sent++
      throw apiError(`Messages content type tool_reference not supported, number ${sent}`)
    }
    const shelf = proxied()
    await expect(shelf.send(asking(), send)).rejects.toThrow('number 2')
    expect(sent).toBe(2)
    await expect(shelf.send(asking(), send)).rejects.toThrow('number 3')
    expect(sent).toBe(3)
  })

  it('G6 any other error is the caller’s, unchanged, after one attempt', async () => {
    let sent = 0
    const error = apiError('prompt is too long')
    const shelf = proxied()
    const attempt = shelf.send(asking(), async () => {
      sent++
      throw error
    })
    await expect(attempt).rejects.toBe(error)
    expect(sent).toBe(1)
    expect((await shelf.prepare(asking())).decision.open).toBe(true)
  })

  it.each([
    ['of this conversation and a sub-agent', (shelf: Shelf) => shelf.fork()],
    ['of this conversation', (shelf: Shelf) => shelf],
  ])('G6 two requests under way at once are both sent again: %s', async (_, other) => {
    const { requests, send } = oldProxy()
    const told: string[] = []
    const shelf = proxied({ notify: (message) => void told.push(message) })
    const both = await Promise.all([shelf.send(asking(), send), other(shelf).send(asking(), send)])
    expect(both.map(({ reply }) => reply)).toEqual(['fine', 'fine'])
    expect(requests).toHaveLength(4)
    expect(told).toHaveLength(1)
  })
})

describe('G6 the beta header', () => {
  it('G6 a refused beta is not sent again', async () => {
    const headers: Loose[] = []
    const { requests, send } = oldProxy()
    const shelf = proxied({ provider: 'bedrock' })
    const noting = (prepared: Prepared<Loose>) => {
      headers.push(prepared.headers)
      return send(prepared)
    }
    await shelf.send(asking(), noting)
    await shelf.send(asking(), noting)
    expect(headers).toEqual([{ 'anthropic-beta': 'tool-search-tool-2025-10-19' }, {}, {}])
    expect(requests).toHaveLength(3)
  })
})

describe('G6 recover, for those who send themselves', () => {
  const refusal = apiError('Messages content type tool_reference not supported')

  it('G6 gives the request to send instead, once', async () => {
    const shelf = proxied()
    const again = await shelf.recover(refusal, asking(), await shelf.prepare(asking()))
    expect(again && namesOf(again.request)).toEqual(everything)
    expect(again?.request.messages).toEqual(asking().messages)
    expect(again && (await shelf.recover(refusal, asking(), again))).toBeUndefined()
  })

  it.each(['addition', 'hosted'] as const)('G6 holds on the %s wire too', async (wire) => {
    const { requests, send } = oldProxy()
    expect((await proxied({ wire }).send(asking(), send)).reply).toBe('fine')
    expect(requests.map(namesOf)[1]).toEqual(everything)
  })
})
