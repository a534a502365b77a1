// What holds for every command: each is asked for its help, and the options that it names there are tried.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { binary } from '../../../packages/testkit/src/binary.ts'
import { runHere } from '../../../packages/testkit/src/cli-here.ts'
import { serveHere } from '../../mcp/support/server-here.ts'
import { here, lawful, newPlace, type Place, parse, type Ran, start } from './place.ts'

const overview = (await here(newPlace(), '--help')).out
const names = [...overview.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = '']) => name)

type Option = {
  readonly name: string
  readonly short: string | undefined
  readonly takes: 'nothing' | 'a value' | 'maybe a value'
  readonly isMultiple: boolean
}

/** The options of a command, as its help names them. */
function optionsOf(help: string): Option[] {
  const lines = help.matchAll(/^ {2}--([a-z-]+)( \[?<[^>]+>\]?(…?))?(?:, -(\w))?(?= {2}|$)/gm)
  return [...lines].map(([, name = '', value, many, short]) => ({
    name,
    short,
    takes: value === undefined ? 'nothing' : value.startsWith(' [') ? 'maybe a value' : 'a value',
    isMultiple: many === '…',
  }))
}

const helps = new Map<string, string>()
for (const name of names) helps.set(name, (await here(newPlace(), `${name} --help`)).out)
const helpOf = (name: string) => helps.get(name)!
const named = (option: string) =>
  names.filter((name) => optionsOf(helpOf(name)).some(({ name }) => name === option))

/** How a mistake in the options ends. */
const mistaken = (name: string, problem: string) => {
  const usage = /^Usage: [\s\S]*?(?=\nOptions:)/m.exec(helpOf(name))?.[0]
  return {
    code: 2,
    out: '',
    told: `toolshelf ${name}: ${problem}\n${usage}\nMore: toolshelf ${name} --help\n`,
  }
}

