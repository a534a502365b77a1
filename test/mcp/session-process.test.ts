// One session with a server that is a process: how it starts, ends and is stopped, and what is reported of it.
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { isAlive } from './support/processes.ts'
import { messageOf, openSession, options } from './support/session.ts'
import { script } from './support/shell-server.ts'

describe.skipIf(process.platform === 'win32')('H1 a server that is a process', () => {
  it('has its environment, its folder and a process id, and what it says to nobody is kept', async () => {
    const folder = realpathSync(tmpdir())
    const { session } = await openSession(
      script(
        { 'x/y': 'echo "to nobody" >&2; reply "{\\"said\\":\\"$KEY $TOOLSHELF_DEPTH $PATH in $PWD\\"}"' },
        '',
        {
          env: { KEY: 'abc' },
          cwd: folder,
        },
      ),
      { redact: (text) => text.replace('nobody', 'somebody') },
    )
    expect(await session.request('x/y', {}, options)).toEqual({
      said: `abc 1 ${process.env.PATH} in ${folder}`,
    })
    const { isLegacy, mirrorsArguments } = session
    expect({ isLegacy, mirrorsArguments }).toEqual({ isLegacy: true, mirrorsArguments: false })
    expect(isAlive(session.pid ?? 0)).toBe(true)
    await session.close()
    expect(session.stderr()).toBe('to somebody')
    expect(isAlive(session.pid ?? 0)).toBe(false)
  })

  it('of the newer protocol gets no headers', async () => {
    const discovered = {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    }
    const { session } = await openSession(
      script({
        'server/discover': `reply '${JSON.stringify(discovered)}'`,
        'tools/call': `reply '{"content":[],"resultType":"complete"}'`,
      }),
    )
    const { isLegacy, mirrorsArguments, info } = session
    expect({ isLegacy, mirrorsArguments, info }).toEqual({
      isLegacy: false,
      mirrorsArguments: false,
      info: undefined,
    })
    const tool = { name: 't', inputSchema: { type: 'object' } }
    expect(await session.call('t', {}, { ...options, tool } as never)).toEqual({ content: [] })
  })

  it('that ends at the probe is started again as an older one, and not probed once it is known', async () => {
    const dies = script({ 'server/discover': 'exit 4' })
    expect((await openSession(dies)).session.isLegacy).toBe(true)
    expect((await openSession(dies, { isKnownLegacy: true })).session.isLegacy).toBe(true)
  })

  it('that does not answer the probe is taken for an older one after 10 s, or a third of its time', async () => {
    const silent = script({ 'server/discover': ':' })
    const start = globalThis.setTimeout
    onTestFinished(() => void vi.restoreAllMocks())
    for (const [connectTimeoutMs, least, most] of [
      [60_000, 10_000, 10_000],
      [15_000, 4000, 5000],
    ] as const) {
      vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) =>
        start(run, ms >= least && ms <= most ? 0 : ms)) as never)
      expect((await openSession(silent, { config: { connectTimeoutMs } })).session.isLegacy).toBe(true)
      vi.restoreAllMocks()
    }
  })

  it('that cannot be opened is reported with its last output, and is not started again', async () => {
    const never = script({ 'server/discover': 'exit 4', initialize: 'echo sorry >&2; exit 5' })
    const onEnd = vi.fn()
    const error = await openSession(never, { onEnd }).catch((reason: unknown) => reason)
    expect(onEnd).not.toHaveBeenCalled()
    expect(error).toMatchObject({
      message: 'the process ended with exit code 5 before it was ready',
      stderr: 'sorry',
    })
    const missing = { ...never, command: '/does/not/exist' }
    expect(await messageOf(openSession(missing))).toContain('the command "/does/not/exist" was not found')
    const silent = script({ 'server/discover': ':', initialize: ':' })
    expect(await messageOf(openSession(silent, { config: { connectTimeoutMs: 100 } }))).toBe(
      '! it did not answer within 0.1 s',
    )
    const refusing = script({
      initialize: 'printf \'{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}\\n\' "$id"',
    })
    expect(await messageOf(openSession(refusing))).toBe('! no')
  })
})

describe.skipIf(process.platform === 'win32')('H4 the end of a process', () => {
  it.each([
    ['exit 3', 'ended with exit code 3'],
    ['exit 0', 'ended with exit code 0'],
    ['kill -KILL $$', 'was ended by SIGKILL'],
  ])('by %s is reported with its last words, to its calls too', async (ending, reason) => {
    const { session, ended } = await openSession(script({ 'x/y': `echo bye >&2; ${ending}` }))
    const call = messageOf(session.request('x/y', {}, options))
    expect(await ended).toEqual([`the process ${reason}`, 'bye'])
    expect(await call).toBe(`! the process ${reason}`)
    expect(await messageOf(session.request('x/y', {}, options))).toMatch(/^! /)
  })

  it('that we asked for is not reported, whatever it takes', async () => {
    const limits = { maxMessageBytes: 1_000_000, graceMs: 20 }
    const stubborn = script({ 'x/y': "trap '' TERM; reply '{}'" }, 'while :; do sleep 60; done')
    for (const transport of [script({}), script({}, 'sleep 60'), stubborn]) {
      const { session, hasEnded } = await openSession(transport, { limits })
      await session.request('x/y', {}, options)
      await Promise.all([session.close(), session.close()])
      expect(isAlive(session.pid ?? 0)).toBe(false)
      expect(hasEnded()).toBe(false)
    }
  })

  it('that we asked for leaves it time to end by itself, and none once it has', async () => {
    const limits = { maxMessageBytes: 1_000_000, graceMs: 60_000 }
    const polite = await openSession(script({}, 'echo bye >&2'), { limits })
    await polite.session.close()
    expect(polite.session.stderr()).toBe('bye')
    const gone = await openSession(script({ 'x/y': 'exit 0' }), { limits })
    await messageOf(gone.session.request('x/y', {}, options))
    await gone.ended
    await gone.session.close()
    expect(isAlive(gone.session.pid ?? 0)).toBe(false)
  })

  it('ends what it started', async () => {
    const { session, ended } = await openSession(
      script({ 'x/y': 'sleep 60 >/dev/null 2>&1 </dev/null & reply "{\\"pid\\":$!}"', 'x/z': 'exit 0' }),
    )
    const { pid } = await session.request('x/y', {}, options)
    expect(isAlive(pid as number)).toBe(true)
    await messageOf(session.request('x/z', {}, options))
    await ended
    await session.close()
    expect(isAlive(pid as number)).toBe(false)
  })

  it('comes with its signal', async () => {
    const controller = new AbortController()
    const { session, ended } = await openSession(script({}), { signal: controller.signal })
    controller.abort()
    expect((await ended)[0]).toBe('the process ended')
    await session.close()
    expect(isAlive(session.pid ?? 0)).toBe(false)
  })
})
