// The state of a chat, with change notifications; the view only renders it. Independent of a terminal.

import type { AgentEvent, PermissionAnswer, PermissionQuestion } from '../../agent/index.ts'
import { type AgentMeter, createAgentMeter } from '../../agent/index.ts'
import type { PriceTable } from '../../core/figures/index.ts'
import { addFigures, type Figures, noFigures } from '../../core/figures/index.ts'
import type { AgentSession } from '../session.ts'
import { type CommandContext, isCommand, runSlash } from './commands.ts'
import type { Item } from './items.ts'
import { itemOf, labelled, type OutputLine } from './output-line.ts'
import { type Answer, createQuestions, type Question } from './questions.ts'
import { resumedItems, watchServers } from './servers.ts'
import { finalItems, settle } from './settle.ts'
import type { Status } from './status.ts'
import { applyEvent, newTurn, spentItem, type TurnState, timed, withAside } from './turn.ts'
import type { TypedLines } from './typed-lines.ts'

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

export type Chat = {
  readonly state: () => ChatState
  readonly subscribe: (listener: () => void) => () => void
  /** Sets the session once it is open: messages sent earlier have waited for it. */
  readonly attach: (session: AgentSession) => void
  /** Asks the user about a call. */
  readonly ask: (question: PermissionQuestion) => Promise<PermissionAnswer>
  /** Sends a message or a command. While a turn runs, accepts only commands that do not change the conversation. */
  readonly send: (line: string) => Promise<void>
  /** Stops the turn; if none is running, asks for confirmation and then exits. */
  readonly interrupt: () => void
  /** The user continues: clears the remark and a first Ctrl-C. */
  readonly stay: () => void
  /** Reports that a line must wait for the end of the turn. */
  readonly wait: (line: string) => void
  readonly decide: (answer: Answer) => void
  readonly quit: () => void
  /** Shows a message from servers or the disk. */
  readonly notify: (message: string) => void
  /** Earlier input lines, oldest first. */
  readonly typed: () => readonly string[]
}

export const STARTING = 'Starting …'
const HINT = '/help shows the commands'
const LEAVING = 'Press Ctrl-C again to end the session; it is saved.'

