// Skills of servers: one rich entry and one file of it, and what every single change of them leads to.
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  createServerSkills,
  isFileOf,
  offersSkills,
  readSkillEntries,
  SKILLS,
} from '../../src/mcp/skills/index.ts'
import type { Loose } from '../support/talk.ts'
import { effects } from '../support/variants.ts'

const written = (lines: readonly unknown[]) =>
  `${lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')}\n`
const file = (name: string) => `./parts/${name}.txt`
const digestOf = (text: string | Buffer) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const resource = (uri: string, text: string | Buffer = uri) => ({
  ...{ uri, digest: digestOf(text), size: Buffer.byteLength(text) },
})
const entryOf = (name: string, more: Loose = {}) => ({
  uri: `skill://team/${name}/SKILL.md`,
  frontmatter: { name, description: `Does ${name}`, 'allowed-tools': ['Bash'] },
  resources: [resource(`skill://team/${name}/SKILL.md`), resource(`skill://team/${name}/more/a.md`)],
  ...more,
})

describe('entries', () => {
  it('own the files below their folder, however those are written', async () => {
    const skill = 'skill://team/mail/SKILL.md'
    const uris = [
      ...[
        'skill://team/mail/a.md',
        'SKILL://team/mail/a.md',
        'skill://team/m%61il/a.md',
        'skill://team/mail',
      ],
      ...[
        'skill://team/mail/',
        'skill://team/other/a.md',
        'skill://team/mail/../a.md',
        'skill://team/mail/./a.md',
      ],
      ...[
        'skill://team/mail/%2e%2e/a.md',
        'skill://team/mail//a.md',
        'skill://team/mail/a%2fb',
        'skill://team/mail/a%5cb',
      ],
      ...[
        'skill://team/mail/a\\b',
        'skill://team/mail/a?b',
        'skill://team/mail/a#b',
        'skill://team/mail/%zz',
      ],
      ...[
        'skill://team/mail/a%00',
        'skill://team/mail/a\u0000',
        'skill://team/mail/a%7f',
        'skill://team/mail/ä',
        'other://team/mail/a.md',
      ],
      ...[
        'skill:x',
        'SKILL:x',
        'other:x',
        '1skill://team/mail/a',
        'skill://',
        'skill+x.y-1://team/mail/a',
        '',
      ],
      ...[
        `skill://team/mail/${'a'.repeat(1982)}`,
        `skill://team/mail/${'a'.repeat(1983)}`,
        `other://${'a'.repeat(2000)}`,
      ],
      ...['skill://team/mail/\ud800', 'x skill://team/mail/a.md'],
    ]
    // An odd address may be anybody's.
    const others = 'skill://other/SKILL.md'
    const lines = uris.map(
      (uri) => `${isFileOf(skill, uri)} ${isFileOf(others, uri)} ${JSON.stringify(uri.slice(0, 60))}`,
    )
    const odd = ['skill://SKILL.md', 'skill://mail/skill.md', 'skill://mail/SKILL.md/', 'x'].map(
      (one) => `${isFileOf(one, 'skill://mail/a.md')} ${one}`,
    )
    const offers = [{}, { extensions: null }, { extensions: { [SKILLS]: {} } }].flatMap((capabilities) =>
      (['connected', 'failed', 'disabled'] as const).map((state) => offersSkills({ state, capabilities })),
    )
    await expect(written([...lines, ...odd, offers])).toMatchFileSnapshot(file('skill-files'))
  })

  it('are used if every part is right, and left out with the reason otherwise', async () => {
    const story = await effects(entryOf('mail'), (changed: unknown) => {
      const { entries, problems, dropped } = readSkillEntries([changed])
      return [...entries.map((one) => JSON.stringify(one)), ...problems, String(dropped)]
    })
    const mail = (more: Loose) => entryOf('mail', more)
    const matter = (more: Loose) => mail({ frontmatter: { ...entryOf('mail').frontmatter, ...more } })
    const own = 'skill://team/mail/SKILL.md'
    const files = (...uris: string[]) => mail({ resources: [own, ...uris].map((uri) => resource(uri)) })
    const sized = (...sizes: unknown[]) =>
      mail({
        resources: sizes.map((size, at) => ({
          ...resource(at === 0 ? own : `skill://team/mail/${at}`),
          size,
        })),
      })
    const circle: Loose = { ...entryOf('mail').frontmatter }
    circle.self = circle
    const cases: { [title: string]: Loose } = {
      none: null,
      dynamic: mail({ resources: 'dynamic' }),
      'other word': mail({ resources: 'static' }),
      'no files': mail({ resources: [] }),
      'as an array': [mail({})],
      'own prototype': mail({ frontmatter: JSON.parse('{"name":"mail","description":"x","__proto__":{}}') }),
      'blank description': matter({ description: ' \n' }),
      'long name': entryOf('m'.repeat(65)),
      'longest name': entryOf('m'.repeat(64)),
      'name with space': entryOf('a b'),
      'name of letters': entryOf('größe_1.x-y', { resources: 'dynamic' }),
      'other name': matter({ name: 'post' }),
      'longest front matter': matter({
        x: 'y'.repeat(16_000 - JSON.stringify(matter({ x: '' }).frontmatter).length),
      }),
      'long front matter': matter({
        x: 'y'.repeat(16_001 - JSON.stringify(matter({ x: '' }).frontmatter).length),
      }),
      'circular front matter': mail({ frontmatter: circle }),
      'two files': files('skill://team/mail/x.md'),
      'the same file twice': files('skill://team/mail/x.md', 'skill://team/mail/%78.md'),
      'a file elsewhere': files('skill://team/other/x.md'),
      'a folder above': files('skill://team/x.md'),
      'the folder itself': files('skill://team/mail'),
      'another scheme': files('http://team/mail/x.md'),
      'most bytes': sized(16_777_000, 216),
      'too many bytes': sized(16_777_000, 217),
      'odd sizes': [sized(-1), sized(0), sized(1.5), sized('5')].map(
        (one) => readSkillEntries([one]).dropped,
      ),
      'most files': files(...Array.from({ length: 511 }, (_, at) => `skill://team/mail/${at}`)),
      'too many files': files(...Array.from({ length: 512 }, (_, at) => `skill://team/mail/${at}`)),
      'digest in capitals': mail({ resources: [{ ...resource(own), digest: digestOf(own).toUpperCase() }] }),
      'longer digest': mail({ resources: [{ ...resource(own), digest: `${digestOf(own)}0` }] }),
      'digest behind a word': mail({ resources: [{ ...resource(own), digest: `x${digestOf(own)}` }] }),
    }
    const lines = Object.entries(cases).map(([title, entry]) => {
      if (title === 'odd sizes') return `${title}: ${entry}`
      const { entries, problems } = readSkillEntries([entry])
      return `${title}: ${entries.length} ${problems.join()}`
    })
    const twice = [
      entryOf('a'),
      entryOf('b'),
      entryOf('a', { uri: 'SKILL://team/%61/SKILL.md', resources: 'dynamic' }),
    ]
    const { entries, problems, dropped } = readSkillEntries([
      ...twice,
      entryOf('a', { resources: 'dynamic' }),
    ])
    lines.push(written([entries.map(({ uri }) => uri), problems, dropped]))
    const bad = readSkillEntries(Array(25).fill({ uri: `x${'y'.repeat(300)}\n` }))
    lines.push(written([bad.problems.length, bad.problems[0] ?? '', bad.dropped]))
    await expect(`${story}${written(lines)}`).toMatchFileSnapshot(file('skill-entries'))
  })
})

