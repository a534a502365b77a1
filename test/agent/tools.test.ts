// The built-in tools on real files, a real shell and a real server on loopback.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Input } from '../../src/agent/index.ts'
import { builtInTools, kinds } from '../../src/agent/tools/index.ts'
import { type Content, present } from '../../src/core/index.ts'
import { createShelf } from '../../src/index.ts'
import { textIn } from './support.ts'

let directory: string
let tools: ReturnType<typeof builtInTools>

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'toolshelf-tools-'))
  tools = builtInTools({ directory })
  const place = directory
  return () => rmSync(place, { recursive: true, force: true })
})

function run(name: string, input: Input): Promise<Content> {
  const tool = tools.find((one) => one.name === name)!
  const { signal } = new AbortController()
  return Promise.resolve(tool.run(input, { call: { id: 'toolu_1', name, input }, signal, tell: () => {} }))
}

const text = async (name: string, input: Input): Promise<string> => {
  const output = await run(name, input)
  return typeof output === 'string'
    ? output
    : textIn({ content: 'content' in output ? output.content : output })
}

const failure = (name: string, input: Input): Promise<string> =>
  run(name, input).then(
    (output) => expect.fail(`it ran: ${JSON.stringify(output)}`),
    (error: Error) => error.message,
  )

function put(path: string, content: string | Buffer): string {
  const file = join(directory, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}
const get = (path: string) => readFileSync(join(directory, path), 'utf8')

test('the common tools are always there, the rare ones deferred and found by words', async () => {
  const shelf = createShelf({
    tools: tools.map(({ run: _, ...tool }) => tool),
    rank: 'lexical',
    environment: {},
  })
  expect(shelf.tools().immediate.map(({ name }) => name)).toEqual([
    'Read',
    'Write',
    'Edit',
    'Glob',
    'Grep',
    'Bash',
  ])
  expect(shelf.tools().deferred.map(({ name }) => name)).toEqual(['Fetch', 'Move', 'Remove'])
  const found = async (query: string) =>
    (await shelf.search({ query, max_results: 1 })).tools.map(({ name }) => name)
  expect(await found('open a web page')).toEqual(['Fetch'])
  expect(await found('delete a file')).toEqual(['Remove'])
  expect(await found('rename a file')).toEqual(['Move'])
})

test('only what changes nothing needs no permission', () => {
  expect(tools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name)).toEqual([
    'Read',
    'Glob',
    'Grep',
  ])
})

test('schemas are strict', () => {
  const shelf = createShelf({ tools: tools.map(({ run: _, ...tool }) => tool), environment: {} })
  const check = (name: string, input: unknown) => shelf.check({ id: 'toolu_1', name, input })
  expect(textIn(check('Read', { file: 'a' })!)).toMatch(/does not fit/)
  expect(textIn(check('Read', { path: 'a', offset: '5' })!)).toMatch(/whole number, not the string/)
  expect(textIn(check('Bash', { command: 'ls', timeout: 9999 })!)).toMatch(/timeout/)
  expect(check('Read', { path: 'a', offset: 5 })).toBeUndefined()
})

test('calls are summarised for people', () => {
  const content = ['Read', 'Read', 'Grep', 'Glob'].map((name) => ({ type: 'tool_use', name, input: {} }))
  const shown = present([{ role: 'assistant', content }], { searchTool: 'ToolSearch', kinds })
  expect(shown).toMatchObject([{ type: 'summary', text: 'Read 2 files, searched 2 files' }])
})

test('Read shows lines with numbers, a part, and how to see the rest', async () => {
  put('a.txt', 'one\r\ntwo\nthree\n')
  expect(await text('Read', { path: 'a.txt' })).toBe('1\tone\n2\ttwo\n3\tthree')
  expect(await text('Read', { path: 'a.txt', offset: 2, limit: 1 })).toBe(
    '2\ttwo\n(Lines 2 to 2 of 3. Read on with offset 3.)',
  )
  expect(await text('Read', { path: 'a.txt', offset: 3 })).toBe('3\tthree\n(Lines 3 to 3 of 3.)')
  expect(await failure('Read', { path: 'a.txt', offset: 4 })).toMatch(/has 3 lines, so there is no line 4/)
  put('empty', '')
  expect(await text('Read', { path: 'empty' })).toBe('(The file is empty.)')
})

