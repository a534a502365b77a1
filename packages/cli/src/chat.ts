// `toolshelf chat`: an agent with your MCP servers, in the terminal.
import { Chat, STARTING } from './chat/chat.ts'
import { openTypedLines } from './chat/typed-lines.ts'
import { loadView, modelOptions, type OpenedClient, onInterrupt, openClient } from './client.ts'
import {
  type Command,
  CommandError,
  directoryIn,
  filesIn,
  type Input,
  type ScreenStreams,
  screenOf,
  type Terminal,
  UsageError,
  urlIn,
  windowIn,
} from './command.ts'
import { auditIn } from './options.ts'
import { pricesIn, pricesOption } from './prices.ts'
import { sessionOptions } from './run.ts'
import { type AgentSession, openAgentSession, openPermissions, rulesFromFlags } from './session.ts'
import { printSessions } from './sessions.ts'
import { machineAt, projectOf } from './trust/open.ts'
import { resumeOptions, sessionsFolder } from './user-files/session-files.ts'

export const chatCommand: Command = {
  name: 'chat',
  summary:
    'An agent with your MCP servers, in the terminal. Lists past chats and runs of a folder with --list.',
  words: '[--config <file>…] [--model <id>] [--resume last|--list]',
  noArguments: 'write the message in the chat, or pass it to "toolshelf run"',
  options: {
    ...modelOptions,
    ...sessionOptions,
    ...pricesOption,
    list: { about: 'list the sessions of the folder, newest first' },
    json: { about: 'with --list: print {"folder", "sessions": [{"name", "time", "messages", …}]}' },
  },
  examples: [
    'toolshelf chat',
    'toolshelf chat --config .mcp.json --allow "mcp__github__*"',
    'toolshelf chat --resume last',
    'toolshelf chat --list --directory ~/project',
    'toolshelf chat --script demo',
  ],
  async run(input, terminal) {
    if (input.isSet('list')) return printSessions(input, terminal)
    if (input.isSet('json')) throw new UsageError('--json needs --list.')
    if (!terminal.isInteractive || !screenOf(terminal).input.isTTY)
      throw new CommandError('a chat needs a terminal. Without one, use "toolshelf run".')
    const opened = await openClient(input, process.env)
    try {
      return await converse(opened, input, terminal)
    } finally {
      await opened.close()
    }
  },
}

/** Shows the screen first: servers, skills and the session are loaded behind it. */
async function converse({ client, model, about }: OpenedClient, input: Input, terminal: Terminal) {
  const directory = directoryIn(input)
  const fromFlags = rulesFromFlags(input)
  const chat = new Chat({
    welcome: [`Toolshelf chat with ${about}`],
    directory,
    typedLines: openTypedLines(sessionsFolder(directory)),
    prices: await pricesIn(input),
  })
  // Asked before the screen opens: a user who does not trust the folder may not want to continue.
  const project = await projectOf(input, terminal, chat.notify)
  const options = {
    kind: 'chat' as const,
    client,
    model,
    directory,
    configFiles: filesIn(input),
    project,
    permissions: await openPermissions({ machine: machineAt(directory), project, fromFlags, ask: chat.ask }),
    resume: input.text('resume'),
    skillIndex: urlIn(input, 'skills'),
    contextWindow: windowIn(input),
    audit: auditIn(input),
    isStrict: false,
    notify: chat.notify,
  }
  const stop = new AbortController()
  stop.signal.addEventListener('abort', chat.quit)
  const forget = onInterrupt(stop)
  const screen = screenOf(terminal)
  const { showChat } = await loadChat(screen)
  const shown = showChat(chat, screen)
  let session: AgentSession | undefined
  try {
    session = await openAgentSession(options)
    chat.attach(session)
    await shown
  } finally {
    chat.quit()
    await shown
    await session?.close()
    forget()
  }
  if (session.isKept())
    terminal.print(
      `The session is saved. To continue: toolshelf chat ${resumeOptions(session.file, directory)}`,
    )
  return stop.signal.aborted ? 130 : 0
}

/** Loads the view; a line reports meanwhile that the chat is starting. */
async function loadChat({ input, output }: ScreenStreams): Promise<typeof import('./chat/view.tsx')> {
  // From now on, input is not echoed; it is available once the screen is.
  input.setRawMode(true)
  output.write(STARTING)
  try {
    return await loadView(() => import('./chat/view.tsx'))
  } finally {
    output.write(ERASE)
  }
}

/** Moves to the start of the row and clears it. */
const ERASE = '\r\u001b[K'
