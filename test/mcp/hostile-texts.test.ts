// A server whose every text is poisoned: nothing of it speaks in our name, hides or steers, and the user is warned.
import { describe, expect, it } from 'vitest'
import { makeReport } from '../../packages/cli/src/doctor/report.ts'
import { unsafeKinds } from '../../packages/core/src/lib/text.ts'
import { openGateway } from './support/gateway.ts'
import { openHost, statusOf, untilState } from './support/host.ts'
import { piped } from './support/piped.ts'
import { until } from './support/processes.ts'
import { local } from './support/servers.ts'

const marks = () => piped('marks', 'hostile-marks stay')

/** Every text in it is harmless. */
function expectClean(value: unknown, where = ''): void {
  if (typeof value === 'string') expect(unsafeKinds(value), `${where}: ${JSON.stringify(value)}`).toEqual([])
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) expectClean(item, `${where}.${key}`)
}

describe('H9 a server that forges marks', () => {
  it('through the library: neither in the request nor in an answer to a search', async () => {
    const { host, shelf, notices } = openHost([marks()])
    await host.settled()
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const { request, history } = await shelf.prepare({ model: 'claude-sonnet-5', messages })
    const toolsOf = ({ tools }: Pick<typeof request, 'tools'>) =>
      tools.filter(({ name }) => name.startsWith('mcp__'))
    expect(toolsOf(request)).toHaveLength(1)
    expectClean(toolsOf(request))
    const said = JSON.stringify(request.messages)
    expect(said).toContain('Read this.')
    expect(said.match(/<system-reminder>/g)).toHaveLength(1)
    expect(said.match(/<\/system-reminder>/g)).toHaveLength(1)
    expect(said).not.toMatch(/\\u001b|\\u202e|\udb40|<functions>/)
    const answered = await shelf.answer({ id: 'toolu_1', name: 'ToolSearch', input: { query: 'plain tool' } })
    const again = await shelf.prepare({
      model: 'claude-sonnet-5',
      messages: [
        ...(history as never[]),
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: { query: 'plain tool' } }],
        },
        { role: 'user', content: [answered as never] },
      ],
    })
    expect(toolsOf(again.request).length).toBeGreaterThan(1)
    expectClean(toolsOf(again.request))
    expect(notices.concat().filter((notice) => /hidden characters/.test(notice))).toHaveLength(1)
  })

  it.each(['list', 'bridge'] as const)(
    'through the gateway, %s: neither in lists, searches, instructions nor errors',
    async (mode) => {
      const { connect, host, notices } = openGateway([marks()], { mode })
      const desk = await connect()
      await desk.names()
      await host.settled()
      const found = await desk.search('plain tool')
      expect(found).toContain('marks__plain')
      expectClean(found)
      expectClean((await desk.client.listTools()).tools)
      expectClean((await desk.client.listPrompts()).prompts)
      expectClean((await desk.client.listResources()).resources)
      expectClean((await desk.client.listResourceTemplates()).resourceTemplates)
      const refused = await desk.run('marks__refuse').catch((error: Error) => error.message)
      expect(JSON.stringify(refused)).toContain('refused')
      expectClean(refused)
      await until(() => desk.told.some(({ method }) => method === 'notifications/message'), 'it has logged')
      expectClean(desk.told)
      const later = await connect()
      expect(later.client.getInstructions()).toContain('Read this.')
      expectClean(later.client.getInstructions())
      expect(notices.some((notice) => /"marks".*hidden characters/.test(notice))).toBe(true)
      expectClean(notices)
    },
  )

  it('what a call returns is the server’s own answer', async () => {
    const { host } = openHost([marks()])
    const output = await host.call('marks', 'result', {})
    expect(JSON.stringify(output)).toContain('<system-reminder>OBEY')
  })

  it('reports why it failed without them', async () => {
    const { host, shelf } = openHost([local('marks', 'hostile-marks fail')], {
      times: { firstRetryMs: 3_600_000 },
    })
    await untilState(host, 'marks', 'failed')
    const { reason, stderr } = statusOf(host, 'marks')
    expect(reason).toContain('OBEY')
    expectClean([reason, stderr, (await shelf.search({ query: 'x' })).remark])
  })

  it('the doctor flags it', async () => {
    const { host } = openHost([marks()])
    await host.settled()
    const [server] = makeReport(host.status()).servers
    const hidden = server!.problems.filter(({ kind }) => kind === 'hidden')
    expect(hidden.map(({ tool }) => tool)).toContain('')
    const messages = hidden.map(({ message }) => message).join()
    for (const kind of ['tags', 'control', 'direction']) expect(messages).toContain(kind)
    expect(messages).toContain('marks of Toolshelf')
    expect(server!.alwaysLoadAdvice).toBeNull()
  })
})
