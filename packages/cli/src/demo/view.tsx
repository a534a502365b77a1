/** @jsxRuntime automatic */
// Renders the demo in a terminal: the conversation, and next to it the cost with and without Toolshelf.
import { Box, render, Static, Text, useStdout } from 'ink'
import { foldedLine, type ScreenStreams } from '../command.ts'
import { colour, createPen } from '../terminal/pen.ts'
import type { LedgerTurn } from './ledger.ts'
import { finalWords, heading, plainLines, stripOfflineNote } from './plain.ts'
import type { DemoEvent } from './play.ts'

type Shown = {
  readonly servers: Extract<DemoEvent, { type: 'servers' }>['servers']
  readonly lines: readonly string[]
  readonly speaking: string
  readonly turns: readonly LedgerTurn[]
  readonly isDone: boolean
}

const nothing: Shown = { servers: [], lines: [], speaking: '', turns: [], isDone: false }

/** Draws the demo until its events end. */
export async function showDemo(
  events: AsyncIterable<DemoEvent>,
  live: string | undefined,
  { input, output }: ScreenStreams,
): Promise<void> {
  let shown = nothing
  const streams = { stdin: input, stdout: output, patchConsole: output === process.stdout }
  const screen = render(<Demo shown={shown} live={live} />, { ...streams, exitOnCtrlC: false })
  let last: readonly string[] = []
  let timer: NodeJS.Timeout | undefined
  const draw = () => {
    clearTimeout(timer)
    timer = undefined
    screen.rerender(<Demo shown={shown} live={live} />)
  }
  try {
    for await (const event of events) {
      const before = shown
      shown = next(shown, event, live)
      // Drawing takes longer than receiving a word, so words are drawn in groups.
      const isWord = event.type === 'agent' && event.event.type === 'text'
      if (isWord) timer ??= setTimeout(draw, FRAME_MS)
      else if (shown !== before) draw()
      if (event.type === 'done') last = finalWords(event.ledger, event.longResult)
      if (event.type === 'prompt') await pause(PROMPT_PAUSE_MS)
    }
  } finally {
    clearTimeout(timer)
    screen.unmount()
    await screen.waitUntilExit()
  }
  output.write(last.map((line) => `${withColour(foldedLine(line, output.columns || undefined))}\n`).join(''))
}

/** Colours the bar of a line as the ledger does. */
function withColour(line: string): string {
  const { red, green } = createPen({ width: line.length, isPlain: colour('red') === undefined })
  return line.replace(/█+/, (bar) => (line.includes('without') ? red(bar) : green(bar)))
}

/** Milliseconds between drawings of words. */
const FRAME_MS = 50

/** Milliseconds for the user to read the question. */
const PROMPT_PAUSE_MS = 400

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

function next(shown: Shown, event: DemoEvent, live: string | undefined): Shown {
  if (event.type === 'servers') return { ...shown, servers: event.servers }
  if (event.type === 'turn') return { ...shown, turns: event.ledger.turns }
  if (event.type === 'done') return { ...shown, isDone: true }
  if (event.type === 'agent' && event.event.type === 'text')
    return { ...shown, speaking: shown.speaking + event.event.text }
  const lines = plainLines(event, live)
  return lines.length === 0 ? shown : { ...shown, speaking: '', lines: [...shown.lines, ...lines] }
}

/** Side by side if there is room for both; otherwise the conversation scrolls away above. */
function Demo({ shown, live }: { readonly shown: Shown; readonly live: string | undefined }) {
  const { stdout } = useStdout()
  const isWide = stdout.columns >= 100 && stdout.rows >= ROWS
  const above = isWide ? [heading(live)] : [heading(live), ...shown.lines]
  return (
    <Box flexDirection="column" marginBottom={isWide ? 1 : 0}>
      <Static items={above}>
        {(line, index) => <Line key={index} line={line} isHeading={index === 0} />}
      </Static>
      <Box flexDirection={isWide ? 'row' : 'column'}>
        <Box flexDirection="column" flexGrow={1} flexBasis={isWide ? 0 : undefined} paddingRight={2}>
          {isWide ? shown.lines.map((line, index) => <Line key={index} line={line} />) : null}
          {stripOfflineNote(shown.speaking) === '' ? null : (
            <Line line={`  ${stripOfflineNote(shown.speaking)}`} />
          )}
        </Box>
        {shown.isDone && !isWide ? null : <Book shown={shown} />}
      </Box>
    </Box>
  )
}

/** As many rows as the whole conversation takes. */
const ROWS = 36

function Line({ line, isHeading = false }: { readonly line: string; readonly isHeading?: boolean }) {
  const isQuestion = line.startsWith('>')
  const isDeed = /^ {2}(search|load|call)/.test(line)
  return (
    <Text
      bold={isHeading}
      color={isQuestion ? colour('cyan') : undefined}
      dimColor={isDeed}
      wrap={isDeed ? 'truncate-end' : 'wrap'}
    >
      {line === '' ? ' ' : line}
    </Text>
  )
}

function Book({ shown }: { readonly shown: Shown }) {
  const max = Math.max(...shown.turns.map(({ tokensWithout }) => tokensWithout), 1)
  const servers = shown.servers.map(
    ({ name, state, tools }) => `${name} ${state === 'connected' ? tools : state}`,
  )
  return (
    <Box
      flexDirection="column"
      borderStyle="round"
      borderColor={colour('gray')}
      paddingX={1}
      width={48}
      flexShrink={0}
      alignSelf="flex-start"
    >
      <Text bold>Input tokens, searches included</Text>
      {shown.turns.map((turn, index) => (
        <Box key={turn.prompt} flexDirection="column">
          <Text>{`turn ${index + 1}   searches ${turn.searches}, loaded ${turn.loaded.length}`}</Text>
          <Bar label="without" value={turn.tokensWithout} max={max} color="red" />
          <Bar label="with" value={turn.tokensWith} max={max} color="green" />
        </Box>
      ))}
      <Text dimColor>{servers.length === 0 ? 'servers are starting' : `Tools: ${servers.join('  ')}`}</Text>
    </Box>
  )
}

type BarProps = {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly color: string
}

function Bar({ label, value, max, color }: BarProps) {
  const width = Math.max(value > 0 ? 1 : 0, Math.round((22 * value) / max))
  return (
    <Text>
      {label.padEnd(8)}
      <Text color={colour(color)}>{'█'.repeat(width)}</Text>
      {` ${value.toLocaleString('en-US')}`}
    </Text>
  )
}
