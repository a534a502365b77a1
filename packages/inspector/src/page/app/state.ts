// The state of the page: events, servers, tools, the connection. Components read it with `useApp` and are drawn again when it changes.
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type About, endpoints, type ServerView, type ToolView } from '../../api.ts'
import { createEventModel, type EventModel } from '../../model/event-model.ts'
import { type PageClient, RequestError } from './client.ts'

/** A list that is fetched: its last value stays while it is fetched again. */
export type Fetched<Value> = {
  readonly value: Value | undefined
  readonly error: string
  readonly isLoading: boolean
}

/**
 * `reading`: recorded events are still arriving. `ended`: no new ones will follow. `hidden`: the reader may see none.
 * `locked`: another key is needed.
 */
export type ConnectionState = 'connecting' | 'reading' | 'live' | 'ended' | 'lost' | 'hidden' | 'locked'

/** The state. */
export type AppState = {
  readonly about: Fetched<About>
  readonly servers: Fetched<readonly ServerView[]>
  readonly tools: Fetched<readonly ToolView[]>
  readonly connection: ConnectionState
  /** Events read so far. */
  readonly received: number
  /** Older recorded events that the process left out, and lines that are not events. */
  readonly left: { readonly skipped: number; readonly broken: number }
  /** Events of the process. */
  readonly live: EventModel
  /** A file that is shown instead. */
  readonly opened: { readonly name: string; readonly model: EventModel; readonly remark: string } | undefined
  /** Text for screen readers. */
  readonly announcement: string
}

/** The state, and the functions that change it. */
export type App = {
  readonly client: PageClient
  state(): AppState
  change(part: Partial<AppState>): void
  subscribe(listener: () => void): () => void
  refresh(...what: ('about' | 'servers' | 'tools')[]): Promise<void>
  announce(text: string): void
}

const nothing = { value: undefined, error: '', isLoading: true }

/** Creates the state of a page that has just been opened. */
export function createApp(client: PageClient): App {
  let state: AppState = {
    about: nothing,
    servers: nothing,
    tools: nothing,
    connection: 'connecting',
    received: 0,
    left: { skipped: 0, broken: 0 },
    live: createEventModel(),
    opened: undefined,
    announcement: '',
  }
  const listeners = new Set<() => void>()
  let isScheduled = false
  const change = (part: Partial<AppState>) => {
    state = { ...state, ...part }
    if (isScheduled) return
    isScheduled = true
    requestAnimationFrame(() => {
      isScheduled = false
      for (const listener of listeners) listener()
    })
  }
  const load = async <Name extends 'about' | 'servers' | 'tools'>(name: Name) => {
    change({ [name]: { ...state[name], isLoading: true } })
    try {
      const value = await client.get(endpoints[name])
      change({ [name]: { value, error: '', isLoading: false } })
    } catch (error) {
      if (isRefusedKey(error)) change({ connection: 'locked' })
      change({ [name]: { ...state[name], error: messageOf(error), isLoading: false } })
    }
  }
  return {
    client,
    state: () => state,
    change,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async refresh(...what) {
      await Promise.all(what.map(load))
    },
    announce: (text) => change({ announcement: text }),
  }
}

/** Returns whether a request failed because its key does not open the page. */
export function isRefusedKey(error: unknown): boolean {
  return error instanceof RequestError && (error.status === 401 || error.status === 403)
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Gives components access to the app. */
export const AppContext = createContext<App | undefined>(undefined)

/** Returns the app, for components that change it. */
export function useAppHandle(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('there is no AppContext around this component')
  return app
}

/** Returns the state; the component is drawn again when it changes. */
export function useApp(): AppState {
  const app = useAppHandle()
  const [state, setState] = useState(app.state())
  useEffect(() => {
    setState(app.state())
    return app.subscribe(() => setState(app.state()))
  }, [app])
  return state
}

/** Returns the events that are shown: of the opened file, else of the process. */
export function shownModel({ opened, live }: AppState): EventModel {
  return opened?.model ?? live
}

/** Replaces a server in the list by its new state. */
export function replaceServer(app: App, next: ServerView): void {
  const { servers } = app.state()
  const value = servers.value?.map((one) => (one.name === next.name ? next : one))
  app.change({ servers: { ...servers, value } })
}
