// The built-in tools as a set, and those that read and change files, on real files.
import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtInCallKinds } from '../../packages/agent/src/tools/built-in.ts'
import { createShelf } from '../../packages/core/src/index.ts'
import { presentMessages } from '../../packages/core/src/present.ts'
import { textIn } from './support.ts'
import { newFolder, workplace } from './tools-support.ts'

test('the common tools are always there, the rare ones deferred and found by words', async () => {
  const { tools } = workplace()
  const shelf = createShelf({
    tools: tools.map(({ run: _, ...tool }) => tool),
    rank: 'lexical',
    environment: {},
  })
  expect(shelf.partition().immediate.map(({ name }) => name)).toEqual([
    'Bash',
    'Edit',
    'Glob',
    'Grep',
    'Read',
    'Write',
  ])
  expect(shelf.partition().deferred.map(({ name }) => name)).toEqual(['Fetch', 'Move', 'Remove'])
  const found = async (query: string) =>
    (await shelf.search({ query, max_results: 1 })).tools.map(({ name }) => name)
  expect(await found('open a web page')).toEqual(['Fetch'])
  expect(await found('delete a file')).toEqual(['Remove'])
  expect(await found('rename a file')).toEqual(['Move'])
})

test('only what changes nothing needs no permission', () => {
  const { tools } = workplace()
  expect(tools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name)).toEqual([
    'Read',
    'Glob',
    'Grep',
  ])
})

test('schemas are strict', () => {
  const { tools } = workplace()
  const shelf = createShelf({ tools: tools.map(({ run: _, ...tool }) => tool), environment: {} })
  const check = (name: string, input: unknown) => shelf.check({ id: 'toolu_1', name, input })
  expect(textIn(check('Read', { file: 'a' })!)).toMatch(/does not fit/)
  expect(textIn(check('Read', { path: 'a', offset: '5' })!)).toMatch(/whole number, not the string/)
  expect(textIn(check('Bash', { command: 'ls', timeout: 9999 })!)).toMatch(/timeout/)
  expect(check('Read', { path: 'a', offset: 5 })).toBeUndefined()
})

test('calls are summarised for people', () => {
  const content = ['Read', 'Read', 'Grep', 'Glob'].map((name) => ({ type: 'tool_use', name, input: {} }))
  const shown = presentMessages([{ role: 'assistant', content }], {
    searchTool: 'ToolSearch',
    kinds: builtInCallKinds,
  })
  expect(shown).toMatchObject([{ type: 'summary', text: 'Read 2 files, searched 2 files' }])
})

test('Read shows lines with numbers, a part, and how to see the rest', async () => {
  const { text, failure, put } = workplace()
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
  const { text, put } = workplace()
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
  const { failure, put } = workplace()
  put('src/server.ts', 'x')
  put('src/deep/b.ts', 'x')
  expect(await failure('Read', { path: 'src/sever.ts' })).toBe(
    'There is no file src/sever.ts. Nearest: src/server.ts.',
  )
  expect(await failure('Read', { path: 'lib/a.ts' })).toBe(
    'There is no file lib/a.ts. lib is not a folder. Find it with Glob.',
  )
  expect(await failure('Read', { path: 'src' })).toBe('src is a folder. It holds:\ndeep/\nserver.ts')
  put('data.bin', Buffer.from([1, 0, 2]))
  expect(await failure('Read', { path: 'data.bin' })).toMatch(/data\.bin is not text in UTF-8 \(3 bytes\)/)
  put('latin.txt', Buffer.from([0x67, 0xfc, 0x6e]))
  expect(await failure('Read', { path: 'latin.txt' })).toMatch(/is not text in UTF-8/)
  expect(await failure('Read', { path: '/dev/null' })).toMatch(/neither a file nor a folder/)
})

