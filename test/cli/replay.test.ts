// `toolshelf replay` through its door: which transcript, which tools, and what it prints.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { call, claude, SECRET, toolsOf } from '../replay/support/transcripts.ts'
import { runHere } from '../support/cli-here.ts'

let folder = ''
let environment: { readonly [name: string]: string } = {}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolshelf-replay-'))
  const { PATH = '' } = process.env
  environment = {
    HOME: folder,
    PATH,
    XDG_DATA_HOME: join(folder, 'data'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  }
})

const run = (...words: string[]) => runHere({ folder, environment }, words)

/** Writes a file of lines below the folder. */
function write(name: string, lines: readonly object[]): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

const issue = call('mcp__github__create_issue')
const session = [claude('user', SECRET), claude('assistant', [issue])]

describe('toolshelf replay', () => {
  it('replays a file with the tools of a catalogue, for people and for programs', async () => {
    write('tools.jsonl', toolsOf(6000))
    write('session.jsonl', session)
    const shown = await run('replay', './session.jsonl', '--catalog', 'tools.jsonl')
    expect(shown.out).toContain('Toolshelf would have paid off')
    const { code, out } = await run(
      'replay',
      './session.jsonl',
      '--catalog',
      'tools.jsonl',
      '--json',
      '--wire',
      'bridge',
    )
    expect(JSON.parse(out)).toMatchObject({
      version: 1,
      wire: 'bridge',
      total: { searches: { simulated: 1 } },
    })
    expect([code, shown.code]).toEqual([0, 0])
    expect(out + shown.out + shown.told).not.toContain(SECRET)
  })

  it('takes the sub-agents of a session of Claude Code along', async () => {
    write('tools.jsonl', toolsOf(6000))
    write('session.jsonl', session)
    const inside = { line: { isSidechain: true, agentId: 'a1' } }
    write('session/subagents/agent-a1.jsonl', [claude('assistant', [issue], inside)])
    write('session/subagents/notes.txt', [{}])
    const { out } = await run('replay', './session.jsonl', '--catalog', 'tools.jsonl', '--json')
    expect(JSON.parse(out).turns.map(({ lane }: { lane: string }) => lane)).toEqual(['main', 'sub-agent 1'])
  })

  it('finds the last session of a folder, and needs no key and no model for it', async () => {
    write('tools.jsonl', toolsOf(6000))
    expect((await run('run', 'create a new issue please', '--script', 'demo')).code).toBe(0)
    const { code, out } = await run('replay', 'last', '--catalog', 'tools.jsonl')
    expect(code).toBe(0)
    expect(out).toContain('Replay of a session of toolshelf: ')
  })

  it('says what is wrong with a transcript, and what can be replayed', async () => {
    write('tools.jsonl', toolsOf(6000))
    write('notes.jsonl', [{ hello: 'world' }])
    write('asked.jsonl', [claude('user', SECRET)])
    expect(await run('replay')).toMatchObject({ code: 2, told: expect.stringContaining('pass a transcript') })
    expect(await run('replay', './none.jsonl')).toMatchObject({
      code: 1,
      told: expect.stringContaining('no such file'),
    })
    expect((await run('replay', './notes.jsonl')).told).toContain('is not a transcript that can be replayed')
    expect((await run('replay', './asked.jsonl')).told).toContain('no reply of a model')
    expect((await run('replay', './asked.jsonl', '--wire', 'hosted')).told).toContain('use one of reference')
    expect((await run('replay', '.')).told).toContain('no such file or session')
  })

  it('H7: leaves out the servers of a folder that is not trusted', async () => {
    write('session.jsonl', session)
    writeFileSync(
      join(folder, '.mcp.json'),
      JSON.stringify({ mcpServers: { evil: { command: 'touch', args: ['x'] } } }),
    )
    const { code, told } = await run('replay', './session.jsonl')
    expect(code).toBe(1)
    expect(told).toContain('evil: this folder is not trusted')
  })

  it('starts a server once, and counts what is cached from then on', async () => {
    const script = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-memory/dist/index.js')
    const args = ['-c', `echo started >> starts; exec "$0" "$1"`, process.execPath, script]
    const config = { mcpServers: { memory: { command: 'sh', args, cwd: folder } } }
    writeFileSync(join(folder, 'servers.json'), JSON.stringify(config))
    write('session.jsonl', [claude('assistant', [call('mcp__memory__read_graph')])])
    const words = ['replay', './session.jsonl', '--config', 'servers.json', '--json'] as const
    const first = JSON.parse((await run(...words)).out)
    const second = JSON.parse((await run(...words)).out)
    expect(first.tools).toMatchObject({ servers: 1, tools: 9, used: 1 })
    expect(second).toEqual(first)
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('started\n')
  })
})
