// Handles a key in a chat: edits the line, answers a question, sends, stops or exits.
import type { Chat } from './chat.ts'
import { isCommand } from './commands.ts'
import { applyKey, clearLine, type Line, type Press, submitLine } from './editor.ts'

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
