/** @jsxRuntime automatic */
// The terminal view: finished items scroll away above; current activity and the input line stay below.
import { Box, render, Static, Text, useApp, useInput, useStdout } from 'ink'
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { ScreenStreams } from '../command.ts'
import { colour } from '../terminal/pen.ts'
import { firstRows, harmless, lastRows, visible } from '../terminal/table.ts'
import type { Chat, ChatState } from './chat.ts'
import { slashHint } from './commands.ts'
import {
  ASK_FOR_MARKS,
  handlePress,
  type Line,
  lineAfter,
  NO_MORE_MARKS,
  pressesIn,
  underCursor,
} from './editor.ts'
import { type Item, itemLines, lastLinesOf } from './items.ts'
import { itemsOf } from './parts.ts'
import { choiceLines, hiddenIn, type Question } from './questions.ts'
import { statusLine } from './status.ts'
import { brokenSpans, EDGE, firstLines, rowsOfLine, type Span, type StyledLine } from './styled.ts'
import { runningText, spentBy, type TurnState } from './turn.ts'

/** Shows the chat until it ends. */
export async function showChat(chat: Chat, { input, output }: ScreenStreams): Promise<void> {
  output.write(ASK_FOR_MARKS)
  const streams = { stdin: input, stdout: output, patchConsole: output === process.stdout }
  const screen = render(<Session chat={chat} />, { ...streams, exitOnCtrlC: false })
  await screen.waitUntilExit()
  output.write(NO_MORE_MARKS)
}

function Session({ chat }: { readonly chat: Chat }) {
  const state = useSyncExternalStore(useCallback(inFrames(chat), [chat]), chat.state)
  const { asking } = state
  const { line, isReady } = useLine(chat, asking)
  const drawing = useDrawing(() => chat.state().items.length)
  const { exit } = useApp()
  // The last items are drawn only now.
  useEffect(() => {
    if (state.isOver) exit()
  }, [state.isOver, exit])
  return (
    <Box flexDirection="column">
      <Static key={drawing.times} items={state.items.slice(drawing.from)}>
        {(item, index) => <Said key={index} item={item} />}
      </Static>
      {state.isOver ? null : <Now state={state} />}
      {state.isOver ? null : asking ? (
        <Asking question={asking} isReady={isReady} />
      ) : (
        <Prompt line={line} state={state} />
      )}
    </Box>
  )
}

/** A model may stream faster than a screen is drawn: all changes within a frame are drawn at once. */
function inFrames(chat: Chat): (draw: () => void) => () => void {
  return (draw) => {
    let frame: NodeJS.Timeout | undefined
    const forget = chat.subscribe(() => {
      frame ??= setTimeout(() => {
        frame = undefined
        draw()
      }, FRAME_MS)
    })
    return () => {
      clearTimeout(frame)
      forget()
    }
  }
}

const FRAME_MS = 50

