// Permissions by themselves, without an agent: what is decided, who is asked, and what is suggested.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  createPermissions,
  type PermissionAnswer,
  type PermissionRule,
} from '../../packages/agent/src/permissions/permissions.ts'
import { createBuiltInTools } from '../../packages/agent/src/tools/built-in.ts'

type Effect = PermissionRule['effect']
type Rules = readonly (readonly [Effect, string, PermissionRule['scope']?])[]
type Options = {
  readonly answer?: PermissionAnswer
  readonly server?: string
  readonly folder?: string
  readonly isHarmless?: boolean
}

const root = realpathSync(mkdtempSync(join(tmpdir(), 'toolshelf-permissions-')))
afterAll(() => rmSync(root, { recursive: true }))
const [directory, home] = [join(root, 'project'), join(root, 'home')]
mkdirSync(join(directory, 'src'), { recursive: true })
mkdirSync(join(home, 'notes'), { recursive: true })
writeFileSync(join(directory, 'src/a.ts'), '')
symlinkSync(join(home, 'notes'), join(directory, 'link'))

/** The verdict, and what a person was asked on the way to it. */
async function decide(
  rules: Rules,
  name: string,
  input: object,
  { answer, server, folder, isHarmless = false }: Options = {},
) {
  const asked: (readonly string[])[] = []
  const saved: PermissionRule[] = []
  const permissions = createPermissions({
    directory,
    home,
    rules: rules.map(([effect, rule, scope = 'session']) => ({ effect, rule, scope })),
    save: (added) => void saved.push(...added),
    ...(answer === undefined
      ? {}
      : {
          ask: async ({ suggested }) => {
            asked.push(suggested)
            return answer
          },
        }),
  })
  const tool = createBuiltInTools({ directory }).find((one) => one.name === name)
  const verdict = await permissions.permission({
    call: { id: '1', name, input },
    server,
    folder,
    signal: new AbortController().signal,
    isHarmless,
    accesses: server === undefined ? ((await tool?.accesses?.(input as never)) ?? []) : [],
    change: async () => undefined,
  })
  return { verdict, asked, saved }
}

const bash = (command: string) => ({ command })

describe('who decides', () => {
  const read = { path: 'src/a.ts' }
  test('a rule that denies asks nobody, whoever is there and whatever is harmless', async () => {
    const { verdict, asked } = await decide(
      [
        ['allow', '*'],
        ['deny', 'Read(src/**)'],
      ],
      'Read',
      read,
      { answer: 'once', isHarmless: true },
    )
    expect(asked).toEqual([])
    expect(verdict).toBe(
      'Refused by the permission rule "deny Read(src/**)" of this session. Do not try to do the same in another way; say what you need it for.',
    )
  })

  test.each<[PermissionRule['scope'], string]>([
    ['user', 'Refused by the permission rule "deny Read" of the user.'],
    ['folder', 'Refused by a permission rule of this folder (deny, about Read).'],
  ])('the refusal by a rule of the %s', async (scope, words) => {
    const { verdict } = await decide([['deny', 'Read', scope]], 'Read', read, { answer: 'once' })
    expect(verdict).toContain(words)
  })

  test('a rule that asks suggests nothing, and is a refusal where nobody is there', async () => {
    const rules = [
      ['ask', 'Bash(npm *)'],
      ['allow', 'Bash'],
    ] as const
    expect(await decide(rules, 'Bash', bash('npm test'), { answer: 'once' })).toMatchObject({
      verdict: true,
      asked: [[]],
    })
    expect((await decide(rules, 'Bash', bash('npm test'))).verdict).toMatch(
      /^Refused by the permission rule "ask Bash\(npm \*\)" .* Nobody is there to ask\.$/,
    )
    expect(await decide(rules, 'Bash', bash('git log'), { answer: 'no' })).toMatchObject({
      verdict: true,
      asked: [],
    })
  })

  test.each<[PermissionAnswer, unknown]>([
    ['once', true],
    ['session', true],
    ['no', 'The user does not allow this call. Ask what to do instead.'],
    [{ refusal: 'Later.' }, 'Later.'],
  ])('the answer %j', async (answer, verdict) => {
    expect(await decide([], 'Bash', bash('ls'), { answer })).toMatchObject({ verdict, asked: [['Bash(ls)']] })
  })
})

