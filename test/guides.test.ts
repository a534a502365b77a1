// The guides: the commands they show exist, and their JSON parses.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createSkills } from '../packages/agent/src/skills/skills.ts'
import { createAgentTool } from '../packages/agent/src/sub-agent.ts'
import { createBuiltInTools } from '../packages/agent/src/tools/built-in.ts'
import type { AgentEvent } from '../packages/agent/src/types.ts'
import { everyCommand } from '../packages/cli/src/main.ts'

const commands = await everyCommand()
type Fields = { readonly [field: string]: unknown }
const folder = fileURLToPath(new URL('../docs/guides', import.meta.url))

describe.each(readdirSync(folder))('%s', (name) => {
  const file = join(folder, name)
  const text = readFileSync(file, 'utf8')

  it('has JSON that can be read', () => {
    for (const json of blocks(text, 'json')) expect(() => JSON.parse(json), json).not.toThrow()
  })

  it('names commands and options that exist', () => {
    const lines = blocks(text, 'sh').flatMap((block) => block.split('\n'))
    for (const line of lines) {
      const [, called, options = ''] = /\btoolshelf ([a-z]+)([^#]*)/.exec(line) ?? []
      if (called === undefined) continue
      const command = commands.find(({ name }) => name === called)
      expect(command, line).toBeDefined()
      for (const [, option = ''] of options.matchAll(/ --([a-z-]+)/g))
        expect(Object.keys(command?.options ?? {}), line).toContain(option)
    }
  })
})

describe('agent.md documents', () => {
  const text = readFileSync(join(folder, 'agent.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | '))
  const names = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

  it('every event, in the table and by example', () => {
    const events: { readonly [type in AgentEvent['type']]: true } = {
      ...{ text: true, thinking: true, request: true, reply: true, call: true, result: true },
      ...{ 'broken-off': true, retry: true, compacted: true, notice: true, inside: true, end: true },
    }
    const types = ['session', ...Object.keys(events)].sort()
    const start = rows.findIndex(([cell]) => cell === '`type`')
    const listed = rows.slice(start + 1, start + 13)
    expect(listed.flatMap(([cell]) => names(cell)).sort()).toEqual(types)
    const lines = blocks(text, 'jsonl').flatMap((block) => block.trim().split('\n'))
    const examples = lines.map((line) => JSON.parse(line) as { type: string })
    expect(examples.map(({ type }) => type).sort()).toEqual(types)
    for (const { type, ...fields } of examples) {
      const row = listed.find(([cell]) => names(cell).includes(type))
      for (const field of Object.keys(fields)) expect(names(row?.[1]), type).toContain(field)
    }
  })

  it('every tool, with what it takes, whether it asks, and whether it is deferred', () => {
    const skill = { name: 'a', description: 'b', place: '.', isRemote: false, read: async () => '' }
    const tools = [
      ...createBuiltInTools({ directory: '.' }),
      ...createSkills([skill], { notify: () => {} }).tools,
      createAgentTool(() => expect.fail('it is not called')),
    ]
    const listed = rows.filter(([, , asks]) => asks === 'yes' || asks === 'no')
    expect(listed.flatMap(([name]) => names(name)).sort()).toEqual(tools.map(({ name }) => name).sort())
    for (const { name, input_schema, isReadOnly = false, shouldDefer = false } of tools) {
      const [, takes, asks, about = ''] = listed.find(([cell]) => names(cell)[0] === name) ?? []
      expect(names(takes), name).toEqual(Object.keys(Object((input_schema as Fields).properties)))
      expect({ asks, isDeferred: /deferred/.test(about) }, name).toEqual({
        asks: isReadOnly ? 'no' : 'yes',
        isDeferred: shouldDefer,
      })
    }
  })
})

function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, body = '']) => body,
  )
}
