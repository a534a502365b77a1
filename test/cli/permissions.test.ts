// Permission rules from the command line, the folder and the user's file, as `run` and `toolshelf trust --rules` meet them.
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openUserRules } from '../../packages/cli/src/user-files/permission-file.ts'
import type { LocalMachine } from '../../packages/mcp/src/config/places.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { newPlace, type Place } from '../terminal/support.ts'

const bash = (command: string) => ({ call: 'Bash', input: { command } })
const rules = [
  { when: 'status', do: [bash('echo status'), { say: 'Heard: {{result}}' }] },
  { when: 'both', do: [bash('echo status; echo other'), { say: 'Heard: {{result}}' }] },
  { when: 'read', do: [{ call: 'Read', input: { path: 'secret.txt' } }, { say: 'Heard: {{result}}' }] },
]

function toolshelf(place: Place, ...words: string[]) {
  const given = words[0] === 'run' ? ['--script', place.file('script.json', { rules })] : []
  return runHere(place, [...words, ...given])
}

const put = (place: Place, name: string, content: object | string) => {
  const path = join(place.folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}
const machineIn = (place: Place): LocalMachine => ({
  home: join(place.folder, 'home'),
  folder: realpathSync(place.folder),
  platform: 'linux',
  environment: {},
})
const userFile = 'home/.config/toolshelf/permissions.json'

describe('toolshelf run', () => {
  it('--allow takes patterns; what they do not cover says which would', async () => {
    const place = newPlace()
    expect(
      (await toolshelf(place, 'run', 'status', '--allow', 'Bash(echo stat*)', '--allow', 'Read')).out,
    ).toContain('Heard: status')
    const { out, told } = await toolshelf(place, 'run', 'both', '--allow', 'Bash(echo stat*)')
    expect(out).toContain('Bash was not run: this session has no rule that allows it')
    expect(told).toBe("toolshelf run: Bash was not run, because no rule allows it: --allow 'Bash'\n")
    expect(out).toContain('Rules can decide only about one plain command')
  })

  it('--deny goes before --allow, and the model reads which rule refused it', async () => {
    const { out } = await toolshelf(newPlace(), 'run', 'both', '--allow', '*', '--deny', 'Bash(echo other*)')
    expect(out).toContain('Heard: Refused by the permission rule "deny Bash(echo other*)" of this session.')
  })

  it('what ran outside of the folder is named by its real path', async () => {
    const place = newPlace()
    const outside = mkdtempSync(join(place.folder, '..', 'toolshelf-outside-'))
    writeFileSync(join(outside, 'secret.txt'), 'x')
    symlinkSync(join(outside, 'secret.txt'), join(place.folder, 'secret.txt'))
    const { out } = await toolshelf(place, 'run', 'read', '--json', '--allow', 'Read')
    expect(JSON.parse(out).calls).toMatchObject([
      { name: 'Read', outside: [realpathSync(join(outside, 'secret.txt'))] },
    ])
  })

  it('a rule that is none is a wrong call', async () => {
    const { code, told } = await toolshelf(newPlace(), 'run', 'status', '--allow', 'Bash(')
    expect(code).toBe(2)
    expect(told).toContain('--allow: the rule "Bash(" is not a tool')
  })

  it('rules of the user hold in every folder, and of a folder in that one', async () => {
    const place = newPlace()
    put(place, userFile, { folders: { [realpathSync(place.folder)]: { allow: ['Bash(echo status)'] } } })
    expect((await toolshelf(place, 'run', 'status')).out).toContain('Heard: status')
    put(place, 'elsewhere/x', '')
    expect((await toolshelf(place, 'run', 'status', '--directory', 'elsewhere')).out).toContain(
      'Bash was not run: this session',
    )
    put(place, userFile, { allow: ['Bash(echo *)'] })
    expect((await toolshelf(place, 'run', 'status', '--directory', 'elsewhere')).out).toContain(
      'Heard: status',
    )
  })

  it('H7 a folder’s own rules refuse at once, and allow only once it is trusted', async () => {
    const place = newPlace()
    put(place, 'secret.txt', 'the secret\n')
    put(place, '.toolshelf/permissions.json', { allow: ['Bash'], deny: ['Read(secret.txt)'] })
    const untrusted = await toolshelf(place, 'run', 'status')
    expect(untrusted.out).toContain('Bash was not run: this session')
    expect(untrusted.told).toContain('1 rule of')
    expect((await toolshelf(place, 'run', 'read')).out).toContain(
      'Refused by a permission rule of this folder (deny, about Read)',
    )
    expect((await toolshelf(place, 'trust', '--yes')).out).toContain(
      'rule Bash (.toolshelf/permissions.json)',
    )
    expect((await toolshelf(place, 'run', 'status')).out).toContain('Heard: status')
    put(place, '.toolshelf/permissions.json', { allow: ['*'] })
    expect((await toolshelf(place, 'run', 'status')).out).toContain('Bash was not run: this session')
  })

  it.each([
    ['is broken', '{"deny": ["Bash'],
    ['has a rule that is none', { deny: ['Bash('] }],
    ['is not an object', '[]'],
    ['has no list', { deny: 'Bash' }],
  ])('a user’s file that %s stops it: a rule that forbids something may be in it', async (_, content) => {
    const place = newPlace()
    put(place, userFile, content)
    const { code, out, told } = await toolshelf(place, 'run', 'status', '--allow', '*')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(told).toContain('permissions.json')
    expect(told).toContain('Correct ')
  })

  it('a folder’s file that is broken does not', async () => {
    const place = newPlace()
    put(place, '.toolshelf/permissions.json', '{"allow"')
    const { code, told } = await toolshelf(place, 'run', 'status', '--allow', '*')
    expect(code).toBe(0)
    expect(told).toContain('its rules are ignored')
  })
})

describe('toolshelf trust --rules', () => {
  it('prints the rules of the user and of the folder', async () => {
    const place = newPlace()
    expect((await toolshelf(place, 'trust', '--rules')).out).toContain('No rules: reading')
    const own = { allow: ['Edit(src/**)'] }
    put(place, userFile, { deny: ['Read(.env)'], folders: { [realpathSync(place.folder)]: own } })
    put(place, '.toolshelf/permissions.json', { allow: ['Bash(npm test)'] })
    const { out } = await toolshelf(place, 'trust', '--rules')
    expect(out).toMatch(/^deny {3}Read\(\.env\) {2}\(everywhere, .*permissions\.json\)$/m)
    expect(out).toMatch(/^allow {2}Edit\(src\/\*\*\) {2}\(this folder, .*\)$/m)
    expect(out).toMatch(/^allow {2}Bash\(npm test\) .*applies once you trust the folder\)$/m)
    const listed = JSON.parse((await toolshelf(place, 'trust', '--rules', '--json')).out).rules
    expect(listed.map(({ counts }: { counts: boolean }) => counts)).toEqual([true, true, false])
  })
})

describe('the rules of the user', () => {
  it('the file is private, and keeps what else is in it', async () => {
    const place = newPlace()
    put(place, userFile, { note: 'mine', allow: ['Read'] })
    await openUserRules(machineIn(place)).add([{ effect: 'allow', rule: 'Bash(ls)', scope: 'user' }])
    const file = join(place.folder, userFile)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ note: 'mine', allow: ['Read', 'Bash(ls)'] })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('many who write at once lose nothing', async () => {
    const place = newPlace()
    const machine = machineIn(place)
    const all = Array.from({ length: 30 }, (_, index) => `Bash(echo ${index})`)
    await Promise.all(
      all.map((rule) => openUserRules(machine).add([{ effect: 'allow', rule, scope: 'user' }])),
    )
    const kept = await openUserRules(machine).read()
    expect(kept.map(({ rule }) => rule).sort()).toEqual([...all].sort())
  })
})
