// Renders for a terminal: the progress while servers start, and the report with what to do.
import { dollars } from '@toolshelf/core/internal'
import type { ServerStatus } from '@toolshelf/mcp'
import {
  columnsOf,
  count,
  counted,
  createPen,
  duration,
  harmlessData,
  type Look,
  type Pen,
  padEnd,
  padStart,
  percent,
  printableLine,
  wrap,
} from '../terminal/pen.ts'
import { type Finding, findingsOf, type Level } from './findings.ts'
import type { Projection, Report, ServerReport, Total } from './report.ts'

type TerminalOptions = Look & {
  /** The command to run next, or a note that there is none. */
  readonly next: string
}

export function terminalView(report: Report, { next, ...look }: TerminalOptions): string {
  const pen = createPen(look)
  const shown = look.isPlain ? inAscii(harmlessData(report)) : harmlessData(report)
  const blocks = [
    headline(shown.total, pen),
    serverTable(shown, pen),
    ...(shown.total.tools > 0 ? [comparison(shown, pen), heaviestTools(shown, pen)] : []),
    ...findings(findingsOf(shown), pen),
    `${pen.bold('Next')}  ${next}`,
  ]
  return blocks.join('\n\n')
}

/** Replaces our own symbols in the report's texts with ASCII. */
function inAscii(report: Report): Report {
  const signs: { readonly [sign: string]: string } = { '−': '-', '×': 'x', '…': '...' }
  return JSON.parse(JSON.stringify(report).replace(/[−×…]/g, (sign) => signs[sign] ?? sign))
}

function headline(total: Total, pen: Pen): string {
  const { servers, connected, failed, disabled, untrusted, leftOut, tools, tokens, share, window } = total
  const states = [
    pen.bold(counted(servers + leftOut, 'server')),
    pen.bold(`${connected} connected`),
    ...(failed > 0 ? [pen.red(`${failed} failed`)] : []),
    ...(disabled > 0 ? [`${disabled} disabled`] : []),
    ...(untrusted > 0 ? [pen.yellow(`${untrusted} not trusted`)] : []),
    ...(leftOut > 0 ? [pen.yellow(`${leftOut} left out`)] : []),
    pen.bold(counted(tools, 'tool')),
  ]
  const weight = `Their definitions take about ${count(tokens)} tokens of every request, ${percent(share)} of a window of ${count(window)}.`
  return [states.join(', '), ...(tools > 0 ? wrap(weight, pen.width) : [])].join('\n')
}

const GAP = '  '
const MAX_NAME_LENGTH = 22
const MAX_BAR_LENGTH = 32

function serverTable({ servers, total }: Report, pen: Pen): string {
  const rows = inOrder(servers)
  const max = Math.max(...rows.map(({ tokens }) => tokens))
  const nameColumns = widest([...rows.map(({ name }) => name), 'server'], MAX_NAME_LENGTH)
  const columns = [
    column('start', [...rows, total], (row) =>
      duration('startMilliseconds' in row ? row.startMilliseconds : null),
    ),
    column('tools', [...rows, total], ({ tools }) => count(tools)),
    column(`${pen.marks.about} tokens`, [...rows, total], ({ tokens }) => count(tokens)),
    column('share', [...rows, total], ({ share }) => percent(share)),
  ]
  const head = GAP + padEnd('server', nameColumns)
  const used = columns.reduce((sum, { width }) => sum + GAP.length + width, columnsOf(head))
  const barColumns = Math.min(MAX_BAR_LENGTH, pen.width - used - GAP.length)
  const line = (name: string, cellOf: (one: (typeof columns)[number]) => string, bar = '') =>
    [name, ...columns.map((one) => padStart(cellOf(one), one.width)), bar].join(GAP).trimEnd()
  const rowOf = (server: ServerReport) => {
    const name = `${markOf(server, pen)} ${padEnd(pen.fit(server.name, nameColumns), nameColumns)}`
    if (server.tools === 0 && server.state !== 'connected')
      return `${name}${GAP}${stateOf(server, pen, pen.width - columnsOf(name) - GAP.length)}`
    return line(name, ({ cellOf }) => cellOf(server), pen.blue(pen.bar(server.tokens, max, barColumns)))
  }
  const sum = [
    pen.dim(GAP + pen.marks.line.repeat(used - GAP.length)),
    line(GAP + padEnd('total', nameColumns), ({ cellOf }) => cellOf(total)),
  ]
  return [
    pen.dim(line(head, ({ title }) => title)),
    ...rows.map(rowOf),
    ...(rows.length > 1 ? sum : []),
  ].join('\n')
}

