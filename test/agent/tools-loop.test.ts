// The built-in tools in the loop: the API takes their definitions, reading asks nobody, and a refusal changes nothing.
import { expect, test } from 'vitest'
import type { PermissionCheck } from '../../src/agent/index.ts'
import { lines, refusals, said, scripted, talking } from './support.ts'
import { workplace } from './tools-support.ts'

test('a file is found, read, changed and moved, with permission for what changes', async () => {
  const { tools, put, get } = workplace()
  put('src/greet.ts', "export const greeting = 'hello'\n")
  const asked: string[] = []
  const permission: PermissionCheck = ({ call, isHarmless }) => {
    if (isHarmless) return true
    asked.push(call.name)
    return call.name === 'Bash' ? 'No commands today.' : true
  }
  const script = scripted({
    do: [
      {
        calls: [
          { call: 'Grep', input: { pattern: 'hello' } },
          { call: 'Glob', input: { pattern: '*.ts' } },
        ],
      },
      { call: 'Read', input: { path: 'src/greet.ts' } },
      { call: 'Edit', input: { path: 'src/greet.ts', old: 'hello', new: 'good day' } },
      { call: 'Bash', input: { command: 'rm -rf src' } },
      { call: 'Move', input: { from: 'src/greet.ts', to: 'greet.ts' }, search: 'rename a file' },
      { say: '{{result}}' },
    ],
  })
  const talk = await talking(script, { tools, permission })
  const told = lines(await said(talk.agent, 'go'))
  expect(told.at(-1)).toBe('end done')
  expect(told).toContain("result Grep: src/greet.ts:1:export const greeting = 'hello'")
  expect(told).toContain('result Bash: No commands today.')
  expect(told).toContain('result Move: Moved src/greet.ts to greet.ts.')
  expect(asked).toEqual(['Edit', 'Bash', 'Move'])
  expect(get('greet.ts')).toBe("export const greeting = 'good day'\n")
  expect(talk.seen[0]!.visible).not.toContain('Move')
  expect(refusals(talk)).toEqual([])
})

test('an image that was read reaches the model as an image', async () => {
  const { tools, put } = workplace()
  put('pixel.png', Buffer.from('89504e470d0a1a0a0000', 'hex'))
  const script = scripted({ do: [{ call: 'Read', input: { path: 'pixel.png' } }, { say: 'I see' }] })
  const talk = await talking(script, { tools })
  await said(talk.agent, 'look')
  expect(JSON.stringify(talk.seen.at(-1)!.request.messages)).toContain('"media_type":"image/png"')
  expect(refusals(talk)).toEqual([])
})
