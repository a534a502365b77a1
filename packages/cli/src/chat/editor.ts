// The input line as a pure state machine: takes a key, returns the next state.

import type { Chat } from './chat.ts'
import { isCommand } from './commands.ts'

/** The state of the input line. */
export type Line = {
  readonly text: string
  readonly cursor: number
  /** Earlier lines, oldest first, and the current position; the history's length means the new line. */
  readonly history: readonly string[]
  readonly at: number
  /** The new line, while an older one is shown. */
  readonly draft: string
  /** Between the markers that a terminal puts around pasted text. */
  readonly isPasting: boolean
}

/** A key as Ink reports it. */
type Key = { readonly [name: string]: unknown }

/** A key and the text it produces. */
type Press = { readonly input: string; readonly key: Key }

const emptyLine: Line = { text: '', cursor: 0, history: [], at: 0, draft: '', isPasting: false }

/** Enables bracketed paste: the terminal then marks pasted text. */
export const ASK_FOR_MARKS = '\u001b[?2004h'
/** Disables bracketed paste. */
export const NO_MORE_MARKS = '\u001b[?2004l'
const PASTE_BEGINS = '[200~'
const PASTE_ENDS = '[201~'

/**
 * Splits input into keys: several may arrive as one when the user types fast or the machine is busy. Several lines are
 * a paste.
 */
export function pressesIn(input: string, key: Key, { isPasting }: Line): readonly Press[] {
  const isPaste = isPasting || /[^\r\n][\r\n]+[^\r\n]/.test(input)
  if (isPaste || key.ctrl || key.meta || key.return) return [{ input, key }]
  if (input.length < 2 && input !== '\n') return [{ input, key }]
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the keys
  return (input.match(/[\u0000-\u001f\u007f]|[^\u0000-\u001f\u007f]+/g) ?? []).map(pressOf)
}

function pressOf(part: string): Press {
  // Until we control the terminal, it translates one into the other.
  if (part === '\r' || part === '\n') return { input: '', key: { return: true } }
  if (part === '\u007f' || part === '\b') return { input: '', key: { backspace: true } }
  const code = part.charCodeAt(0)
  return code > 0 && code < 27 && part !== '\t'
    ? { input: String.fromCharCode(code + 96), key: { ctrl: true } }
    : { input: part, key: {} }
}

function applyKey(line: Line, { input, key }: Press): Line {
  const { text, cursor } = line
  if (input === PASTE_BEGINS || input === PASTE_ENDS) return { ...line, isPasting: input === PASTE_BEGINS }
  if (key.return) return insert(line, '\n')
  if (line.isPasting) return insert(line, input)
  if (key.upArrow) return recall(line, line.at - 1)
  if (key.downArrow) return recall(line, line.at + 1)
  if (key.leftArrow) return { ...line, cursor: cursor - lastOf(text.slice(0, cursor)).length }
  if (key.rightArrow) return { ...line, cursor: cursor + firstOf(text.slice(cursor)).length }
  if (key.home || (key.ctrl && input === 'a')) return { ...line, cursor: 0 }
  if (key.end || (key.ctrl && input === 'e')) return { ...line, cursor: text.length }
  if (key.ctrl && input === 'u') return { ...line, text: text.slice(cursor), cursor: 0 }
  if (key.ctrl && input === 'k') return { ...line, text: text.slice(0, cursor) }
  if (key.ctrl && input === 'w') return erase(line, lastWordOf(text.slice(0, cursor)))
  if (key.backspace || key.delete) return erase(line, lastOf(text.slice(0, cursor)))
  if (key.ctrl || key.meta || key.escape || key.tab) return line
  return insert(line, input)
}

/** Returns the line after sending it: empty, with the sent text in the history. */
function submitLine({ text, history }: Line): Line {
  const next = text.trim() === '' || history.at(-1) === text ? history : [...history, text]
  return lineAfter(next)
}

export function lineAfter(history: readonly string[]): Line {
  return { ...emptyLine, history, at: history.length }
}

/** Returns the line without its text. */
function clearLine({ history }: Line): Line {
  return lineAfter(history)
}

/** Returns the character under the cursor, which may take several code units. */
export function underCursor({ text, cursor }: Line): string {
  return firstOf(text.slice(cursor))
}

/** Normalises line endings; other control characters are removed. */
function insert(line: Line, input: string): Line {
  const { text, cursor } = line
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out
  const added = input.replaceAll(/\r\n?/g, '\n').replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
  return { ...line, text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length }
}

function erase(line: Line, { length }: string): Line {
  const { text, cursor } = line
  return { ...line, text: text.slice(0, cursor - length) + text.slice(cursor), cursor: cursor - length }
}

function recall(line: Line, at: number): Line {
  const { text: now, history } = line
  if (at < 0 || at > history.length) return line
  const draft = line.at === history.length ? now : line.draft
  const text = history[at] ?? draft
  return { ...line, at, text, draft, cursor: text.length }
}

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

function firstOf(text: string): string {
  for (const { segment } of characters.segment(text)) return segment
  return ''
}

function lastOf(text: string): string {
  let last = ''
  for (const { segment } of characters.segment(text.slice(-MAX_CHARACTER_LENGTH))) last = segment
  return last
}

/** Returns the last word with the space after it. Searches from the end, because a line may be long. */
function lastWordOf(text: string): string {
  let begin = text.trimEnd().length
  while (begin > 0 && /\S/.test(text[begin - 1] ?? '')) begin--
  return text.slice(begin)
}

/** Maximum length of a character in code units; bounds the work for long lines. */
const MAX_CHARACTER_LENGTH = 64

/** Returns the line after the key. A question that is not ready accepts no answer. */
export function handlePress(chat: Chat, line: Line, press: Press, isReady: boolean): Line {
  const { input, key } = press
  const { asking, turn } = chat.state()
  if (key.ctrl && input === 'c') return interrupted(chat, line)
  if (asking && isReady) return answered(chat, line, press)
  if (asking) return line.text === '' || key.return ? line : applyKey(line, press)
  if (key.ctrl && input === 'd' && line.text === '') {
    chat.quit()
    return line
  }
  chat.stay()
  const isSent = key.return && !key.meta && !line.isPasting
  if (!isSent) return applyKey(line, press)
  if (line.text.trim() === '') return line
  if (turn && changesConversation(line.text.trim())) {
    chat.wait(line.text.trim())
    return line
  }
  void chat.send(line.text)
  return submitLine(line)
}

/** Messages and two commands wait for the turn; other commands run at once. */
function changesConversation(text: string): boolean {
  return !isCommand(text) || /^\/(compact(\s|$)|model\s+\S)/.test(text)
}

/** Ctrl-C stops what is running; otherwise it clears the line, and then exits. */
function interrupted(chat: Chat, line: Line): Line {
  const isBusy = chat.state().turn !== undefined
  if (isBusy || line.text === '') chat.interrupt()
  else chat.stay()
  return isBusy ? line : clearLine(line)
}

function answered(chat: Chat, line: Line, { input, key }: Press): Line {
  if (key.ctrl || (key.meta && !key.escape)) return line
  if (input === 'y') chat.decide('once')
  else if (input === 'a') chat.decide('session')
  else if (input === 'p') chat.decide('project')
  else if (input === 'u') chat.decide('user')
  else if (input === 'n' || key.escape) chat.decide('no')
  return line
}
