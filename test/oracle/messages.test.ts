// Which histories the API takes: shape, pairing, and what an old proxy makes of them.
import { describe, expect, it } from 'vitest'
import {
  assistant,
  deferred,
  found,
  loading,
  refusal,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const hi = user(text('hi'))
const refuse = (...messages: unknown[]) => refusal(request([tool('a')], ...messages))

describe('a message', () => {
  const empty = 'all messages must have non-empty content except for the optional final assistant message'
  it.each([
    ['none', [], 'messages: at least one message is required'],
    ['other role', [{ role: 'tool', content: 'x' }], 'messages.0.role'],
    ['assistant first', [assistant(text('x'))], 'messages: first message must use the "user" role'],
    ['system first', [system(text('x')), hi], "messages.0: use the top-level 'system' parameter"],
    ['no blocks', [user()], `messages.0: ${empty}`],
    ['empty string', [hi, { role: 'assistant', content: '' }, hi], `messages.1: ${empty}`],
    ['null content', [{ role: 'user', content: null }], 'messages.0.content'],
    ['no content', [{ role: 'user' }], 'messages.0.content: Field required'],
    ['empty text', [user(text('x'), text(''))], 'messages: text content blocks must be non-empty'],
    [
      'blank text',
      [{ role: 'user', content: ' \n' }],
      'messages: text content blocks must contain non-whitespace',
    ],
    ['our own field', [{ ...hi, note: 1 }], 'messages.0.note: Extra inputs are not permitted'],
    [
      'clear_at of a user',
      [{ ...hi, clear_at: 'never' }],
      'messages.0.clear_at: Extra inputs are not permitted',
    ],
    ['a block without type', [user({ text: 'x' })], 'messages.0.content.0'],
    ['a block that is none', [user(null)], 'messages.0.content.0'],
  ])('%s is refused', (_, messages, message) => {
    expect(refuse(...messages)).toContain(message)
  })

  it('may be a string, may come twice in a row, may end empty', () => {
    const messages = [{ role: 'user', content: 'a' }, hi, { role: 'assistant', content: [] }]
    expect(refusal({ ...request([tool('a')], ...messages), model: 'claude-opus-4-5' })).toBeUndefined()
  })

  it('may hold block types that nobody knows yet, where an API that may know them has the last word', () => {
    const value = request([tool('a')], user({ type: 'hologram', anything: 1 }))
    expect(refusal(value)).toContain("Input tag 'hologram'")
    expect(refusal(value, { isLenient: true })).toBeUndefined()
  })

  it('that only sets output_config is allowed anywhere', () => {
    const directive = { ...system(), output_config: { effort: 'low' } }
    expect(refuse(directive, hi, assistant(use('c')), directive, user(result('c')))).toBeUndefined()
  })
})

describe('a call', () => {
  const unanswered = (ids: string, message = 1) =>
    `messages.${message}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
    'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
  const unexpected = (id: string, path: string) =>
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.'

  it('is answered in the next turn', () => {
    expect(refuse(hi, assistant(use('c')), user(result('c')))).toBeUndefined()
    expect(refuse(hi, assistant(use('c')))).toBe(unanswered('c'))
    expect(refuse(hi, assistant(use('c'), use('d')), hi)).toBe(unanswered('c, d'))
  })

  it('is what a result answers', () => {
    expect(refuse(user(result('c')))).toBe(unexpected('c', 'messages.0.content.0'))
    const late = [
      hi,
      assistant(use('c')),
      user(result('c')),
      assistant(text('x')),
      user(text('y'), result('c')),
    ]
    expect(refuse(...late)).toBe(unexpected('c', 'messages.4.content.1'))
  })

  it('is answered before any other content, adjacent messages being one turn', () => {
    const asked = [hi, assistant(use('c')), assistant(use('d'))]
    expect(refuse(...asked, user(result('c')), user(result('d'), text('x')))).toBeUndefined()
    expect(refuse(...asked, user(result('c'), text('x')), user(result('d')))).toBe(unanswered('d', 2))
    expect(refuse(...asked, user(text('x'), result('c'), result('d')))).toBe(unanswered('c, d'))
  })

  it('has its own id and one answer', () => {
    const again = [hi, assistant(use('c')), user(result('c')), assistant(use('c')), user(result('c'))]
    expect(refuse(...again)).toBe('messages.3.content.0: `tool_use` ids must be unique')
    expect(refuse(hi, assistant(use('c')), user(result('c'), result('c')))).toContain(
      'must have a single result',
    )
    expect(refuse(hi, assistant(use('c.1')), user(result('c.1')))).toContain('tool_use.id')
  })
})

describe('a search by the API', () => {
  const refuseSearch = (...messages: unknown[]) => refusal(request([tool('a'), deferred('b')], ...messages))

  it('has its result beside it, or in the next reply if a client’s call came with it (1.6)', () => {
    const parallel = [hi, assistant(search('srvtoolu_1'), use('c')), user(result('c'))]
    expect(refuseSearch(...parallel)).toBeUndefined()
    expect(refuseSearch(...parallel, assistant(found('srvtoolu_1', 'b')), hi)).toBeUndefined()
    expect(refuseSearch(...parallel, assistant(text('x')), hi)).toContain('was found without a corresponding')
    expect(refuseSearch(hi, assistant(search('srvtoolu_1')), hi)).toContain(
      'was found without a corresponding',
    )
    expect(refuseSearch(hi, assistant(search('srvtoolu_1')))).toBeUndefined()
    const late = [hi, assistant(search('srvtoolu_1')), hi, assistant(found('srvtoolu_1', 'b')), hi]
    expect(refuseSearch(...late)).toContain('was found without a corresponding')
  })

  it('comes before its result', () => {
    expect(refuseSearch(hi, assistant(found('srvtoolu_1', 'b')), hi)).toContain(
      'Each `tool_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
    )
  })
})

describe('an old proxy', () => {
  const old = (value: unknown, betas: string[] = []) => refusal(value, { isOldProxy: true, betas })

  it('W2 takes what it has always known', () => {
    const history = [hi, assistant(text('x'), use('c')), user(result('c', [text('y')]), text('z'))]
    expect(old(request([tool('a')], ...history), ['context-1m-2025-08-07'])).toBeUndefined()
  })

  it.each([
    ['tool_reference', request([tool('b')], ...loading('b'))],
    ['server_tool_use', request([tool('b')], hi, assistant(search('srvtoolu_1')))],
    ['tool_search_tool_result', request([tool('b')], hi, assistant(found('srvtoolu_1', 'b')))],
    ['tool_addition', request([tool('b')], hi, system({ type: 'tool_addition' }))],
  ])('W2 refuses %s', (type, value) => {
    expect(old(value)).toBe(`Messages content type ${type} not supported`)
  })

  it('W2 refuses betas and fields that came after it', () => {
    expect(old(request([tool('a')], hi), ['advanced-tool-use-2025-11-20'])).toBe(
      'Unexpected value(s) `advanced-tool-use-2025-11-20` for the `anthropic-beta` header',
    )
    expect(old(request([tool('a'), deferred('b')], hi))).toBe(
      'tools.1.defer_loading: Extra inputs are not permitted',
    )
    const called = assistant({ ...use('c'), caller: { type: 'direct' } })
    const history = request([tool('a')], hi, called, user(result('c')))
    expect(old(history)).toBe('messages.1.content.0.tool_use.caller: Extra inputs are not permitted')
    expect(refusal(history)).toBeUndefined()
    expect(old(request([tool('a')], hi, system(text('x'))))).toContain('Unexpected role "system"')
  })
})