describe.each(names)('toolshelf %s', (name) => {
  const options = optionsOf(helpOf(name))
  const place = newPlace()
  const say = (line: string) => here(place, `${name} ${line}`.trim())

  it('names its options, values and examples, in 80 columns', async () => {
    expect(options.at(-1)).toMatchObject({ name: 'help', short: 'h' })
    expect(helpOf(name)).toMatch(
      new RegExp(`\n\nUsage: toolshelf ${name}\\b.*\nOptions:\n.*\nExamples:\n  .*toolshelf ${name}`, 's'),
    )
    for (const line of helpOf(name).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    for (const line of [`${name} -h`, `help ${name}`, `${name} stray --help`])
      expect(await here(place, line)).toEqual({ code: 0, out: helpOf(name), told: '' })
  })

  it('refuses an option that it does not have, and names the one that was meant', async () => {
    const { code, out, told } = await say('--zzzzzzzz')
    expect([code, out]).toEqual([2, ''])
    expect(told).toMatch(new RegExp(`^toolshelf ${name}: Unknown option '--zzzzzzzz'\\.`))
    expect(await say('--hlep')).toEqual(mistaken(name, "Unknown option '--hlep'; did you mean --help?"))
  })

  it('refuses an option that is given twice', async () => {
    for (const { name: option, takes, isMultiple, short } of options) {
      if (isMultiple) continue
      const given = takes === 'nothing' ? `--${option}` : `--${option}=x`
      const { code, out, told } = await say(`${given} ${given}`)
      expect([code, out, told.split('; ')[0]]).toEqual([
        2,
        '',
        `toolshelf ${name}: --${option} is given twice`,
      ])
      if (short && takes === 'nothing')
        expect((await say(`-${short} --${option} -${short}`)).told).toContain(
          `--${option} is given 3 times; `,
        )
    }
  })

  it('refuses an option without its value, and a value where none belongs', async () => {
    for (const { name: option, takes } of options) {
      if (takes === 'maybe a value') continue
      const problem =
        takes === 'nothing' ? `--${option} takes no value.` : `--${option} needs a value: --${option} <`
      for (const given of takes === 'nothing' ? [`--${option}=x`] : [`--${option}`, `--${option} --help`]) {
        const { code, out, told } = await say(given)
        expect([code, out, told.slice(0, `toolshelf ${name}: ${problem}`.length)]).toEqual([
          2,
          '',
          `toolshelf ${name}: ${problem}`,
        ])
      }
      if (takes === 'a value')
        expect((await say(`--${option} -5`)).told).toContain(
          `Write a value that begins with "-" as --${option}=-5.`,
        )
    }
  })
})

it('refuses arguments that nobody expects, and says what to do instead', async () => {
  const takeArguments = ['run', 'inspect', 'add', 'remove', 'login', 'trust', 'search', 'users']
  for (const name of names.filter((one) => !takeArguments.includes(one)))
    expect(await here(newPlace(), `${name} stray words`)).toMatchObject({
      code: 2,
      told: expect.stringMatching(
        new RegExp(`^toolshelf ${name}: unexpected argument "stray"; .+\\.\nUsage: `),
      ),
    })
})

/** What a command is called with to do its work, beyond its options. */
const words: { readonly [name: string]: string } = {
  add: 'add it -- run',
  connect: 'connect --no-start',
  inspect: 'inspect --no-open',
  login: 'login it',
  remove: 'remove it',
  run: 'run hello --script script.json',
  search: 'search mail',
  users: 'users',
}
const lineOf = (name: string) => words[name] ?? name

/** With a client that sends nothing and leaves. */
async function called(place: Place, line: string): Promise<Ran> {
  const input = new PassThrough()
  input.end()
  const ran = await runHere(place, parse(line).words, { client: { input, output: new PassThrough() } })
  return lawful(ran)
}

const script = { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'Good morning.' }
const withScript = (environment = {}) => {
  const place = newPlace(environment)
  place.file('script.json', script)
  return place
}

describe('configurations', () => {
  const readers = named('config').filter((name) => !['chat', 'inspect'].includes(name))

  it.each(readers)('%s says what is wrong with one that it cannot use', async (name) => {
    const place = withScript()
    mkdirSync(join(place.folder, 'folder.json'))
    place.file('broken.json', '{"mcpServers": {')
    place.file('bytes.json', '\u0000\u0001')
    for (const file of ['none.json', 'folder.json', 'broken.json', 'bytes.json']) {
      if (name === 'add' && file === 'none.json') continue
      const { code, out, told } = await called(place, lineOf(name).replace(name, `${name} --config ${file}`))
      expect([file, code !== 0 || name === 'run' || name === 'mcp']).toEqual([file, true])
      expect(out + told).toContain(file)
    }
  })

  it.each(names.filter((name) => !['chat', 'demo', 'inspect', 'serve'].includes(name)))(
    '%s works without one, or says how to get one',
    async (name) => {
      const { code, out, told } = await called(withScript(), lineOf(name))
      expect(code).toBeLessThan(2)
      if (code === 1)
        expect(out + told).toMatch(/toolshelf \w+: .*(?:add|connect|configured|has no server|--\w+)/s)
    },
  )
})

describe('a folder of somebody else', () => {
  /** Its servers, skills and rules would leave a mark. */
  function theirs(): Place {
    const place = withScript()
    const mark = join(place.folder, 'mark')
    place.file('.mcp.json', { mcpServers: { theirs: { command: 'touch', args: [mark] } } })
    mkdirSync(join(place.folder, '.toolshelf'))
    writeFileSync(join(place.folder, '.toolshelf/permissions.json'), JSON.stringify({ allow: ['Bash'] }))
    return place
  }

  it.each(names.filter((name) => !['chat', 'demo', 'inspect', 'serve'].includes(name)))(
    '%s does not start its servers',
    async (name) => {
      const place = theirs()
      await called(place, lineOf(name).replace(/\bit\b/, 'theirs'))
      expect(existsSync(join(place.folder, 'mark'))).toBe(false)
    },
  )

  it('doctor starts them once the folder is trusted', async () => {
    const place = theirs()
    await here(place, 'trust --yes')
    await here(place, 'doctor --timeout 5')
    expect(existsSync(join(place.folder, 'mark'))).toBe(true)
  })
})

describe('with --json', () => {
  const shop = serveHere(() => ({
    'tools/list': () => ({ tools: [{ name: 'send_mail', inputSchema: { type: 'object' } }] }),
  }))
  const lines = [
    'chat --list',
    'connect --from own.json --to to.json --no-start',
    'connect --from own.json --to to.json --no-start --yes',
    'doctor --config own.json',
    'doctor --check --config own.json',
    'doctor --check --config none.json',
    'doctor --config none.json',
    'list --config own.json',
    'list --offline --config own.json',
    'list --config none.json',
    'login shop --config own.json',
    'login --forget shop --config own.json',
    'run hello --script script.json',
    'run hello',
    'search mail --config own.json',
    'search --eval queries.jsonl --catalog tools.jsonl --ranker bm25',
    'trust',
    'trust show',
    'trust list',
    'trust --rules',
    'trust --yes',
    'trust none',
    'users',
    'users key',
    'users add ada',
    'users remove ada',
    'users set ada --profile none',
  ]

  it('is tried with every command that has it', () => {
    const tried = new Set(lines.map((line) => line.split(' ')[0]))
    expect(named('json').filter((name) => !tried.has(name))).toEqual(['demo', 'serve'])
  })

  it.each(lines)('%s prints one document and nothing else', async (line) => {
    const place = withScript()
    place.file('own.json', { mcpServers: { shop: { url: shop } } })
    place.file('tools.jsonl', JSON.stringify({ name: 'send_mail', description: 'Sends a mail' }))
    place.file('queries.jsonl', JSON.stringify({ query: 'mail', gold: ['send_mail'] }))
    place.file('.mcp.json', { mcpServers: { theirs: { command: 'touch' } } })
    const { code, out, told } = await called(place, `${line} --json`)
    if (code === 0) expect(out).not.toBe('')
    else expect(out + told).not.toBe('')
    if (out === '') return
    expect(out.endsWith('\n')).toBe(true)
    expect(typeof JSON.parse(out)).toBe('object')
    expect(out.trimEnd()).not.toContain('\n')
  })

  it('run prints a line of JSON per event with --stream-json', async () => {
    const { code, out } = await called(withScript(), 'run hello --script script.json --stream-json')
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(0)
    expect(events.map(({ type }) => typeof type)).toEqual(events.map(() => 'string'))
    expect(events.length).toBeGreaterThan(1)
  })
})

it('has no colours where nobody wants them', async () => {
  for (const environment of [{}, { NO_COLOR: '1' }]) {
    const place = withScript(environment)
    for (const line of [
      'doctor --check',
      'list',
      'trust',
      'users',
      'search x',
      'run hello --script script.json',
    ])
      lawful(await runHere(place, line.split(' '), { isInteractive: 'NO_COLOR' in environment }))
  }
})

it('ends quietly when the reader of its output has seen enough', async () => {
  const place = newPlace()
  const { out, ended } = start(
    place,
    [],
    [
      '--input-type=module',
      '--eval',
      `import { spawn } from 'node:child_process'
    const child = spawn(process.execPath, ${JSON.stringify([...binary, 'mcp', '--help'])}, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    child.stderr.on('data', (text) => process.stdout.write(text))
    child.on('close', (code) => process.stdout.write('ended with ' + code))`,
    ],
  )
  await ended
  expect(out()).toBe('ended with 0')
})

it('the exit codes are those of the overview', () => {
  expect(overview.replace(/\n/g, ' ')).toContain(
    'Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 the model stopped early, 130 interrupted.',
  )
})

describe('the command line itself', () => {
  const all = `Commands: ${names.join(', ')}.`
  it.each([
    ['find', 2, `unknown command "find". ${all}`],
    ['serach', 2, `unknown command "serach"; did you mean search? ${all}`],
    ['help serach', 2, `unknown command "serach"; did you mean search? ${all}`],
    ['--verison', 2, 'unknown option "--verison"; did you mean --version? More: toolshelf --help'],
    ['-x', 2, 'unknown option "-x". More: toolshelf --help'],
    ['\u001b[2J', 2, `unknown command "?[2J". ${all}`],
  ])('%s', async (line, code, message) => {
    expect(await here(newPlace(), line)).toEqual({ code, out: '', told: `toolshelf: ${message}\n` })
  })

  it('shows the overview', async () => {
    const place = newPlace()
    expect(await here(place, '')).toEqual({ code: 2, out: overview, told: '' })
    for (const word of ['help', '-h'])
      expect(await here(place, word)).toEqual({ code: 0, out: overview, told: '' })
    for (const line of overview.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
  })

  it('tells its version', async () => {
    for (const word of ['--version', '-v'])
      expect((await here(newPlace(), word)).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})
