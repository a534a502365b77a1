// A chat with an agent: turns, commands and questions. The view only renders its state. Independent of a terminal.

import type { AgentEvent } from '@toolshelf/agent'
import type { PermissionQuestion } from '@toolshelf/agent/internal'
import type { Message } from '@toolshelf/core'
import type { PriceTable } from '@toolshelf/core/internal'
import type { McpHost, ServerStatus } from '@toolshelf/mcp'
import type { AgentSession } from '../session.ts'
import { wordsOf } from '../sessions.ts'
import { type CommandContext, isCommand, runSlash } from './commands.ts'
import { type Item, itemOf, type OutputLine, withLabel } from './items.ts'
import { itemsOf, partsOf } from './parts.ts'
import { type Answer, createQuestions, type Question, type Questions } from './questions.ts'
import { Spending, type Status } from './status.ts'
import {
  applyEvent,
  finalItems,
  newTurn,
  pauseWhileAsking,
  settle,
  spentItem,
  type TurnState,
  withAside,
} from './turn.ts'
import type { TypedLines } from './typed-lines.ts'

/** Hint until the session is open. */
export const STARTING = 'Starting …'
const HINT = '/help shows the commands'
const LEAVING = 'Press Ctrl-C again to end the session; it is saved.'

type ChatOptions = {
  readonly welcome: readonly string[]
  readonly directory: string
  readonly typedLines: TypedLines
  readonly prices: PriceTable
}

/** A chat, as the view and the command use it; without a session until `attach` sets one. */
export class Chat {
  readonly #options: ChatOptions
  readonly #store: ChatStore
  readonly #spending: Spending
  readonly #questions: Questions
  readonly #session: Promise<AgentSession>
  #open: (session: AgentSession) => void = () => {}
  /** Stops the running turn. */
  #stop: AbortController | undefined
  #lastRequest: object | undefined
  #unwatch = () => {}

