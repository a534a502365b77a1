// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf import --apply` and `--undo` on the files of every client, through the command.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { CommandError } from '../../src/cli/command.ts'
import { readConfig } from '../../src/mcp/config/index.ts'
import { parseJson } from '../../src/mcp/config/json.ts'
import { clientFiles } from './support/client-files.ts'
import { madeUpMachine, PROGRAM } from './support/made-up-machine.ts'

const modeOf = (file: string) => statSync(file).mode & 0o777

function parsed(text: string): unknown {
  try {
    return parseJson(text).value
  } catch {
    return parseToml(text)
  }
}

/** Every server entry in a document, wherever it is, by name. */
function entryNamed(name: string, value: unknown): { [key: string]: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, name)) return (value as { [key: string]: { [key: string]: unknown } })[name]
  return Object.values(value)
    .map((item) => entryNamed(name, item))
    .find((found) => found !== undefined)
}

describe.each(clientFiles)('$client, $path', ({ client, path, text, servers, kept }) => {
  it('moves the servers behind one entry, keeps everything else, and puts it all back', async () => {
    const machine = madeUpMachine({ DOCS_KEY: 'd' })
    const file = machine.write(path, text, 0o640)
    const { code, printed, told } = await machine.import(['--apply', '--yes'])
    expect({ code, told }).toEqual({ code: 0, told: expect.not.stringContaining('stays') })
    expect(printed).toContain(`${client}: ${file}`)

    const changed = machine.read(path)
    for (const part of kept) expect(changed).toContain(part)
    for (const server of servers) expect(entryNamed(server, parsed(changed))).toBeUndefined()
    const entry = entryNamed('toolshelf', parsed(changed))
    const words = [entry?.command, entry?.args].flat().filter((word) => word !== undefined)
    expect(words).toEqual([...PROGRAM, 'mcp'])
    expect(modeOf(file)).toBe(0o640)

    const own = await readConfig([machine.own], { SEARCH_KEY: '', SPACE_TOKEN: '', DOCS_KEY: '', MAPS_KEY: '', JIRA_TOKEN: '', PERPLEXITY_KEY: '' }, machine.machine)
    expect(own.problems).toEqual([])
    expect(own.servers.map(({ name }) => name).sort()).toEqual([...servers].sort())
    expect(modeOf(machine.own)).toBe(0o600)

    // A second time there is nothing to do.
    const again = await machine.import(['--apply', '--yes'])
    expect(again.code).toBe(0)
    expect(machine.read(path)).toBe(changed)

    const undone = await machine.import(['--undo', '--yes'])
    expect({ code: undone.code, told: undone.told }).toEqual({ code: 0, told: '' })
    expect(machine.read(path)).toBe(text)
    expect(modeOf(file)).toBe(0o640)
    expect(existsSync(machine.own)).toBe(false)
    expect(readdirSync(machine.journal)).toEqual([])
  })

  it('shows no secret', async () => {
    const machine = madeUpMachine()
    machine.write(path, text)
    const applied = await machine.import(['--apply'], 'y')
    const undone = await machine.import(['--undo'], 'y')
    expect(applied.printed).toMatch(/^ {2}\+ .*toolshelf/m)
    expect(undone.printed).toMatch(/^ {2}- .*toolshelf/m)
    expect(applied.printed + applied.told + undone.printed + undone.told).not.toMatch(/sk-/)
  })
})
