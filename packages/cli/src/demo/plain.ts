// Prints the demo as plain lines, for pipes and `--plain` output.
import { isPreload } from '@toolshelf/agent/internal'
import { dollars, SEARCH_TOOL } from '@toolshelf/core/internal'
import { OFFLINE_NOTE } from '@toolshelf/messages/internal'
import { harmless } from '../terminal/table.ts'
import type { Ledger, LedgerTotal, LedgerTurn } from './ledger.ts'
import type { DemoEvent, LongResultFigures } from './play.ts'

export function plainLines(event: DemoEvent, live: string | undefined): string[] {
  switch (event.type) {
    case 'servers':
      return event.isSettled
        ? [
            heading(live),
            `Servers: ${event.servers.map(({ name, tools, state }) => `${name} ${state === 'connected' ? tools : state}`).join(', ')} (tools)`,
          ]
        : []
    case 'prompt':
      return ['', `> ${event.text}`]
    case 'agent':
      return agentLines(event).map(harmless)
    case 'turn':
      return [turnLine(event.ledger.turns.at(-1))]
    case 'done':
      return ['', ...finalWords(event.ledger, event.longResult)]
  }
}

/** Returns the first line of the demo. */
export function heading(live: string | undefined): string {
  return live === undefined
    ? 'Toolshelf demo: real MCP servers and real calls; a script speaks in place of a model.'
    : `Toolshelf demo: real MCP servers, real calls, a real model (${live}).`
}

function agentLines({ event }: Extract<DemoEvent, { type: 'agent' }>): string[] {
  if (event.type === 'reply') {
    const said = event.content
      .filter(({ type }) => type === 'text')
      .map(({ text }) => stripOfflineNote(String(text)))
    return said.filter((text) => text !== '').flatMap((text) => text.split('\n').map((line) => `  ${line}`))
  }
  if (event.type !== 'result') return []
  const { name, input } = event.call
  if (isPreload(event.call)) return [`  load   ${event.loaded.join(', ')}, because the message names it`]
  if (name === SEARCH_TOOL)
    return [
      `  search ${JSON.stringify((input as { query?: unknown }).query)} → ${event.loaded.join(', ') || 'nothing'}`,
    ]
  return [`  call   ${name}${event.result.is_error ? ' (failed)' : ''}`]
}

/** Removes the script's note, which the heading already mentions, also while only its beginning has arrived. */
export function stripOfflineNote(text: string): string {
  const shown = harmless(text).replace(OFFLINE_NOTE, '').trim()
  const start = shown.lastIndexOf('(')
  return start >= 0 && OFFLINE_NOTE.startsWith(shown.slice(start)) ? shown.slice(0, start).trim() : shown
}

function turnLine(turn: LedgerTurn | undefined): string {
  if (!turn) return ''
  return `  input: ${number(turn.tokensWithout)} tokens without Toolshelf, ${number(turn.tokensWith)} with it${describeExtraTrips(turn)}`
}

/** Says how many extra round trips the model's searches took. */
function describeExtraTrips({ extraRoundTrips }: Pick<LedgerTurn, 'extraRoundTrips'>): string {
  if (extraRoundTrips === 0) return ''
  return `, ${extraRoundTrips} extra round ${extraRoundTrips === 1 ? 'trip' : 'trips'}`
}

/** Renders the outcome of the demo. */
export function finalWords(ledger: Ledger, longResult: LongResultFigures | undefined): string[] {
  const { turns } = ledger
  const total = ledger.total()
  const max = Math.max(...turns.map(({ tokensWithout }) => tokensWithout), 1)
  const rows = turns.flatMap((turn, index) => [
    `  turn ${index + 1}  without ${bar(turn.tokensWithout, max)} ${number(turn.tokensWithout)}`,
    `          with    ${bar(turn.tokensWith, max)} ${number(turn.tokensWith)}`,
  ])
  return [
    'Input tokens of all requests of a turn, searches included.',
    `Without Toolshelf each holds all ${total.tools} tools: about ${number(total.definitionTokens)} tokens.`,
    ...rows,
    `  total   ${number(total.tokensWithout)} without, ${number(total.tokensWith)} with: ${total.savedShare} % saved`,
    ...money(total),
    `  ${total.searches} ${total.searches === 1 ? 'search' : 'searches'}${describeExtraTrips(total)}; cached prefix kept in ${total.prefixKept} of ${total.rounds} requests`,
    ...results(longResult),
    '',
    'With your own servers:',
    '  toolshelf doctor           what they cost',
    '  toolshelf connect --apply  all of them behind one, in your MCP clients',
    '  toolshelf chat             an agent that uses them',
  ]
}

function money({ dollarsWithout, dollarsWith, pricedAs, pricesOf }: LedgerTotal): string[] {
  if (dollarsWithout === undefined || dollarsWith === undefined || pricedAs === undefined) return []
  return [
    `  money   ${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with: ${pricedAs} with prompt caching, prices of ${pricesOf}`,
  ]
}

function results(figures: LongResultFigures | undefined): string[] {
  if (!figures) return []
  const { characters, tokensWithout, tokensWith } = figures
  return [
    `  results ${number(tokensWithout)} without, ${number(tokensWith)} with: a log of ${number(characters)} characters`,
  ]
}

const WIDTH = 40

function bar(value: number, max: number): string {
  return '█'.repeat(Math.max(value > 0 ? 1 : 0, Math.round((WIDTH * value) / max))).padEnd(WIDTH)
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}
