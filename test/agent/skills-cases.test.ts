// The texts of skills: every kind of file, what the tools say, and each bound from both sides.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createSkills,
  loadSkills,
  parseSkillFiles,
  readSkillFiles,
  type Skill,
  searchToolsAndSkills,
} from '../../src/agent/skills/index.ts'
import { rankers } from '../../src/rankers/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

const skill = (name: string, more: Partial<Skill> = {}): Skill => ({
  ...{ name, description: `Does ${name} for people.`, place: `/skills/${name}`, isRemote: false },
  read: async () => `How to do ${name}.`,
  ...more,
})

test('a text is a skill, or says why it is none', async () => {
  const texts = [
    '---\nname: plain\ndescription: D\n---\nBody',
    '\uFEFF---  \r\nname: windows\r\ndescription: "a\\n  b"\r\n---\r\n  Body  ',
    '---\nname: 5\ndescription: 6\nlicense: MIT\nmetadata:\n  a: 1\n---',
    '---\nname: odd\ndescription: D\nlicense: 5\nmetadata: none\nallowed-tools: Read, Bash(git *) Edit\n---',
    '---\nname: list\ndescription: D\nallowed-tools: [Read, 5]\n---',
    '---\nname: none\ndescription: D\nallowed-tools: 5\ndisable-model-invocation: yes\n---',
    '---\nname: user\ndescription: D\ndisable-model-invocation: true\n---',
    `---\nname: ${'n'.repeat(64)}\ndescription: ${'d'.repeat(1025)}\n---`,
    `---\nname: ${'n'.repeat(65)}\ndescription: D\n---`,
    '---\nname: a b\ndescription: D\n---',
    '---\nname: " "\ndescription: D\n---',
    '---\nname: [a]\ndescription: D\n---',
    '---\nname: lost\n---',
    '---\n---\nBody',
    'no front matter',
    '---\nname: a: b: c\n---',
    '---\n- a list\n---',
    `---\nname: wide\ndescription: D\n# ${'x'.repeat(15_970)}\n---`,
    `---\nname: wider\ndescription: D\n# ${'x'.repeat(15_971)}\n---`,
  ]
  const lines: string[] = []
  for (const [index, text] of texts.entries()) {
    const file = { folder: `/skills/${index}`, file: `/skills/${index}/SKILL.md`, text, isFixed: true }
    const [made] = parseSkillFiles([file], (message) => lines.push(`${index} told ${message}`))
    lines.push(`${index} ${JSON.stringify(made)} ${JSON.stringify(await made?.read())}`)
  }
  await expect(
    lines.join('\n').replaceAll('x'.repeat(99), '').replaceAll('d'.repeat(99), ''),
  ).toMatchFileSnapshot('./skills/texts.txt')
})

