// Which `tools` and references the API takes: test/statements.md, wire 1 to 11.
import { describe, expect, it } from 'vitest'
import { validateRequest } from '../../packages/messages/src/oracle/validate.ts'
import {
  assistant,
  deferred,
  errorCode,
  found,
  loading,
  reference,
  refusal,
  request,
  result,
  search,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const hi = user(text('hi'))
const searchTypes = ['tool_search_tool_regex', 'tool_search_tool_bm25'].flatMap((name) => [
  { name, type: name },
  { name, type: `${name}_20251119` },
])

describe('tools', () => {
  it.each(searchTypes)('wire 1 $type needs no beta header', ({ name, type }) => {
    expect(refusal(request([{ type, name }, deferred('a')], hi))).toBeUndefined()
    expect(refusal(request([{ type, name: 'other' }, deferred('a')], hi))).toContain(`'${name}'`)
  })

  it('wire 1 the beta headers of old are ignored', () => {
    const betas = ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19']
    expect(refusal(request([tool('a'), deferred('b')], hi), { betas })).toBeUndefined()
  })

  it('wire 2 not every tool may be deferred', () => {
    const message = 'At least one tool must have defer_loading=false. All tools cannot be deferred.'
    const all = request([deferred('a'), deferred('b')], hi)
    expect(refusal(all)).toBe(message)
    expect(refusal(request([], hi))).toBeUndefined()
    expect(refusal(request([tool('a', { defer_loading: false }), deferred('b')], hi))).toBeUndefined()
    expect(refusal(all, { betas: ['inline-tools-2026-09-15'] })).toBeUndefined()
    expect(refusal(all, { betas: ['mid-conversation-tool-changes-2026-07-01'] })).toBe(message)
  })

  it('wire 3 a deferred tool has no cache_control', () => {
    const breakpoint = { cache_control: { type: 'ephemeral' } }
    expect(refusal(request([tool('a'), deferred('b', breakpoint)], hi))).toBe(
      "Tool 'b' cannot have both defer_loading=true and cache_control set. " +
        'Tools with defer_loading cannot use prompt caching.',
    )
    expect(refusal(request([tool('a', breakpoint), deferred('b')], hi))).toBeUndefined()
    expect(refusal(request([tool('a'), deferred('b', { cache_control: null })], hi))).toBeUndefined()
  })

  it('wire 4 a reference in a tool_result needs its tool, however long ago', () => {
    const later = [assistant(text('done')), user(text('more'))]
    const message = "Tool reference 'b' not found in available tools"
    expect(refusal(request([tool('a')], ...loading('b'), ...later))).toBe(message)
    expect(refusal(request([tool('a'), deferred('b')], ...loading('b'), ...later))).toBeUndefined()
  })

  it('wire 4 a reference in a tool_search_tool_result needs its tool too', () => {
    const history = [hi, assistant(search('srvtoolu_1'), found('srvtoolu_1', 'b')), hi]
    expect(refusal(request([tool('a')], ...history))).toBe("Tool reference 'b' not found in available tools")
    expect(refusal(request([tool('a'), deferred('b')], ...history))).toBeUndefined()
  })

  it('wire 5 a reference may name a tool that is not deferred', () => {
    expect(refusal(request([tool('a')], ...loading('a')))).toBeUndefined()
  })

  it('wire 6 a tool_result holds references or other content', () => {
    const tools = [tool('a'), deferred('b')]
    const asked = [hi, assistant(use('call-1'))]
    const mixed = user(result('call-1', [reference('b'), text('loaded')]))
    const beside = user(result('call-1', [reference('b')]), text('loaded'))
    expect(refusal(request(tools, ...asked, mixed))).toBe(
      'Tool definitions/code execution functions cannot be mixed with other content',
    )
    expect(refusal(request(tools, ...asked, beside))).toBeUndefined()
  })

  it('wire 7 the client does not answer the API’s own search', () => {
    const history = (id: string) => [hi, assistant(use('call-1'), search('srvtoolu_1')), user(result(id))]
    const message = refusal(
      request([tool('a')], hi, assistant(search('srvtoolu_1')), user(result('srvtoolu_1'))),
    )
    expect(message).toContain('unexpected `tool_use_id` found in `tool_result` blocks: srvtoolu_1.')
    expect(refusal(request([tool('a')], ...history('srvtoolu_1')))).toBeDefined()
    expect(refusal(request([tool('a')], ...history('call-1')))).toBeUndefined()
  })

  it.each(['computer_toolset_20260801', 'browser_toolset_20260801'])('wire 8 %s defers by member', (type) => {
    const toolset = (more: object) => request([tool('a'), { type, ...more }], hi)
    const configs = (one: boolean, other: boolean, enabled = true) => ({
      configs: { key: { defer_loading: one }, type: { defer_loading: other, enabled } },
    })
    expect(refusal(toolset({ defer_loading: true }))).toContain(`tools.1.${type}.defer_loading`)
    expect(refusal(toolset(configs(true, false)))).toContain(`tools.1.${type}.configs`)
    expect(refusal(toolset(configs(true, true)))).toBeUndefined()
    expect(refusal(toolset(configs(true, false, false)))).toBeUndefined()
    expect(refusal(toolset({}))).toBeUndefined()
  })

  it('wire 9 at most 10,000 tools are deferred', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => deferred(`t${index}`))
    const over = request([tool('a'), ...many(10_001)], hi)
    expect(refusal(over)).toContain('10001')
    expect(errorCode(over)).toBe('available_tools_limit_exceeded')
    expect(refusal(request([tool('a'), ...many(10_000)], hi))).toBeUndefined()
  })

  it('wire 10 a client’s own search needs no built-in tool, no declared name, no toolu_ id', () => {
    const history = [
      hi,
      assistant(use('auto_load_1', 'undeclared')),
      user(result('auto_load_1', [reference('b')])),
    ]
    expect(refusal(request([tool('a'), deferred('b')], ...history))).toBeUndefined()
    expect(refusal(request([tool('a')], ...history))).toBeDefined()
  })

  it('wire 11 an error has the API’s envelope', () => {
    expect(validateRequest(request([deferred('a')], hi), { requestId: 'req_1' })).toEqual({
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'At least one tool must have defer_loading=false. All tools cannot be deferred.',
        },
        request_id: 'req_1',
      },
    })
  })
})