describe('the skills of servers', () => {
  const host = (statuses: readonly Loose[], request: Loose = async () => ({})) => {
    const state = { statuses, watched: 0 }
    const given: Loose = {
      status: () => state.statuses,
      request,
      watchLists: () => {
        state.watched++
      },
    }
    return { state, skills: createServerSkills(given) }
  }

  it('have names of their own, and stay the same objects while nothing changes', async () => {
    const at = (path: string, more: Loose = {}) => {
      const name = path.split('/').at(-1) ?? ''
      const frontmatter = { name, description: `Does\u200b\n ${path}` }
      return { uri: `skill://${path}/SKILL.md`, frontmatter, resources: 'dynamic', ...more }
    }
    const long = { name: 'long', description: 'x '.repeat(3000) }
    const first = [
      at('mail'),
      at('a/book'),
      at('b/book'),
      at('a b/book'),
      at('a-b/book'),
      at('a+b/book'),
      at('long', { frontmatter: long }),
      entryOf('files'),
    ]
    const { skills, state } = host([
      { name: 'my server', state: 'connected', skills: first },
      { name: 'my-server', state: 'failed', skills: [at('mail')] },
      { name: 'off', state: 'disabled', skills: [at('mail')] },
      { name: 'none', state: 'connected' },
      { name: 'empty', state: 'connected', skills: [] },
    ])
    const list = skills.list()
    expect(state.watched).toBe(1)
    expect(skills.list()).toBe(list)
    state.statuses = [...state.statuses, { name: 'new', state: 'connected', skills: [] }]
    expect(skills.list()).toBe(list)
    const shown = list.map(({ read: _, description, ...rest }) =>
      JSON.stringify({ ...rest, description: description.length > 99 ? description.length : description }),
    )
    state.statuses = state.statuses.slice(0, 1)
    expect(skills.list()).toHaveLength(list.length - 1)
    state.statuses = [{ name: 'my-server', state: 'connected', skills: first }]
    const renamed = skills.list()
    state.statuses = [{ name: 'my-server', state: 'connected', skills: [...first] }]
    expect([renamed === list, skills.list() === renamed]).toEqual([false, false])
    await expect(written([...shown, renamed.map(({ name }) => name)])).toMatchFileSnapshot(
      file('skill-names'),
    )
  })

  const text = '---\nname: mail\ndescription: Does mail\nnested:\n  - 1\n---\n\nHow to do it.\u200b\n'
  const frontmatter = { name: 'mail', description: 'Does mail', nested: [1] }
  const uri = 'skill://mail/SKILL.md'

  /** Reads a file of a skill, for each of these answers in turn. */
  async function read(entry: Loose, path: string | undefined, answers: readonly Loose[]): Promise<string[]> {
    const rest = [...answers]
    const asked: string[] = []
    const request = async (...[server, method, params]: string[]) => {
      asked.push(`${server} ${method} ${JSON.stringify(params)}`)
      const answer = rest.shift()
      if (answer instanceof Error) throw answer
      return answer ?? {}
    }
    const { skills } = host([{ name: 's', state: 'connected', skills: [entry] }], request)
    const [skill] = skills.list()
    const outcome = await skill?.read(path).then(
      (found) => JSON.stringify(found.length > 99 ? found.length : found),
      (error: Error) => `! ${error.message}`,
    )
    return [outcome ?? 'nothing', ...asked]
  }

  it('are read only as they are listed', async () => {
    const whole = { uri, frontmatter, resources: [resource(uri, text), resource('skill://mail/a b.md', 'A')] }
    const dynamic = { uri, frontmatter, resources: 'dynamic' }
    const answer = { contents: [{ uri, text }] }
    const story = await effects({ entry: whole, answer }, ({ entry, answer: given }: Loose) =>
      read(entry, undefined, [given]),
    )
    const content = (given: string | Buffer) => ({
      contents: [typeof given === 'string' ? { text: given } : { blob: given.toString('base64') }],
    })
    const head = text.slice(0, text.indexOf('\n\n'))
    const manifests: { [title: string]: Loose } = {
      blob: content(Buffer.from(text)),
      'two contents': { contents: [{ text }, { text }] },
      'no content': { contents: [] },
      'not text': content(Buffer.from([0xff, 0xfe, 0x80])),
      'byte order mark': content(`\ufeff${text}`),
      'Windows lines': content(text.replaceAll('\n', '\r\n')),
      'spaces behind dashes': content(text.replaceAll('---', '--- \t')),
      'no end': content(head),
      'end at once': content(`${head}`.replace(/\n---$/, '\n---')),
      'no front matter': content('How to do it.'),
      'empty front matter': content('---\n---\nHow'),
      'front matter further down': content(`x\n${text}`),
      'more dashes': content(text.replace('---\n\n', '----\n\n')),
      'other front matter': content(text.replace('mail', 'fax')),
      'invalid YAML': content('---\n: [\n---\n'),
      'a list': content('---\n- a\n---\n'),
      aliases: content('---\nname: &a mail\ndescription: *a\n---\n'),
      'long front matter': content(`---\n${text.slice(4, 40)}${'#'.repeat(32_001)}\n---\n`),
      'commented front matter': content(text.replace('---\n\n', `${'#'.repeat(31_000)}\n---\n\n`)),
      'too many bytes': content(`${text}${'x'.repeat(16_777_217 - Buffer.byteLength(text))}`),
    }
    const lines: string[] = []
    for (const [title, given] of Object.entries(manifests))
      lines.push(
        `${title}: ${(await read(dynamic, undefined, [given, { skill: dynamic }, given])).join(' | ')}`,
      )
    const paths = [
      'a b.md',
      'a%20b.md',
      'SKILL.md',
      'x/y.md',
      'x//y',
      './x',
      '../x',
      'x/..',
      'x.',
      '...',
      'a?b',
      'a#b',
      'a\\b',
      'ä',
      '',
    ]
    for (const entry of [whole, dynamic])
      for (const path of paths)
        lines.push(`${JSON.stringify(path)}: ${(await read(entry, path, [content('A'), {}])).join(' | ')}`)
    const changed = text.replace('How to do it.', 'New.')
    const fresh = { ...whole, resources: [resource(uri, changed)] }
    const again: { [title: string]: Loose[] } = {
      'a new text': [content(changed), { skill: fresh }, content(changed)],
      'a new text, listed as before': [content(changed), { skill: whole }, content(changed)],
      'an entry of another skill': [
        content(changed),
        { skill: { ...fresh, uri: 'skill://x/mail/SKILL.md' } },
        content(changed),
      ],
      'no entry': [content(changed), {}],
      'no text': [new Error('unreachable')],
      'a refused entry': [content(changed), new Error('held back')],
    }
    for (const [title, answers] of Object.entries(again))
      lines.push(`${title}: ${(await read(whole, undefined, answers)).join(' | ')}`)
    await expect(`${story}${written(lines)}`).toMatchFileSnapshot(file('skill-texts'))
  })
})
