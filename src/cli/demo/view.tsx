/** @jsxRuntime automatic */
// The demo in a terminal: the conversation, and beside it what it costs with and without Toolshelf.
import { Box, render, Static, Text, useStdout } from 'ink'
import type { LedgerTurn } from './ledger.ts'
import { finalWords, heading, plainLines } from './plain.ts'
import type { DemoEvent } from './play.ts'

type Shown = {
  readonly servers: Extract<DemoEvent, { type: 'servers' }>['servers']
  readonly lines: readonly string[]
  readonly speaking: string
  readonly turns: readonly LedgerTurn[]
}

export async function showDemo(events: AsyncIterable<DemoEvent>, live: string | undefined): Promise<void> {
  let shown: Shown = { servers: [], lines: [], speaking: '', turns: [] }
  const screen = render(<Demo shown={shown} live={live} />)
  let last: readonly string[] = []
  for await (const event of events) {
    shown = next(shown, event, live)
    screen.rerender(<Demo shown={shown} live={live} />)
    if (event.type === 'done') last = finalWords(event.ledger, event.missing)
    if (event.type === 'prompt') await pause(LOOK)
  }
  screen.unmount()
  await screen.waitUntilExit()
  process.stdout.write(`\n${last.join('\n')}\n`)
}

/** Milliseconds for a person to read the question. */
const LOOK = 400

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

function next(shown: Shown, event: DemoEvent, live: string | undefined): Shown {
  if (event.type === 'servers') return { ...shown, servers: event.servers }
  if (event.type === 'turn') return { ...shown, turns: [...event.ledger.turns] }
  if (event.type === 'done') return shown
  if (event.type === 'agent' && event.event.type === 'text')
    return { ...shown, speaking: shown.speaking + event.event.text }
  const lines = plainLines(event, live)
  return lines.length === 0 ? shown : { ...shown, speaking: '', lines: [...shown.lines, ...lines] }
}

function Demo({ shown, live }: { readonly shown: Shown; readonly live: string | undefined }) {
  const { stdout } = useStdout()
  const isWide = stdout.columns >= 100
  return (
    <Box flexDirection="column">
      <Static items={[heading(live)]}>
        {(line) => (
          <Text key={line} bold>
            {line}
          </Text>
        )}
      </Static>
      <Box flexDirection={isWide ? 'row' : 'column'}>
        <Box flexDirection="column" flexGrow={1} flexBasis={0} paddingRight={2}>
          {shown.lines.slice(-LINES).map((line, index) => (
            <Text
              key={index}
              color={line.startsWith('>') ? 'cyan' : undefined}
              dimColor={/^ {2}(search|call)/.test(line)}
              wrap="truncate-end"
            >
              {line}
            </Text>
          ))}
          <Text>{shown.speaking === '' ? '' : `  ${shown.speaking}`}</Text>
        </Box>
        <Book shown={shown} />
      </Box>
    </Box>
  )
}

const LINES = 18

function Book({ shown }: { readonly shown: Shown }) {
  const most = Math.max(...shown.turns.map(({ tokensWithout }) => tokensWithout), 1)
  return (
    <Box flexDirection="column" borderStyle="round" borderColor="gray" paddingX={1} width={48} flexShrink={0}>
      <Text bold>Tokens of tool definitions</Text>
      {shown.turns.map((turn, index) => (
        <Box key={turn.prompt} flexDirection="column">
          <Text>{`turn ${index + 1}   searches ${turn.searches}, loaded ${turn.loaded.length}`}</Text>
          <Bar label="without" value={turn.tokensWithout} most={most} color="red" />
          <Bar label="with" value={turn.tokensWith} most={most} color="green" />
        </Box>
      ))}
      <Text dimColor>
        {shown.servers
          .map(({ name, state, tools }) => `${name} ${state === 'connected' ? tools : state}`)
          .join('  ')}
      </Text>
    </Box>
  )
}

type BarProps = {
  readonly label: string
  readonly value: number
  readonly most: number
  readonly color: string
}

function Bar({ label, value, most, color }: BarProps) {
  const width = Math.max(value > 0 ? 1 : 0, Math.round((22 * value) / most))
  return (
    <Text>
      {label.padEnd(8)}
      <Text color={color}>{'█'.repeat(width)}</Text>
      {` ${value.toLocaleString('en-US')}`}
    </Text>
  )
}
