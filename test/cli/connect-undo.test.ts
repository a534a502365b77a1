// `toolshelf connect --undo` after several `--apply`, what it announces about our own file, and what a run that was killed left.

import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { madeUpMachine } from './support/made-up-machine.ts'

const CURSOR = '.cursor/mcp.json'
const CODEX = '.codex/config.toml'
const OWN = '.config/toolshelf/toolshelf.json'
const first = '{\n  "mcpServers": {\n    // mine\n    "a": { "command": "x" }\n  }\n}\n'

type Machine = ReturnType<typeof madeUpMachine>

/** A file whose server moved, to which another was added beside the gateway's entry, and moved too. */
async function appliedTwice(change: (text: string) => string) {
  const machine = madeUpMachine()
  const file = machine.write(CURSOR, first)
  await machine.import(['--apply', '--yes'])
  machine.write(CURSOR, change(machine.read(CURSOR)))
  const between = machine.read(CURSOR)
  await machine.import(['--apply', '--yes'])
  return { machine, file, between }
}

const withServer = (text: string) =>
  JSON.stringify(
    { mcpServers: { ...JSON.parse(text.replace(/\/\/.*/, '')).mcpServers, b: { command: 'y' } } },
    null,
    2,
  )

describe('after two imports of one file', () => {
  it('puts back the servers of both', async () => {
    const { machine, file } = await appliedTwice(withServer)
    const { code, printed, told } = await machine.import(['--undo', '--yes'])
    expect({ code, told }).toEqual({ code: 0, told: '' })
    expect(printed.match(/^Put back .*/gm)).toEqual([`Put back ${file}`])
    expect(machine.read(CURSOR)).toContain('// mine')
    expect(JSON.parse(machine.read(CURSOR).replace(/\/\/.*/, ''))).toEqual({
      mcpServers: { a: { command: 'x' }, b: { command: 'y' } },
    })
    expect(existsSync(machine.own)).toBe(false)
    expect(readdirSync(machine.journal)).toEqual([])
  })

  it('says of a file that only the second could be undone, and nothing else', async () => {
    const { machine, file, between } = await appliedTwice((text) =>
      withServer(text).replace('"mcp"', '"mcp", "--mode", "list"'),
    )
    const { code, printed, told } = await machine.import(['--undo', '--yes'])
    expect(code).toBe(1)
    expect(machine.read(CURSOR)).toBe(between)
    expect(told).toContain(
      `${file}: the newest changes of "toolshelf connect --apply" are undone. Those of 2`,
    )
    expect(told).toMatch(
      / UTC are left: its servers were edited after "toolshelf connect --apply"\. Add --force/,
    )
    expect(told).not.toContain('left as it is')
    expect(printed).not.toContain(`Put back ${file}`)
    expect(printed).toContain('Restart the clients.')
    const json = await appliedTwice((text) => withServer(text).replace('"mcp"', '"mcp", "--mode", "list"'))
    const { files } = JSON.parse((await json.machine.import(['--undo', '--yes', '--json'])).printed)
    expect(files.filter((one: { file: string }) => one.file === json.file)).toEqual([
      { file: json.file, outcome: 'left', note: expect.stringContaining('are undone') },
    ])
  })
})

describe('a server that was added beside the gateway’s entry', () => {
  async function undone(change: (text: string) => string) {
    const machine = madeUpMachine()
    machine.write(CURSOR, first)
    await machine.import(['--apply', '--yes'])
    machine.write(CURSOR, change(machine.read(CURSOR)))
    const before = machine.read(CURSOR)
    const { code } = await machine.import(['--undo', '--yes'])
    return { code, before, after: machine.read(CURSOR) }
  }

  it('stays', async () => {
    const { code, after } = await undone(withServer)
    expect(code).toBe(0)
    expect(after).toBe(
      '{\n  "mcpServers": {\n    // mine\n    "a": { "command": "x" },\n    "b": {\n      "command": "y"\n    }\n  }\n}',
    )
  })

  it('stays beside a comment that was there, which goes back too', async () => {
    const { code, after } = await undone((text) =>
      text.replace('    "toolshelf"', '    "b": { "command": "//y" },\n    "toolshelf"'),
    )
    expect(code).toBe(0)
    expect(after.match(/\/\/ mine/g)).toHaveLength(1)
    expect(Object.keys(JSON.parse(after.replace(/\/\/ mine/, '')).mcpServers)).toEqual(['a', 'b'])
  })

  it.each<[string, (text: string) => string]>([
    ['has the name of one that moved', (text) => withServer(text).replace('"b"', '"a"')],
    ['has a comment', (text) => withServer(text).replace('"b"', '/* why */ "b"')],
  ])('and %s, is not touched', async (_, change) => {
    const { code, before, after } = await undone(change)
    expect({ code, after }).toEqual({ code: 1, after: before })
  })
})

