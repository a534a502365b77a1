// `toolshelf run` as scripts and pipes meet it: what it prints where, what it takes, and how it ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type Anthropic from '@anthropic-ai/sdk'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { readPrompt } from '../../packages/cli/src/client.ts'
import { readInput } from '../../packages/cli/src/command.ts'
import { runCommand } from '../../packages/cli/src/run.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { scripted, served } from '../agent/support.ts'
import { serveScript } from '../mcp/support/server-here.ts'
import { binary, newPlace, type Place } from '../terminal/support.ts'

const rules = [
  { when: '^hello', do: [{ say: 'Good morning.' }] },
  { when: 'shout', do: [{ call: 'Bash', input: { command: 'echo loud' } }, { say: 'Heard: {{result}}' }] },
  {
    when: 'move',
    do: [{ call: 'Move', input: { from: 'a', to: 'b' }, search: 'move file' }, { say: 'Over.' }],
  },
  { when: 'too much', do: [{ say: 'I begin' }, { stop: 'max_tokens' }] },
  { when: 'forbidden', do: [{ stop: 'refusal' }] },
  { when: 'fail', do: [{ fail: { status: 400, message: 'it was wrong' } }] },
  { when: 'busy', do: [{ fail: { status: 529, times: 2 } }, { say: 'Now.' }] },
  { when: 'inner', do: [{ say: 'Inside.' }] },
  {
    when: 'delegate',
    do: [{ call: 'Agent', input: { description: 'x', prompt: 'inner' } }, { say: 'Outside.' }],
  },
]

type Started = {
  readonly child: ChildProcess
  readonly over: Promise<{ readonly code: number | null; readonly out: string; readonly told: string }>
  readonly out: () => string
}

/** The call with the script in place of a model, unless another is named. */
function withScript(place: Place, words: readonly string[], script: object = {}): string[] {
  const file = place.file('script.json', { rules, otherwise: 'I heard: {{user}}', ...script })
  const isOwn =
    'ANTHROPIC_BASE_URL' in place.environment ||
    words.some((word) => word.startsWith('--base-url') || word === '--script')
  return ['run', ...(isOwn ? [] : ['--script', file]), ...words]
}

const children: ChildProcess[] = []

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A process of its own, for pipes, signals and waits. */
function start(
  place: Place,
  words: readonly string[],
  more: { stdin?: 'pipe' | 'ignore'; script?: object } = {},
): Started {
  const { stdin = 'ignore', script } = more
  const child = spawn(process.execPath, [...binary, ...withScript(place, words, script)], {
    cwd: place.folder,
    env: { ...place.environment },
    stdio: [stdin, 'pipe', 'pipe'],
  })
  children.push(child)
  const heard = heardFrom(child)
  const over = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    out: heard.out(),
    told: heard.told(),
  }))
  return { child, over, out: heard.out }
}

const ranIn = (
  place: Place,
  words: readonly string[],
  { script, ...more }: { script?: object; piped?: string } = {},
) => runHere(place, withScript(place, words, script), more)

const ran = (...words: string[]) => ranIn(newPlace(), words)