test('Read is bounded in lines, in their length and in all', async () => {
  put('long', Array.from({ length: 5000 }, (_, line) => `line ${line}`).join('\n'))
  expect(await text('Read', { path: 'long' })).toMatch(
    /\(Lines 1 to 2000 of 5000\. Read on with offset 2001\.\)$/,
  )
  put('wide', 'w'.repeat(100_000))
  const wide = await text('Read', { path: 'wide' })
  expect(wide.length).toBeLessThan(3000)
  expect(wide).toMatch(/… \(98000 more characters;/)
  put('both', Array.from({ length: 500 }, () => 'b'.repeat(1500)).join('\n'))
  const both = await text('Read', { path: 'both' })
  expect(both.length).toBeLessThan(61_000)
  expect(both).toMatch(/Read on with offset 40\.\)$/)
})

test('Read helps where there is nothing to read', async () => {
  put('src/server.ts', 'x')
  put('src/deep/b.ts', 'x')
  expect(await failure('Read', { path: 'src/sever.ts' })).toBe(
    'There is no file src/sever.ts. Nearest: src/server.ts.',
  )
  expect(await failure('Read', { path: 'lib/a.ts' })).toBe(
    'There is no file lib/a.ts. lib is no folder. Find it with Glob.',
  )
  expect(await failure('Read', { path: 'src' })).toBe('src is a folder. It holds:\ndeep/\nserver.ts')
  put('data.bin', Buffer.from([1, 0, 2]))
  expect(await failure('Read', { path: 'data.bin' })).toMatch(/data\.bin is not text in UTF-8 \(3 bytes\)/)
  put('latin.txt', Buffer.from([0x67, 0xfc, 0x6e]))
  expect(await failure('Read', { path: 'latin.txt' })).toMatch(/is not text in UTF-8/)
  expect(await failure('Read', { path: '/dev/null' })).toMatch(/neither a file nor a folder/)
})

test('Read shows images as images, and goes outside the folder', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
  expect(await run('Read', { path: put('pixel', png) })).toEqual([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
  ])
  const outside = mkdtempSync(join(tmpdir(), 'toolshelf-outside-'))
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }))
  writeFileSync(join(outside, 'far.txt'), 'far')
  expect(await text('Read', { path: join(outside, 'far.txt') })).toBe('1\tfar')
})

test('Write creates folders, and overwrites only what was read and has not changed', async () => {
  expect(await text('Write', { path: 'new/deep/a.txt', content: 'one' })).toBe(
    'Created new/deep/a.txt (1 line).',
  )
  expect(await text('Write', { path: 'new/deep/a.txt', content: 'two' })).toMatch(/^Replaced/)
  put('old.txt', 'mine')
  expect(await failure('Write', { path: 'old.txt', content: 'gone' })).toMatch(
    /was not read in this session\. Read it first/,
  )
  await run('Read', { path: 'old.txt' })
  put('old.txt', 'also')
  expect(await failure('Write', { path: 'old.txt', content: 'gone' })).toMatch(
    /has changed since it was read/,
  )
  expect(get('old.txt')).toBe('also')
  await run('Read', { path: 'old.txt' })
  await run('Write', { path: 'old.txt', content: 'new' })
  expect(get('old.txt')).toBe('new')
})

test('Write keeps the mode and the link of what it replaces, and the file where it cannot be written', async () => {
  const script = put('run.sh', 'echo')
  chmodSync(script, 0o755)
  symlinkSync('run.sh', join(directory, 'link'))
  await run('Read', { path: 'link' })
  await run('Write', { path: 'link', content: 'echo 2' })
  expect(get('run.sh')).toBe('echo 2')
  expect(statSync(script).mode & 0o777).toBe(0o755)
  expect(await failure('Write', { path: 'run.sh/below', content: 'x' })).toMatch(/ENOTDIR|EEXIST/)
  expect(get('run.sh')).toBe('echo 2')
})

