// Servers that send notifications in storms, and streams that are reset again and again: joined, bounded, slowed down.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { boundedFetch } from '../../packages/mcp/src/session/bounded-fetch.ts'
import type { HostEvent, Progress } from '../../packages/mcp/src/types.ts'
import { eras, everyCapability, openDesk, textOf } from './support/gateway.ts'
import { openHost, textOf as textOfOutput } from './support/host.ts'
import { until } from './support/processes.ts'
import { local } from './support/servers.ts'

const storm = () => local('storm', 'hostile-storm')
const countOf = (events: readonly HostEvent[], type: HostEvent['type']) =>
  events.filter((event) => event.type === type).length

it('H6 400 notifications of each kind in one call: bounded, and nothing that matters is lost', async () => {
  const { host, events } = openHost([storm()])
  await host.settled()
  const seen: Progress[] = []
  const before = events.length
  const output = await host.call('storm', 'storm', {}, { onProgress: (step) => seen.push(step) })
  expect(textOfOutput(output)).toBe('calm')
  expect(seen.at(-1)).toMatchObject({ progress: 400 })
  expect(seen.length).toBeLessThan(400)
  await until(
    () => ['prompts', 'resources'].every((type) => countOf(events, type as HostEvent['type']) > 0),
    'the changes are told',
  )
  const since = events.slice(before)
  expect(countOf(since, 'log')).toBeLessThan(400)
  expect(countOf(since, 'prompts')).toBeLessThan(10)
  expect(countOf(since, 'resources')).toBeLessThan(10)
  const updates = since.flatMap((event) => (event.type === 'resource' ? [event.uri] : []))
  expect(updates.length).toBeLessThan(800)
  expect(updates.filter((uri) => uri === 'x://one').length).toBeLessThan(200)
  const isSaid = () =>
    events.some((event) => event.type === 'log' && /dropped \d+ log messages/.test(String(event.data)))
  await until(async () => {
    await host.call('storm', 'log', {})
    return isSaid()
  }, 'what was left out is said')
})

it.each(eras)('H6 roots asked for a thousand times at once do not all reach the client, %s', async (era) => {
  const desk = await openDesk([storm()], { client: { era, capabilities: everyCapability } })
  const answered = Number(textOf(await desk.run('storm__roots')))
  expect(answered).toBeGreaterThanOrEqual(200)
  expect(answered).toBeLessThan(600)
  expect(desk.asked).toHaveLength(answered)
})

it('H6 a stream that is reset again and again, with `retry: 1`, is opened ever less often', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 1\nid: 1\n\n')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const pauses: number[] = []
  let time = 0
  const sleep = async (milliseconds: number) => {
    pauses.push(milliseconds)
    time += milliseconds
  }
  const get = boundedFetch(1_000_000, { now: () => time, sleep })
  const open = async () => (await get(url, { headers: { accept: 'text/event-stream' } })).text()
  for (let attempt = 0; attempt < 9; attempt++) await open()
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  // One that lasted starts anew, and requests that are no streams never wait.
  time += 20_000
  await open()
  await (await get(url, { method: 'POST', body: '{}' })).text()
  expect(pauses).toHaveLength(8)
})
