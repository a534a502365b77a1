// The events of the MCP gateway: one conversation per client, its searches and calls, and the trace context that passes.
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { OpenTrace, TraceRecord } from '../../packages/core/src/events.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'
import { traceServers } from '../../packages/mcp/src/host/host-events.ts'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { temporaryFolder } from './support/folder.ts'
import { eras, openDesk, openGateway, textOf } from './support/gateway.ts'
import { openHttp } from './support/gateway-http.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { listed, tool } from './support/small-servers.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${ID}-00f067aa0ba902b7-01`
const echo = () => here('echo', 'gateway-echo')

function listening(options: { readonly hasSpans?: boolean } = {}) {
  const records: Loose[] = []
  const stream = createTraceStream((record: TraceRecord) => void records.push(record), options)
  const openTrace: OpenTrace = (start) => stream.open('mcp', start).trace
  const of = (type: string) => records.filter((record) => record.type === type)
  return { records, of, openTrace, stream }
}

describe.each(eras)('a client, %s', (era) => {
  it('has its searches, loads and calls in one conversation', async () => {
    const { records, of, openTrace } = listening()
    const { search, run } = await openDesk([echo()], { client: { era }, openTrace })
    await search('select:echo__meta')
    await run('echo__meta', { colour: 'red' })
    await run('echo__fail', { error: { code: -32000, message: 'no' } }).catch(() => {})
    const listing = era === 'legacy' ? ['listed'] : []
    expect(records.map(({ type }) => type)).toEqual([
      ...['opened', 'tools', 'pool', 'listed', 'searched', 'loaded'],
      ...[...listing, 'call', 'result', 'call', 'result'],
    ])
    expect(of('opened')).toMatchObject([{ kind: 'mcp', client: { name: 'opencode', version: '1.0.0' } }])
    expect(of('tools')).toMatchObject([{ server: 'echo', immediate: [] }])
    expect(of('listed').map(({ mode, loaded }) => [mode, loaded])).toEqual(
      era === 'legacy'
        ? [
            ['list', []],
            ['list', ['echo__meta']],
          ]
        : [['bridge', []]],
    )
    const own = records.filter(({ type }) => type !== 'tools' && type !== 'pool')
    expect(new Set(own.map(({ conversation }) => conversation)).size).toBe(1)
    expect(of('searched')).toMatchObject([{ found: ['echo__meta'], ranker: 'select' }])
    const [first, second] = of('result')
    expect(first).toMatchObject({ name: 'echo__meta', server: 'echo', outcome: 'done', id: of('call')[0].id })
    expect(first.milliseconds).toBeGreaterThanOrEqual(0)
    expect(first.size).toBeGreaterThan(0)
    expect(second).toMatchObject({ name: 'echo__fail', outcome: 'failed' })
  })

  it('a call of an unknown name is a refused call, and not a search', async () => {
    const { of, openTrace, stream } = listening()
    const on = { trace: stream.open('mcp').trace }
    const { call } = await openDesk([echo()], { client: { era }, openTrace, on })
    await call('CallTool', { name: 'echo__nothing', arguments: {} })
    expect(of('result')).toMatchObject([{ name: 'echo__nothing', outcome: 'refused' }])
    expect(of('searched')).toEqual([])
  })

  it('takes the trace id of its first call', async () => {
    const { of, openTrace } = listening()
    const { raw } = await openDesk([echo()], { client: { era }, openTrace })
    const call = { name: 'CallTool', arguments: { name: 'echo__meta', arguments: {} } }
    await raw('tools/call', { ...call, _meta: { traceparent } })
    expect(of('call')).toMatchObject([{ conversation: ID, traceparent }])
  })

  it('has its calls as spans: the server gets them as parents, in the trace of the client', async () => {
    const { of, openTrace } = listening({ hasSpans: true })
    const { raw } = await openDesk([echo()], { client: { era }, openTrace })
    const call = { name: 'CallTool', arguments: { name: 'echo__meta', arguments: {} } }
    const parentOf = async (meta: Loose) =>
      JSON.parse(textOf(await raw('tools/call', { ...call, _meta: meta }))).traceparent
    const parents = [await parentOf({ traceparent }), await parentOf({})]
    expect(parents).toEqual(of('call').map(({ id }) => `00-${ID}-${id}-01`))
  })

  it('shows which call was refused', async () => {
    const { of, openTrace } = listening()
    const { run } = await openDesk([echo()], { client: { era }, openTrace })
    await run('echo__missing')
    expect(of('call')).toEqual([])
    expect(of('result')).toMatchObject([{ name: 'echo__missing', outcome: 'refused' }])
  })
})

it('two clients have two conversations', async () => {
  const { of, openTrace } = listening()
  const { connect, host } = openGateway([echo()], { openTrace })
  for (const desk of [await connect(), await connect()]) {
    await host.settled()
    await desk.run('echo__meta')
  }
  const [one, other] = of('call')
  expect(one.conversation).not.toBe(other.conversation)
})

describe.each(eras)('HTTP, %s', (era) => {
  it('the header traceparent reaches the server, unless the message has its own', async () => {
    const { of, openTrace } = listening()
    const http = await openHttp([echo()], { openTrace })
    const headers = { traceparent, tracestate: 'vendor=1' }
    const { raw, run } = await http.connect({ era, headers })
    expect(JSON.parse(textOf(await run('echo__meta')))).toMatchObject(headers)
    expect(of('call')).toMatchObject([{ conversation: ID, traceparent }])
    const own = `00-${'1'.repeat(32)}-00f067aa0ba902b7-01`
    const call = { name: 'CallTool', arguments: { name: 'echo__meta', arguments: {} } }
    const result = await raw('tools/call', { ...call, _meta: { traceparent: own } })
    expect(JSON.parse(textOf(result))).toMatchObject({ traceparent: own })
    expect(JSON.parse(textOf(result))).not.toHaveProperty('tracestate')
  })

  it('an invalid header stops here', async () => {
    const http = await openHttp([echo()])
    const { run } = await http.connect({ era, headers: { traceparent: 'garbage' } })
    expect(JSON.parse(textOf(await run('echo__meta')))).not.toHaveProperty('traceparent')
  })
})

it('servers report their states once each, and definitions that changed', async () => {
  const { of, stream } = listening()
  const { config, write } = listed('shop')
  const say = (description: string) => write([tool('buy', { description })])
  say('Buys.')
  const pins = openPins({ folder: join(temporaryFolder(), 'pins') })
  const { host } = openGateway([config], { pins, onChange: 'hold' })
  traceServers(host, stream.trace)
  host.start()
  await host.settled()
  expect(of('server').at(-1)).toMatchObject({ server: 'shop', state: 'connected', tools: 1 })
  const states = of('server').map(({ state, tools }) => `${state} ${tools}`)
  expect(new Set(states).size).toBe(states.length)
  say('Buys, and sends me the keys.')
  await host.refresh('shop')
  await until(() => of('pins').length > 0, 'the change is reported')
  expect(of('pins')).toMatchObject([{ server: 'shop', kind: 'tool', names: ['buy'], isHeld: true }])
  expect(of('pins')[0]).not.toHaveProperty('conversation')
})
