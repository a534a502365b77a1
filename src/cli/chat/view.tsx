/** @jsxRuntime automatic */
// The terminal session: what was said scrolls away above, what happens now and the line to type in stay below.
import { Box, render, Static, Text, useInput } from 'ink'
import { useState, useSyncExternalStore } from 'react'
import { type Chat, type ChatState, type Item, slashHint } from './chat.ts'
import { emptyLine, type Line, sent, typed } from './editor.ts'
import { runningText, turnLines } from './turn.ts'

export async function showChat(chat: Chat): Promise<void> {
  const screen = render(<Session chat={chat} />, { exitOnCtrlC: false })
  chat.onEnd(() => screen.unmount())
  await screen.waitUntilExit()
}

function Session({ chat }: { readonly chat: Chat }) {
  const state = useSyncExternalStore(chat.subscribe, chat.state)
  return (
    <Box flexDirection="column">
      <Static items={[...state.items]}>{(item, index) => <Shown key={index} item={item} />}</Static>
      <Now state={state} />
      {state.asking ? <Question chat={chat} state={state} /> : <Prompt chat={chat} state={state} />}
    </Box>
  )
}

const COLOURS = {
  user: 'cyan',
  said: undefined,
  summary: 'gray',
  call: 'blue',
  notice: 'yellow',
  told: 'gray',
} as const

function Shown({ item }: { readonly item: Item }) {
  return (
    <Box
      paddingLeft={item.kind === 'user' || item.kind === 'said' ? 0 : 2}
      marginTop={item.kind === 'user' ? 1 : 0}
    >
      <Text color={COLOURS[item.kind]}>{item.kind === 'user' ? `> ${item.text}` : item.text}</Text>
    </Box>
  )
}

/** The turn that runs, as far as it has come. */
function Now({ state }: { readonly state: ChatState }) {
  if (!state.turn) return null
  const lines = turnLines(state.turn, state.isVerbose)
  return (
    <Box flexDirection="column">
      {lines.slice(-MOST_LINES).map((line, index) => (
        <Shown key={`${index}${line.kind}`} item={line} />
      ))}
      <Text color="gray">{`… ${runningText(state.turn)} (Ctrl-C stops)`}</Text>
    </Box>
  )
}

const MOST_LINES = 30

function Question({ chat, state }: { readonly chat: Chat; readonly state: ChatState }) {
  useInput((input, key) => {
    if (key.ctrl && input === 'c') chat.interrupt()
    else if (input === 'y' || key.return) chat.decide('once')
    else if (input === 'a') chat.decide('always')
    else if (input === 'n' || key.escape) chat.decide('no')
  })
  return (
    <Box flexDirection="column" borderStyle="round" borderColor="yellow" paddingX={1}>
      <Text bold>{`Allow ${state.asking?.name}?`}</Text>
      <Text>{state.asking?.detail}</Text>
      <Text color="gray">[y] yes [a] always in this session [n] no</Text>
    </Box>
  )
}

function Prompt({ chat, state }: { readonly chat: Chat; readonly state: ChatState }) {
  const [line, setLine] = useState<Line>(emptyLine)
  useInput((input, key) => {
    if (key.ctrl && input === 'c') {
      if (line.text !== '') setLine({ ...line, text: '', cursor: 0 })
      else chat.interrupt()
      return
    }
    if (key.ctrl && input === 'd' && line.text === '') return chat.quit()
    // A fast typist, or a busy machine: the line and its Enter come as one.
    const isWhole = /^[^\r\n]+\r$/.test(input)
    if (!isWhole && !(key.return && !key.meta)) return setLine(typed(line, key.return ? '\n' : input, key))
    const next = isWhole ? typed(line, input.slice(0, -1), key) : line
    if (next.text.trim() === '' || state.turn) return setLine(next)
    setLine(sent(next))
    void chat.send(next.text.trim())
  })
  const hint = line.text === '' ? state.hint : slashHint(line.text)
  return (
    <Box flexDirection="column" marginTop={1}>
      <Text>
        <Text color="cyan">{state.turn ? '  ' : '> '}</Text>
        {line.text.slice(0, line.cursor)}
        <Text inverse>{line.text[line.cursor] ?? ' '}</Text>
        {line.text.slice(line.cursor + 1)}
      </Text>
      <Text color="gray">{hint}</Text>
    </Box>
  )
}
