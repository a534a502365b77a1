// The Node helpers: limits of files, locks, turns, timeouts, keys, and requests of the web on Node's.

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { lockFile } from '../../packages/core/src/node/file-lock.ts'
import { JsonFile, replaceFile } from '../../packages/core/src/node/json-file.ts'
import { createLimiter } from '../../packages/core/src/node/limiter.ts'
import { isSecret } from '../../packages/core/src/node/secret.ts'
import { createSlots } from '../../packages/core/src/node/slots.ts'
import { createYieldBySize } from '../../packages/core/src/node/yield-by-size.ts'
import { checkKeyLength } from '../../packages/server/src/http/access.ts'
import { answerNode, close, listen, networkOf } from '../../packages/server/src/http/http.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-node-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A promise with its end. */
function gate() {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('a JSON file', () => {
  it('is replaced at once, for its owner alone, through a link, and without a trace of a failure', async () => {
    const folder = newFolder()
    const path = join(folder, 'deep/a.json')
    const file = new JsonFile(path, { maxBytes: 5 })
    expect(await file.read()).toBeUndefined()
    await file.write('one')
    expect([await file.read(), statSync(path).mode & 0o777]).toEqual(['one', 0o600])
    symlinkSync(path, join(folder, 'link'))
    await new JsonFile(join(folder, 'link')).write(Buffer.from('two'), { mode: 0o644 })
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['two', 0o644])
    await file.write('longer')
    await expect(file.read()).rejects.toThrow('has 6 bytes, more than 5')
    writeFileSync(join(folder, 'blocked'), '')
    await expect(new JsonFile(join(folder, 'blocked/x')).write('four')).rejects.toThrow()
    await expect(replaceFile(join(folder, 'deep'), 'four')).rejects.toThrow()
    expect(readdirSync(folder).sort()).toEqual(['blocked', 'deep', 'link'])
    expect([await file.remove(), await file.remove()]).toEqual([true, false])
    expect(readdirSync(join(folder, 'deep'))).toEqual([])
  })

  it('is changed by one at a time, through whichever link', async () => {
    const folder = newFolder()
    const file = new JsonFile(join(folder, 'a.json'))
    await file.write('0')
    symlinkSync(file.path, join(folder, 'link'))
    const add = (one: JsonFile) => one.alone(async () => one.write(String(Number(await one.read()) + 1)))
    const link = new JsonFile(join(folder, 'link'))
    await Promise.all([add(file), add(link), add(file), add(link)])
    expect([await file.read(), readdirSync(folder).sort()]).toEqual(['4', ['a.json', 'link']])
    await expect(file.alone(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    await add(link)
    expect(await file.read()).toBe('5')
  })
})

describe('a lock', () => {
  it('is held by one at a time', async () => {
    const path = join(newFolder(), 'lock')
    const release = await lockFile(path, 60_000)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    let isSecond = false
    const second = lockFile(path, 60_000).then((done) => {
      isSecond = true
      return done
    })
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(isSecond).toBe(false)
    await release()
    await (await second)()
    expect(existsSync(path)).toBe(false)
  })

  it('is taken over at once if its process on this machine has ended, but not that of another machine', async () => {
    const path = join(newFolder(), 'lock')
    const release = await lockFile(path, 60_000)
    const mine = readFileSync(path, 'utf8')
    await release()
    // Above every limit of process ids.
    const gone = mine.replace(String(process.pid), '99999999')
    writeFileSync(path, gone)
    await (await lockFile(path, 60_000))()
    expect(existsSync(path) || existsSync(`${path}.removing`)).toBe(false)
    writeFileSync(path, gone.replace(' ', ' other-'))
    const waiting = lockFile(path, 60_000)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(readFileSync(path, 'utf8')).toContain('other-')
    rmSync(path)
    await (await waiting)()
  })

  it('of a process that has ended is taken over; a missing folder is an error', async () => {
    const path = join(newFolder(), 'lock')
    writeFileSync(path, '')
    utimesSync(path, new Date(0), new Date(0))
    await (await lockFile(path, 60_000))()
    await expect(lockFile(join(path, 'below', 'lock'), 1)).rejects.toThrow('ENOENT')
  })
})

describe('a limiter', () => {
  it('runs so many at once, urgent ones first of those that wait', async () => {
    const limit = createLimiter(2, 60_000)
    const gates = [gate(), gate(), gate(), gate()]
    const started: number[] = []
    const run = (number: number, isUrgent?: boolean) =>
      limit(async () => {
        started.push(number)
        await gates[number]!.passed
        return number
      }, isUrgent)
    const done = [run(0), run(1), run(2), run(3, true)]
    await turn()
    expect(started).toEqual([0, 1])
    gates[0]!.open()
    await turn()
    expect(started).toEqual([0, 1, 3])
    for (const { open } of gates) open()
    expect(await Promise.all(done)).toEqual([0, 1, 2, 3])
    const failing = [1, 2, 3].map(() => limit(async () => Promise.reject(new Error('no'))))
    for (const one of failing) await expect(one).rejects.toThrow('no')
    expect(await limit(async () => 'free again')).toBe('free again')
  })

  it('gives the place of a slow one to the next, once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const limit = createLimiter(1, 1000)
    const started: string[] = []
    const run = (name: string, { passed }: { passed: Promise<void> }) =>
      limit(() => {
        started.push(name)
        return passed
      })
    const [slow, second, third] = [gate(), gate(), gate()]
    const done = [run('slow', slow), run('second', second), run('third', third)]
    vi.advanceTimersByTime(999)
    await turn()
    expect(started).toEqual(['slow'])
    vi.advanceTimersByTime(1)
    await turn()
    expect(started).toEqual(['slow', 'second'])
    // Its place is given already: that it ends makes no room for another.
    slow.open()
    await turn()
    expect(started).toEqual(['slow', 'second'])
    second.open()
    await turn()
    expect(started).toEqual(['slow', 'second', 'third'])
    third.open()
    await Promise.all(done)
  })
})

describe('time', () => {
  it('is given to others after 50,000 characters', () => {
    const rest = createYieldBySize()
    const rests = [49_999, 1, 49_999, 1, 50_000].map((size) => rest(size) instanceof Promise)
    expect(rests).toEqual([false, true, false, true, true])
  })
})

describe('keys', () => {
  it('of less than 24 characters are refused, and what to do is said', () => {
    expect(() => checkKeyLength('k'.repeat(24))).not.toThrow()
    for (const key of ['', 'secret', 'k'.repeat(23)])
      expect(() => checkKeyLength(key)).toThrow(
        `the key has ${key.length} characters, so that others could guess it; use at least 24 random ones`,
      )
  })

  it('are compared whole', () => {
    const given = ['key', 'ke', 'keys', '', null, undefined]
    expect(given.map((one) => isSecret(one, 'key'))).toEqual([true, false, false, false, false, false])
    expect([isSecret('', ''), isSecret(null, '')]).toEqual([true, false])
  })
})

it('an address of IPv6 counts by its network', () => {
  const from = (remoteAddress: string | undefined) =>
    networkOf({ socket: { remoteAddress } } as IncomingMessage)
  expect(
    ['10.0.0.1', '::ffff:10.0.0.1', '::1', '2001:db8:1:2:3:4:5:6', '2001:db8::7', undefined].map(from),
  ).toEqual(['10.0.0.1', '10.0.0.1', '::1', '2001:db8:1:2::/64', '2001:db8:0:0::/64', ''])
})

describe('requests of the web on those of Node', () => {
  async function serve(handle: (request: Request) => Promise<Response>) {
    const server = createServer((incoming, outgoing) => void answerNode(incoming, outgoing, handle))
    const url = await listen(server, 0, '127.0.0.1')
    onTestFinished(() => close(server))
    return { url, port: (server.address() as AddressInfo).port }
  }

  it('answer without a body, and with an error of the handler', async () => {
    const { url } = await serve(async (request) => {
      if (request.url.endsWith('/none')) return new Response(null, { status: 204 })
      throw new Error('broken')
    })
    expect((await fetch(`${url}/none`)).status).toBe(204)
    const failed = await fetch(url)
    expect([failed.status, await failed.text()]).toEqual([500, 'the server failed to answer\n'])
  })

  it('are refused where their address is none; a host that is none is localhost', async () => {
    const { port } = await serve(async (request) => new Response(new URL(request.url).host))
    const ask = (path: string, host: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () =>
          socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        )
        let text = ''
        socket.on('data', (chunk) => {
          text += chunk
        })
        socket.on('end', () => resolve(text)).on('error', reject)
      })
    expect(await ask('//', 'a')).toMatch(
      /^HTTP\/1\.1 400 .*content-type: text\/plain.*the request target is not a valid URL\n/s,
    )
    expect(await ask('/', 'a b')).toMatch(/localhost/)
    expect(await ask('/', '127.0.0.1@evil.example')).toMatch(/^HTTP\/1\.1 200 .*^evil\.example$/ms)
  })

  it('end with the client', async () => {
    const [asked, gone] = [gate(), gate()]
    const { port } = await serve(async ({ signal }) => {
      signal.addEventListener('abort', gone.open)
      asked.open()
      await gone.passed
      return new Response('late')
    })
    const client = send({ port, host: '127.0.0.1' }).on('error', () => {})
    client.end()
    await asked.passed
    client.destroy()
    await gone.passed
  })
})

it('slots: an owner holds no more than are free, and owners that wait take turns', async () => {
  const run = createSlots(4)
  const [started, ends]: [string[], (() => void)[]] = [[], []]
  const task = (owner: string, name: string) =>
    run(owner, () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => task(name[0] ?? '', name))
  expect(started).toEqual(['a1', 'a2', 'b1'])
  for (let ended = 0; ended < all.length; ended++) {
    ends[ended]?.()
    await turn()
  }
  await Promise.all(all)
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
})
