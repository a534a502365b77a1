// Permissions of the agent: rules with patterns, real paths, and who is asked when.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  createPermissions,
  type PermissionAnswer,
  type PermissionQuestion,
  type PermissionRule,
} from '../../packages/agent/src/permissions/permissions.ts'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import { createBuiltInTools } from '../../packages/agent/src/tools/built-in.ts'
import type { AgentEvent, AgentTool } from '../../packages/agent/src/types.ts'
import type { Tool } from '../../packages/core/src/types.ts'
import {
  lines,
  MODEL,
  over,
  runnerOn,
  said,
  scripted,
  serverTools,
  shelfWith,
  talking,
  textIn,
  whole,
} from './support.ts'
import { newFolder } from './tools-support.ts'

type Rules = { readonly allow?: string[]; readonly ask?: string[]; readonly deny?: string[] }

const toRules = (rules: Rules): PermissionRule[] =>
  (['allow', 'ask', 'deny'] as const).flatMap((effect) =>
    (rules[effect] ?? []).map((rule) => ({ effect, rule, scope: 'session' }) as const),
  )

type Scene = {
  readonly directory: string
  readonly outside: string
  /** The result of the call, and what was asked. */
  call(name: string, input: object): Promise<{ text: string; asked: string[]; events: readonly AgentEvent[] }>
}

/** An agent with built-in tools, beside a folder that is not its own. */
function scene(
  rules: Rules = {},
  answer: PermissionAnswer | undefined = undefined,
  more: { readonly tools?: readonly Tool[]; readonly isReadOnly?: boolean } = {},
): Scene {
  const root = newFolder()
  const [directory, outside] = [join(root, 'project'), join(root, 'outside')]
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  put(join(directory, 'src/a.ts'), 'inside\n')
  put(join(directory, '.env'), 'inside secret\n')
  put(join(outside, 'notes/b.txt'), 'outside\n')
  return {
    directory,
    outside,
    async call(name, input) {
      const asked: string[] = []
      const ask = async ({ call, accesses }: PermissionQuestion): Promise<PermissionAnswer> => {
        asked.push([call.name, ...accesses.map(({ path }) => path)].join(' '))
        return answer ?? 'no'
      }
      const { permission } = createPermissions({
        directory,
        home: outside,
        rules: toRules(rules),
        ...(answer === undefined ? {} : { ask }),
      })
      const shelf = shelfWith(more.tools)
      const runner = { ...runnerOn(shelf), isReadOnly: () => more.isReadOnly ?? false }
      const isDeferred = name.startsWith('mcp__') || ['Move', 'Remove', 'Fetch'].includes(name)
      const step = { call: name, input, ...(isDeferred ? { search: `select:${name}` } : {}) }
      const { agent } = over(whole(scripted({ do: [step, { say: 'ok' }] })), {
        shelf,
        runner,
        tools: createBuiltInTools({ directory }),
        permission,
      })
      const events = await said(agent, 'go')
      const result = events.find((event) => event.type === 'result' && event.call.name === name)
      const text = result?.type === 'result' ? textIn(result.result) : lines(events).join('\n')
      return { text, asked, events }
    },
  }
}

