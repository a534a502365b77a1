// Forwards a server's notifications and progress at a limited rate: coalesces changes of lists and resources, and drops
// excess log messages.
// Implements H4, H6.
import type { Fields } from '@toolshelf/core/internal'
import type { CallOptions, Progress } from '../types.ts'

type NotificationOptions = {
  /** Shortest interval in milliseconds between two reports of one list; grows while the list keeps changing. */
  readonly refreshMs: number
  readonly later: (task: () => void, milliseconds: number) => unknown
  /** Reads a changed list; returns false if the list is not kept, so that the notification itself is forwarded. */
  readonly relist: (list: ListName) => boolean
  /** `client`: the client whose call it belongs to, if known. */
  readonly deliver: (method: string, params: Fields, client: object | undefined) => void
}

/** A list whose changes servers report. */
export type ListName = 'tools' | 'prompts' | 'resources'

/** Forwards the notifications of one server. */
export type Notifications = ReturnType<typeof createNotifications>

const LOG = 'notifications/message'
const UPDATED = 'notifications/resources/updated'
const LISTS: readonly ListName[] = ['tools', 'prompts', 'resources']

const LOG_BURST = 100
const LOGS_PER_SECOND = 10
/** Milliseconds between two updates of one resource. */
const UPDATE_GAP_MS = 200
/** Resources that may have a pending update; drops updates of further ones until there is room. */
const MAX_UPDATED = 1000

/** Creates the forwarding for one server. */
export function createNotifications(options: NotificationOptions) {
  const { refreshMs, later, relist, deliver } = options
  const lists = new Map<string, () => void>(
    LISTS.map((list) => {
      const method = `notifications/${list}/list_changed`
      const changed = () => void (relist(list) || deliver(method, {}, undefined))
      return [method, createPace(refreshMs, later, changed)]
    }),
  )
  const mayLog = createBucket(LOG_BURST, LOGS_PER_SECOND / 1000)
  /** By URI; true if there was another update since the last one that was forwarded. */
  const updated = new Map<string, boolean>()
  let dropped = 0

  function log(params: Fields, client: object | undefined): void {
    if (!mayLog()) {
      dropped++
      return
    }
    if (dropped > 0) {
      const data = `dropped ${dropped} log messages: too many at once`
      dropped = 0
      deliver(LOG, { level: 'warning', logger: params.logger, data }, client)
    }
    deliver(LOG, params, client)
  }

  /** Forwards the first update at once, and the last of those that follow soon after. */
  function update(uri: string): void {
    if (updated.has(uri)) updated.set(uri, true)
    else if (updated.size < MAX_UPDATED) passOn(uri)
  }

  function passOn(uri: string): void {
    updated.set(uri, false)
    deliver(UPDATED, { uri }, undefined)
    later(() => {
      const isNew = updated.get(uri) === true
      updated.delete(uri)
      if (isNew) passOn(uri)
    }, UPDATE_GAP_MS)
  }

  return {
    hear(method: string, params: Fields, client: object | undefined) {
      const list = lists.get(method)
      if (list) list()
      else if (method === LOG) log(params, client)
      else if (method === UPDATED) update(String(params.uri))
      else deliver(method, params, client)
    },
  }
}

/** Creates a token bucket: a function that takes a token and returns true while there is one. */
export function createBucket(
  capacity: number,
  perMillisecond: number,
  now = () => performance.now(),
): () => boolean {
  let left = capacity
  let last = now()
  return () => {
    const time = now()
    left = Math.min(capacity, left + (time - last) * perMillisecond)
    last = time
    if (left < 1) return false
    left--
    return true
  }
}

/** Milliseconds between two readings of a list that keeps changing. */
const MAX_GAP_MS = 30_000

/**
 * Limits how often a changed list is read: soon at first, less and less often while it keeps changing. Returns a function
 * to call at each change; the task runs once for all changes until then.
 * @param minGapMs - Shortest interval in milliseconds between two readings.
 */
function createPace(minGapMs: number, later: NotificationOptions['later'], task: () => void): () => void {
  let isWaiting = false
  let ranAt = Number.NEGATIVE_INFINITY
  let gap = minGapMs
  return () => {
    if (isWaiting) return
    isWaiting = true
    const changedAt = performance.now()
    gap = changedAt - ranAt < 4 * gap ? Math.min(gap * 2, MAX_GAP_MS) : minGapMs
    later(
      () => {
        isWaiting = false
        ranAt = performance.now()
        task()
      },
      Math.max(minGapMs / 5, ranAt + gap - changedAt),
    )
  }
}

const BURST = 50
const PER_SECOND = 10
/** Milliseconds after which a delayed progress notification is forwarded. */
const PAUSE_MS = 200

/** Makes a call with rate-limited progress. `shown` makes a message safe to display. */
export async function withPacedProgress<Output>(
  { onProgress, ...options }: CallOptions,
  shown: (message: string) => string,
  call: (options: CallOptions) => Promise<Output>,
): Promise<Output> {
  if (!onProgress) return call(options)
  const mayReport = createBucket(BURST, PER_SECOND / 1000)
  let latest: Progress | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const pass = ({ message, ...step }: Progress) =>
    onProgress({ ...step, ...(message === undefined ? {} : { message: shown(String(message)) }) })
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const held = latest
    latest = undefined
    if (held) pass(held)
  }
  const flushLater = () => {
    timer = undefined
    if (latest === undefined) return
    if (mayReport()) flush()
    else timer = setTimeout(flushLater, PAUSE_MS)
  }
  const report = (progress: Progress) => {
    if (mayReport()) {
      latest = undefined
      pass(progress)
      return
    }
    latest = progress
    timer ??= setTimeout(flushLater, PAUSE_MS)
  }
  try {
    return await call({ ...options, onProgress: report })
  } finally {
    try {
      flush()
    } catch {
      // A failing listener must not lose the result.
    }
  }
}