describe("tools of servers are not the agent's own", () => {
  test.each<[string, string, string | undefined, boolean]>([
    ['Bash(ls)', 'Bash', undefined, true],
    ['Bash(ls)', 'Bash', 'server', false],
    ['Fetch(https://example.com/*)', 'Fetch', undefined, true],
    ['Fetch(https://example.com/*)', 'Fetch', 'server', false],
    ['Bash', 'Bash', 'server', false],
    ['server__Bash', 'mcp__server__Bash', 'server', true],
  ])('allow %s, %s of %s: %j', async (rule, name, server, isAllowed) => {
    const input = { command: 'ls', url: 'https://example.com/a' }
    const { verdict } = await decide([['allow', rule]], name, input, {
      answer: 'no',
      ...(server ? { server } : {}),
    })
    expect(verdict === true).toBe(isAllowed)
  })
})

describe('H7 whose servers a rule covers', () => {
  const isAllowed = async (rules: Rules, folder?: string) => {
    const more = { server: 'gh', ...(folder === undefined ? {} : { folder }) }
    return (await decide(rules, 'mcp__gh__push', {}, more)).verdict === true
  }

  test.each<[string, PermissionRule['scope'], own: boolean, folders: boolean]>([
    ...(['session', 'project', 'user'] as const).flatMap((scope) =>
      ['mcp__gh__*', 'gh__push', 'mcp__*', '*'].map(
        (rule) => [rule, scope, true, false] satisfies [string, typeof scope, boolean, boolean],
      ),
    ),
    ['mcp__gh__*', 'folder', false, true],
    ['*', 'folder', false, true],
    ['folder:mcp__gh__*', 'session', false, true],
    ['folder:gh__push', 'project', false, true],
    ['folder:*', 'project', false, true],
  ])('allow %s of the scope %s: own %j, of the folder %j', async (rule, scope, own, folders) => {
    const rules: Rules = [['allow', rule, scope]]
    expect([await isAllowed(rules), await isAllowed(rules, directory), await isAllowed(rules, home)]).toEqual(
      [own, folders, false],
    )
  })

  test.each<[string, own: boolean, folders: boolean]>([
    ['gh__*', false, false],
    ['folder:gh__*', true, false],
  ])('deny %s where all is allowed: own %j, of the folder %j', async (rule, own, folders) => {
    const rules: Rules = [
      ['deny', rule],
      ['allow', '*'],
      ['allow', 'folder:*'],
    ]
    expect([await isAllowed(rules), await isAllowed(rules, directory)]).toEqual([own, folders])
  })

  test('an answer is about the folder’s server, and kept for this folder alone', async () => {
    const more = { answer: 'user', server: 'gh' } as const
    const rule = { effect: 'allow', rule: 'mcp__gh__push', scope: 'user' }
    expect(await decide([], 'mcp__gh__push', {}, more)).toMatchObject({ verdict: true, saved: [rule] })
    expect(await decide([], 'mcp__gh__push', {}, { ...more, folder: directory })).toMatchObject({
      verdict: true,
      asked: [['folder:mcp__gh__push']],
      saved: [{ ...rule, rule: 'folder:mcp__gh__push', scope: 'project' }],
    })
    expect((await decide([], 'mcp__gh__push', {}, { ...more, folder: home })).asked).toEqual([[]])
  })
})