const wholeLines = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 90_000; Date.now() < end; ) {
    if (isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it took too long')
}

describe('toolshelf run', () => {
  it('--json prints one document: text, calls, loaded tools, usage, session', async () => {
    const { code, out } = await ran('move it', '--json', '--allow', 'Move')
    const document = JSON.parse(out)
    expect(document).toMatchObject({
      reason: 'done',
      calls: [{ name: 'Move', input: { from: 'a', to: 'b' }, isError: true }],
      loaded: expect.arrayContaining(['Move']),
      usage: { input: expect.any(Number), output: expect.any(Number) },
      requests: 2,
      rounds: 3,
      extraRoundTrips: 1,
      tokensWith: document.usage.input,
      tokensSaved: document.tokensWithout - document.tokensWith,
      isEstimated: false,
      session: expect.stringContaining('.jsonl'),
    })
    expect(document.text).toContain('Over.')
    expect(document).not.toHaveProperty('dollarsSaved')
    expect(code).toBe(0)
  })

  it('--stream-json prints a line for each event', async () => {
    const { code, out } = await ran('shout', '--stream-json', '--allow', 'B*')
    const events = wholeLines(out)
    const types = events.map(({ type }) => type)
    expect(types[0]).toBe('session')
    expect(types).toEqual(expect.arrayContaining(['request', 'text', 'reply', 'call', 'result', 'end']))
    expect(events.find(({ type }) => type === 'result').result.content[0].text).toContain('loud')
    expect(events.at(-1)).toEqual({ type: 'end', reason: 'done' })
    expect(code).toBe(0)
  })

  it('runs only what is allowed, and says how to allow it', async () => {
    const refused = await ran('shout')
    expect(refused.out).toContain(
      'Heard: Bash was not run: this session has no rule that allows it, and nobody to ask.',
    )
    // The person reads it once, on standard error.
    expect(refused.out).not.toContain('--allow')
    expect(refused.told).toBe(
      "toolshelf run: Bash was not run, because no rule allows it: --allow 'Bash(echo loud)'\n",
    )
    const allowed = await ran('shout', '--allow', 'Read', '--allow', 'Bash')
    expect(allowed.out).toContain('Heard: loud')
  })

  it('exit code 1 where the model could not be asked, 3 where it stopped early', async () => {
    const failed = await ran('fail')
    expect(failed).toMatchObject({ code: 1, out: '' })
    expect(failed.told).toContain('toolshelf run: it was wrong (status 400)')
    const limited = await ran('too much')
    expect(limited.code).toBe(3)
    expect(limited.out).toContain('I begin')
    expect(limited.told).toContain('token limit')
    const refused = await ran('forbidden', '--json')
    expect(refused.code).toBe(3)
    expect(JSON.parse(refused.out)).toMatchObject({
      reason: 'refused',
      error: 'The model refused to answer.',
    })
  })

  it('reports repeated retries once', async () => {
    const { code, out, told } = await ran('busy')
    expect(out).toContain('Now.')
    expect(told).toBe('toolshelf run: The script fails here. (status 529). Trying again.\n')
    expect(code).toBe(0)
  })

  it('counts what sub-agents spend, and keeps their requests short', async () => {
    const whole = JSON.parse((await ran('delegate', '--json')).out)
    const events = wholeLines((await ran('delegate', '--stream-json')).out)
    const inside = events.filter(({ type }) => type === 'inside').map(({ event }) => event)
    const all = [...events, ...inside]
    const tokens = all.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0)
    expect(whole).toMatchObject({ rounds: 3, tokensWith: tokens, usage: { input: tokens } })
    expect(inside[0]).toEqual(expect.objectContaining({ type: 'request', tools: expect.any(Number) }))
    expect(inside[0]).not.toHaveProperty('sent')
  })

  it('reports a refused key with what to do', async () => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end('{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}')
      })
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, told } = await ranIn(newPlace({ ANTHROPIC_API_KEY: 'x' }), ['hi', '--base-url', url])
    expect(code).toBe(1)
    expect(told).toContain('check ANTHROPIC_API_KEY')
  })

  it('reports an unreachable API in one sentence, with its address', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, out, told } = await ranIn(newPlace(), ['hi', '--base-url', url])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(told).toMatch(/^toolshelf run: Cannot connect securely to https:.* Use http:.*\n$/)
    expect(told).toContain(url)
  })

  it.each([
    [['--base-url', 'nope'], {}, '--base-url is "nope"; use an http(s) URL'],
    [['--base-url', 'localhost:3388'], {}, '--base-url is "localhost:3388"; use an http(s) URL'],
    [['--base-url='], {}, '--base-url is ""; use an http(s) URL'],
    [['--base-url', 'http://me:secret@host'], {}, '--base-url must not contain a user name or password'],
    [['--base-url', 'http://host', '--script', 'x'], {}, '--script and --base-url cannot be combined'],
  ])('an address that is none is a wrong call, before anything starts: %j', async (words, more, message) => {
    const place = newPlace(more)
    const { code, told } = await ranIn(place, ['hi', ...words])
    expect(code).toBe(2)
    expect(told).toContain(message)
    expect(told).not.toContain('secret')
    expect(existsSync(join(place.folder, 'data'))).toBe(false)
  })

  it('so is one from the environment', async () => {
    const place = newPlace({ ANTHROPIC_BASE_URL: 'ftp://host', ANTHROPIC_API_KEY: 'x' })
    const { code, told } = await ranIn(place, ['hi'])
    expect(code).toBe(2)
    expect(told).toContain('ANTHROPIC_BASE_URL is "ftp://host"')
  })

  it('appends piped input to the words, or uses it instead', async () => {
    const both = await ranIn(newPlace(), ['say'], { piped: 'piped words\n' })
    expect(both.out).toContain('I heard: say\n\npiped words')
    const alone = await ranIn(newPlace(), [], { piped: 'hello through a pipe' })
    expect(alone.out).toContain('Good morning.')
    const named = await ranIn(newPlace(), ['say', '-'], { piped: 'piped words' })
    expect(named.out).toContain('I heard: say\n\npiped words')
  })

  it('takes words that begin with a dash behind "--", and says so', async () => {
    expect((await ran('--', '--what is it?')).out).toContain('I heard: --what is it?')
    const { code, told } = await ran('-5 degrees')
    expect(code).toBe(2)
    expect(told).toContain('Put words that begin with "-" after "--".')
  })

  it('takes a prompt of megabytes through a pipe, and prints what the model said last and nothing else', async () => {
    const long = start(newPlace(), ['-'], { stdin: 'pipe' })
    long.child.stdin?.end(`hello ${'word '.repeat(500_000)}`)
    expect(await long.over).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Good morning\.\n/),
      told: '',
    })
  })

  it('resumes a session by its name, or the beginning of it', async () => {
    const place = newPlace()
    const { session } = JSON.parse((await ranIn(place, ['hello', '--json'])).out)
    const [, name = ''] = /([^/]+)\.jsonl$/.exec(session) ?? []
    for (const given of [name, `${name}.jsonl`, name.slice(0, -4), session]) {
      const { out, told } = await ranIn(place, ['again', '--json', '--resume', given])
      expect({ session: JSON.parse(out).session, told }).toEqual({ session, told: '' })
    }
    await ranIn(place, ['hello'])
    const both = await ranIn(place, ['again', '--resume', name.slice(0, 4)])
    expect(both.code).toBe(1)
    expect(both.told).toMatch(/matches 2 sessions: .*Write more of the name\./)
    expect(both.told).toContain(name)
  })

  it('H7 does not resume a file of the folder whose name begins like a session', async () => {
    const place = newPlace()
    const { session } = JSON.parse((await ranIn(place, ['hello', '--json'])).out)
    const [, name = ''] = /([^/]+)\.jsonl$/.exec(session) ?? []
    const planted = { type: 'append', messages: [{ role: 'user', content: 'planted' }] }
    for (const file of [name, `${name}.jsonl`, name.slice(0, 4), 'nope']) place.file(file, planted)
    for (const given of [name.slice(0, 4), name, `${name}.jsonl`])
      expect(JSON.parse((await ranIn(place, ['again', '--json', '--resume', given])).out).session).toBe(
        session,
      )
    expect((await ranIn(place, ['again', '--resume', 'nope'])).code).toBe(1)
    const chosen = await ranIn(place, ['again', '--json', '--resume', './nope'])
    expect(JSON.parse(chosen.out).session).toBe(join(place.folder, 'nope'))
  })

  it('reports a missing session with where sessions are and how to list them', async () => {
    const place = newPlace()
    await ranIn(place, ['hello'])
    const { code, out, told } = await ranIn(place, ['again', '--resume', 'nope'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(told).toContain('no such file or session: "nope"')
    expect(told).toContain(join(place.folder, 'data/toolshelf/sessions'))
    expect(told).toContain('"toolshelf chat --list" lists them')
    expect(told).not.toContain('ENOENT')
    expect((await ranIn(place, ['again', '--resume', 'lst'])).told).toContain('did you mean last?')
  })

  it('SIGINT stops it with 130, and prints the output so far and how to continue', async () => {
    const place = newPlace()
    const started = start(place, ['say one two three four five', '--stream-json'], { script: { delay: 400 } })
    await until(() => started.out().includes('"text"'))
    started.child.kill('SIGINT')
    const { code, out, told } = await started.over
    expect(code).toBe(130)
    expect(wholeLines(out).at(-1)).toEqual({ type: 'end', reason: 'stopped' })
    expect(told).toMatch(/stopped\. To continue: --resume [\d-]+\w+\n/)
  })

  it('a reader that has gone away ends it quietly', async () => {
    const started = start(newPlace(), ['say one two three four five six', '--stream-json'], {
      script: { delay: 100 },
    })
    await until(() => started.out().includes('session'))
    started.child.stdout?.destroy()
    const { code, told } = await started.over
    expect(code).toBe(0)
    expect(told).not.toContain('EPIPE')
  })

  it('has no colours and no control characters', async () => {
    const { out, told } = await ranIn(newPlace({ FORCE_COLOR: '1' }), ['fail'])
    expect(out + told).not.toContain('\u001b')
  })
})