describe('outside of the working folder', () => {
  test('inside, reading asks nobody', async () => {
    const { call } = scene()
    expect((await call('Read', { path: 'src/a.ts' })).text).toContain('inside')
    expect((await call('Grep', { pattern: 'inside' })).text).toContain('src/a.ts:1:inside')
    expect((await call('Glob', { pattern: '*.ts' })).text).toBe('src/a.ts')
  })

  test.each([
    ['Read', { path: '../outside/notes/b.txt' }],
    ['Read', { path: 'src/../../outside/notes/b.txt' }],
    ['Grep', { pattern: 'outside', path: '../outside' }],
    ['Glob', { pattern: '**/*.txt', path: '../outside' }],
    ['Glob', { pattern: '../outside/**/*.txt' }],
  ])('%s %j asks, and shows the real path', async (name, input) => {
    const refused = scene({}, 'no')
    const { text, asked } = await refused.call(name, input)
    expect(text).toContain('The user does not allow this call')
    expect(asked).toEqual([expect.stringContaining(`${name} ${refused.outside}`)])
    const allowed = await scene({}, 'once').call(name, input)
    expect(allowed.text).toMatch(/outside|b\.txt/)
    const result = allowed.events.find((event) => event.type === 'result' && event.call.name === name)
    expect(result).toMatchObject({ outside: [expect.stringContaining('/outside')] })
  })

  test('an absolute path, and one through a link, ask by where they lead', async () => {
    const { directory, outside, call } = scene({}, 'no')
    symlinkSync(join(outside, 'notes'), join(directory, 'link'))
    symlinkSync(join(outside, 'notes/b.txt'), join(directory, 'file-link'))
    for (const path of [join(outside, 'notes/b.txt'), 'link/b.txt', 'file-link', 'src/../link/b.txt'])
      expect((await call('Read', { path })).asked).toEqual([`Read ${join(outside, 'notes/b.txt')}`])
    expect((await call('Grep', { pattern: 'x', path: 'link' })).asked).toHaveLength(1)
  })

  test('a link that leads back inside asks nobody', async () => {
    const { directory, outside, call } = scene({}, 'no')
    symlinkSync(join(directory, 'src'), join(outside, 'back'))
    expect((await call('Read', { path: join(outside, 'back/a.ts') })).text).toContain('inside')
  })

  test('~ is the home, and asks', async () => {
    const { call } = scene({}, 'no')
    expect((await call('Read', { path: '~/notes.txt' })).asked).toEqual([
      expect.stringMatching(/^Read .*notes\.txt$/),
    ])
    expect((await call('Read', { path: '~/notes.txt' })).asked[0]).toContain(homedir().slice(0, 2))
  })

  test('a search does not read through links that lead out', async () => {
    const { directory, outside, call } = scene({}, 'no')
    symlinkSync(join(outside, 'notes/b.txt'), join(directory, 'innocent.txt'))
    const { text, asked } = await call('Grep', { pattern: 'outside' })
    expect(text).not.toContain(':1:outside')
    expect(text).toContain('1 files were left out')
    expect(asked).toEqual([])
  })

  test('where nobody can be asked it is refused', async () => {
    expect((await scene().call('Read', { path: '../outside/notes/b.txt' })).text).toContain(
      'Nobody is there to allow Read',
    )
  })

  test('a missing file outside asks as well: that it is missing is something to know', async () => {
    expect((await scene({}, 'no').call('Read', { path: '../outside/none' })).asked).toHaveLength(1)
  })
})