describe('our own file', () => {
  const applied = async (files: { readonly [path: string]: string }): Promise<Machine> => {
    const machine = madeUpMachine()
    for (const [path, text] of Object.entries(files)) machine.write(path, text)
    await machine.import(['--apply', '--yes', '--no-start'])
    return machine
  }
  const codex = '[mcp_servers.c]\ncommand = "c"\n'

  it('that was created is announced as deleted, before the first question', async () => {
    const machine = await applied({ [CURSOR]: first, [CODEX]: codex })
    const seen: boolean[] = []
    const { printed } = await machine.import(['--undo'], () => {
      seen.push(existsSync(machine.own))
      return 'y'
    })
    const line = `Once all are put back, ${machine.own} is deleted, too: "toolshelf connect --apply" created it.`
    expect(printed.indexOf(line)).toBeGreaterThanOrEqual(0)
    expect(printed.indexOf(line)).toBeLessThan(printed.indexOf('Cursor: '))
    expect(seen).toEqual([true, true])
    expect(printed).toContain(`Deleted ${machine.own}`)
  })

  it('that existed is announced as put back, also through two imports', async () => {
    const own = '{"mcpServers": {"o": {"command": "o"}}}'
    const machine = await applied({ [CURSOR]: first, [OWN]: own })
    machine.write(CODEX, codex)
    await machine.import(['--apply', '--yes', '--no-start'])
    const { printed } = await machine.import(['--undo', '--yes'])
    expect(printed).toContain(`Once all are put back, ${machine.own} gets back its earlier content, too.`)
    expect(readFileSync(machine.own, 'utf8')).toBe(own)
  })

  it('is not announced where it stays: it was edited, or not every file is named', async () => {
    const machine = await applied({ [CURSOR]: first, [CODEX]: codex })
    const one = await machine.import(['--undo', '--yes', '--from', machine.path(CODEX)])
    expect(one.printed).not.toContain('Once all')
    writeFileSync(machine.own, `${readFileSync(machine.own, 'utf8')} `)
    const other = await machine.import(['--undo', '--yes'])
    expect(other.printed).not.toContain('Once all')
    expect(existsSync(machine.own)).toBe(true)
  })
})

describe('what a killed run left beside a file', () => {
  const names = (file: string) => readdirSync(dirname(file)).filter((name) => name.includes('.json'))
  const leave = (file: string, end = `.toolshelf-${randomUUID()}`) => {
    writeFileSync(`${file}${end}`, 'sk-')
    return `${file}${end}`
  }

  it.each([['--apply --yes'], ['--undo --yes'], ['--yes']])('is deleted by the next: %s', async (words) => {
    const machine = madeUpMachine()
    const file = machine.write(CURSOR, first)
    await machine.import(['--apply', '--yes', '--no-start'])
    leave(file)
    const old = leave(machine.own)
    utimesSync(old, 0, 0)
    await machine.import([...words.split(' '), '--no-start'])
    expect(names(file)).toEqual(['mcp.json'])
    expect(existsSync(old)).toBe(false)
  })

  it('stays if the name is another’s, or if our own file may just be written', async () => {
    const machine = madeUpMachine()
    const file = machine.write(CURSOR, first)
    await machine.import(['--apply', '--yes', '--no-start'])
    const strange = [
      leave(file, `.${randomUUID()}`),
      leave(file, '.toolshelf-backup'),
      leave(file, `.toolshelf-${randomUUID()}.old`),
      leave(machine.path('.cursor/other.json')),
      leave(machine.own),
    ]
    await machine.import(['--apply', '--yes'])
    expect(strange.filter((one) => !existsSync(one))).toEqual([])
  })

  it('stays beside a file that no run has written', async () => {
    const machine = madeUpMachine()
    const other = leave(machine.write(CURSOR, first))
    await machine.import(['--json'])
    expect(existsSync(other)).toBe(true)
    expect(existsSync(machine.journal)).toBe(false)
  })
})