test('reads folders in order; skips hidden files and other files, and reports unreadable ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skills-'))
  try {
    const write = (name: string, text: string) => {
      mkdirSync(join(folder, name), { recursive: true })
      writeFileSync(join(folder, name, 'SKILL.md'), text)
    }
    write('b', '---\nname: b\ndescription: D\n---\nold')
    write('a', '---\nname: a\ndescription: D\n---\nA')
    write('.hidden', '---\nname: hidden\ndescription: D\n---')
    write('large', `---\nname: large\ndescription: D\n---\n${'x'.repeat(1_000_000)}`)
    mkdirSync(join(folder, 'folder', 'SKILL.md'), { recursive: true })
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'file'), '')
    const told: string[] = []
    const notify = (message: string) => void told.push(message.replaceAll(folder, ''))
    const [, fresh] = await loadSkills([join(folder, 'none'), folder, join(folder, 'file')], notify)
    expect(told.sort()).toEqual([
      expect.stringMatching(/^the skill in .folder is left out: .+\.$/),
      expect.stringMatching(/^the skill in .large is left out: SKILL\.md .+\.$/),
    ])
    const fixed = parseSkillFiles(await readSkillFiles([folder], () => {}, { isFixed: true }), () => {})
    expect(fixed.map(({ name }) => name)).toEqual(['a', 'b'])
    write('b', '---\nname: b\ndescription: D\n---\nnew')
    expect([await fresh?.read(), await fixed[1]?.read()]).toEqual(['new', 'old'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

async function run(skills: ReturnType<typeof createSkills>, name: string, input: object): Promise<string> {
  const tool = skills.tools.find((one) => one.name === name)
  const context = { call: { id: '1', name, input }, signal: new AbortController().signal, emit: () => {} }
  return JSON.stringify(await tool?.run({ ...input }, context))
}

test('the tools list the skills and read the one asked for', async () => {
  const many = Array.from({ length: 41 }, (_, index) => skill(`s${index}`))
  const local = [
    skill('pdf-forms', { allowedTools: ['Read', 'Bash'] }),
    skill('Notes'),
    skill('long', { read: async () => 'x'.repeat(100_001) }),
    skill('full', { read: async () => 'x'.repeat(100_000) }),
    skill('gone', {
      read: async () => {
        throw new Error('no such file')
      },
    }),
  ]
  const index = { skills: [{ name: 'far', description: 'Does far for people.', url: 'far.md' }] }
  const far = {
    indexUrl: 'https://skills.example/index.json',
    fetch: async (url: string | URL | Request) =>
      new Response(String(url).endsWith('.json') ? JSON.stringify(index) : 'How to do far.'),
  }
  const shelf = quietShelf({ tools: [mcp('forms', 'fill_pdf_forms')], toolSearch: true })
  const rank = rankers.lexical
  const skills = createSkills(local, { shelf, rank, ...far })
  const lines = [
    JSON.stringify(
      skills.tools.map(({ run: _, ...tool }) => tool),
      undefined,
      1,
    ),
    ...[many, many.slice(1), []].map((some) => createSkills(some, far).tools[1]?.description?.slice(80)),
    String(createSkills([]).tools.length),
  ]
  for (const input of [
    'pdf-forms',
    ...['/notes', ' Notes ', 'long', 'full', 'gone', 'pdf-form', 'zzz', 'far', 5],
  ].map((name) => ({ skill: name })))
    lines.push(
      `${JSON.stringify(input)} → ${(await run(skills, 'Skill', input)).replaceAll('x'.repeat(1000), '')}`,
    )
  for (const query of ['pdf forms', 'far', 'nothing like it', '', 5])
    lines.push(`${query} → ${await run(skills, 'DiscoverSkills', { query })}`)
  lines.push(await run(skills, 'Skill', { skill: 'far' }))
  lines.push(JSON.stringify(skills.used), JSON.stringify(skills.discoveries), String(skills.list().length))
  await expect(lines.join('\n')).toMatchFileSnapshot('./skills/answers.txt')
})

test('a ranker gets the same list for the same tools and skills, so that it can keep its index', async () => {
  const lists: unknown[] = []
  const rank: typeof rankers.lexical = (tools) => {
    lists.push(tools)
    return { hits: tools.map((tool) => ({ tool, score: 1 })), matched: tools.length }
  }
  const shelf = quietShelf({ tools: [mcp('a', 'one')], toolSearch: true })
  const [first, second] = [[skill('x')], [skill('y')]]
  const names = async (skills: readonly Skill[]) =>
    (await searchToolsAndSkills(shelf, skills, 'q', { rank })).found.map(
      ({ kind, name }) => `${kind} ${name}`,
    )
  expect([await names(first), await names(first), await names(second)]).toEqual([
    ['tool mcp__a__one', 'skill x'],
    ['tool mcp__a__one', 'skill x'],
    ['tool mcp__a__one', 'skill y'],
  ])
  expect([lists[0] === lists[1], lists[1] === lists[2]]).toEqual([true, false])
})

test('an index is used as far as it can be', async () => {
  const told: string[] = []
  const ask = async (body: unknown, status = 200) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const skills = createSkills([skill('mine')], {
      indexUrl: 'https://skills.example/index.json',
      fetch: async () => new Response(text, { status }),
      notify: (message) => void told.push(message),
      rank: rankers.lexical,
    })
    await run(skills, 'DiscoverSkills', { query: '' })
    return skills.list().map(({ name, place, isRemote }) => `${name} ${place} ${isRemote}`)
  }
  const entry = { name: 'far', description: 'D', url: 'far.md' }
  const listed = [
    ...[entry, 5, { ...entry, description: ' ' }, { ...entry, name: 'a b' }, { ...entry, url: '' }],
    ...[
      { ...entry, url: 'https://[' },
      { ...entry, url: 'https://evil.example/' },
      { ...entry, name: 'mine' },
    ],
  ]
  expect(await ask({ skills: listed })).toEqual([
    'mine /skills/mine false',
    'far https://skills.example/far.md true',
  ])
  for (const [body, status] of [
    ['{', 200],
    ['{}', 200],
    ['', 404],
    [`"${'x'.repeat(1_000_000)}"`, 200],
  ] as const)
    expect(await ask(body, status)).toEqual(['mine /skills/mine false'])
  expect(
    await ask({ skills: Array.from({ length: 5001 }, (_, at) => ({ ...entry, name: `s${at}` })) }),
  ).toHaveLength(5001)
  expect(told).toMatchInlineSnapshot(`
    [
      "skill 2 of https://skills.example/index.json is left out: it is not an object.",
      "skill 3 of https://skills.example/index.json is left out: it has no description.",
      "skill 4 of https://skills.example/index.json is left out: the name "a b" is invalid; use up to 64 letters, digits, "-", "_" and ".".",
      "skill 5 of https://skills.example/index.json is left out: its url "" is not a URL; include the scheme, e.g. https://example.com/skill.md.",
      "skill 6 of https://skills.example/index.json is left out: its url "https://[" is not a URL; include the scheme, e.g. https://example.com/skill.md.",
      "skill 7 of https://skills.example/index.json is left out: its url https://evil.example/ is not on https://skills.example.",
      "the skill https://skills.example/far.md is left out: /skills/mine has its name, "mine".",
      "cannot use the skill index https://skills.example/index.json: it is not valid JSON. Local skills still work.",
      "cannot use the skill index https://skills.example/index.json: it has no list "skills". Local skills still work.",
      "cannot use the skill index https://skills.example/index.json: it answered with status 404. Local skills still work.",
      "cannot use the skill index https://skills.example/index.json: it has more than 1000000 bytes. Local skills still work.",
      "https://skills.example/index.json lists 5001 skills; the first 5000 are used.",
    ]
  `)
})
