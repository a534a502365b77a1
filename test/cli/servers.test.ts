// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// `toolshelf add`, `list` and `remove` through their commands, with servers that really run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addCommand } from '../../packages/cli/src/add.ts'
import { doctorCommand } from '../../packages/cli/src/doctor.ts'
import { listCommand } from '../../packages/cli/src/list.ts'
import { removeCommand } from '../../packages/cli/src/remove.ts'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { madeUpMachine, runCommand } from './support/made-up-machine.ts'

function start(environment: { [name: string]: string } = {}) {
  const { machine, own } = madeUpMachine(environment)
  return {
    own,
    folder: machine.folder,
    add: (...words: string[]) =>
      runCommand(
        addCommand(() => machine),
        words,
      ),
    remove: (...words: string[]) =>
      runCommand(
        removeCommand(() => machine),
        words,
      ),
    list: (...words: string[]) =>
      runCommand(
        listCommand(() => machine),
        words,
      ),
    servers: () => JSON.parse(readFileSync(own, 'utf8')).mcpServers,
    write(text: string) {
      mkdirSync(dirname(own), { recursive: true })
      writeFileSync(own, text)
    },
  }
}

describe('toolshelf add', () => {
  it('a path stays right from every folder, and comments stay', async () => {
    const cli = start()
    cli.write('{\r\n  // mine\r\n  "mcpServers": { "a": { "command": "x" } } // end\r\n}\r\n')
    await cli.add('b', '--', './run.sh', '--flag')
    const text = readFileSync(cli.own, 'utf8')
    expect(text).toContain('// mine\r\n  "mcpServers": { "a": { "command": "x" },')
    expect(text).toContain('// end\r\n}\r\n')
    expect(text).not.toMatch(/[^\r]\n/)
    expect(text).toContain(JSON.stringify(join(cli.folder, 'run.sh')))
  })

  it('takes no name twice, and loses no server of two commands at once', async () => {
    const cli = start()
    await cli.add('a', '--', 'x')
    await expect(cli.add('a', '--', 'y')).rejects.toThrow(
      /has a server named "a" already.*toolshelf remove a/,
    )
    const names = ['b', 'c', 'd', '__proto__']
    await Promise.all(names.map((name) => cli.add(name, '--', 'x')))
    expect(Object.keys(cli.servers()).sort()).toEqual(['__proto__', 'a', 'b', 'c', 'd'])
  })
})

describe('toolshelf remove', () => {
  it('takes one server out, and keeps the rest as it is', async () => {
    const cli = start()
    cli.write(
      '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "x" }, // first\n    "b": {\n      "command": "y"\n    }\n  },\n  "gateway": { "mode": "list" }\n}\n',
    )
    expect((await cli.remove('b')).printed).toBe(`Removed b from ${cli.own}.`)
    expect(readFileSync(cli.own, 'utf8')).toBe(
      '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "x" } // first\n  },\n  "gateway": { "mode": "list" }\n}\n',
    )
  })
})

