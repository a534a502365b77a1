// The pipes of a server that is a process: what they carry, in which order, and how much.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { callContext } from '../../packages/mcp/src/protocol/protocol.ts'
import { signal } from './support/answering.ts'
import { messageOf, openSession, options } from './support/session.ts'
import { script } from './support/shell-server.ts'

describe.skipIf(process.platform === 'win32')('H6 the pipes of a process', () => {
  it('carry no line that is too long', async () => {
    const { session, ended } = await openSession(script({ 'x/y': 'printf "%01100000d" 0; sleep 60' }), {
      limits: { maxMessageBytes: 1_000_000, graceMs: 20 },
    })
    const call = messageOf(session.request('x/y', {}, options))
    const reason = 'the process was stopped: it wrote a line of more than 1 MB'
    expect((await ended)[0]).toBe(reason)
    expect(await call).toBe(`! ${reason}`)
  })

  it('hold no more than a line for a server that does not read; one that is stuck is stopped', async () => {
    const text = 'x'.repeat(200_000)
    const fill = async (stuckMs: number) => {
      const open = await openSession(script({ 'x/y': 'sleep 60' }), {
        limits: { maxMessageBytes: 100_000, graceMs: 20, stuckMs },
      })
      const calls = ['a', 'b'].map(() => messageOf(open.session.request('x/y', { text }, options)))
      return { ...open, full: await messageOf(open.session.request('x/y', {}, options)), calls }
    }
    const busy = await fill(60_000)
    expect(busy.full).toMatch(/^! the server no longer reads its input: \d MB are waiting; try again later$/)
    expect(busy.hasEnded()).toBe(false)
    const stuck = await fill(-1)
    const reason = 'the process was stopped: it no longer reads its input'
    expect(stuck.full).toBe(`! ${reason}`)
    expect((await stuck.ended)[0]).toBe(reason)
  })

  /** Lets no time pass for timers of these milliseconds; returns those that were started. */
  function skip(least: number, most: number): number[] {
    const skipped: number[] = []
    const start = globalThis.setTimeout
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
      const isSkipped = ms >= least && ms <= most
      if (isSkipped) skipped.push(ms)
      return start(run, isSkipped ? 0 : ms)
    }) as never)
    return skipped
  }

  it('are read with a pause behind 4 MB that nobody asked for, and without one behind a long answer', async () => {
    const text = '"text":"%05000000d"'
    const notification = `{"jsonrpc":"2.0","method":"notifications/x","params":{${text}}}`
    const { session } = await openSession(
      script({
        'a/b': `printf '{"jsonrpc":"2.0","id":%s,"result":{${text}}}\\n' $id 0`,
        'c/d': `printf '${notification}\\n' 0; reply '{}'`,
      }),
    )
    const pauses = skip(2000, 5000)
    const { text: answer } = await session.request('a/b', {}, options)
    expect(answer).toHaveLength(5_000_000)
    expect(pauses).toEqual([])
    await session.request('c/d', {}, options)
    expect(pauses.length).toBeGreaterThan(0)
    // Reading continues after the pause.
    expect(await session.request('x/y', {}, options)).toEqual({})
  })

  it('that break are explained by the end of the process, if it comes', async () => {
    const closing = (then: string) => script({ 'x/y': `exec 0<&-; reply '{}'; ${then}` })
    const ending = await openSession(closing('sleep 0.1; exit 3'))
    await ending.session.request('x/y', {}, options)
    expect(await messageOf(ending.session.request('x/y', {}, options))).toBe(
      '! the process ended with exit code 3',
    )
    const staying = await openSession(closing('sleep 60'), {
      limits: { maxMessageBytes: 1_000_000, graceMs: 20 },
    })
    await staying.session.request('x/y', {}, options)
    expect(skip(2000, 2000)).toEqual([])
    expect(await messageOf(staying.session.request('x/y', {}, options))).toContain('EPIPE')
  })

  it('bring what came in front of an answer in front of it', async () => {
    const progress = (step: number) =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":${step}}}\\n`
    const { session } = await openSession(
      script({
        'x/y': `printf '${progress(1)}${progress(2)}{"jsonrpc":"2.0","id":%s,"result":{}}\\n' $id $id $id`,
      }),
    )
    const seen: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const onProgress = ({ progress: step }: { progress: number }) => void seen.push(step)
      await session.request('x/y', {}, { ...options, onProgress })
      seen.push('answered')
    }
    expect(seen).toEqual([1, 2, 'answered', 1, 2, 'answered', 1, 2, 'answered'])
  })

  it('bring the answer to a request that was given up, and its call hears of it', async () => {
    const { session } = await openSession(
      script({ 'x/y': 'first=$id', 'notifications/cancelled': 'id=$first; reply "{}"' }),
    )
    const controller = new AbortController()
    const late = signal()
    const answered = vi.fn(late.resolve)
    const call = callContext.run({ answered }, () =>
      messageOf(session.request('x/y', {}, { ...options, signal: controller.signal })),
    )
    controller.abort(new Error('given up'))
    expect(await call).toContain('given up')
    expect(answered).not.toHaveBeenCalled()
    await late.promise
    expect(answered).toHaveBeenCalledTimes(1)
  })
})
