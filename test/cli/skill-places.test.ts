// `toolshelf mcp --skills`: skills of folders and indexes, each name once.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSkillPlaces } from '../../src/cli/servers/index.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'

test('U2 skills of a folder and of an index; of two with one name the first, and it says so once', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'tea'))
  writeFileSync(
    join(folder, 'tea', 'SKILL.md'),
    '---\nname: tea\ndescription: Makes tea\n---\n\nBoil water.\n',
  )
  const index = JSON.stringify({
    skills: ['tea', 'coffee'].map((name) => ({ name, description: `Makes ${name}`, url: `/${name}` })),
  })
  const server = createServer((_, response) => response.end(index)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const notices: string[] = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/skills.json`
  const skills = await openSkillPlaces([folder, url], (notice) => notices.push(notice))
  const found = await skills()
  expect(found.map(({ name, isRemote }) => [name, isRemote])).toEqual([
    ['tea', false],
    ['coffee', true],
  ])
  expect(await found[0]?.read()).toBe('Boil water.')
  await skills()
  expect(notices).toEqual([expect.stringContaining('has its name, "tea"')])
})
