// Tools that come and go in the middle of a conversation: test/statements.md, wire 42.
import { describe, expect, it } from 'vitest'
import { renderRequest, visibleTools } from '../../packages/core/src/reading.ts'
import {
  assistant,
  deferred,
  errorCode,
  found,
  type Json,
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
const byName = (name: string): Json => ({ type: 'tool_reference', name })
const add = (target: Json): Json => ({ type: 'tool_addition', tool: target })
const addNew = (definition: Json): Json => add({ type: 'tool_definition', definition })
const remove = (name: string): Json => ({ type: 'tool_removal', tool: byName(name) })
const REFERENCE = { betas: ['mid-conversation-tool-changes-2026-07-01'] }
const INLINE = { betas: ['inline-tools-2026-09-15'] }
const tools = [tool('a'), deferred('b')]

describe('a tool change', () => {
  it('wire 42 needs its beta', () => {
    const byReference = request(tools, hi, system(add(byName('b'))))
    const byValue = request(tools, hi, system(addNew(tool('c'))))
    expect(refusal(byReference)).toContain("Input tag 'tool_addition'")
    expect(refusal(byReference, REFERENCE)).toBeUndefined()
    expect(refusal(byReference, INLINE)).toBeUndefined()
    expect(refusal(byValue, REFERENCE)).toContain("Input tag 'tool_definition'")
    expect(refusal(byValue, INLINE)).toBeUndefined()
  })

  it('wire 42 is in a system message', () => {
    expect(refusal(request(tools, user(add(byName('b')))), INLINE)).toContain('only be in `system` messages')
    expect(refusal(request(tools, hi, assistant(remove('a'))), INLINE)).toContain(
      'only be in `system` messages',
    )
    expect(refusal(request(tools, hi, system({ type: 'image' })), INLINE)).toContain("Input tag 'image'")
  })

  it('wire 42 names a tool that is defined there', () => {
    const unknown = request(tools, hi, system(add(byName('c'))))
    expect(refusal(unknown, REFERENCE)).toBe("tool_addition/tool_removal references unknown tool 'c'")
    expect(errorCode(unknown, REFERENCE)).toBe('tool_reference_unresolved')
    const defined = [hi, system(addNew(tool('c'))), assistant(text('x')), hi, system(remove('c'))]
    expect(refusal(request(tools, ...defined), INLINE)).toBeUndefined()
    expect(errorCode(request(tools, hi, system(remove('c'), addNew(tool('c')))), INLINE)).toBeDefined()
  })

  it('wire 42 a definition is a tool of the kind its name already has', () => {
    const bash = { type: 'bash_20250124', name: 'a' }
    expect(errorCode(request(tools, hi, system(addNew(bash))), INLINE)).toBe('tool_name_conflict')
    expect(refusal(request(tools, hi, system(addNew({ name: 'c' }))), INLINE)).toContain('input_schema')
    const large = addNew(tool('c', { description: 'x'.repeat(4_194_304) }))
    expect(errorCode(request(tools, hi, system(large)), INLINE)).toBe('available_tools_limit_exceeded')
  })

  it('wire 42 follows a user turn and is last or followed by the assistant', () => {
    const change = system(text('note'), add(byName('b')))
    const check = (...messages: unknown[]) => refusal(request(tools, ...messages), REFERENCE)
    const paused = assistant(search('srvtoolu_1'), found('srvtoolu_1', 'b'))
    expect(check(hi, change, assistant(text('x')), hi)).toBeUndefined()
    expect(check(change, hi)).toContain("use the top-level 'system' parameter")
    expect(check(hi, assistant(text('x')), change)).toContain('must directly follow a user turn')
    expect(check(hi, change, hi)).toContain('must be last or be followed by an assistant turn')
    expect(check(hi, assistant(use('c')), change, user(result('c')))).toContain('must directly follow')
    expect(check(hi, paused, system(text('note')))).toBeUndefined()
    expect(check(hi, paused, change)).toContain('directly after a paused turn')
  })
})

describe('what a tool change shows', () => {
  const functions = (value: unknown) => renderRequest(value).filter(({ kind }) => kind === 'functions')

  it('wire 42 a deferred tool waits for its addition, which shows it in place', () => {
    const before = request(tools, hi)
    const after = request(tools, hi, system(add(byName('b'))))
    expect(visibleTools(before)).toEqual(['a'])
    expect(visibleTools(after)).toEqual(['a', 'b'])
    expect(renderRequest(after).at(-1)?.text).toContain('b_key')
  })

  it('wire 42 the same definition again shows nothing, another replaces it from there', () => {
    const changed = tool('b', { description: 'new' })
    const twice = request(tools, ...loading('b'), system(addNew(tool('b'))))
    const other = request(tools, ...loading('b'), system(addNew(changed)))
    expect(functions(twice)).toHaveLength(1)
    expect(functions(other).map(({ text }) => text.includes('new'))).toEqual([false, true])
    expect(visibleTools(other)).toEqual(['a', 'b'])
  })

  it('wire 42 a removed tool is out of sight until it is added again', () => {
    const removed = [...loading('b'), system(remove('b')), assistant(text('x')), hi]
    expect(visibleTools(request(tools, ...removed))).toEqual(['a'])
    expect(renderRequest(request(tools, ...removed)).map(({ kind }) => kind)).toContain('removal')
    expect(visibleTools(request(tools, ...removed, system(add(byName('b')))))).toEqual(['a', 'b'])
  })

  it('a message with clear_at is seen until the next user message', () => {
    const note = { ...system(text('note')), clear_at: 'next_user_message' }
    const sees = (...messages: unknown[]) =>
      renderRequest(request(tools, ...messages)).some(({ text }) => text === 'note')
    expect(sees(hi, note, assistant(text('x')))).toBe(true)
    expect(sees(hi, note, assistant(text('x')), hi)).toBe(false)
  })
})
