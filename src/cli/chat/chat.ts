// A chat as state that changes and tells so; the screen only shows it. Nothing here knows of a terminal.
import type { AgentEvent, Permission } from '../../agent/types.ts'
import type { Session } from '../session.ts'
import { type Desk, isCommand, runSlash } from './commands.ts'
import { type Answer, createQuestions, type Question } from './questions.ts'
import { resumedItems, watchServers } from './servers.ts'
import { follow, newTurn, spentLine, type Turn, type TurnLine, turnLines } from './turn.ts'

/** A line that has been said and will not change. */
export type Item = TurnLine | { readonly kind: 'user' | 'told' | 'welcome'; readonly text: string }

export type ChatState = {
  readonly items: readonly Item[]
  readonly turn: Turn | undefined
  readonly asking: Question | undefined
  readonly isVerbose: boolean
  /** Below the line to type in. */
  readonly hint: string
  /** How the servers are, in a few words. */
  readonly servers: string
  readonly isOver: boolean
}

export type Chat = {
  readonly state: () => ChatState
  readonly subscribe: (listener: () => void) => () => void
  /** The session that it is about, which needs the chat's permission to be opened. */
  readonly attach: (session: Session, directory: string) => void
  readonly permission: Permission
  readonly send: (text: string) => Promise<void>
  /** Stops the turn; with none running, asks once more and then ends. */
  readonly interrupt: () => void
  /** The person goes on, so a first Ctrl-C is forgotten. */
  readonly stay: () => void
  /** A line was sent while a turn runs. */
  readonly wait: () => void
  readonly decide: (answer: Answer) => void
  readonly quit: () => void
  readonly onEnd: (listener: () => void) => void
  /** Something that servers or the disk have to say. */
  readonly notify: (message: string) => void
}

const HINT = '/help shows the commands'
const LEAVING = 'Press Ctrl-C again to end the session; it is kept.'

export function createChat(options: {
  readonly welcome: readonly string[]
  readonly allowed: readonly string[]
}): Chat {
  const listeners = new Set<() => void>()
  let state: ChatState = {
    items: options.welcome.map((text) => ({ kind: 'welcome', text })),
    turn: undefined,
    asking: undefined,
    isVerbose: false,
    hint: HINT,
    servers: '',
    isOver: false,
  }
  let session: Session | undefined
  let stop: AbortController | undefined
  let lastRequest: object | undefined
  let end = () => {}
  let unwatch = () => {}

  const change = (next: Partial<ChatState>) => {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  const say = (items: readonly Item[], next: Partial<ChatState> = {}) =>
    change({ items: [...state.items, ...items], ...next })
  const tell = (lines: readonly string[], kind: 'told' | 'notice' = 'told') =>
    say(lines.map((text) => ({ kind, text })))
  const questions = createQuestions(options.allowed, (asking) => change({ asking }))

  /** A turn, or whatever else can be stopped. What it came to is said once. */
  async function working(work: (signal: AbortSignal) => AsyncIterable<AgentEvent>): Promise<void> {
    stop = new AbortController()
    change({ turn: newTurn(), hint: HINT })
    for await (const event of work(stop.signal)) {
      if (event.type === 'request') lastRequest = event.sent.request
      change({ turn: follow(state.turn ?? newTurn(), event) })
    }
    const turn = state.turn ?? newTurn()
    stop = undefined
    say([...turnLines(turn, state.isVerbose), spentLine(turn)], { turn: undefined, hint: HINT })
  }

  const quit = () => {
    stop?.abort()
    unwatch()
    change({ isOver: true })
    end()
  }

  const desk = (open: Session): Desk => ({
    session: open,
    lastRequest: () => lastRequest,
    isVerbose: () => state.isVerbose,
    setVerbose: (isVerbose) => change({ isVerbose }),
    compact: () => working((signal) => open.agent.compact({ signal })),
    quit,
  })

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    attach(opened, directory) {
      session = opened
      tell([`Folder    ${directory}`, `Session   ${opened.file}`])
      say(resumedItems(opened.agent.messages))
      unwatch = watchServers(opened.host, {
        show: (servers) => change({ servers }),
        tell: (text) => tell([text]),
        warn: (text) => tell([text], 'notice'),
      })
    },
    permission: questions.permission,
    decide: questions.decide,
    async send(text) {
      if (!session || state.turn) return
      const { agent } = session
      say([{ kind: 'user', text }])
      try {
        if (isCommand(text)) tell(await runSlash(text, desk(session)))
        else await working((signal) => agent.send(text, { signal }))
      } catch (error) {
        stop = undefined
        say([{ kind: 'notice', text: (error as Error).message }], { turn: undefined })
      }
    },
    interrupt() {
      if (stop) {
        stop.abort()
        change({ hint: 'Stopping …' })
      } else if (state.hint === LEAVING) quit()
      else change({ hint: LEAVING })
    },
    wait: () => change({ hint: 'It is still at work: the line waits for you. Ctrl-C stops it.' }),
    stay() {
      if (state.hint === LEAVING) change({ hint: HINT })
    },
    quit,
    onEnd(listener) {
      end = listener
    },
    notify: (message) => tell([message], 'notice'),
  }
}