  constructor(options: ChatOptions) {
    this.#options = options
    this.#store = createChatStore({
      items: options.welcome.map((text) => ({ kind: 'welcome', text })),
      turn: undefined,
      asking: undefined,
      isVerbose: false,
      hint: STARTING,
      remark: undefined,
      waiting: undefined,
      servers: '',
      status: undefined,
      isOver: false,
    })
    this.#spending = new Spending(options.prices)
    this.#questions = createQuestions((asking) => {
      const { turn } = this.state()
      this.#store.change({ asking, turn: turn && pauseWhileAsking(turn, asking !== undefined) })
    })
    this.#session = new Promise<AgentSession>((resolve) => {
      this.#open = resolve
    })
  }

  // Arrow functions, because the view passes these on without their object.
  readonly state = () => this.#store.state()
  readonly subscribe = (listener: () => void) => this.#store.subscribe(listener)
  /** Asks the user about a call. */
  readonly ask = (question: PermissionQuestion) => this.#questions.ask(question)
  readonly decide = (answer: Answer) => this.#questions.decide(answer)
  /** Shows a message from servers or the disk. */
  readonly notify = (message: string) => this.#store.notify([message], 'notice')
  /** Earlier input lines, oldest first. */
  readonly typed = () => this.#options.typedLines.read()

  /** Sets the session once it is open: messages sent earlier have waited for it. */
  readonly attach = (session: AgentSession) => {
    const { change, notify, say, joinServers } = this.#store
    if (this.state().isOver) return
    notify([withLabel('Folder', this.#options.directory, 9), withLabel('Session', session.file, 9)])
    say(resumedItems(session.agent.messages))
    joinServers()
    this.#spending.attach(session)
    change({ hint: HINT, status: this.#spending.ofSession() })
    this.#unwatch = watchServers(session.host, this.#store)
    this.#open(session)
  }

  /** Sends a message or a command. While a turn runs, accepts only commands that do not change the conversation. */
  readonly send = async (line: string) => {
    const text = line.trim()
    this.#options.typedLines.keep(line)
    this.#store.say([{ kind: 'user', text }])
    if (isCommand(text)) await this.#command(text)
    else await this.#working((signal) => this.#converse(text, signal))
  }

  /** Stops the turn; if none is running, asks for confirmation and then exits. */
  readonly interrupt = () => {
    if (this.#stop) {
      this.#stop.abort()
      this.#store.change({ remark: 'Stopping …' })
    } else if (this.state().remark === LEAVING) this.quit()
    else this.#store.change({ remark: LEAVING })
  }

  /** Reports that a line must wait for the end of the turn. */
  readonly wait = (line: string) =>
    this.#store.change({
      remark: isCommand(line)
        ? 'This command cannot run during a turn: press Enter when the turn ends, or Ctrl-C to stop it.'
        : 'A turn is running: press Enter when it ends, or Ctrl-C to stop it.',
    })

  /** The user continues: clears the remark and a first Ctrl-C. */
  readonly stay = () => {
    if (this.state().remark !== undefined && !this.#stop?.signal.aborted)
      this.#store.change({ remark: undefined })
  }

  readonly quit = () => {
    const { isOver, turn } = this.state()
    if (isOver) return
    this.#stop?.abort()
    this.#unwatch()
    if (turn) this.#close(withAside(turn, { kind: 'notice', text: 'Stopped.' }), { isOver: true })
    else this.#store.change({ isOver: true })
  }

  /** Runs a turn, or another task that can be stopped. */
  async #working(work: (signal: AbortSignal) => AsyncIterable<AgentEvent>): Promise<void> {
    this.#stop = new AbortController()
    this.#store.change({ turn: newTurn(), remark: undefined })
    try {
      for await (const event of work(this.#stop.signal)) this.#applyEvent(event)
    } catch (error) {
      this.#store.notify([(error as Error).message], 'notice')
    }
    this.#stop = undefined
    const { turn } = this.state()
    if (turn) this.#close(turn)
  }

  #applyEvent(event: AgentEvent): void {
    if (event.type === 'request') this.#lastRequest = event.sent.request
    if (event.type === 'compacted') this.#lastRequest = undefined
    this.#spending.follow(event)
    if (event.type === 'reply') this.#store.change({ status: this.#spending.ofSession() })
    const { turn } = this.state()
    if (turn) this.#store.update(applyEvent(turn, event))
  }

  /** Ends the turn and shows its outcome once. */
  #close(turn: TurnState, next: Partial<ChatState> = {}): void {
    const { items, isVerbose } = this.state()
    const said = finalItems(turn.parts, isVerbose)
    this.#store.change({
      items: [...items, ...said, spentItem(turn, this.#spending.ofTurn())],
      turn: undefined,
      remark: undefined,
      status: this.#spending.ofSession(),
      ...next,
    })
    this.#spending.endTurn()
  }

  async *#converse(text: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    yield* (await this.#session).agent.send(text, { signal })
  }

  async #command(text: string): Promise<void> {
    const { notify, change } = this.#store
    try {
      notify(await runSlash(text, this.#commandContext(await this.#session)))
      change({ status: this.#spending.ofSession() })
    } catch (error) {
      notify([(error as Error).message], 'notice')
    }
  }

  #commandContext(session: AgentSession): CommandContext {
    const { change } = this.#store
    return {
      session,
      directory: this.#options.directory,
      lastRequest: () => this.#lastRequest,
      isVerbose: () => this.state().isVerbose,
      setVerbose: (isVerbose) => change({ isVerbose }),
      waiting: async (text, work) => {
        change({ waiting: text })
        try {
          return await work()
        } finally {
          change({ waiting: undefined })
        }
      },
      compact: async () => {
        if (this.state().turn)
          throw new Error('A turn has started in the meantime; repeat the command when it ends.')
        await this.#working((signal) => session.agent.compact({ signal }))
      },
      quit: this.quit,
    }
  }
}

export type ChatState = {
  /** Items that will not change any more. */
  readonly items: readonly Item[]
  readonly turn: TurnState | undefined
  readonly asking: Question | undefined
  readonly isVerbose: boolean
  /** The hint below the empty input line. */
  readonly hint: string
  /** A remark about the last key, if its effect may be unexpected. */
  readonly remark: string | undefined
  /** What a command is waiting for. */
  readonly waiting: string | undefined
  /** The state of the servers in a few words. */
  readonly servers: string
  /** Undefined until the session is open. */
  readonly status: Status | undefined
  readonly isOver: boolean
}

/** Holds the state of a chat and notifies its listeners. */
type ChatStore = ReturnType<typeof createChatStore>

function createChatStore(initial: ChatState) {
  const listeners = new Set<() => void>()
  let state = initial
  let reportedServers: readonly Item[] | undefined
  const change = (next: Partial<ChatState>) => {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  /** Updates the running turn; moves the settled part of it to the finished items. */
  const update = (turn: TurnState) => {
    const { items, parts, isBegun } = settle(turn.parts, state.isVerbose)
    change({
      items: items.length === 0 ? state.items : [...state.items, ...items],
      turn: { ...turn, parts, isBegun: turn.isBegun || isBegun },
    })
  }
  /** Adds items. While a turn runs, adds them to the turn, so that later output follows them. */
  const say = (items: readonly Item[]) => {
    if (state.turn) update(items.reduce(withAside, state.turn))
    else change({ items: [...state.items, ...items] })
  }
  /** The next message about servers belongs to the items that are there now. */
  const joinServers = () => {
    reportedServers = state.items
  }
  return {
    state: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    change,
    update,
    say,
    notify: (lines: readonly OutputLine[], kind: 'output' | 'notice' = 'output') =>
      say(lines.map((line) => itemOf(kind, line))),
    /** Adds a message about servers, separated from other items. */
    reportServers(kind: 'output' | 'notice', line: OutputLine) {
      const isApart = state.turn !== undefined || state.items !== reportedServers
      say([{ ...itemOf(kind, line), isApart }])
      joinServers()
    },
    joinServers,
  }
}

/** Milliseconds until the servers are reported even though some are still starting. */
const SERVERS_TIMEOUT_MS = 20_000

/** Reports the servers once all have settled, each failure when it happens, and each server that disconnects or returns. */
function watchServers(host: McpHost, { change, reportServers }: ChatStore): () => void {
  const notify = (line: OutputLine) => reportServers('output', line)
  const known = new Map<string, string>()
  const reasons = new Map<string, string>()
  let wasReported = false
  const look = () => {
    change({ servers: inShort(host.status()) })
    for (const status of host.status()) {
      const before = known.get(status.name)
      known.set(status.name, status.state)
      if (before !== status.state) changed(status, before === 'connected')
    }
  }
  const changed = (status: ServerStatus, wasThere: boolean) => {
    const { name, state } = status
    if (wasThere || state === 'failed') gone(status, wasThere)
    else if (state === 'connected') {
      const isBack = reasons.delete(name)
      if (isBack || wasReported) notify(`${name} is ${isBack ? 'back' : 'there'}`)
    }
  }
  /** Each attempt may fail for the same reason, which is reported once. */
  const gone = ({ name, reason = '' }: ServerStatus, wasThere: boolean) => {
    if (reasons.get(name) === reason) return
    reasons.set(name, reason)
    const why = reason === '' ? '' : `: ${reason.replace(/\.$/, '')}`
    reportServers(
      'notice',
      wasThere
        ? `${name} disconnected${why}. Its tools work again when it reconnects.`
        : `${name} failed${why}.`,
    )
  }
  const stop = host.listen(look)
  look()
  void host.settled({ timeoutMs: SERVERS_TIMEOUT_MS }).then(() => {
    look()
    wasReported = true
    notify(withLabel('Servers', inFull(host.status()), 9))
  })
  return stop
}

const isThere = ({ state, isCached }: ServerStatus) => state === 'connected' || (state === 'idle' && isCached)

function inFull(statuses: readonly ServerStatus[]): string {
  if (statuses.length === 0) return 'none; configure them in .mcp.json or with --config'
  const there = statuses.filter(isThere).map(({ name, tools }) => `${name} ${tools.length}`)
  return there.length === 0 ? 'none is connected' : `${there.join(', ')} (tools)`
}

function inShort(statuses: readonly ServerStatus[]): string {
  const count = (state: string) => statuses.filter((status) => status.state === state).length
  const parts = [
    [count('pending'), 'starting'],
    [count('failed'), 'failed'],
  ] as const
  const counts = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`)
  return counts.length === 0 ? '' : `servers: ${counts.join(', ')}`
}

/** Returns the last exchange of a resumed session. */
function resumedItems(messages: readonly Message[]): Item[] {
  if (messages.length === 0) return []
  const at = messages.findLastIndex((message) => wordsOf(message) !== '')
  const words = at < 0 ? '' : wordsOf(messages[at] as Message)
  return [
    { kind: 'output', text: `Resumed   ${messages.length} messages; the last of them:` },
    ...(words === '' ? [] : [{ kind: 'user', text: words } as const]),
    ...itemsOf(partsOf(messages.slice(at + 1)), false),
  ]
}