test('Edit replaces the one place, or all', async () => {
  put('a.ts', 'let a = 1\nlet b = 1\n')
  expect(await failure('Edit', { path: 'a.ts', old: 'a', new: 'c' })).toMatch(/was not read/)
  await run('Read', { path: 'a.ts' })
  expect(await text('Edit', { path: 'a.ts', old: 'let b = 1', new: 'let b = 2' })).toBe(
    'Changed a.ts (line 2).',
  )
  expect(await failure('Edit', { path: 'a.ts', old: 'let', new: 'const' })).toBe(
    '`old` is in a.ts 2 times (lines 1, 2). Give more of the text around the one you mean, or set all: true.',
  )
  expect(await text('Edit', { path: 'a.ts', old: 'let', new: 'const', all: true })).toBe(
    'Changed a.ts (lines 1, 2).',
  )
  expect(get('a.ts')).toBe('const a = 1\nconst b = 2\n')
  expect(await failure('Edit', { path: 'a.ts', old: 'const', new: 'const' })).toMatch(/the same/)
})

test('Edit says where the nearest text is', async () => {
  put('a.ts', 'first\n\n  function greet(name) {\n    return name\n  }\n')
  await run('Read', { path: 'a.ts' })
  expect(
    await failure('Edit', { path: 'a.ts', old: 'function greet(name) {\n  return name\n}', new: '' }),
  ).toBe(
    '`old` is not in a.ts. The nearest is at line 3:\n  function greet(name) {\n    return name\n  }\nCopy it exactly, spaces included.',
  )
  expect(await failure('Edit', { path: 'a.ts', old: 'nothing like it', new: '' })).toMatch(
    /read the file again/,
  )
})

test('Edit inserts what looks like a pattern as it is, and keeps other line ends', async () => {
  put('a.txt', 'one\r\ntwo\r\nthree\r\n')
  await run('Read', { path: 'a.txt' })
  await run('Edit', { path: 'a.txt', old: 'one\ntwo', new: "$& $1 $'\nmore" })
  expect(get('a.txt')).toBe("$& $1 $'\r\nmore\r\nthree\r\n")
})