describe('rules with paths', () => {
  test.each([
    ['Read(~/notes/**)', 'Read', { path: '../outside/notes/b.txt' }],
    ['Read(../outside/**)', 'Read', { path: '../outside/notes/b.txt' }],
    ['Read(../outside/)', 'Grep', { pattern: 'outside', path: '../outside' }],
    ['Read(~/**)', 'Glob', { pattern: '**/*.txt', path: '../outside' }],
    ['Read', 'Read', { path: '../outside/notes/b.txt' }],
    ['*', 'Read', { path: '../outside/notes/b.txt' }],
    ['Edit(src/**)', 'Write', { path: 'src/new.ts', content: 'x' }],
    ['Edit(*.ts)', 'Write', { path: 'src/deep/new.ts', content: 'x' }],
    ['Edit(./**)', 'Write', { path: 'new.ts', content: 'x' }],
    ['Write(src/new.ts)', 'Write', { path: 'src/new.ts', content: 'x' }],
    ['Remove(src/**)', 'Remove', { path: 'src/a.ts' }],
    ['Move(**)', 'Move', { from: 'src/a.ts', to: 'b.ts' }],
  ])('%s allows %s %j', async (rule, name, input) => {
    const { text } = await scene({ allow: [rule] }).call(name, input)
    expect(text).not.toMatch(/Nobody|Refused/)
  })

  test.each([
    ['Read(~/notes/*)', 'Grep', { pattern: 'outside', path: '../outside/notes' }],
    ['Read(~/other/**)', 'Read', { path: '../outside/notes/b.txt' }],
    ['Read(notes/**)', 'Read', { path: '../outside/notes/b.txt' }],
    ['Read(b.txt)', 'Read', { path: '../outside/notes/b.txt' }],
    ['Edit(src/*)', 'Write', { path: 'src/deep/new.ts', content: 'x' }],
    ['Edit(src/**)', 'Write', { path: 'src/../other.ts', content: 'x' }],
    ['Edit(src/**)', 'Remove', { path: 'src/a.ts' }],
    ['Edit(**)', 'Write', { path: '../outside/x', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.git/hooks/pre-commit', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.devin/mcp_config.json', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.opencode/plugin/x.js', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.mcp.json', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.toolshelf/permissions.json', content: 'x' }],
    ['Edit(**)', 'Write', { path: '.codex/config.toml', content: 'x' }],
    ['Edit(~/**)', 'Write', { path: '../outside/data/toolshelf/trust/x.json', content: 'x' }],
    ['Move(src/**)', 'Move', { from: 'src/a.ts', to: 'b.ts' }],
    ['Read(src/**)', 'Write', { path: 'src/new.ts', content: 'x' }],
    ['EDIT(src/**)', 'Write', { path: 'src/new.ts', content: 'x' }],
  ])('%s does not allow %s %j', async (rule, name, input) => {
    const rules = rule.startsWith('EDIT') ? {} : { allow: [rule] }
    expect((await scene(rules).call(name, input)).text).toContain('Nobody is there to allow')
  })

  test('a working folder whose own name is protected is none', async () => {
    const root = newFolder()
    const directory = join(root, '.claude', 'toolshelf.json')
    mkdirSync(directory, { recursive: true })
    const { permission } = createPermissions({ directory, rules: toRules({ allow: ['Edit(./**)'] }) })
    const write = createBuiltInTools({ directory }).find(({ name }) => name === 'Write')
    const input = { path: 'a', content: '' }
    const verdict = await permission({
      call: { id: '1', name: 'Write', input },
      server: undefined,
      signal: new AbortController().signal,
      isHarmless: false,
      accesses: (await write?.accesses?.(input)) ?? [],
      change: async () => undefined,
    })
    expect(verdict).toBe(true)
  })

  test('an edit through a link is judged by where it leads', async () => {
    const { directory, outside, call } = scene({ allow: ['Edit(**)'] })
    symlinkSync(outside, join(directory, 'link'))
    expect((await call('Write', { path: 'link/x', content: 'x' })).text).toContain('Nobody')
    symlinkSync(join(outside, 'not-yet'), join(directory, 'dangling'))
    expect((await call('Write', { path: 'dangling', content: 'x' })).text).toContain('Nobody')
  })

  test.each([
    ['Read(.env)', 'Read', { path: '.env' }],
    ['Read(.env)', 'Read', { path: 'src/../.env' }],
    ['Read(.ENV)', 'Read', { path: '.env' }],
    ['Read(src)', 'Read', { path: 'src/a.ts' }],
    ['Read(src/**)', 'Grep', { pattern: 'x', path: 'src' }],
    ['Read', 'Glob', { pattern: '*' }],
    ['Read(notes/**)', 'Read', { path: 'link/b.txt' }],
    ['Edit(src/**)', 'Remove', { path: 'src/a.ts' }],
    ['Edit(src/**)', 'Move', { from: 'src/a.ts', to: 'b.ts' }],
    ['Read(.env)', 'Bash', { command: 'cat src/../.env' }],
    ['Read(.env)', 'Bash', { command: "cat '.env'" }],
    ['Read(.env)', 'Bash', { command: 'tool --file=.env' }],
    ['Edit', 'Write', { path: 'x', content: 'x' }],
    ['*', 'Read', { path: 'src/a.ts' }],
  ])('deny %s refuses %s %j, whatever is allowed, and says which rule did', async (rule, name, input) => {
    const one = scene({ allow: ['*'], deny: [rule === 'Read(notes/**)' ? 'Read(~/notes/**)' : rule] })
    symlinkSync(join(one.outside, 'notes'), join(one.directory, 'link'))
    const { text } = await one.call(name, input)
    expect(text).toContain('Refused by the permission rule "deny ')
    expect(text).toContain('of this session')
  })

  test('a search of the whole folder does not show denied files, not even through a link', async () => {
    const { call, directory } = scene({ deny: ['Read(.env)'] })
    symlinkSync(join(directory, '.env'), join(directory, 'innocent.txt'))
    const { text } = await call('Grep', { pattern: 'inside' })
    expect(text).toContain('src/a.ts:1:inside')
    expect(text).not.toContain('secret')
    expect(text).toContain('2 files were left out')
    expect((await call('Glob', { pattern: '**/*' })).text).not.toContain('.env')
  })

  test.each(['Read(src/a.ts)', 'Read(src/*)', 'Read(~/../project/src/a.ts)'])(
    'what deny %s is about does not show in a search that begins at a link to its folder',
    async (rule) => {
      const { call, directory } = scene({ deny: [rule] })
      symlinkSync(join(directory, 'src'), join(directory, 'way'))
      mkdirSync(join(directory, 'src/deep'))
      writeFileSync(join(directory, 'src/deep/c.ts'), 'seen inside\n')
      symlinkSync(directory, join(directory, 'round'))
      for (const path of ['way', 'round/way', 'round/src']) {
        const { text } = await call('Grep', { pattern: 'inside', path })
        expect(text).not.toContain('a.ts')
        expect((await call('Glob', { pattern: '**/*.ts', path })).text).not.toContain('a.ts')
        expect((await call('Glob', { pattern: `${path}/*.ts` })).text).not.toContain('a.ts')
      }
    },
  )

  test('ask goes before allow, and before harmless calls', async () => {
    const { text, asked } = await scene({ allow: ['*'], ask: ['Read(src/**)'] }, 'no').call('Read', {
      path: 'src/a.ts',
    })
    expect(asked).toHaveLength(1)
    expect(text).toContain('does not allow')
  })
})

describe('rules with names', () => {
  const github = serverTools('github', 'get_issue', 'delete_issue')
  const imitating = [...serverTools('github__get', 'x'), ...serverTools('gitlab', 'hub__x')]

  test.each([
    ['mcp__github__get_*', 'mcp__github__get_issue', true],
    ['mcp__github__*', 'mcp__github__delete_issue', true],
    ['mcp__github__get_issue', 'mcp__github__get_issue', true],
    ['mcp__*', 'mcp__github__delete_issue', true],
    ['mcp__github__get_*', 'mcp__github__delete_issue', false],
    ['github__get_*', 'mcp__github__get_issue', true],
    ['*__get_issue', 'mcp__github__get_issue', true],
    ['Bash', 'mcp__github__get_issue', false],
    ['mcp__github__*', 'mcp__github_get__x', false],
    ['mcp__github_get__*', 'mcp__github_get__x', true],
    ['mcp__gitlab__hub__*', 'mcp__gitlab__hub__x', true],
    ['mcp__gitlab_hub__*', 'mcp__gitlab__hub__x', false],
  ])('H3 allow %s, %s: %s', async (rule, name, isAllowed) => {
    const { text } = await scene({ allow: [rule] }, undefined, { tools: [...github, ...imitating] }).call(
      name,
      {
        city: 'x',
      },
    )
    expect(text.includes('ran')).toBe(isAllowed)
  })

  test('a rule that denies matches letters in any case', async () => {
    const { text } = await scene({ allow: ['*'], deny: ['MCP__GitHub__GET_*'] }, undefined, {
      tools: github,
    }).call('mcp__github__get_issue', { city: 'x' })
    expect(text).toContain('Refused by the permission rule')
  })

  test('H9 what a server says is read-only runs unasked only where the user trusts its annotations', async () => {
    const asked = await scene({}, 'no', { tools: github }).call('mcp__github__get_issue', { city: 'x' })
    expect(asked.asked).toHaveLength(1)
    const trusted = await scene({}, 'no', { tools: github, isReadOnly: true }).call(
      'mcp__github__get_issue',
      {
        city: 'x',
      },
    )
    expect(trusted.asked).toEqual([])
    expect(trusted.text).toContain('ran')
  })

  test.each([
    [
      'raise',
      'the rule "raise" names no server; put its name in front, as in "server__raise", or write "*__raise"',
    ],
    ['*_raise', 'the rule "*_raise" names no server'],
    ['*edit*', 'the rule "*edit*" names no server'],
    ['mcp__github', 'the rule "mcp__github" names no tool; write "github__*" for every tool of a server'],
    [
      'mcp__my.db__*',
      'the rule "mcp__my.db__*" matches no tool, because of how tools are named; write "my_db__*"',
    ],
    ['folder:a__*', 'is about servers of one folder; make it a rule for that folder'],
    ['', 'the rule is empty'],
    ['Bash(', 'is not a tool'],
    ['Bash()', 'empty pattern'],
    ['two words', 'is not a tool'],
    ['mcp__x__y(a)', 'only Bash, Read'],
    ['Fetch(https://example.com*)', 'must name a whole host'],
    ['x'.repeat(2000), 'more than 1000 characters'],
  ])('%j is an error that says so', (rule, message) => {
    const rules = [{ effect: 'allow', rule, scope: 'user' }] as const
    expect(() => createPermissions({ directory: '.', rules })).toThrow(message)
  })

  test('Fetch is allowed by address', async () => {
    const allow = ['Fetch(http://127.0.0.1:1/docs/*)']
    const fetching = (url: string) => scene({ allow }).call('Fetch', { url })
    expect((await fetching('http://127.0.0.1:1/docs/a')).text).toContain('could not be reached')
    for (const url of [
      'http://127.0.0.1:1/docs/../private',
      'http://127.0.0.1:1@evil.test/docs/',
      'http://127.0.0.1:2/docs/a',
    ])
      expect((await fetching(url)).text).toContain('Nobody')
  })
})

describe('answers', () => {
  const question = (name: string, input: object) => ({ name, input })

  async function ask(calls: readonly { name: string; input: object }[], answers: PermissionAnswer[]) {
    const directory = newFolder()
    const saved: PermissionRule[] = []
    const suggested: (readonly string[])[] = []
    const permissions = createPermissions({
      directory,
      home: '/home/me',
      ask: async (one) => {
        suggested.push(one.suggested)
        return answers.shift() ?? 'no'
      },
      save: (rules) => void saved.push(...rules),
    })
    const verdicts: unknown[] = []
    for (const { name, input } of calls) {
      const tool = createBuiltInTools({ directory }).find((one) => one.name === name)
      verdicts.push(
        await permissions.permission({
          call: { id: '1', name, input },
          server: name.startsWith('mcp__') ? 'github' : undefined,
          signal: new AbortController().signal,
          isHarmless: false,
          accesses: (await tool?.accesses?.(input as never)) ?? [],
          change: async () => undefined,
        }),
      )
    }
    return { verdicts, saved, suggested, rules: permissions.rules(), permissions }
  }

  test('once holds once, session for the session, and nothing is saved', async () => {
    const bash = question('Bash', { command: 'npm test' })
    const { verdicts, saved, suggested } = await ask([bash, bash, bash], ['once', 'session'])
    expect(verdicts).toEqual([true, true, true])
    expect(suggested).toEqual([['Bash(npm test)'], ['Bash(npm test)']])
    expect(saved).toEqual([])
  })

  test('project and user are saved', async () => {
    const { saved, rules } = await ask(
      [question('mcp__github__get_issue', {}), question('Bash', { command: 'b c' })],
      ['user', 'project'],
    )
    expect(saved).toEqual([
      { effect: 'allow', rule: 'mcp__github__get_issue', scope: 'user' },
      { effect: 'allow', rule: 'Bash(b c)', scope: 'project' },
    ])
    expect(rules).toEqual(saved)
  })

  test.each([
    ['Write', { path: 'src/a', content: '' }, ['Edit(./**)']],
    ['Write', { path: '/home/me/notes/a', content: '' }, ['Edit(~/notes/**)']],
    ['Read', { path: '/etc/hosts' }, ['Read(/etc/**)']],
    ['Fetch', { url: 'https://example.com/a/b?c' }, ['Fetch(https://example.com/*)']],
    ['Bash', { command: 'a $(b)' }, []],
    ['Bash', { command: 'a > x' }, []],
    ['Remove', { path: 'a' }, ['Remove(./**)']],
    ['Write', { path: '.git/config', content: '' }, []],
    ['Other', {}, ['Other']],
  ])('what would allow %s %j is suggested', async (name, input, rules) => {
    expect((await ask([question(name, input)], ['no'])).suggested).toEqual([rules])
  })

  test('a rule that is taken back asks again', async () => {
    const bash = question('Bash', { command: 'npm test' })
    const { permissions } = await ask([bash], ['session'])
    expect(permissions.remove({ effect: 'allow', rule: 'Bash(npm test)', scope: 'session' })).toBe(true)
    expect(permissions.remove({ effect: 'allow', rule: 'Bash(npm test)', scope: 'session' })).toBe(false)
    expect(permissions.rules()).toEqual([])
  })
})

test('sub-agents are under the same rules', async () => {
  const directory = newFolder()
  const { permission } = createPermissions({
    directory,
    rules: toRules({ deny: ['Bash(evil*)'], allow: ['Bash'] }),
  })
  const script = scripted(
    { when: 'inner', do: [{ call: 'Bash', input: { command: 'evil now' } }, { say: '{{result}}' }] },
    {
      when: 'outer',
      do: [{ call: 'Agent', input: { description: 'x', prompt: 'inner' } }, { say: '{{result}}' }],
    },
  )
  const shelf = shelfWith()
  const tools: AgentTool[] = [...createBuiltInTools({ directory })]
  const { agent, client } = await talking(script, {
    shelf,
    permission,
    tools: [...tools, createAgentTool(() => ({ client, model: MODEL, shelf, permission, tools }))],
  })
  expect(lines(await said(agent, 'outer')).join('\n')).toContain(
    'Refused by the permission rule "deny Bash(evil*)"',
  )
})

test.each([undefined, false, null, '', 0, {}])(
  'a permission that answers %j, which is no clear yes, refuses',
  async (answer) => {
    const directory = newFolder()
    const { agent } = await talking(
      scripted({ do: [{ call: 'Bash', input: { command: 'true' } }, { say: '{{result}}' }] }),
      { tools: createBuiltInTools({ directory }), permission: () => answer as never },
    )
    expect(lines(await said(agent, 'go')).join('\n')).toContain('The user refused this call.')
  },
)