describe('which calls a rule is about', () => {
  test.each<[Effect, string, string, object, boolean]>([
    ['allow', 'Read(../home/notes/**)', 'Read', { path: '../home/notes/x' }, true],
    ['allow', 'Read(link/**)', 'Read', { path: 'link/x' }, true],
    ['allow', 'Read(link/**)', 'Read', { path: '../home/notes/x' }, true],
    ['allow', 'Edit(SRC/**)', 'Write', { path: 'src/b.ts', content: '' }, false],
    ['allow', 'Edit(src/**)', 'Write', { path: 'src/b.ts', content: '' }, true],
    ['allow', 'Edit(src/?.ts)', 'Write', { path: 'src/b.ts', content: '' }, true],
    ['allow', 'Edit(src/?.ts)', 'Write', { path: 'src/bb.ts', content: '' }, false],
    ['allow', 'Edit', 'Write', { path: '../home/x', content: '' }, true],
    ['allow', 'Read', 'Grep', { pattern: 'x', path: '../home' }, true],
    ['allow', 'Read', 'Glob', { pattern: '../home/*' }, true],
    ['allow', 'Read', 'Write', { path: 'x', content: '' }, false],
    ['allow', 'Edit', 'Read', { path: '../home/x' }, false],
    ['allow', 'Bash(ls)', 'Bash', bash('ls'), true],
    ['allow', 'Bash(ls)', 'Bash', bash('ls -l'), false],
    ['allow', 'Bash(ls*)', 'Bash', bash('LS -l'), false],
    ['allow', 'Bash(ls *)', 'Bash', bash('ls a; rm b'), false],
    ['allow', 'Bash(ls *)', 'Bash', bash('ls a > out'), false],
    ['allow', 'Bash(ls *)', 'Bash', bash('ls a < ../home/x'), false],
    ['allow', 'Edit(src/**)', 'Bash', bash('ls'), false],
    ['allow', 'Fetch(https://example.com/*)', 'Fetch', { url: 'https://example.com/a' }, true],
    ['allow', 'Fetch(https://example.com/*)', 'Fetch', { url: 'https://example.com.evil.test/a' }, false],
    ['allow', 'Read(https://example.com/*)', 'Fetch', { url: 'https://example.com/a' }, false],
    ['deny', 'read', 'Read', { path: 'src/a.ts' }, true],
    ['deny', 'Read(SRC)', 'Read', { path: 'src/a.ts' }, true],
    ['deny', 'Read(src)', 'Glob', { pattern: 'src/*' }, true],
    ['deny', 'Read(notes)', 'Read', { path: 'link/x' }, true],
    ['deny', 'Read(link)', 'Read', { path: 'link/x' }, true],
    ['deny', 'Read(a.ts)', 'Write', { path: 'src/a.ts', content: '' }, false],
    ['deny', 'Edit(a.ts)', 'Read', { path: 'src/a.ts' }, false],
    ['deny', 'Edit', 'Bash', bash('echo > x'), true],
    ['deny', 'Read', 'Bash', bash('cat < src/a.ts'), true],
    ['deny', 'Edit', 'Bash', bash('echo x'), false],
    ['deny', 'Bash(rm *)', 'Bash', bash('RM x'), true],
    ['deny', 'Bash(rm *)', 'Bash', bash('/bin/rm x'), true],
    ['deny', 'Bash(rm *)', 'Bash', bash('env A=1 rm x'), true],
    ['deny', 'Fetch(https://EXAMPLE.com/*)', 'Fetch', { url: 'https://example.com/a' }, true],
    ['deny', 'Fetch(https://example.com/*)', 'Fetch', { url: 'https://other.test/' }, false],
    ['deny', 'Write(src/**)', 'Write', { path: 'src/b.ts', content: '' }, true],
    ['deny', 'Write(src/**)', 'Edit', { path: 'src/a.ts', old: 'a', new: 'b' }, false],
  ])('%s %s, %s %j: %j', async (effect, rule, name, input, applies) => {
    const rules: Rules =
      effect === 'deny'
        ? [
            ['allow', '*'],
            [effect, rule],
          ]
        : [[effect, rule]]
    const { verdict } = await decide(rules, name, input, { answer: 'no' })
    expect(verdict !== true && typeof verdict === 'string').toBe(effect === 'deny' ? applies : !applies)
  })
})

describe('what is suggested', () => {
  test.each<[string, object, string | undefined, string[]]>([
    ['mcp__server__Bash', bash('ls'), 'server', ['mcp__server__Bash']],
    ['Bash', bash('a  "b c" d'), undefined, ["Bash(a 'b c' d)"]],
    ['Bash', bash('a; b'), undefined, []],
    ['Bash', bash("grep 'a*b' x"), undefined, []],
    ['Bash', bash(`a ${'x'.repeat(198)}`), undefined, [`Bash(a ${'x'.repeat(198)})`]],
    ['Bash', bash(`a ${'x'.repeat(199)}`), undefined, []],
    ['Bash', bash('a < ../home/x'), undefined, []],
    ['Fetch', { url: 'https://example.com:8443/a?b' }, undefined, ['Fetch(https://example.com:8443/*)']],
    ['Fetch', { url: 'nonsense' }, undefined, []],
    ['Read', { path: '~/notes/x' }, undefined, []],
    ['Read', { path: '../home/notes/x' }, undefined, ['Read(~/notes/**)']],
    ['Read', { path: '../home/x' }, undefined, [`Read(${home}/**)`]],
    ['Grep', { pattern: 'x', path: '../home/notes' }, undefined, ['Read(~/notes/**)']],
    ['Glob', { pattern: '*', path: '../home/notes' }, undefined, ['Read(~/notes/**)']],
    ['Write', { path: 'x', content: '' }, undefined, ['Edit(./**)']],
    ['Move', { from: 'src/a.ts', to: '../home/notes/b' }, undefined, ['Move(./**)', 'Move(~/notes/**)']],
    ['Move', { from: 'src/a.ts', to: 'b' }, undefined, ['Move(./**)']],
    ['Write', { path: '../home/a[b/c', content: '' }, undefined, []],
  ])('%s %j of %s: %j', async (name, input, server, rules) => {
    const { asked } = await decide([], name, input, { answer: 'no', ...(server ? { server } : {}) })
    if ((input as { path?: string }).path?.startsWith('~')) expect(asked).toHaveLength(1)
    else expect(asked).toEqual([rules])
  })
})
