// JSON with comments and trailing commas, and adding to it without losing anything.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addServers } from '../../packages/mcp/src/config/edit.ts'
import { parseJson } from '../../packages/mcp/src/config/json.ts'

describe('reading', () => {
  it('reads whatever JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parseJson(text).value).toEqual(JSON.parse(text))
      }),
    )
  })

  it('reads comments and trailing commas, but not inside texts', () => {
    const text = '\uFEFF// a\n{ "a": "/* no */ // no,]", /* b\n */ "b": [1, -2.5e-3, [],], } // c'
    expect(parseJson(text).value).toEqual({ a: '/* no */ // no,]', b: [1, -2.5e-3, []] })
  })

  it('keeps odd names as plain members', () => {
    const { value } = parseJson('{"__proto__": {"a": 1}}')
    expect(Object.keys(value as object)).toEqual(['__proto__'])
  })

  it.each([
    ['', 'line 1, column 1: the file ends too early'],
    ['{"a": 1', 'line 1, column 8: a comma or } is missing'],
    ['{"a" 1}', 'line 1, column 6: a colon is missing'],
    ['{\n  a: 1}', 'line 2, column 3: a name in double quotes, or }, is missing'],
    ['{"a": [1 2]}', 'line 1, column 10: a comma or ] is missing'],
    ['{"a": "x}', 'line 1, column 7: a string is not closed or has an invalid character'],
    ['{"a": .5}', 'line 1, column 7: unexpected character'],
    ['{,}', 'line 1, column 2: a name in double quotes, or }, is missing'],
    ['{} x', 'line 1, column 4: unexpected text after the end'],
    ['{ /* x', 'line 1, column 3: a comment is not closed'],
    ['['.repeat(100_000), 'line 1, column 501: it is nested more than 500 levels deep'],
  ])('says where %.20j is wrong', (text, message) => {
    expect(() => parseJson(text)).toThrow(message)
  })
})

describe('adding', () => {
  const added = [['b', { command: 'y' }]] as const

  it('keeps comments, order and unknown keys', () => {
    const text = '{\n  // mine\n  "x": 1,\n  "mcpServers": {\n    "a": { "command": "x" } // first\n  }\n}\n'
    expect(addServers(text, added)).toBe(
      '{\n  // mine\n  "x": 1,\n  "mcpServers": {\n    "a": { "command": "x" }, // first\n    "b": {\n      "command": "y"\n    }\n  }\n}\n',
    )
  })

  it.each([
    '{}',
    '{ }\n',
    '{"x": 1}',
    '{"x": 1, // end\n}',
    '{"mcpServers": {}}',
    '{"mcpServers": { /* none */ }, "x": 1}',
    '{"mcpServers": {"a": {}}}',
    '{"mcpServers": {"a": {}, }, "x": [1]}',
    '{"mcpServers": {"a": {} // c\n, // d\n}}',
  ])('%j stays whole', (text) => {
    const before = parseJson(text).value as { mcpServers?: object }
    const after = parseJson(addServers(text, added)).value
    expect(after).toEqual({ ...before, mcpServers: { ...before.mcpServers, b: { command: 'y' } } })
  })

  it.each([
    ['[]', 'it is not a JSON object'],
    ['{"mcpServers": []}', '"mcpServers" is not an object'],
    ['{', 'line 1, column 2'],
  ])('refuses %j', (text, message) => {
    expect(() => addServers(text, added)).toThrow(message)
  })
})
