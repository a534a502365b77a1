// The built-in tools that find files and text, and those that move and remove, on real files.
import { mkdirSync, readdirSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { globMatcher } from '../../packages/agent/src/tools/files.ts'
import { newFolder, workplace } from './tools-support.ts'

test('Glob finds by pattern, the newest first, without what nobody wrote', async () => {
  const { directory, text, failure, put } = workplace()
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
  expect(await text('Glob', { pattern: '*.py' })).toBe('No file fits *.py in the working folder.')
  expect(await failure('Glob', { pattern: '*', path: 'srcs' })).toBe('There is no folder srcs. Nearest: src.')
})

test.each([
  ['*.ts', ['a.ts', 'x/a.ts'], ['a.tsx', 'a.ts/b']],
  ['x/*.ts', ['x/a.ts', 'x/.ts'], ['a.ts', 'x/y/a.ts', 'y/x/a.ts']],
  ['./x/?', ['x/a'], ['x/ab', 'x/']],
  ['/x/**', ['x/a', 'x/y/a'], ['y/a']],
  ['**/a', ['a', 'x/a', 'x/y/a'], ['ba', 'a/b']],
  ['x/**/a', ['x/a', 'x/y/z/a'], ['xa']],
  ['[ab].md', ['a.md', 'b.md'], ['c.md', '[ab].md']],
  ['[!ab]', ['c'], ['a', 'b']],
  ['[^ab]', ['c'], ['a']],
  ['[a[]', ['a', '['], ['b']],
  ['a[', ['a['], ['a', 'a[b']],
  ['{a,b{c,d}}.js', ['a.js', 'bc.js', 'bd.js'], ['b.js', 'c.js']],
  ['{a,b', ['a', 'b'], ['{a', 'a,b']],
  ['a,b}', ['a,b}'], ['a', 'b}']],
  ['a.b+(c)', ['a.b+(c)'], ['axb+(c)', 'a.bbc']],
])('the pattern %s fits %j and not %j', (pattern, fitting, others) => {
  const fits = globMatcher(pattern)
  expect(fitting.filter((path) => !fits(path))).toEqual([])
  expect(others.filter(fits)).toEqual([])
})

test('a backslash in a path separates folders', () => {
  expect(['x\\a.ts', 'x\\y\\a.ts'].map(globMatcher('x/*.ts'))).toEqual([true, false])
})

test('Grep shows matching lines, with lines around them', async () => {
  const { text, failure, put } = workplace()
  put('src/a.ts', 'zero\nfoo one\ntwo\nthree\nFOO four\nfoo five\n')
  put('b.md', 'foo in words\n')
  put('node_modules/c.ts', 'foo')
  put('d.bin', Buffer.from('foo\0'))
  expect(await text('Grep', { pattern: '^foo \\w+$' })).toBe('src/a.ts:2:foo one\nsrc/a.ts:6:foo five')
  expect(await text('Grep', { pattern: 'foo', glob: '*.md' })).toBe('b.md:1:foo in words')
  expect(await text('Grep', { pattern: 'foo', path: 'src/a.ts', ignoreCase: true, context: 1 })).toBe(
    'src/a.ts-1-zero\nsrc/a.ts:2:foo one\nsrc/a.ts-3-two\nsrc/a.ts-4-three\nsrc/a.ts:5:FOO four\nsrc/a.ts:6:foo five',
  )
  expect(await text('Grep', { pattern: 'zero|five', path: 'src', context: 1 })).toBe(
    'src/a.ts:1:zero\nsrc/a.ts-2-foo one\n--\nsrc/a.ts-5-FOO four\nsrc/a.ts:6:foo five',
  )
  expect(await text('Grep', { pattern: 'nowhere' })).toBe('No line matches.')
  expect(await failure('Grep', { pattern: 'foo(?=bar)' })).toMatch(
    /is not a valid RE2 regular expression.*Look-around/s,
  )
  expect(await failure('Grep', { pattern: 'x', path: 'srcs' })).toMatch(/Nearest: src\./)
})

test('Grep is bounded, and slow patterns are not slow', async () => {
  const { text, put } = workplace()
  put('many.txt', 'hit\n'.repeat(1000))
  expect(await text('Grep', { pattern: 'hit' })).toMatch(/\(Stopped after 200 matches;/)
  put('many.txt', `${'a'.repeat(50_000)}!`)
  expect(await text('Grep', { pattern: '(a+)+$' })).toBe('No line matches.')
  put('many.txt', `${'y'.repeat(400)}\n${'y'.repeat(401)}`)
  expect(await text('Grep', { pattern: 'y' })).toBe(
    `many.txt:1:${'y'.repeat(400)}\nmany.txt:2:${'y'.repeat(400)}… (401 characters)`,
  )
  put('many.txt', `${'z'.repeat(390)}\n`.repeat(150))
  expect(await text('Grep', { pattern: 'z' })).toMatch(/\(Stopped after 100 matches;/)
  put('many.txt', 'x'.repeat(5_000_001))
  expect(await text('Grep', { pattern: 'x' })).toBe(
    'No line matches.\n(1 files were too large or could not be read.)',
  )
})

test('Grep shows every line around matches once, in order', async () => {
  const { text, put } = workplace()
  const about = fc.array(fc.boolean(), { minLength: 1, maxLength: 14 })
  const property = fc.asyncProperty(about, fc.nat(3), async (isHit, context) => {
    put('a.txt', isHit.map((hit) => (hit ? 'hit' : 'no')).join('\n'))
    const found = (await text('Grep', { pattern: 'hit', context })).split('\n')
    const isNear = (line: number) => isHit.some((hit, other) => hit && Math.abs(line - other) <= context)
    const near = isHit.flatMap((hit, line) =>
      isNear(line) ? [hit ? `a.txt:${line + 1}:hit` : `a.txt-${line + 1}-no`] : [],
    )
    expect(found.filter((line) => line !== '--')).toEqual(near.length > 0 ? near : ['No line matches.'])
  })
  await fc.assert(property)
})

test('Move and Remove do what they say, and nothing more', async () => {
  const { text, failure, put, get } = workplace()
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

test('the working folder stays, whatever its name and by whatever links it is reached', async () => {
  const outer = newFolder()
  const inner = join(outer, '..inner')
  mkdirSync(inner)
  const { failure, put, get } = workplace(inner)
  put('a.txt', 'here')
  expect(await failure('Remove', { path: outer, recursive: true })).toMatch(/holds the working folder/)
  const link = join(newFolder(), 'link')
  symlinkSync(outer, link)
  const linked = workplace(join(link, '..inner'))
  expect(await linked.failure('Remove', { path: inner, recursive: true })).toMatch(/holds the working folder/)
  expect(await linked.text('Glob', { pattern: '*.txt' })).toBe('a.txt')
  expect(get('a.txt')).toBe('here')
})

test('a folder is not moved into itself, and nothing is made there', async () => {
  const { directory, failure, put } = workplace()
  put('full/a.txt', 'here')
  expect(await failure('Move', { from: 'full', to: 'full/below/full' })).toBe(
    'full cannot be moved into itself.',
  )
  expect(readdirSync(join(directory, 'full'))).toEqual(['a.txt'])
})