export function createChat(options: {
  readonly welcome: readonly string[]
  readonly directory: string
  readonly typedLines: TypedLines
  readonly prices: PriceTable
}): Chat {
  const { welcome, directory, typedLines, prices } = options
  const listeners = new Set<() => void>()
  let state: ChatState = {
    items: welcome.map((text) => ({ kind: 'welcome', text })),
    turn: undefined,
    asking: undefined,
    isVerbose: false,
    hint: STARTING,
    remark: undefined,
    waiting: undefined,
    servers: '',
    status: undefined,
    isOver: false,
  }
  let open: (session: AgentSession) => void = () => {}
  const opening = new Promise<AgentSession>((resolve) => {
    open = resolve
  })
  let stop: AbortController | undefined
  let lastRequest: object | undefined
  let unwatch = () => {}
  let attached: AgentSession | undefined
  /** Figures of the running turn, and of all earlier ones. */
  let meter: AgentMeter | undefined
  let spentBefore = noFigures
  const spentNow = () => meter?.figures() ?? noFigures
  const statusOf = (figures: Figures): Status | undefined =>
    attached && {
      model: attached.agent.model,
      usedTokens: attached.agent.used,
      windowTokens: attached.agent.contextWindow,
      figures,
    }
  const sessionStatus = () => statusOf(addFigures(spentBefore, spentNow()))

  const change = (next: Partial<ChatState>) => {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  /** Moves the settled part of the turn to the finished items. */
  const go = (turn: TurnState) => {
    const { items, parts, isBegun } = settle(turn.parts, state.isVerbose)
    change({
      items: items.length === 0 ? state.items : [...state.items, ...items],
      turn: { ...turn, parts, isBegun: turn.isBegun || isBegun },
    })
  }
  /** While a turn runs, adds to the turn, so that later output follows it. */
  const say = (items: readonly Item[]) => {
    if (state.turn) go(items.reduce(withAside, state.turn))
    else change({ items: [...state.items, ...items] })
  }
  const tell = (lines: readonly OutputLine[], kind: 'output' | 'notice' = 'output') =>
    say(lines.map((line) => itemOf(kind, line)))
  /** A message about servers, separated from other items. */
  let toldOfServers: readonly Item[] | undefined
  const tellOfServers = (kind: 'output' | 'notice', line: OutputLine) => {
    const isApart = state.turn !== undefined || state.items !== toldOfServers
    say([{ ...itemOf(kind, line), isApart }])
    toldOfServers = state.items
  }
  const questions = createQuestions((asking) =>
    change({ asking, turn: state.turn && timed(state.turn, asking !== undefined) }),
  )

  /** Ends the turn and shows its outcome once. */
  const close = (turn: TurnState, next: Partial<ChatState> = {}) => {
    const said = finalItems(turn.parts, state.isVerbose)
    const items = [...state.items, ...said, spentItem(turn, statusOf(spentNow()))]
    change({ items, turn: undefined, remark: undefined, status: sessionStatus(), ...next })
    spentBefore = addFigures(spentBefore, spentNow())
    meter = undefined
  }

  /** Runs a turn, or another task that can be stopped. */
  async function working(work: (signal: AbortSignal) => AsyncIterable<AgentEvent>): Promise<void> {
    stop = new AbortController()
    change({ turn: newTurn(), remark: undefined })
    try {
      for await (const event of work(stop.signal)) {
        if (event.type === 'request') lastRequest = event.sent.request
        if (event.type === 'compacted') lastRequest = undefined
        meter ??= attached && createAgentMeter({ shelf: attached.shelf, prices })
        meter?.follow(event)
        if (event.type === 'reply') change({ status: sessionStatus() })
        if (state.turn) go(applyEvent(state.turn, event))
      }
    } catch (error) {
      tell([(error as Error).message], 'notice')
    }
    stop = undefined
    if (state.turn) close(state.turn)
  }

  async function* converse(text: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    yield* (await opening).agent.send(text, { signal })
  }

  async function command(text: string): Promise<void> {
    try {
      tell(await runSlash(text, deskOf(await opening)))
      change({ status: sessionStatus() })
    } catch (error) {
      tell([(error as Error).message], 'notice')
    }
  }

  const quit = () => {
    if (state.isOver) return
    stop?.abort()
    unwatch()
    const { turn } = state
    if (turn) close(withAside(turn, { kind: 'notice', text: 'Stopped.' }), { isOver: true })
    else change({ isOver: true })
  }

  const deskOf = (session: AgentSession): CommandContext => ({
    session,
    directory,
    lastRequest: () => lastRequest,
    isVerbose: () => state.isVerbose,
    setVerbose: (isVerbose) => change({ isVerbose }),
    async waiting(text, work) {
      change({ waiting: text })
      try {
        return await work()
      } finally {
        change({ waiting: undefined })
      }
    },
    async compact() {
      if (state.turn) throw new Error('A turn has started in the meantime; repeat the command when it ends.')
      await working((signal) => session.agent.compact({ signal }))
    },
    quit,
  })

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    attach(session) {
      if (state.isOver) return
      tell([labelled('Folder', directory, 9), labelled('Session', session.file, 9)])
      say(resumedItems(session.agent.messages))
      toldOfServers = state.items
      attached = session
      change({ hint: HINT, status: sessionStatus() })
      unwatch = watchServers(session.host, {
        show: (servers) => change({ servers }),
        tell: (line) => tellOfServers('output', line),
        warn: (text) => tellOfServers('notice', text),
      })
      open(session)
    },
    ask: questions.ask,
    decide: questions.decide,
    async send(line) {
      const text = line.trim()
      typedLines.keep(line)
      say([{ kind: 'user', text }])
      if (isCommand(text)) await command(text)
      else await working((signal) => converse(text, signal))
    },
    interrupt() {
      if (stop) {
        stop.abort()
        change({ remark: 'Stopping …' })
      } else if (state.remark === LEAVING) quit()
      else change({ remark: LEAVING })
    },
    wait: (line) =>
      change({
        remark: isCommand(line)
          ? 'This command cannot run during a turn: press Enter when the turn ends, or Ctrl-C to stop it.'
          : 'A turn is running: press Enter when it ends, or Ctrl-C to stop it.',
      }),
    stay() {
      if (state.remark !== undefined && !stop?.signal.aborted) change({ remark: undefined })
    },
    quit,
    notify: (message) => tell([message], 'notice'),
    typed: typedLines.read,
  }
}
