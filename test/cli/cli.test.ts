// The command line through its own door, with files as a person has them.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-cli-'))
const file = (name: string, lines: readonly (object | string)[]) => {
  const path = join(folder, name)
  writeFileSync(
    path,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  return path
}

const tools = file('tools.jsonl', [
  { name: 'send_message', server: 'slack', description: 'Posts a message', input_schema: { type: 'object' } },
  { name: 'create_issue', server: 'github', description: 'Opens an issue' },
  'not json',
  { description: 'no name' },
])
async function cli(...words: string[]) {
  const out: string[] = []
  const told: string[] = []
  const print = (text: string) => void out.push(text)
  const report = (text: string) => void told.push(text)
  const code = await runCli(words, { print, report, isInteractive: false })
  return { code, out: out.join('\n'), told: told.join('\n') }
}

describe('toolshelf search', () => {
  it('names in an error cannot control the terminal', async () => {
    const { code, told } = await cli('search', 'x', '--catalog', '/no/such\u001b[2Jfile.jsonl')
    expect(code).toBe(1)
    expect(told).toContain('/no/such?[2Jfile.jsonl')
    expect(told).not.toContain('\u001b')
  })

  it('nor what a catalogue holds', async () => {
    const odd = { name: 'send\u001b[2J', server: 's\u001b]0;x\u0007', description: 'Sends \u001b[31mmail' }
    const catalog = file('odd.jsonl', [odd, { ...odd, name: 'sent\u001b[2J' }])
    for (const words of [['send mail', '--explain'], ['select:nope\u001b[2J'], ['select:senf\u001b[2J']]) {
      const { out, told } = await cli('search', ...words, '--catalog', catalog)
      expect(out + told).not.toMatch(/[^\P{Cc}\n]/u)
    }
  })

  it('nor can the error of a call', async () => {
    const calls = [['search', 'x', '--limit', '\u001b[2J'], ['search', '--\u001b[2J'], ['\u001b[2J']]
    for (const words of calls) {
      const { code, told } = await cli(...words)
      expect(code).toBe(2)
      expect(told).not.toContain('\u001b')
    }
  })

  it('says where the servers of a client’s file went that starts Toolshelf alone', async () => {
    const entry = (...args: string[]) => ({ mcpServers: { toolshelf: { command: 'toolshelf', args } } })
    const client = file('client.json', [entry('mcp')])
    const { code, told } = await cli('search', 'x', '--config', client)
    expect(code).toBe(1)
    expect(told).toMatch(
      /client\.json starts Toolshelf; its servers are in .*toolshelf\.json\. Leave out --config\.$/,
    )
    const apart = file('apart.json', [entry('mcp', '--config', '/x/cursor.json')])
    for (const command of [['search', 'x'], ['doctor']]) {
      const { told } = await cli(...command, '--config', apart)
      expect(told).toContain('its servers are in /x/cursor.json. Pass --config /x/cursor.json instead.')
    }
    expect((await cli('list', '--config', client)).out).toContain('Leave out --config.')
  })

  it('S3 S4 takes the query forms, and explains', async () => {
    const { out } = await cli('search', '+github issue', '--catalog', tools, '--explain')
    expect(out).toMatch(
      /create_issue\n(?: {2}[a-z ]+ +\d+\.\d\d\n)* {2}word match +\d+\.\d\d\n(?: {2}[a-z ]+ +\d+\.\d\d\n)* {2}words: .*issue in name/,
    )
    expect(out.split('\n').every((line) => line.length < 80)).toBe(true)
    expect(out).not.toContain('send_message')
  })

  it('says which server it waits for, and how long it waited', async () => {
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const config = file('silent.json', [
        { mcpServers: { silent: { url: `http://127.0.0.1:${port}/mcp` } } },
      ])
      const { code, told } = await cli('search', 'x', '--config', config, '--timeout', '2')
      expect(code).toBe(1)
      expect(told).toMatch(/^waiting for the server "silent" …\nNot searched: silent: .*within 2 s/)
      expect(told).toContain('no server lists any tools')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

describe('toolshelf search --eval', () => {
  it('a gold that is not in the catalogue is an error', async () => {
    const wrong = file('wrong.jsonl', [{ id: 'c', query: 'x', gold: ['nobody'] }])
    const { code, told } = await cli('search', '--eval', wrong, '--catalog', tools)
    expect(code).toBe(1)
    expect(told).toContain(`${wrong}:1: the query has the gold "nobody"`)
  })
})
