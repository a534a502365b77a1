// `toolshelf learned`, and the file behind it: kept, shown, forgotten, and safe when damaged.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runCli } from '../../src/cli/main.ts'
import { learnedFile, openLearnedSearch } from '../../src/cli/user-files/index.ts'
import type { PoolTool } from '../../src/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

beforeEach(() => {
  vi.stubEnv('XDG_DATA_HOME', mkdtempSync(join(tmpdir(), 'toolshelf-learned-')))
})
afterEach(() => void vi.unstubAllEnvs())

const [post, alert] = quietShelf({ tools: [mcp('chat', 'post'), mcp('pager', 'alert')] }).partition().pool
  .tools as [PoolTool, PoolTool]

async function learned(...words: string[]) {
  const out: string[] = []
  const told: string[] = []
  const code = await runCli(['learned', ...words], {
    print: (text) => void out.push(text),
    report: (text) => void told.push(text),
    isInteractive: false,
  })
  return { code, out: out.join('\n'), told: told.join('\n') }
}

function open() {
  const told: string[] = []
  return { told, ...openLearnedSearch(learnedFile(), (message) => told.push(message)) }
}

describe('toolshelf learned', () => {
  it('shows each search with its tool and how often, the newest first, and forgets all', async () => {
    expect((await learned()).out).toContain('Nothing was learned yet')
    const { learn } = open()
    learn({ query: 'tell the team', tool: post, isFound: true })
    learn({ query: 'tell team', tool: post, isFound: true })
    learn({ query: 'wake \u001b[31mJane', tool: alert, isFound: true })
    const { code, out } = await learned()
    expect(code).toBe(0)
    expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['search', 'server', 'tool called', 'times'],
      expect.anything(),
      expect.arrayContaining(['pager', 'alert', '1']),
      ['tell team', 'chat', 'post', '2'],
      [expect.stringMatching(/^In .*learned\.jsonl\. To start over: toolshelf learned forget$/)],
    ])
    expect(out).not.toContain('\u001b')
    expect(JSON.parse((await learned('--json')).out)).toMatchObject({
      searches: [
        { tool: 'alert', times: 1 },
        { words: ['tell', 'team'], server: 'chat', times: 2 },
      ],
    })
    expect((await learned('forget')).out).toBe('Forgot 3 searches.')
    expect(existsSync(learnedFile())).toBe(false)
    expect((await learned('forget')).out).toBe('Nothing was learned yet.')
    expect(await learned('everything')).toMatchObject({
      code: 2,
      told: expect.stringContaining('use forget'),
    })
  })

  it('is private, and the next process continues from it', () => {
    open().learn({ query: 'tell the team', tool: post, isFound: true })
    expect(statSync(learnedFile()).mode & 0o777).toBe(0o600)
    expect(open().credits([post, alert], 'tell team')).toMatchObject([{ uses: 1 }])
  })

  it('a damaged line costs only itself', () => {
    open().learn({ query: 'tell the team', tool: post, isFound: true })
    const good = readFileSync(learnedFile(), 'utf8')
    const bad = [
      '{"words":["x"',
      '[]',
      '{"words":"x","tool":"post"}',
      good.replace('"weight":1', '"weight":99'),
    ]
    writeFileSync(learnedFile(), `${bad.join('\n')}\n\u0000\n${good}`)
    expect(open().uses()).toHaveLength(1)
  })

  it('a file that something else has filled is reported, and forget deletes it', async () => {
    mkdirSync(dirname(learnedFile()), { recursive: true })
    writeFileSync(learnedFile(), Buffer.alloc(20_000_001))
    expect(await learned()).toMatchObject({
      code: 1,
      told: expect.stringContaining('has 20000001 bytes, more than 20000000'),
    })
    expect((await learned('forget')).out).toMatch(/^Deleted .*learned\.jsonl, which was too large to read\.$/)
    expect(existsSync(learnedFile())).toBe(false)
  })

  it('a line with a text longer than any of ours is left out', () => {
    open().learn({ query: 'tell the team', tool: post, isFound: true })
    const good = readFileSync(learnedFile(), 'utf8')
    writeFileSync(learnedFile(), `${good.replace('"tell"', `"${'x'.repeat(100_000)}"`)}${good}`)
    expect(open().uses()).toHaveLength(1)
  })

  it('a file that grew is rewritten with what is kept of it', () => {
    open().learn({ query: 'tell the team', tool: post, isFound: true })
    const line = readFileSync(learnedFile(), 'utf8')
    writeFileSync(learnedFile(), line.repeat(Math.ceil(600_000 / line.length)))
    expect(open().uses()).toHaveLength(30)
    expect(readFileSync(learnedFile(), 'utf8')).toBe(line.repeat(30))
  })

  it('where it cannot be written, learning lasts as long as the process, and one line says so', () => {
    mkdirSync(learnedFile(), { recursive: true })
    const { learn, credits, told } = open()
    for (let time = 0; time < 3; time++) learn({ query: 'tell the team', tool: post, isFound: true })
    expect(credits([post], 'tell team')).toMatchObject([{ uses: 3 }])
    expect(told).toEqual([expect.stringMatching(/^cannot save learned searches: /)])
  })
})