describe('a tool', () => {
  it.each([
    ['twice', [tool('a'), tool('a')], 'tools: Tool names must be unique.'],
    ['bad name', [tool('a b')], "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"],
    ['long name', [tool('a'.repeat(129))], 'tools.0.custom.name'],
    ['no schema', [{ name: 'a' }], 'tools.0.custom.input_schema: Field required'],
    ['no type', [tool('a', { input_schema: {} })], 'tools.0.custom.input_schema.type: Field required'],
    ['other type', [tool('a', { input_schema: { type: 'array' } })], "Input should be 'object'"],
    ['our own field', [tool('a', { server: 's' })], 'tools.0.custom.server: Extra inputs are not permitted'],
    ['odd flag', [tool('a', { defer_loading: 1 })], 'tools.0.custom.defer_loading'],
    ['no tool', [tool('a'), null], 'tools.1: Input should be'],
  ])('%s is refused', (_, tools, message) => {
    expect(refusal(request(tools, hi))).toContain(message)
  })

  it('of a type the API defines needs no schema', () => {
    const bash = { type: 'bash_20250124', name: 'bash' }
    expect(refusal(request([bash, tool('a', { type: 'custom', input_examples: [{}] })], hi))).toBeUndefined()
  })

  it('may be chosen in any way', () => {
    const chosen = { ...request([tool('a')], hi), tool_choice: { type: 'tool', name: 'a' } }
    expect(refusal(chosen)).toBeUndefined()
  })
})