/** The largest first; servers without tools last. */
function inOrder(servers: readonly ServerReport[]): ServerReport[] {
  return [...servers].sort((a, b) => b.tokens - a.tokens || b.tools - a.tools)
}

function column<Row>(title: string, rows: readonly Row[], cellOf: (row: Row) => string) {
  return { title, cellOf, width: widest([title, ...rows.map(cellOf)], 20) }
}

function widest(texts: readonly string[], max: number): number {
  return texts.reduce((widest, text) => Math.max(widest, Math.min(max, columnsOf(text))), 0)
}

function markOf({ state }: ServerReport, pen: Pen): string {
  if (state === 'connected') return pen.green(pen.marks.good)
  return state === 'failed' || state === 'pending' ? pen.red(pen.marks.error) : pen.dim(pen.marks.off)
}

function stateOf({ state, reason }: ServerReport, pen: Pen, columns: number): string {
  const name = state === 'untrusted' ? 'not trusted' : state
  const text = pen.fit(reason === null ? name : `${name}: ${reason}`, columns)
  return state === 'failed' || state === 'pending' ? pen.red(text) : pen.dim(text)
}

function comparison({ total, projection, method, arithmetic }: Report, pen: Pen): string {
  const { tokens, withDeferral, withLibrary, share, window } = total
  const rows = [
    ['all definitions sent', tokens, share],
    ['through toolshelf mcp', withDeferral, withDeferral / window],
    ['with the library', withLibrary, withLibrary / window],
  ] as const
  const max = Math.max(...rows.map(([, value]) => value))
  const columns = widest(
    rows.map(([, value]) => count(value)),
    20,
  )
  const lines = rows.map(([title, value, part]) => {
    const start = `${GAP}${padEnd(title, 21)}${GAP}${padStart(count(value), columns)}${GAP}${padStart(percent(part), 7)}${GAP}`
    return start + pen.blue(pen.bar(value, max, Math.min(MAX_BAR_LENGTH, pen.width - columnsOf(start))))
  })
  const explained = [arithmetic, method].flatMap((text) => wrap(text, pen.width - GAP.length))
  return [
    pen.bold('Every request carries'),
    ...lines.map((line) => line.trimEnd()),
    ...(projection ? savings(projection, pen) : [`${GAP}Everything is always loaded.`]),
    ...explained.map((line) => pen.dim(GAP + line)),
  ].join('\n')
}

function savings(projection: Projection, pen: Pen): string[] {
  const { requests, tokensWithout, tokensWith, tokensSaved, extraRoundTrips, conversationTokens } = projection
  const paint = tokensSaved > 0 ? pen.green : (text: string) => text
  const saved = tokensSaved > 0 ? `saves ${count(tokensSaved)}` : `costs ${count(-tokensSaved)} more`
  const title = `In ${requests} requests with a search and ${count(conversationTokens)} tokens of conversation:`
  const tokens = `${count(tokensWithout)} tokens without, ${count(tokensWith)} with: ${saved}, ${counted(extraRoundTrips, 'extra round trip')}.`
  return [
    ...wrap(title, pen.width - GAP.length),
    ...wrap(tokens, pen.width - GAP.length).map(paint),
    ...moneyLines(projection).flatMap((line) => wrap(line, pen.width - GAP.length)),
  ].map((line) => GAP + line)
}