test('Read shows images as images, and goes outside the folder', async () => {
  const { run, text, put } = workplace()
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
  expect(await run('Read', { path: put('pixel', png) })).toEqual([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
  ])
  put('about.txt', 'GIF89a is a format.')
  expect(await text('Read', { path: 'about.txt' })).toBe('1\tGIF89a is a format.')
  const outside = newFolder()
  writeFileSync(join(outside, 'far.txt'), 'far')
  expect(await text('Read', { path: join(outside, 'far.txt') })).toBe('1\tfar')
})

test('Write creates folders, and overwrites only what was read and has not changed', async () => {
  const { run, text, failure, put, get } = workplace()
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
  const { directory, run, failure, put, get } = workplace()
  const script = put('run.sh', 'echo')
  chmodSync(script, 0o755)
  symlinkSync('run.sh', join(directory, 'link'))
  await run('Read', { path: 'link' })
  await run('Write', { path: 'link', content: 'echo 2' })
  expect(get('run.sh')).toBe('echo 2')
  expect(statSync(script).mode & 0o777).toBe(0o755)
  chmodSync(script, 0o777)
  await run('Write', { path: 'link', content: 'echo 2' })
  expect(statSync(script).mode & 0o777).toBe(0o777)
  expect(await failure('Write', { path: 'run.sh/below', content: 'x' })).toMatch(/ENOTDIR|EEXIST/)
  expect(get('run.sh')).toBe('echo 2')
})

test('a file with the longest name can be written, and nothing is left beside it', async () => {
  const { directory, run, get } = workplace()
  const name = 'n'.repeat(255)
  await run('Write', { path: name, content: 'one' })
  await run('Edit', { path: name, old: 'one', new: 'two' })
  expect(get(name)).toBe('two')
  expect(readdirSync(directory)).toEqual([name])
})

test('Edit replaces the one place, or all', async () => {
  const { run, text, failure, put, get } = workplace()
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
  const { run, failure, put } = workplace()
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
  const { run, put, get } = workplace()
  put('a.txt', 'one\r\ntwo\r\nthree\r\n')
  await run('Read', { path: 'a.txt' })
  await run('Edit', { path: 'a.txt', old: 'one\ntwo', new: "$& $1 $'\nmore" })
  expect(get('a.txt')).toBe("$& $1 $'\r\nmore\r\nthree\r\n")
  await run('Edit', { path: 'a.txt', old: 'three', new: 'three\nfour' })
  expect(get('a.txt')).toBe("$& $1 $'\r\nmore\r\nthree\r\nfour\r\n")
  put('mixed.txt', 'one\r\ntwo\nthree\n')
  await run('Read', { path: 'mixed.txt' })
  await run('Edit', { path: 'mixed.txt', old: 'two\nthree', new: 'two\nand\nthree' })
  expect(get('mixed.txt')).toBe('one\r\ntwo\nand\nthree\n')
})

test('Edit does not choose between places that overlap', async () => {
  const { run, failure, text, put, get } = workplace()
  put('a.ts', '  }\n  }\n  }\n')
  await run('Read', { path: 'a.ts' })
  expect(await failure('Edit', { path: 'a.ts', old: '  }\n  }\n', new: '' })).toMatch(
    /2 times \(lines 1, 2\)/,
  )
  expect(await text('Edit', { path: 'a.ts', old: '  }\n  }\n', new: '', all: true })).toMatch(/line 1/)
  expect(get('a.ts')).toBe('  }\n')
})

test('a read and edits of one file at once do not undo each other', async () => {
  const { run, put, get } = workplace()
  const lines = Array.from({ length: 20 }, (_, line) => line)
  put('a.txt', lines.map((line) => `<${line}>`).join())
  const edits = [run('Read', { path: 'a.txt' })]
  for (const line of lines) edits.push(run('Edit', { path: 'a.txt', old: `<${line}>`, new: `[${line}]` }))
  await Promise.all(edits)
  expect(get('a.txt')).toBe(lines.map((line) => `[${line}]`).join())
})