describe('the folder and the configuration of toolshelf run', () => {
  it('the last session is that of the folder', async () => {
    const place = newPlace()
    await ranIn(place, ['hello'])
    const elsewhere = await ranIn(place, ['hello', '--resume', 'last', '--directory', '/'])
    expect(elsewhere.code).toBe(1)
    expect(elsewhere.told).toContain('no session found in')
    expect((await ranIn(place, ['hello', '--resume', 'last'])).code).toBe(0)
  })
})

describe('the tools of toolshelf run', () => {
  const calculator = { url: serveScript('healthy') }

  it('reports names in --allow that match no tool once, with a suggestion', async () => {
    const place = newPlace()
    const config = place.file('mcp.json', {
      mcpServers: { calculator, gone: { command: 'no-such-program' } },
    })
    const servers = ['mcp__calculater__*', 'calculator__ecko', 'mcp__calculator__*', 'mcp__gone__*']
    const rules = ['Read', ...servers].flatMap((rule) => ['--allow', rule])
    const { code, told } = await ranIn(place, ['hello', '--config', config, ...rules])
    expect(code).toBe(0)
    expect(told.split('\n').filter((line) => line.includes('--allow'))).toEqual([
      'toolshelf run: --allow "mcp__calculater__*" matches none of the tools; did you mean mcp__calculator__*?',
      'toolshelf run: --allow "calculator__ecko" matches none of the tools; did you mean mcp__calculator__echo?',
    ])
    expect(told).toContain('server "gone" failed: the command "no-such-program" was not found')
  })

  it('tools are deferred before an API of any address', async () => {
    const place = newPlace()
    const config = place.file('mcp.json', { mcpServers: { calculator } })
    const model = await served(scripted({ do: [{ call: 'mcp__calculator__add', search: 'adds numbers' }] }))
    const url = (model.client as Anthropic).baseURL
    const asked = ['add', '--config', config, '--json']
    const there = { ...place, environment: { ...place.environment, ANTHROPIC_BASE_URL: url } }
    for (const { out } of [await ranIn(there, asked), await ranIn(place, [...asked, '--base-url', url])])
      expect(JSON.parse(out).loaded).toContain('mcp__calculator__add')
  })

  it('U3 skills of an index are found, and run only then', async () => {
    const server = createServer((request, response) =>
      response.end(
        request.url === '/skills.json'
          ? '{"skills":[{"name":"invoices","description":"Writes invoices for customers.","url":"invoices.md"}]}'
          : '---\nname: invoices\ndescription: x\n---\nNumber them.',
      ),
    ).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const index = `http://127.0.0.1:${(server.address() as AddressInfo).port}/skills.json`
    const use = { call: 'Skill', input: { skill: 'invoices' } }
    const find = { call: 'DiscoverSkills', input: { query: 'write an invoice' } }
    const script = {
      rules: [
        { when: 'at once', do: [use, { say: '{{result}}' }] },
        { do: [find, use, { say: '{{result}}' }] },
      ],
    }
    const said = async (...words: string[]) => (await ranIn(newPlace(), words, { script })).out
    expect(await said('at once', '--skills', index)).toContain('Use DiscoverSkills to find it first')
    expect(await said('found first', '--skills', index)).toContain('Number them.')
    expect(await ran('x', '--skills', 'nope')).toMatchObject({
      code: 2,
      told: expect.stringContaining('--skills is "nope"; use an http(s) URL'),
    })
  })

  it('the example script searches for what the user names, and calls what the user asks for', async () => {
    const place = newPlace()
    const config = place.file('mcp.json', { mcpServers: { calculator } })
    const example = ['--script', 'packages/cli/examples/script.json', '--config', config, '--allow', 'mcp__*']
    const tell = (text: string) => ranIn({ ...place, folder: process.cwd() }, [text, ...example])
    expect((await tell('add two numbers for me')).out).toMatch(/search .* says:\n.*mcp__calculator__add/s)
    expect((await tell('call echo with {"text": "good morning"}')).out).toMatch(/^good morning\n/)
    expect((await tell('call add with {"a": 3, "b": 4}')).out).toContain('7')
    expect((await tell('call echo')).out).toContain('text: is required')
  })
})