function heaviestTools({ heaviest }: Report, pen: Pen): string {
  const tools = widest(
    heaviest.map(({ tool }) => tool),
    40,
  )
  const servers = widest(
    heaviest.map(({ server }) => server),
    MAX_NAME_LENGTH,
  )
  const tokens = column('', heaviest, (one) => count(one.tokens))
  const lines = heaviest.map((one) =>
    [
      GAP + padEnd(pen.fit(one.tool, tools), tools),
      pen.dim(padEnd(pen.fit(one.server, servers), servers)),
      padStart(count(one.tokens), tokens.width),
      padStart(percent(one.share), 7),
    ].join(GAP),
  )
  return [pen.bold('Heaviest tools'), ...lines].join('\n')
}

function findings(all: readonly Finding[], pen: Pen): string[] {
  if (all.length === 0) return [`${pen.green(pen.marks.good)} Nothing to fix.`]
  return [[pen.bold('Findings'), ...all.flatMap((one) => findingLines(one, pen))].join('\n')]
}

/** Warnings are shown in full; of a note's details only the first few. */
const maxDetails: { readonly [level in Level]: number } = { error: 50, warning: 50, note: 3 }

function findingLines({ level, server, title, details, remedy }: Finding, pen: Pen): string[] {
  const paint = { error: pen.red, warning: pen.yellow, note: pen.dim }[level]
  const [first = '', ...rest] = wrap(server === undefined ? title : `${server} ${title}`, pen.width - 4)
  const isNamed = server !== undefined && first.startsWith(server)
  const start = isNamed ? pen.bold(server) + first.slice(server.length) : first
  const max = maxDetails[level]
  const shown = [
    ...details.slice(0, max),
    ...(details.length > max ? [`and ${count(details.length - max)} more`] : []),
  ]
  const arrow = `${pen.marks.remedy} `
  const remedyLines = wrap(remedy ?? '', pen.width - 6 - arrow.length)
  return [
    `${GAP}${paint(pen.marks[level])} ${start}`,
    ...rest.map((line) => `    ${line}`),
    ...shown.flatMap((detail) => hanging(detail, pen).map(pen.dim)),
    ...remedyLines.map((line, index) => `      ${index === 0 ? arrow : ' '.repeat(arrow.length)}${line}`),
  ]
}

function hanging(detail: string, pen: Pen): string[] {
  return wrap(detail, pen.width - 8).map((line, index) => `${index === 0 ? '      ' : '        '}${line}`)
}

/** Renders the cost with prompt caching and without; empty if the model has no price. */
function moneyLines(projection: Projection): string[] {
  const { dollarsWithout, dollarsWith, pricedAs, pricesOf, uncached } = projection
  if (dollarsWithout === undefined || dollarsWith === undefined || pricedAs === undefined) return []
  return [
    `${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with, at list prices of ${pricedAs} (${pricesOf}) and with prompt caching` +
      (uncached
        ? `; ${dollars(uncached.dollarsWithout)} and ${dollars(uncached.dollarsWith)} without a prompt cache.`
        : '.'),
  ]
}

const HINT_AFTER_MS = 5000

/** Renders the progress of all servers as one line, which is rewritten while they start. */
export function progressLine(statuses: readonly ServerStatus[], milliseconds: number): string {
  const enabled = statuses.filter(({ state }) => state !== 'disabled')
  const waiting = enabled.filter(({ state }) => state === 'pending').map(({ name }) => printableLine(name))
  const done = `${enabled.length - waiting.length} of ${counted(enabled.length, 'server')}`
  if (waiting.length === 0) return done
  const hint = milliseconds > HINT_AFTER_MS ? ' (Ctrl-C to continue without the rest)' : ''
  return `${done} after ${Math.floor(milliseconds / 1000)} s${hint}, waiting for ${waiting.join(', ')}`
}

export function arrivalLine({ name, state, reason, tools, startMilliseconds }: ServerStatus): string {
  if (state !== 'connected')
    return printableLine(reason === undefined ? `${name}: ${state}` : `${name}: ${state}: ${reason}`)
  return printableLine(
    `${name}: connected, ${counted(tools.length, 'tool')}, ${duration(startMilliseconds ?? null)}`,
  )
}
