// An OTLP/HTTP collector that takes only what the protocol's JSON form allows, and says what it was given.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'

export type Receiver = {
  readonly url: string
  /** Each span with its attributes as an object, and those of its resource. */
  readonly spans: Loose[]
  readonly metrics: Loose[]
  readonly headers: { readonly [name: string]: unknown }[]
  /** What it refused, and why. */
  readonly wrong: string[]
}

export async function openReceiver(): Promise<Receiver> {
  const received: Receiver = { url: '', spans: [], metrics: [], headers: [], wrong: [] }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      received.headers.push(request.headers)
      try {
        must(request.method === 'POST', `method ${request.method}`)
        must(
          request.headers['content-type'] === 'application/json',
          `type ${request.headers['content-type']}`,
        )
        const body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
        if (request.url === '/v1/traces') received.spans.push(...readSpans(body))
        else if (request.url === '/v1/metrics') received.metrics.push(...readMetrics(body))
        else throw new Error(`path ${request.url}`)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      } catch (error) {
        received.wrong.push((error as Error).message)
        response.writeHead(400).end()
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(received, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function must(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not OTLP: ${what}`)
}

const isHex = (value: unknown, length: number) =>
  typeof value === 'string' && value.length === length && /^[0-9a-f]+$/.test(value) && !/^0+$/.test(value)
const isTime = (value: unknown) => typeof value === 'string' && /^[1-9]\d{18}$/.test(value)

function readSpans({ resourceSpans }: Loose): Loose[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Loose) =>
    scopeSpans.flatMap(({ scope, spans }: Loose) =>
      spans.map((span: Loose) => {
        must(scope.name === 'toolshelf', `scope ${scope.name}`)
        must(isHex(span.traceId, 32) && isHex(span.spanId, 16), `ids ${span.traceId} ${span.spanId}`)
        must(span.parentSpanId === undefined || isHex(span.parentSpanId, 16), `parent ${span.parentSpanId}`)
        must(isTime(span.startTimeUnixNano) && isTime(span.endTimeUnixNano), `times of ${span.name}`)
        must(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), `order of times of ${span.name}`)
        must(Number.isInteger(span.kind) && span.kind >= 1 && span.kind <= 5, `kind ${span.kind}`)
        must([0, 1, 2].includes(span.status.code), `status ${span.status.code}`)
        return {
          ...span,
          attributes: readAttributes(span.attributes),
          resource: readAttributes(resource.attributes),
        }
      }),
    ),
  )
}

function readMetrics({ resourceMetrics }: Loose): Loose[] {
  return resourceMetrics.flatMap(({ scopeMetrics }: Loose) =>
    scopeMetrics.flatMap(({ metrics }: Loose) =>
      metrics.map(({ name, unit, histogram, sum }: Loose) => {
        const { dataPoints, aggregationTemporality } = histogram ?? sum
        must([1, 2].includes(aggregationTemporality), `temporality of ${name}`)
        for (const point of dataPoints) must(isTime(point.timeUnixNano), `time of ${name}`)
        for (const { bucketCounts, explicitBounds } of histogram ? dataPoints : [])
          must(bucketCounts.length === explicitBounds.length + 1, `buckets of ${name}`)
        const points = dataPoints.map((point: Loose) => ({
          ...point,
          attributes: readAttributes(point.attributes),
        }))
        return { name, unit, points }
      }),
    ),
  )
}

function readAttributes(attributes: readonly Loose[]): Loose {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]))
}

function readValue(value: Loose): unknown {
  const [[kind, inner]] = Object.entries(value) as [[string, Loose]]
  must(Object.keys(value).length === 1, `value ${JSON.stringify(value)}`)
  if (kind === 'arrayValue') return inner.values.map(readValue)
  if (kind === 'intValue') return Number(inner)
  must(['stringValue', 'boolValue', 'doubleValue'].includes(kind), `value ${kind}`)
  return inner
}
