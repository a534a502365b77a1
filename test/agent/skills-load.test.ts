// Skills from folders: the open layout, and a clear sentence for each that cannot be used.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSkills, projectSkillFolders, userSkillFolders } from '../../packages/agent/src/skills/load.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'skills-'))

function write(folder: string, name: string, text: string | Buffer): string {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'SKILL.md'), text)
  return join(folder, name)
}

const plain = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n# Body\n`

async function load(...folders: string[]) {
  const notices: string[] = []
  const skills = await loadSkills(folders, (message) => notices.push(message))
  return { skills, names: skills.map(({ name }) => name), notices }
}

describe('folders', () => {
  test('of the project before those at home, none twice', () => {
    expect([...projectSkillFolders('/project', '/home'), ...userSkillFolders('/home')]).toEqual([
      '/project/.agents/skills',
      '/project/.claude/skills',
      '/project/.toolshelf/skills',
      '/home/.agents/skills',
      '/home/.claude/skills',
      '/home/.config/toolshelf/skills',
    ])
    expect(projectSkillFolders('/home', '/home')).toHaveLength(1)
  })

  test('does not report one that is missing or holds no skills', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'README.md'), 'hello')
    expect(await load(folder, join(folder, 'missing'))).toEqual({ skills: [], names: [], notices: [] })
  })
})

describe('SKILL.md', () => {
  test('every field of the layout', async () => {
    const folder = newFolder()
    const more = 'license: MIT\nallowed-tools: Read Bash(git *)\nmetadata:\n  version: "1.0"\n'
    const place = write(folder, 'a', plain('a', more))
    const { skills, notices } = await load(folder)
    expect(skills).toMatchObject([
      {
        name: 'a',
        description: 'Does a.',
        license: 'MIT',
        allowedTools: ['Read', 'Bash(git *)'],
        metadata: { version: '1.0' },
        place,
        isRemote: false,
      },
    ])
    expect(await skills[0]?.read()).toBe('# Body')
    expect(notices).toEqual([])
  })

  test.each([
    ['description: a: b', 'its front matter is not valid YAML'],
    ['description: [', 'its front matter is not valid YAML'],
    ['license: MIT', 'its front matter has no description; add a line "description: …"'],
    ['description: ""', 'its front matter has no description'],
    ['description: {a: 1}', 'its front matter has no description'],
  ])('reports %s, and loads the others', async (line, sentence) => {
    const folder = newFolder()
    const place = write(folder, 'bad', `---\nname: bad\n${line}\n---\nBody`)
    write(folder, 'good', plain('good'))
    const { names, notices } = await load(folder)
    expect(names).toEqual(['good'])
    expect(notices).toHaveLength(1)
    expect(notices[0]).toContain(`the skill in ${place} is left out: ${sentence}`)
    expect(notices[0]).not.toContain('\n')
  })

  test.each([
    ['no front matter', 'Body', 'it has no front matter'],
    ['front matter without end', '---\nname: bad\ndescription: x\n', 'it has no front matter'],
    ['empty front matter', '---\n---\n', 'it has no name'],
    ['a list', '---\n- name\n---\n', 'has no name'],
    [
      'a name that no one can call',
      '---\nname: "a b:c"\ndescription: x\n---\n',
      'the name "a b:c" is invalid',
    ],
    [
      'aliases without end',
      `---\na: &a [x]\n${'bcdefghij'
        .split('')
        .map((key, index, all) => `${key}: &${key} [${`*${all[index - 1] ?? 'a'},`.repeat(9)}]`)
        .join('\n')}\nname: bad\n---\n`,
      'not valid YAML',
    ],
    ['too long', Buffer.alloc(1_000_001, 'x'), 'SKILL.md has 1000001 bytes'],
  ])('reports %s', async (_, text, sentence) => {
    const folder = newFolder()
    write(folder, 'bad', text)
    const { names, notices } = await load(folder)
    expect(names).toEqual([])
    expect(notices[0]).toContain(sentence.replace('it has no name', 'has no name'))
  })

  test.skipIf(process.getuid?.() === 0)('a file that may not be read', async () => {
    const folder = newFolder()
    chmodSync(join(write(folder, 'bad', plain('bad')), 'SKILL.md'), 0)
    expect((await load(folder)).notices[0]).toContain('permission denied')
  })

  test('front matter that would take a minute to read is left out', async () => {
    const folder = newFolder()
    const keys = Array.from({ length: 60_000 }, (_, index) => `key${index}: value\n`)
    write(folder, 'many', plain('many', keys.join('')))
    write(folder, 'few', plain('few'))
    const { names, notices } = await load(folder)
    expect(names).toEqual(['few'])
    expect(notices).toEqual([
      expect.stringMatching(/its front matter has \d+ characters; shorten it to 16000/),
    ])
  })

  test('reports a name that differs from its folder, and loads the skill', async () => {
    const folder = newFolder()
    const place = write(folder, 'folder', plain('other'))
    const { names, notices } = await load(folder)
    expect(names).toEqual(['other'])
    expect(notices).toEqual([
      `the skill in ${place} is called "other" in its SKILL.md; rename the folder to match.`,
    ])
  })

  test('what is for the user alone is not given to the model', async () => {
    const folder = newFolder()
    write(folder, 'a', plain('a', 'disable-model-invocation: true\n'))
    expect(await load(folder)).toMatchObject({ names: [], notices: [] })
  })

  test('is read anew each time it is run', async () => {
    const folder = newFolder()
    const place = write(folder, 'a', plain('a'))
    const { skills } = await load(folder)
    writeFileSync(join(place, 'SKILL.md'), `${plain('a')}more`)
    expect(await skills[0]?.read()).toBe('# Body\nmore')
    rmSync(place, { recursive: true })
    await expect(skills[0]?.read()).rejects.toThrow('ENOENT')
  })

  test('any text is a skill or one sentence, never a throw', async () => {
    const piece = fc.constantFrom(
      '---',
      '\n',
      '\r\n',
      'name: a',
      'description: b',
      ': ',
      '- ',
      '&x ',
      '*x',
      '"',
      '\u0000',
      '{',
      '#',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(piece, fc.string({ maxLength: 5 })), { maxLength: 14 }),
        async (pieces) => {
          const folder = newFolder()
          write(folder, 'a', pieces.join(''))
          const { names, notices } = await load(folder)
          expect(names.length + notices.length).toBeGreaterThanOrEqual(1)
          expect(notices.every((notice) => !notice.includes('\n'))).toBe(true)
        },
      ),
      { numRuns: runs(20) },
    )
  })
})