// Each waits for seconds, as long as a person would.
describe.concurrent('what toolshelf run waits for', () => {
  it('says that it waits where a pipe is all there is', async () => {
    const stream = new PassThrough()
    const told: string[] = []
    const terminal = { print() {}, report() {}, isInteractive: false, input: { stream, isPiped: true } }
    const prompt = readPrompt(readInput(runCommand, []), terminal, (message) => void told.push(message))
    await until(() => told.length > 0)
    expect(told).toEqual(['waiting for the prompt on standard input.'])
    stream.end('hello')
    expect(await prompt).toBe('hello')
  })

  it('does not wait for ever for a silent pipe, nor for servers that do not come, and says so', async () => {
    const place = newPlace()
    const silent = { command: 'sleep', args: ['900'] }
    const config = place.file('mcp.json', { mcpServers: { silent, mute: silent } })
    const { code, out, told } = await start(place, ['hello', '--config', config], { stdin: 'pipe' }).over
    expect(out).toContain('Good morning.')
    expect(code).toBe(0)
    expect(told).toContain('nothing came through the pipe')
    expect(told.split('\n').filter((line) => line.includes('the server'))).toEqual([
      'toolshelf run: waiting for the servers "silent", "mute" …',
      'toolshelf run: continuing without the servers "silent", "mute", which are still starting.',
    ])
  })
})
