// The schema that editors use says what the reader does.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { validateInput } from '../../packages/core/src/validate.ts'
import {
  gatewayDefaults,
  gatewayKeys,
  rootKeys,
  serverDefaults,
  serverKeys,
  toolKeys,
} from '../../packages/mcp/src/config/keys.ts'

type Part = { properties: { [key: string]: { description?: string; default?: unknown; enum?: unknown[] } } }
const schema = JSON.parse(
  readFileSync(new URL('../../docs/toolshelf.schema.json', import.meta.url), 'utf8'),
) as Part & { definitions: { [name: string]: Part } }
const { server, tool, gateway } = schema.definitions

describe('docs/toolshelf.schema.json', () => {
  it.each([
    ['the file', schema, rootKeys],
    ['a server', server, serverKeys],
    ['a tool', tool, toolKeys],
    ['the gateway', gateway, gatewayKeys],
  ])('has the keys of %s that the reader knows, and explains each', (_, part, keys) => {
    expect(Object.keys(part?.properties ?? {}).sort()).toEqual(Object.keys(keys).sort())
    for (const [key, property] of Object.entries(part?.properties ?? {})) {
      if (!('$ref' in property)) expect(property.description, key).toMatch(/\.$/)
      for (const word of property.enum ?? [])
        expect(keys[key as keyof typeof keys], key).toMatchObject({
          is: expect.stringContaining(`"${word}"`),
        })
    }
  })

  it('has the defaults of the reader', () => {
    for (const [key, value] of Object.entries(gatewayDefaults))
      expect(gateway?.properties[key]?.default, key).toBe(value)
    for (const [key, value] of Object.entries(serverDefaults))
      expect(server?.properties[key]?.default, key).toBe(value)
  })

  it.each([
    {},
    { $schema: 'x', mcpServers: {}, gateway: {} },
    { mcpServers: { a: { command: 'x', args: ['-y', 1], env: { A: 1 }, cwd: '~', type: 'stdio' } } },
    { mcpServers: { 'any name €': { url: 'https://x', type: 'sse', headers: { A: 'b' } } } },
    {
      mcpServers: {
        a: {
          command: 'x',
          alwaysLoad: true,
          lazy: true,
          description: 'x',
          disabled: false,
          allow: ['*'],
          deny: [],
        },
        b: { command: 'x', tools: { t: { alwaysLoad: true, hint: 'x' } }, connectTimeout: 1, callTimeout: 1 },
      },
      gateway: { mode: 'list', onChange: 'hold', instructions: 0, concurrency: 1 },
    },
  ])('takes %j', (value) => {
    expect(validateInput(schema, value)).toEqual([])
  })

  it.each([
    [],
    { servers: {} },
    { mcpServers: { a: {} } },
    { mcpServers: { a: { command: 1 } } },
    { mcpServers: { a: { command: 'x', alwaysload: true } } },
    { mcpServers: { a: { command: 'x', tools: { t: { pin: 1 } } } } },
    { mcpServers: { a: { command: 'x', callTimeout: 0 } } },
    { gateway: { mode: 'fast' } },
    { lint: {} },
    { gateway: { concurrency: 0 } },
  ])('refuses %j', (value) => {
    expect(validateInput(schema, value)).not.toEqual([])
  })
})
