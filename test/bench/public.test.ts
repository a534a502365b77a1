// The public bench: how it fetches sets, and that the generated parts of the docs are as it writes them.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { contenders, measureOn } from '../../bench/protocol.ts'
import { drawChart } from '../../bench/public/chart.ts'
import { fetchSource, urlOf } from '../../bench/public/fetch-source.ts'
import { docsLines, type PublicResults, resultLines, withDocs } from '../../bench/public/results.ts'
import { SOURCES, type Source } from '../../bench/public/sources.ts'
import { createSet } from '../../bench/sets.ts'

describe('fetching', () => {
  const content = Buffer.from('{"a":1}')
  const sha256 = createHash('sha256').update(content).digest('hex')
  const source = (commit = 'c0ffee'): Source => ({
    name: 'small',
    repository: 'owner/small',
    commit,
    licence: 'MIT',
    files: [{ path: 'deep/file.json', bytes: content.length, sha256 }],
    convert: () => ({ tools: [], queries: [] }),
  })
  const folderOf = () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolshelf-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  test('downloads a file once, at its commit, and keeps it by its SHA-256', async () => {
    const folder = folderOf()
    const urls: string[] = []
    const download = async (url: string, maxBytes: number) => {
      expect(maxBytes).toBe(content.length)
      urls.push(url)
      return content
    }
    for (let round = 0; round < 2; round++)
      expect(await fetchSource(source(), folder, download)).toEqual(new Map([['deep/file.json', '{"a":1}']]))
    expect(urls).toEqual(['https://github.com/owner/small/raw/c0ffee/deep/file.json'])
    expect(readdirSync(folder)).toEqual([sha256])
  })

  test('refuses other content, and does not trust a damaged copy', async () => {
    const folder = folderOf()
    await expect(fetchSource(source(), folder, async () => Buffer.from('{"a":2}'))).rejects.toThrow(
      /not those pinned/,
    )
    expect(readdirSync(folder)).toEqual([])
    writeFileSync(join(folder, sha256), '{"a":')
    expect(await fetchSource(source(), folder, async () => content)).toEqual(
      new Map([['deep/file.json', '{"a":1}']]),
    )
  })

  test('every source is pinned to a commit, and each of its files to a SHA-256', () => {
    for (const one of SOURCES) {
      expect(one.commit).toMatch(/^[\da-f]{40}$/)
      for (const pinned of one.files) {
        expect(pinned.sha256).toMatch(/^[\da-f]{64}$/)
        expect(urlOf(one, pinned)).toMatch(/^https:\/\/github\.com\/[\w-]+\/[\w-]+\/raw\/[\da-f]{40}\/\S+$/)
      }
    }
  })
})

describe('measuring', () => {
  const tools = ['send_email', 'read_file', 'list_events'].map((name) => ({
    name,
    description: `${name.replace('_', ' ')}s (of a user)`,
    input_schema: { type: 'object' },
  }))
  const set = createSet(
    'small',
    tools,
    [{ query: 'Could you send the email? (now)', gold: ['send_email'] }],
    10,
  )

  test.each(contenders().map((contender) => [contender.name, contender] as const))(
    '%s ranks as it is asked to',
    async (_, contender) => {
      for (const isShort of [false, true])
        expect(await measureOn(contender, set, isShort)).toMatchObject({ n: 1, r1: 1, ndcg10: 1 })
    },
  )
})

describe('the docs', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const results = JSON.parse(read('bench/public/results.json')) as PublicResults

  test('the tables of docs/search.md are as the generator writes them', () => {
    const page = read('docs/search.md')
    expect(withDocs(page, docsLines(results))).toBe(page)
  })

  test('docs/search-quality.svg is as the generator draws it, with colours for both themes', () => {
    const chart = read('docs/search-quality.svg')
    expect(drawChart(results)).toBe(chart)
    expect(chart).toContain('@media(prefers-color-scheme:dark)')
  })

  test('bench/RESULTS.md has the same figures', () => {
    expect(read('bench/RESULTS.md')).toContain(resultLines(results).join('\n'))
  })

  test('a page without the markers is refused', () => {
    expect(() => withDocs('# Search', [])).toThrow(/lacks the lines/)
  })
})