/** Keys change the line at once, not at the next render: several may arrive before it. */
function useLine(chat: Chat, asking: ChatState['asking']) {
  const [first] = useState(() => lineAfter(chat.typed()))
  const line = useRef(first)
  const answerable = useRef<ChatState['asking']>(undefined)
  const [times, draw] = useState(0)
  useInput((input, key) => {
    for (const press of pressesIn(input, key, line.current)) {
      const now = chat.state().asking
      line.current = handlePress(chat, line.current, press, now !== undefined && now === answerable.current)
    }
    draw((before) => before + 1)
  })
  // Each key restarts the delay.
  useEffect(() => {
    if (!asking || answerable.current === asking) return
    const timer = setTimeout(() => {
      answerable.current = asking
      draw((before) => before + 1)
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [asking, times])
  return { line: line.current, isReady: asking !== undefined && answerable.current === asking }
}

/** Milliseconds without a key before a question accepts answers, so that a word being typed does not count as one. */
const TYPING_PAUSE_MS = 400

/** A terminal that gets narrower wraps existing rows: redraws the latest items. */
function useDrawing(count: () => number) {
  const { stdout } = useStdout()
  const [drawing, draw] = useState({ times: 0, from: 0 })
  const items = useRef(count)
  useEffect(() => {
    let { columns } = stdout
    const redraw = () => {
      const isNarrower = stdout.columns < columns
      columns = stdout.columns
      if (!isNarrower) return draw((drawing) => ({ ...drawing }))
      stdout.write(CLEAR)
      draw(({ times }) => ({ times: times + 1, from: Math.max(0, items.current() - stdout.rows) }))
    }
    stdout.prependListener('resize', redraw)
    return () => void stdout.off('resize', redraw)
  }, [stdout])
  return drawing
}

/** Clears the visible screen, not the scrollback. */
const CLEAR = '\u001b[H\u001b[J'

/** Without colours, Markdown is shown as it was written. */
const isPlain = colour('cyan') === undefined || process.env.TERM === 'dumb'

function Said({ item }: { readonly item: Item }) {
  const { columns } = useRoom()
  return <StyledLines lines={itemLines(item, { columns, isPlain })} columns={columns} />
}

/** Rows for the input line, its surroundings, and a question. */
const KEPT_FREE = 10

function useRoom(): Room {
  const { stdout } = useStdout()
  return { rows: Math.max(4, (stdout.rows || 24) - KEPT_FREE), columns: stdout.columns || 80 }
}

/** The part of the turn that may still change: its end, if it is longer than the screen. */
function Now({ state: { turn, asking, isVerbose } }: { readonly state: ChatState }) {
  const room = useRoom()
  if (!turn) return null
  const { columns } = room
  const asked = asking ? shortened(asking.detail, room) : []
  const taken = asked.reduce((sum, line) => sum + rowsOfLine(line, columns), 0)
  const rows = asking ? Math.max(2, room.rows - taken) : room.rows
  const lines = lastLinesOf(itemsOf(turn.parts, isVerbose), rows, { columns, isPlain })
  return (
    <Box flexDirection="column">
      <StyledLines lines={lines} columns={columns} />
      {asking ? null : <Working turn={turn} />}
    </Box>
  )
}

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

function Working({ turn }: { readonly turn: TurnState }) {
  const [frame, next] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => next((count) => count + 1), 200)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.floor(spentBy(turn) / 1000)
  const sign = FRAMES[frame % FRAMES.length]
  return (
    <Text
      color={colour('gray')}
    >{`${sign} ${harmless(runningText(turn))} · ${seconds} s · Ctrl-C stops`}</Text>
  )
}

function Asking({ question, isReady }: { readonly question: Question; readonly isReady: boolean }) {
  const { name, detail, suggested, task, others } = question
  const room = useRoom()
  const shown = shortened(detail, room)
  const hidden = hiddenIn(question, shown)
  const choices = isReady ? choiceLines(suggested.length > 0, room.columns - 4) : [' ']
  return (
    <Box flexDirection="column" borderStyle="round" borderColor={colour('yellow')} paddingX={1}>
      <Text bold>{`Allow ${harmless(name)}?${others > 0 ? ` (${others} more to answer)` : ''}`}</Text>
      {task === undefined ? null : (
        <Text color={colour('gray')}>{`A sub-agent asks${task === '' ? '' : `: ${task}`}`}</Text>
      )}
      <StyledLines lines={shown} columns={room.columns - 4} />
      {hidden > 0 ? (
        <Text color={colour('yellow')}>{`… and ${hidden} more characters that do not fit here`}</Text>
      ) : null}
      {choices.map((line) => (
        <Text key={line} color={colour('gray')}>
          {line}
        </Text>
      ))}
      {suggested.length === 0 ? null : (
        <Text color={colour('gray')}>{`rule for always: ${visible(suggested.join(', '))}`}</Text>
      )}
    </Box>
  )
}

type Room = { readonly rows: number; readonly columns: number }

function shortened(detail: readonly StyledLine[], { rows, columns }: Room): StyledLine[] {
  return firstLines(detail, Math.max(2, rows - 5), columns - 4)
}

function Prompt({ line, state }: { readonly line: Line; readonly state: ChatState }) {
  const { rows, columns } = useRoom()
  const maxRows = state.turn ? 2 : rows
  const under = underCursor(line)
  const isAtEnd = under === '' || under === '\n'
  const before = lastRows(line.text.slice(0, line.cursor), maxRows, columns - 2)
  const after = firstRows(line.text.slice(line.cursor + (isAtEnd ? 0 : under.length)), 2, columns - 2)
  const about = line.text === '' ? state.hint : slashHint(line.text) || lineCount(line)
  const hint = state.remark ?? state.waiting ?? about
  return (
    <Box flexDirection="column" marginTop={1}>
      <Box>
        <Text color={colour(state.turn ? 'gray' : 'cyan')}>{'> '}</Text>
        <Text>
          {before}
          <Text inverse>{isAtEnd ? ' ' : under}</Text>
          {after}
        </Text>
      </Box>
      <Text color={colour('gray')}>{[hint, state.servers].filter((part) => part !== '').join(' · ')}</Text>
      {state.status ? (
        <Text color={colour('gray')} wrap="truncate-end">
          {harmless(statusLine(state.status, columns - 1))}
        </Text>
      ) : null}
    </Box>
  )
}

/** Long lines may not fit on the screen. */
function lineCount({ text }: Line): string {
  const count = text.split('\n').length
  return count === 1 ? '' : `${count} lines`
}

type LinesProps = { readonly lines: readonly StyledLine[]; readonly columns: number }

/** Consecutive lines of the same layout are drawn as one. */
function StyledLines({ lines, columns }: LinesProps) {
  return (
    <Box flexDirection="column" width={columns}>
      {groupsOf(lines).map((group, index) => (
        <Group key={index} lines={group} columns={columns} />
      ))}
    </Box>
  )
}

/** A line with a prefix is drawn alone, because its rows are indented by it. */
function groupsOf(lines: readonly StyledLine[]): StyledLine[][] {
  const groups: StyledLine[][] = []
  for (const line of lines) {
    const [first] = groups.at(-1) ?? []
    const isAlike =
      first &&
      !first.lead &&
      !line.lead &&
      !line.isApart &&
      first.hasEdge === line.hasEdge &&
      first.indent === line.indent
    if (isAlike) groups.at(-1)?.push(line)
    else groups.push([line])
  }
  return groups
}

function Group({ lines, columns }: LinesProps) {
  const { lead = '', hasEdge, indent = 0, isApart } = lines[0] ?? { spans: [] }
  return (
    <Box marginLeft={indent} marginTop={isApart ? 1 : 0} {...(hasEdge ? edge : {})}>
      {lead === '' ? null : (
        <Box flexShrink={0}>
          <Text color={colour('gray')}>{lead}</Text>
        </Box>
      )}
      <Text>
        {lines.map((line, index) => (
          <Row key={index} spans={brokenSpans(line, columns)} isFirst={index === 0} />
        ))}
      </Text>
    </Box>
  )
}

const edge = {
  borderStyle: 'single',
  borderTop: false,
  borderRight: false,
  borderBottom: false,
  borderDimColor: true,
  paddingLeft: EDGE - 1,
} as const

/** An empty row still takes a row. */
function Row({ spans, isFirst }: { readonly spans: readonly Span[]; readonly isFirst: boolean }) {
  const isEmpty = spans.every(({ text }) => text === '')
  return (
    <>
      {isFirst ? '' : '\n'}
      {isEmpty ? ' ' : ''}
      {spans.map(({ text, color, dim, ...looks }, index) => (
        <Text key={index} {...looks} dimColor={dim ?? false} color={color && colour(color)}>
          {text}
        </Text>
      ))}
    </>
  )
}