test('edits of one file at once do not undo each other', async () => {
  put('a.txt', Array.from({ length: 20 }, (_, line) => `<${line}>`).join('\n'))
  const edits = Array.from({ length: 20 }, (_, line) =>
    run('Edit', { path: 'a.txt', old: `<${line}>`, new: `[${line}]` }),
  )
  await Promise.all([run('Read', { path: 'a.txt' }), ...edits].slice(0, 1))
  const done = await Promise.allSettled(edits)
  const changed = done.filter(({ status }) => status === 'fulfilled').length
  expect(get('a.txt').match(/\[/g) ?? []).toHaveLength(changed)
  await run('Read', { path: 'a.txt' })
  await Promise.all(
    Array.from({ length: 20 }, (_, line) => line)
      .filter((line) => get('a.txt').includes(`<${line}>`))
      .map((line) => run('Edit', { path: 'a.txt', old: `<${line}>`, new: `[${line}]` })),
  )
  expect(get('a.txt').match(/\[/g)).toHaveLength(20)
})

test('Glob finds by pattern, the newest first, without what nobody wrote', async () => {
  for (const [index, path] of [
    'src/a.ts',
    'src/deep/b.ts',
    'c.ts',
    'src/d.js',
    '.git/e.ts',
    'node_modules/m/f.ts',
  ].entries())
    utimesSync(put(path, ''), index, index)
  expect(await text('Glob', { pattern: '**/*.ts' })).toBe('c.ts\nsrc/deep/b.ts\nsrc/a.ts')
  expect(await text('Glob', { pattern: '*.ts' })).toBe('c.ts\nsrc/deep/b.ts\nsrc/a.ts')
  expect(await text('Glob', { pattern: 'src/*.{ts,js}' })).toBe('src/d.js\nsrc/a.ts')
  expect(await text('Glob', { pattern: '[ab].?s', path: 'src' })).toBe('src/deep/b.ts\nsrc/a.ts')
  expect(await text('Glob', { pattern: 'src/a.ts' })).toBe('src/a.ts')
  expect(await text('Glob', { pattern: join(directory, 'src/**') })).toBe('src/d.js\nsrc/deep/b.ts\nsrc/a.ts')
  expect(await text('Glob', { pattern: 'node_modules/**/*.ts' })).toBe('node_modules/m/f.ts')
  expect(await text('Glob', { pattern: '*.py' })).toBe('No file fits *.py in ..')
  expect(await failure('Glob', { pattern: '*', path: 'scr' })).toBe('There is no folder scr. Nearest: src.')
})

test('Glob says how many it leaves out', async () => {
  for (let index = 0; index < 230; index++) put(`f${index}.txt`, '')
  const found = (await text('Glob', { pattern: '*.txt' })).split('\n')
  expect(found).toHaveLength(201)
  expect(found.at(-1)).toBe('(30 older ones are left out; use a narrower pattern or a path.)')
})

test('Grep shows matching lines, with lines around them', async () => {
  put('src/a.ts', 'zero\nfoo one\ntwo\nthree\nFOO four\nfoo five\n')
  put('b.md', 'foo in words\n')
  put('node_modules/c.ts', 'foo')
  put('d.bin', Buffer.from('foo\0'))
  expect(await text('Grep', { pattern: '^foo \\w+$' })).toBe('src/a.ts:2:foo one\nsrc/a.ts:6:foo five')
  expect(await text('Grep', { pattern: 'foo', glob: '*.md' })).toBe('b.md:1:foo in words')
  expect(await text('Grep', { pattern: 'foo', path: 'src/a.ts', ignoreCase: true, context: 1 })).toBe(
    'src/a.ts-1-zero\nsrc/a.ts:2:foo one\nsrc/a.ts-3-two\n--\nsrc/a.ts-4-three\nsrc/a.ts:5:FOO four\nsrc/a.ts:6:foo five\nsrc/a.ts-7-',
  )
  expect(await text('Grep', { pattern: 'nowhere' })).toBe('No line matches.')
  expect(await failure('Grep', { pattern: 'foo(?=bar)' })).toMatch(/is no regular expression.*Look-around/s)
  expect(await failure('Grep', { pattern: 'x', path: 'scr' })).toMatch(/Nearest: src\./)
})

test('Grep is bounded, and slow patterns are not slow', async () => {
  put('many.txt', 'hit\n'.repeat(1000))
  expect(await text('Grep', { pattern: 'hit' })).toMatch(/\(Stopped after 200 matches;/)
  put('many.txt', `${'a'.repeat(50_000)}!`)
  expect(await text('Grep', { pattern: '(a+)+$' })).toBe('No line matches.')
  put('many.txt', 'x'.repeat(5_000_001))
  expect(await text('Grep', { pattern: 'x' })).toBe(
    'No line matches.\n(1 files were too large or could not be read.)',
  )
})

test('Move and Remove do what they say, and nothing more', async () => {
  put('a.txt', 'a')
  put('full/b.txt', 'b')
  expect(await failure('Move', { from: 'a.txt', to: 'full/b.txt' })).toBe(
    'full/b.txt exists already. Choose another name.',
  )
  expect(await text('Move', { from: 'a.txt', to: 'new/c.txt' })).toBe('Moved a.txt to new/c.txt.')
  expect(get('new/c.txt')).toBe('a')
  expect(await failure('Move', { from: 'a.txt', to: 'd' })).toMatch(/There is no file a\.txt/)
  expect(await failure('Remove', { path: 'full' })).toMatch(/set recursive: true/)
  expect(await failure('Remove', { path: '.', recursive: true })).toMatch(/holds the working folder/)
  expect(await failure('Remove', { path: '..', recursive: true })).toMatch(/holds the working folder/)
  expect(await text('Remove', { path: 'full', recursive: true })).toBe('Deleted full.')
  expect(await text('Remove', { path: 'new/c.txt' })).toBe('Deleted new/c.txt.')
})