describe('toolshelf list', () => {
  const servers = {
    good: { command: process.execPath, args: [scriptPath('healthy')] },
    bad: { command: '/no/such/program' },
    off: { command: 'x', disabled: true },
    waiting: { command: 'x', env: { K: '${SOME_TOKEN}' } },
  }

  it('says whose texts contain hidden characters', async () => {
    const cli = start({ PATH: process.env.PATH ?? '' })
    const marks = { command: process.execPath, args: [scriptPath('hostile-marks'), 'stay'] }
    cli.write(JSON.stringify({ mcpServers: { marks } }))
    const { told } = await cli.list('--timeout', '600')
    expect(told).toMatch(/marks: \d+ tools? with hidden characters; see toolshelf doctor\./)
    expect(told).toContain('"marks": its instructions contained hidden characters')
  })

  it('H9 says whose texts changed since they were accepted', async () => {
    const state = temporaryFolder()
    const cli = start({ PATH: process.env.PATH ?? '', XDG_STATE_HOME: state })
    cli.write(JSON.stringify({ mcpServers: { good: servers.good } }))
    expect((await cli.list('--timeout', '600')).told).not.toContain('changed')
    const pins = openPins({ folder: join(state, 'toolshelf', 'pins') })
    await pins.judge('good', [{ name: 'echo', description: 'Another.' }])
    const { told } = await cli.list('--timeout', '600')
    expect(told).toContain('good: 1 text changed since you accepted them; see toolshelf trust good.')
  })

  it('waits for a server that never answers only as long as it is given', async () => {
    const cli = start()
    cli.write(JSON.stringify({ mcpServers: { silent: { command: 'sleep', args: ['86400'] } } }))
    const { code, printed } = await cli.list('--timeout', '1')
    expect(code).toBe(1)
    expect(printed).toMatch(/^silent +failed/m)
  })

  it('tells servers apart that run the same program', async () => {
    const cli = start()
    const runs = (...args: string[]) => ({
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-files', ...args],
    })
    const mcpServers = {
      ...{ one: runs('/home/ada/some/long/path/to/my/notes'), two: runs('--key', '/secret', './work') },
      ...{ three: runs('--key', '/secret'), four: { command: 'uvx', args: ['other', '/x'] } },
    }
    cli.write(JSON.stringify({ mcpServers }))
    const { printed } = await cli.list('--offline')
    expect(printed).toMatch(/^one +configured +npx @model.*….*\/to\/my\/notes$/m)
    expect(printed).toMatch(/^two +configured +npx @model.*server-files \.\/work$/m)
    expect(printed).toMatch(/^three +configured +npx @model.*server-files$/m)
    expect(printed).toMatch(/^four +configured +uvx other$/m)
    for (const line of printed.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})

describe('toolshelf doctor --check', () => {
  async function check(config: object) {
    const cli = start()
    cli.write(JSON.stringify(config))
    return runCommand(doctorCommand, ['--check', '--config', cli.own])
  }

  it('finds nothing wrong with a file that starts Toolshelf, as connect writes it', async () => {
    const { code, printed } = await check({
      mcpServers: { toolshelf: { command: 'toolshelf', args: ['mcp'] } },
    })
    expect(code).toBe(0)
    expect(printed).toMatch(/^ok +.*: starts Toolshelf$/m)
  })

  it('reports bytes that are not UTF-8', async () => {
    const cli = start()
    cli.write('')
    writeFileSync(cli.own, Buffer.from('{"mcpServers":{"a":{"command":"caf\u00e9"}}}', 'latin1'))
    const { code, printed } = await runCommand(doctorCommand, ['--check', '--config', cli.own])
    expect(code).toBe(1)
    expect(printed).toMatch(/^wrong .*: usable: a\n +it is not written in UTF-8/)
  })

  it('reports names that occur twice, with their lines', async () => {
    const cli = start()
    const x = '{"command":"x"}'
    const tail = 'only the last one counts. Merge them, or rename or remove one.'
    cli.write(
      `{"mcpServers":{"a":${x}},\n"mcpServers":{"b":${x},\n"b":{"command":"x","env":{"K":"1","K":"2","K":"3"}}},"gateway":{}}`,
    )
    const { code, printed } = await runCommand(doctorCommand, ['--check', '--config', cli.own])
    expect(code).toBe(1)
    expect(printed.trim().split('\n').slice(1)).toEqual([
      `        "mcpServers" occurs twice (lines 1 and 2); ${tail}`,
      `        "b" occurs twice (lines 2 and 3); ${tail}`,
      `        server "b": "K" occurs 3 times (line 3); ${tail}`,
    ])
  })

  it("ignores them outside of the servers' part of another program's file", async () => {
    const { own, write } = start()
    const other = own.replace('toolshelf.json', 'settings.json')
    write('')
    const servers = '{"a":{"command":"x"},"c":{"command":"x"}}'
    writeFileSync(other, `{"theme":1,"theme":2,"ui":{"x":1,"x":2},"mcp":{"servers":${servers},"servers":{}}}`)
    const { code, printed } = await runCommand(doctorCommand, ['--check', '--config', other])
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringMatching(/"servers" occurs twice/) })
    writeFileSync(other, `{"theme":1,"theme":2,"ui":{"x":1,"x":2},"mcp":{"servers":${servers}}}`)
    expect((await runCommand(doctorCommand, ['--check', '--config', other])).code).toBe(0)
  })

  it('an unset variable does not hide a wrong server', async () => {
    const { code, printed } = await check({
      mcpServers: { a: { command: 'x', env: { K: '${TOOLSHELF_TEST_UNSET}' } }, b: {} },
    })
    expect(code).toBe(1)
    expect(printed).toMatch(/^wrong /)
  })
})
